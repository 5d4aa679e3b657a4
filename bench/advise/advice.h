// Computes the cost of an epoch over the whole dataset, and the form to choose, from constants
// measured on a sample (trial.h) and from the machine's resources. It measures nothing itself.
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

// For a dataset in an object store: the link over which each machine reads from the store.
struct StoreLink {
  double bytes_per_second = 0;
  double delay_seconds = 0;       // from a request to its first byte
  std::uint64_t cache_bytes = 0;  // on each machine's disk (LoaderOptions::stage); 0: none
  double price_of_1000 = 0;       // the price of 1000 requests, in any currency
};

struct Resources {
  unsigned threads = 1;            // CPU threads that may decode
  std::uint64_t memory_bytes = 0;  // free memory, including the page cache
  std::uint64_t disk_free_bytes = 0;
  double disk_bytes_per_second = 0;
  std::optional<StoreLink> link;  // if set, machines read over it, not from their disks
};

// The rate that the trainer needs. 0 images a second: as many as possible.
struct Need {
  double step_seconds = 0;  // an accelerator's time for a batch; 0: unknown
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
  bool fits_disk = false;          // whether the disk has room for the dataset
  bool in_memory = false;          // each machine's part fits its memory: later epochs read nothing
  double images_per_second = 0;    // rate that each machine could deliver in later epochs
  double epoch_seconds = 0;        // of a later epoch on `machines`, at the trainer's pace
  double first_epoch_seconds = 0;  // of the first epoch, which reads everything
  double convert_seconds = 0;      // to make the dataset from its source
  Bound bound = Bound::kDecoding;  // what an epoch waits for
  unsigned threads = 1;            // on each machine, enough for the trainer
  std::uint64_t machines = 1;      // machines of this kind that the trainer needs
  // With a link: the requests of all machines together in the first epoch (one for each block, and
  // two for each shard that a machine opens) and in a later one (one for each block that is fetched
  // again), and the time to the first batch, which opens one block of each lane.
  std::uint64_t first_requests = 0;
  std::uint64_t requests = 0;
  double first_batch_seconds = 0;
};

// The defaults of `sluice convert` for blocks, and of a loader for lanes.
inline constexpr std::uint64_t kUsualBlockBytes = std::uint64_t{512} << 10;
inline constexpr std::uint64_t kUsualLanes = 192;

// The share of free memory that is assumed to keep a dataset's pages.
inline constexpr double kMemoryShare = 0.8;
// The factor by which a form's rate must exceed the trainer's need, since both vary.
inline constexpr double kMargin = 1.15;

Forecast ForecastOf(const FormConstants& form, std::uint64_t images, const Resources& resources,
                    const Need& need);

// Without a need, a form may be chosen for its few bytes if its rate is at least this share of the
// rate of the fastest form of the same preference.
inline constexpr double kNearlyAsFast = 0.75;

// Chooses a form.
//
// With a need: takes the most preferred size and quality in which some form needs only one machine,
// and of these forms the smallest in bytes. If there is no such form, takes the smallest of the
// forms that need the fewest machines.
//
// Without a need: takes the smallest of the forms that have the most preferred size and quality and
// are nearly as fast as the fastest of them.
//
// Forms that do not fit the disk are considered only if all forms are too large.
std::size_t ChooseForm(const std::vector<FormConstants>& forms,
                       const std::vector<Forecast>& forecasts, const Need& need);

// Images a second on `threads` threads, by Amdahl's law through the two measured rates: those of
// one thread and of `measured_threads`.
double RateOnThreads(const FormConstants& form, unsigned measured_threads, double threads);

// The findings and the advice of `sluice-bench advise`: as text and as JSON.
struct Advice {
  std::string source;
  SourceFacts facts;
  Resources resources;
  DiskRate disk;                        // measured by reading large pieces
  std::optional<DiskRate> small_files;  // of reading the source's own files, if they are small
  std::vector<std::string> gpus;        // their names
  Need need;
  std::string transform;
  Trials trials;
  std::vector<Forecast> forecasts;  // of trials.forms
  std::size_t chosen = 0;           // index of the chosen form
  std::vector<std::string> warnings;
};

// Adds forecasts and a choice to the measurements. A form whose trial failed cannot be chosen.
// Throws Error(kUnsupported) if all trials failed.
void Decide(Advice& advice);

// How far a form's constants, which were measured on the fitted part, are from the same figures
// measured on the held-out part; as shares of the held-out figures.
struct HeldOutError {
  double bytes = 0, images_per_second = 0;
};
HeldOutError ErrorOf(const Trial& trial);

// The sentences of advice for the chosen form: what to do, and what it gives.
std::vector<std::string> SentencesOf(const Advice& advice);

std::string TextOf(const Advice& advice);
nlohmann::ordered_json JsonOf(const Advice& advice);

}  // namespace sluice::bench
