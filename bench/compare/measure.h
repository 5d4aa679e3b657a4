// Plays the same pictures through several loaders, one after another in each round.
//
// The source is converted once, and the dataset's JPEGs are written out as files, so that every
// loader starts from the same bytes and packs them into its own format. (A dataset of raw images is
// compared with loaders of raw images instead, from PPM files; one of wide images (IsWide()) with
// those that crop such images, from files of pixels.) Then, round after round, each
// loader plays epochs in a process of its own. The order of the loaders rotates with the round, so
// that disturbances on the machine affect all of them. Ratios are taken within a round.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include <sluice/dataset.h>

#include "bench/compare/contender.h"
#include "bench/report/result.h"

namespace sluice::bench {

// The images of a dataset, which decide what loaders there are to compare.
enum class ImagesCompared { kJpegs, kRaw, kWide };

struct CompareOptions {
  // A folder of pictures, or a dataset (of JPEGs, of raw images, or of wide images).
  std::filesystem::path source;
  std::filesystem::path work = "sluice-compare";  // see ClaimWorkFolder()
  std::filesystem::path peers;    // the folder that bench/peers/setup.sh made; empty: none
  std::vector<std::string> only;  // empty: all
  std::string recipe;             // of AllRecipes(); empty: a crop and a flip
  unsigned threads = 0;           // of each loader; 0: one for each CPU
  std::size_t batch_size = 64;
  // Side of the crops; of smaller raw images, their side. 0: the recipe's usual one, or 224.
  std::uint32_t size = 0;
  std::uint64_t repeat = 1;  // times each picture comes in an epoch
  std::uint64_t rounds = 3;
  double seconds = 10;                // of measured epochs in each process, at least
  std::uint64_t limit_seconds = 600;  // after which a process is killed
  std::uint64_t quality_images = 32;  // pictures whose quality is measured; 0: none
};

struct Compared {
  Contender contender;
  std::string missing;                    // why it did not run; empty if it did
  std::vector<ContenderRun> runs;         // one for each round
  std::optional<double> convert_seconds;  // time to make the format that it plays, if any
  std::uint64_t disk_bytes = 0;           // of the files that an epoch reads, each counted once
  // The mean PSNR of the pixels that this loader delivers: for JPEGs, against references that
  // are resized with two filters, the higher PSNR of the two; for raw and wide images, of the bytes
  // against the stored ones. See QualityOf() and QualityOfMiddles() in measure.cpp.
  std::optional<double> decibels;
  // Medians over rounds: sluice's images/s divided by this loader's, and this loader's CPU time for
  // a picture divided by sluice's.
  std::optional<double> ratio, cpu_ratio;

  std::vector<double> Rates() const;
};

struct Comparison {
  std::vector<Compared> loaders;  // sluice first
  std::uint64_t pictures = 0;     // distinct
  ImagesCompared images = ImagesCompared::kJpegs;
  std::uint32_t size = 0;  // side of the crops
  unsigned threads = 0;
  double other_cpus = 0;  // CPUs that other processes kept busy meanwhile, on average
  std::vector<std::string> warnings;
};

// All loaders for such images. If a loader cannot run here, its `missing` says why.
std::vector<Contender> AllContenders(const CompareOptions& options, ImagesCompared images);
// Throws cli::UsageError if `options` names an unknown loader or recipe.
void CheckNames(const CompareOptions& options);

Comparison CompareLoaders(CompareOptions options, const StepHooks& hooks);

std::string TextOf(const Comparison& comparison, const CompareOptions& options);
std::vector<Measurement> MeasurementsOf(const Comparison& comparison, const std::string& suffix);
nlohmann::ordered_json LoadersJson(const Comparison& comparison);
nlohmann::ordered_json SettingsJson(const Comparison& comparison, const CompareOptions& options);

// Comparisons of several sources and several numbers of threads, as one result.
struct SideBySide {
  std::vector<CompareOptions> options;  // one entry for each comparison
  // Not empty; as many of each source, one source after another.
  std::vector<Comparison> comparisons;
  std::size_t sources = 1;
};

// Runs one comparison after the other. Each source has its own folder for the loaders' formats. The
// quality of pixels is measured once for each source, since threads do not change it.
SideBySide CompareSeveral(const CompareOptions& options,
                          const std::vector<std::filesystem::path>& sources,
                          const std::vector<unsigned>& threads, const StepHooks& hooks);

// Prints each comparison, and then, if there are several, a table of all rates.
std::string TextOf(const SideBySide& all);
nlohmann::ordered_json JsonOf(const SideBySide& all);

}  // namespace sluice::bench
