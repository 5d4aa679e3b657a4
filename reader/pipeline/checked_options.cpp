#include "reader/pipeline/checked_options.h"

#include <sluice/error.h>
#include <sluice/rank.h>

#include "format/cpu.h"
#include "format/disk/limits.h"
#include "reader/sample_list_state.h"

namespace sluice {

namespace {

constexpr unsigned kMaxThreads = 1024;
constexpr std::size_t kMaxSlots = 1024;
constexpr std::size_t kUsualPrefetch = 2;
constexpr std::size_t kMostPrefetch = 8;  // where it is left to the loader
// And batches lie in page-locked memory: taken while a training runs, it would have its GPU wait.
constexpr std::size_t kPinnedPrefetch = 4;
constexpr std::uint64_t kUsualDepth = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostDepth = std::uint64_t{64} << 20;
constexpr unsigned kMaxRanks = 65536;

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void CheckRank(const DatasetState& dataset, const LoaderOptions& options) {
  const std::string ranks = std::to_string(options.world_size);
  if (options.world_size > kMaxRanks) Refuse("LoaderOptions::world_size is at most 65536");
  if (options.rank >= options.world_size) {
    Refuse("LoaderOptions::rank is " + std::to_string(options.rank) +
           ", and must be less than world_size, which is " + ranks);
  }
  if (options.shards_per_rank) {
    if (dataset.shards.size() < options.world_size && dataset.manifest.samples > 0) {
      Refuse("LoaderOptions::shards_per_rank deals whole shards, and the dataset has " +
             std::to_string(dataset.shards.size()) + " for " + ranks +
             " ranks; leave it false, or convert with a smaller --shard-size");
    }
    return;
  }
  if (options.shuffle == Shuffle::kQuasiRandom && options.lanes % options.world_size != 0) {
    const std::uint64_t fitting =
        (options.lanes / options.world_size + 1) * std::uint64_t{options.world_size};
    Refuse("LoaderOptions::lanes is " + std::to_string(options.lanes) +
           ", which cannot be shared evenly by " + ranks +
           " ranks; set lanes to a multiple of the world size, such as " + std::to_string(fitting) +
           " (another order), or use a number of ranks that divides it");
  }
}

void CheckCache(const LoaderOptions& options) {
  if (options.cache == Cache::kDecoded && options.cache_bytes == 0) {
    Refuse("LoaderOptions::cache is kDecoded; say in cache_bytes how much may be kept");
  }
  if (options.cache != Cache::kDecoded &&
      (options.cache_bytes != 0 || !options.cache_folder.empty())) {
    Refuse("LoaderOptions::cache_bytes and cache_folder are for cache = kDecoded");
  }
  if (options.stage.empty() != (options.stage_bytes == 0)) {
    Refuse(
        "LoaderOptions::stage and stage_bytes go together: a folder, and how much may lie there");
  }
  if (!options.stage.empty() && options.cache == Cache::kLocked) {
    Refuse("LoaderOptions::cache = kLocked reads the whole dataset at once; leave stage empty");
  }
  if (options.direct && options.shuffle == Shuffle::kRandom) {
    Refuse(
        "LoaderOptions::direct would read a whole block for each sample of Shuffle::kRandom; "
        "play in quasi-random order, or leave direct false");
  }
  if (options.direct && options.cache == Cache::kLocked) {
    Refuse("LoaderOptions::cache = kLocked keeps the page cache that direct goes past; set one");
  }
  if (options.cache == Cache::kLocked && options.behind != Behind::kKeep) {
    Refuse("LoaderOptions::cache = kLocked keeps what LoaderOptions::behind lets go of; set one");
  }
}

void CheckBoxes(const BoxRule& rule) {
  if (!(rule.min_side >= 0 && rule.min_side <= kMaxImageSide))
    Refuse("LoaderOptions::boxes needs a min_side of 0 to 65535 pixels");
  if (!(rule.min_visible >= 0 && rule.min_visible <= 1))
    Refuse("LoaderOptions::boxes needs a min_visible of 0 to 1: a share of the box");
}

}  // namespace

void CheckEpoch(const DatasetState& dataset, const LoaderOptions& options, std::uint64_t epoch,
                const EpochSize& size) {
  if (size.batches > 0) return;
  const std::string folder = dataset.folder.string();
  if (dataset.manifest.samples == 0) {
    throw Error(ErrorCode::kInvalidArgument, folder, "the dataset has no samples to play");
  }
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, folder,
                "epoch " + std::to_string(epoch) + " has no batch: " + what);
  };
  if (!options.samples.all() && options.samples.size() == 0) {
    refuse("LoaderOptions::samples is empty: " + WhyEmpty(options.samples));
  }
  // Only LastBatch::kDrop leaves samples out.
  const std::string keep = ", or keep short batches (LoaderOptions::last_batch = kKeep or kPad)";
  std::string what = "it has " + std::to_string(size.positions) + " samples, ";
  if (options.world_size > 1) {
    what += std::to_string(size.least) + " for the rank of " + std::to_string(options.world_size) +
            " with the fewest, ";
  }
  what += "LoaderOptions::batch_size is " + std::to_string(options.batch_size) +
          ", and LastBatch::kDrop leaves out what does not fill a batch; ";
  if (size.least == 0) {
    refuse(what + "use fewer ranks (LoaderOptions::world_size)" + keep);
  }
  refuse(what + "make batch_size at most " + std::to_string(size.least) + keep);
}

LoaderOptions CheckedOptions(const DatasetState& dataset, LoaderOptions options) {
  if (options.threads > kMaxThreads) Refuse("LoaderOptions::threads is at most 1024");
  if (options.prefetch > kMaxSlots || options.hold > kMaxSlots) {
    Refuse("LoaderOptions::prefetch and hold are at most 1024");
  }
  if (options.read_ahead_bytes != 0 && (options.read_ahead_bytes < (std::uint64_t{1} << 20) ||
                                        options.read_ahead_bytes > (std::uint64_t{1} << 30))) {
    Refuse("LoaderOptions::read_ahead_bytes is 1 MiB to 1 GiB, or 0 to leave it to the loader");
  }
  const Tuning most = TuningFor(options).most();
  options.threads = most.threads;
  options.prefetch = most.prefetch;
  options.read_ahead_bytes = most.read_ahead_bytes;
  if (options.lanes == 0 || options.lanes > 65536) Refuse("LoaderOptions::lanes is 1 to 65536");
  if (options.window_bytes != 0 && options.window_samples != 0) {
    Refuse("LoaderOptions::window_bytes and window_samples say the same thing; set one of them");
  }
  CheckList(options.samples, dataset.manifest.samples, dataset.id);
  if (options.shards_per_rank && !options.samples.all()) {
    Refuse("LoaderOptions::samples needs ranks that share lanes; leave shards_per_rank false");
  }
  if (options.world_size == 0) {
    if (options.rank != 0) Refuse("LoaderOptions::rank is set; set world_size, too");
    const Rank found = Rank::FromEnvironment();
    options.rank = found.rank;
    options.world_size = found.world_size;
  }
  CheckRank(dataset, options);
  CheckCache(options);
  CheckBoxes(options.boxes);
  return options;
}

SelfTuning TuningFor(const LoaderOptions& options) {
  Tuning start{options.threads, options.prefetch, options.read_ahead_bytes};
  if (options.threads == 0) start.threads = AvailableCpus();
  const bool pinned = options.pinned || !options.device.is_host();
  if (options.prefetch == 0) start.prefetch = pinned ? kPinnedPrefetch : kUsualPrefetch;
  if (options.read_ahead_bytes == 0) start.read_ahead_bytes = kUsualDepth;
  Tuning least = start;
  Tuning most = start;
  if (options.threads == 0) least.threads = 1;
  if (options.prefetch == 0 && !pinned) most.prefetch = kMostPrefetch;
  if (options.read_ahead_bytes == 0) most.read_ahead_bytes = kMostDepth;
  return {least, most, start};
}

OrderOptions OrderOptionsOf(const LoaderOptions& options) {
  return {options.shuffle, options.seed, options.lanes, options.window_bytes,
          options.window_samples};
}

DealOptions DealOptionsOf(const LoaderOptions& options) {
  DealOptions deal;
  deal.batch_size = options.batch_size;
  deal.rank = options.rank;
  deal.world_size = options.world_size;
  deal.last_batch = options.last_batch;
  deal.by_shards = options.shards_per_rank;
  deal.seed = options.seed;
  if (!options.samples.all()) deal.listed = options.samples.size();
  return deal;
}

}  // namespace sluice
