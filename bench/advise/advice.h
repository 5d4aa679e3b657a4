// From constants measured on a sample (trial.h) and the machine's resources to the cost of an epoch
// of the whole dataset, and to the form to choose. Pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/advise/source_facts.h"
#include "bench/advise/trial.h"
#include "bench/machine/disk.h"

namespace sluice::bench {

// The dataset lies in an object store, behind a link of each machine's own.
struct StoreLink {
  double bytes_per_second = 0;
  double delay_seconds = 0;       // of a request, to its first byte
  std::uint64_t cache_bytes = 0;  // on each machine's disk (LoaderOptions::stage); 0: none
  double price_of_1000 = 0;       // requests, in any currency
};

struct Resources {
  unsigned threads = 1;            // that may decode
  std::uint64_t memory_bytes = 0;  // free, the page cache's share included
  std::uint64_t disk_free_bytes = 0;
  double disk_bytes_per_second = 0;
  std::optional<StoreLink> link;  // the disk is not read then
};

// The rate that the trainer needs. 0 images a second: as many as possible.
struct Need {
  double step_seconds = 0;
  std::uint64_t batch_size = 256;
  std::uint64_t accelerators = 1;

  double ImagesPerSecond() const noexcept {
    return step_seconds > 0 ? static_cast<double>(batch_size * accelerators) / step_seconds : 0;
  }
};

enum class Bound { kDecoding, kDisk, kLink, kTrainer };
const char* NameOf(Bound bound) noexcept;

struct Forecast {
  std::uint64_t dataset_bytes = 0;
  bool fits_disk = false;
  bool in_memory = false;        // of each of `machines`: later epochs read nothing
  double images_per_second = 0;  // that each machine could deliver, epoch after epoch
  double epoch_seconds = 0;      // of later epochs on `machines`, the trainer's pace included
  double first_epoch_seconds = 0;
  double convert_seconds = 0;
  Bound bound = Bound::kDecoding;  // what an epoch waits for
  unsigned threads = 1;            // enough for the trainer, on each machine
  std::uint64_t machines = 1;      // of this kind, to feed the trainer
  // With a link, of all machines together: requests of the first epoch and of a later one (a block
  // each, and two for each shard that is opened), and how long a first batch takes to fetch: it
  // opens a block of each lane.
  std::uint64_t first_requests = 0;
  std::uint64_t requests = 0;
  double first_batch_seconds = 0;
};

// As `sluice convert` makes blocks and shards, and a loader's lanes, unless told otherwise.
inline constexpr std::uint64_t kUsualBlockBytes = std::uint64_t{512} << 10;
inline constexpr std::uint64_t kUsualShardBytes = 64'000'000;
inline constexpr std::uint64_t kUsualLanes = 192;

// The share of free memory that is expected to keep pages of a dataset.
inline constexpr double kMemoryShare = 0.8;
// The factor by which a form's rate must exceed the trainer's need, since both vary.
inline constexpr double kMargin = 1.15;

Forecast ForecastOf(const FormConstants& form, std::uint64_t images, const Resources& resources,
                    const Need& need);

// Without a need, a form this much slower than the fastest may still be chosen for its size.
inline constexpr double kNearlyAsFast = 0.75;

// The form to choose. With a need: take the most preferred size and quality with a form for which
// one machine is enough, and of such forms the smallest in bytes. If no form is enough, the
// smallest of those that need the fewest machines. Without a need: of the most preferred size and
// quality, the smallest that is nearly as fast as the fastest. Forms that do not fit the disk are
// passed over unless all forms are too large.
std::size_t ChooseForm(const std::vector<FormConstants>& forms,
                       const std::vector<Forecast>& forecasts, const Need& need);

// Images a second on `threads` threads: Amdahl's law through the two measured points.
double RateOnThreads(const FormConstants& form, unsigned measured_threads, double threads);

// The findings and the advice of `sluice-bench advise`: as text and as JSON.
struct Advice {
  std::string source;
  SourceFacts facts;
  Resources resources;
  DiskRate disk;                        // in large pieces
  std::optional<DiskRate> small_files;  // the source's own files, if they are small
  std::vector<std::string> gpus;        // their names
  Need need;
  std::string transform;
  Trials trials;
  std::vector<Forecast> forecasts;  // of trials.forms
  std::size_t chosen = 0;           // index of the chosen form
  std::vector<std::string> warnings;
};

// Adds forecasts and a choice to the measurements. Forms that failed cannot be chosen. Throws
// Error(kUnsupported) if all failed.
void Decide(Advice& advice);

// How far the chosen form's constants were from the rates measured on the held-out part, as shares.
struct HeldOutError {
  double bytes = 0, images_per_second = 0;
};
HeldOutError ErrorOf(const Trial& trial);

// The sentences of advice for the chosen form: what to do, and what it gives.
std::vector<std::string> SentencesOf(const Advice& advice);

std::string TextOf(const Advice& advice);
nlohmann::ordered_json JsonOf(const Advice& advice);

}  // namespace sluice::bench
