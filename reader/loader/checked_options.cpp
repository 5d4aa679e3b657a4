// The option list checks the range of each single option. Here options are checked against each
// other and against the dataset, with messages that say what to change.
//
// CheckedOptions() has an order that matters. Ranges come first, so that the rest can calculate
// with the values. The rank from the environment must be known before a mixture is planned. The
// user's batches set order.shuffle, which CheckStorage() reads. LoaderSetup calls CheckStorage()
// before all this, too, if it gives the dataset a shard table of its own.
#include "reader/loader/checked_options.h"

#include <algorithm>
#include <filesystem>

#include <sluice/error.h>
#include <sluice/loader_option_list.h>
#include <sluice/rank.h>

#include "format/disk/file.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/dataset/sample_list_state.h"
#include "reader/loader/loader_setup.h"
#include "reader/loader/self_tuning.h"
#include "reader/order/partners.h"
#include "reader/order/sample_draw.h"
#include "reader/reading/memory.h"
#include "reader/transform/pixel_program.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

void CheckRank(const DatasetFacts& dataset, const LoaderOptions& options) {
  const std::string ranks = std::to_string(options.ranks.world_size);
  if (options.ranks.rank >= options.ranks.world_size) {
    Refuse("LoaderOptions::ranks.rank is " + std::to_string(options.ranks.rank) +
           ", but must be less than world_size, which is " + ranks);
  }
  if (options.ranks.by_shards) {
    if (dataset.shards.size() < options.ranks.world_size && dataset.manifest.samples > 0) {
      Refuse("LoaderOptions::ranks.by_shards deals whole shards, and the dataset has " +
             std::to_string(dataset.shards.size()) + " for " + ranks +
             " ranks; set it to false, or convert with a smaller --shard-bytes");
    }
    return;
  }
  // With order.batches, neither shuffle nor lanes has an effect.
  if (!options.order.batches && options.order.shuffle == Shuffle::kQuasiRandom &&
      options.order.lanes % options.ranks.world_size != 0) {
    const std::uint64_t fitting = (options.order.lanes / options.ranks.world_size + 1) *
                                  std::uint64_t{options.ranks.world_size};
    Refuse("LoaderOptions::order.lanes is " + std::to_string(options.order.lanes) +
           ", which cannot be divided evenly among " + ranks +
           " ranks; set lanes to a multiple of the world size, such as " + std::to_string(fitting) +
           " (this changes the order), or use a number of ranks that divides it");
  }
}

// Checks that the partners of a mosaic's rows can be found.
void CheckMosaic(const LoaderOptions& options) {
  if (MostPartsIn(options) == 1) {
    for (const View& view : options.views) {
      bool mosaic = MostPartsOf(view.transform) > 1;
      for (const ScheduledTransform& later : view.schedule)
        mosaic = mosaic || MostPartsOf(later.transform) > 1;
      if (mosaic)
        Refuse(
            "View::transform has a Mosaic, which shows several samples in a row; put it into "
            "LoaderOptions::transform, and leave views empty");
    }
    return;
  }
  const auto refuse = [](const std::string& why) { Refuse("transform: Mosaic " + why); };
  if (options.share)
    refuse(
        "shows other samples than its own, which shared rows are not named by; leave "
        "LoaderOptions::share empty");
  if (options.on_device.decode != DecodeOn::kHost)
    refuse(
        "is painted on the host; set LoaderOptions::on_device.decode = kHost (steps that change "
        "colours, and Normalize, still run on the device)");
  if (options.order.batches) return;
  if (options.order.shuffle == Shuffle::kSequential)
    refuse(
        "chooses the other samples of a row by the order of the epoch, which is not shuffled; "
        "set LoaderOptions::order.shuffle to kQuasiRandom or kRandom");
  const std::uint64_t world = options.ranks.by_shards ? 1 : options.ranks.world_size;
  const std::uint64_t step = Partners::kLaneGroups * world;
  if (options.order.shuffle == Shuffle::kQuasiRandom && options.order.lanes % step != 0) {
    refuse("needs LoaderOptions::order.lanes to be a multiple of 8 x world_size, and it is " +
           std::to_string(options.order.lanes) + " for " + std::to_string(world) +
           (world == 1 ? " rank" : " ranks") + "; set it to " +
           std::to_string((options.order.lanes / step + 1) * step) + " (this changes the order)");
  }
}

// Checks that rows can be kept as the user's function left them: the function must get the same
// rows in each epoch.
void CheckFunctionRows(const LoaderOptions& options) {
  const std::string what =
      "DecodedPictures::function_is_deterministic keeps what LoaderOptions::sample_function made";
  if (!options.sample_function) Refuse(what + ", but that function is not set; leave it false");
  if (options.sizes.size() > 1 || options.output.image_sizes != ImageSizes::kEqual) {
    Refuse(what +
           ", which needs images of one size; leave it false, or leave LoaderOptions::sizes empty "
           "and output.image_sizes at kEqual");
  }
  if (!options.schedule.empty()) {
    Refuse(what +
           ", which needs the same steps in each epoch; leave it false, or leave "
           "LoaderOptions::schedule empty");
  }
  const auto check = [&](const Pipeline& steps) {
    for (const Transform& step : steps) {
      if (!DrawsNumbers(step) || ConcernsBatch(step)) continue;
      Refuse(what + ", but " + StepText(step) +
             ", which comes before the function, is random in each epoch; leave it false, or make "
             "random changes in a batch_function");
    }
  };
  check(options.transform);
  for (const View& view : options.views) {
    if (!view.schedule.empty())
      Refuse(what +
             ", which needs the same steps in each epoch; leave it false, or leave View::schedule "
             "empty");
    check(view.transform);
  }
}

// Whether `inner` is the folder `outer` or lies in it.
// Of two paths that may not exist yet, and may have links in them.
bool LiesIn(const fs::path& inner, const fs::path& outer) {
  const fs::path there = fs::weakly_canonical(inner);
  const fs::path whole = fs::weakly_canonical(outer);
  return std::mismatch(whole.begin(), whole.end(), there.begin(), there.end()).first == whole.end();
}

void CheckStage(const DatasetFacts& dataset, const Stage& stage) {
  if (stage.folder.empty() || stage.bytes == 0) {
    Refuse(
        "LoaderOptions::stage: set Stage::folder, and Stage::bytes to the most bytes that blocks "
        "there may take");
  }
  if (dataset.store == nullptr && dataset.supply == nullptr &&
      LiesIn(AbsolutePath(stage.folder), dataset.place)) {
    Refuse("Stage::folder (" + stage.folder +
           ") is the dataset's own folder, or inside it; choose another folder");
  }
}

void CheckSharing(const DatasetFacts& dataset, const LoaderOptions& options) {
  if (!options.share) return;
  const auto refuse = [](const std::string& what) {
    Refuse("LoaderOptions::share hands finished rows to other loaders; leave share empty, or " +
           what);
  };
  if (options.share->folder.empty()) refuse("set SharedRows::folder to a folder in memory");
  if (dataset.supply != nullptr)
    refuse("convert the source: files that are played where they lie may change between loaders");
  if (options.keep) refuse("leave LoaderOptions::keep empty");
  if (options.sample_function)
    refuse("leave LoaderOptions::sample_function empty: another process may have another function");
  if (options.output.image_sizes != ImageSizes::kEqual)
    refuse("leave LoaderOptions::output.image_sizes at kEqual");
  if (std::ranges::any_of(options.sizes, [](const OutputSize& size) { return size.every > 0; }))
    refuse(
        "give LoaderOptions::sizes by epoch: sizes are drawn by batch, and loaders may differ in "
        "batch_size");
  if (options.on_device.decode != DecodeOn::kHost)
    refuse("leave LoaderOptions::on_device.decode at kHost");
}

}  // namespace

void CheckStorage(const DatasetFacts& dataset, const LoaderOptions& options) {
  if (KeepsFunctionRows(options)) CheckFunctionRows(options);
  if (options.stage) CheckStage(dataset, *options.stage);
  if ((dataset.store != nullptr || options.stage) &&
      (LocksInMemory(options) || ReadsDirectly(options))) {
    Refuse(
        "LoaderOptions::storage = Direct and Locked are for files that are mapped. With `stage`, "
        "for a dataset at a URL, and on a file system that cannot map files, leave storage as "
        "Mapped");
  }
  const bool in_shards = LocksInMemory(options) || ReadsDirectly(options) || options.stage ||
                         options.on_device.images != ImagesIn::kStorage;
  if (dataset.supply != nullptr && in_shards) {
    Refuse(
        "LoaderOptions::storage = Direct and Locked, stage and on_device.images need a dataset's "
        "shards, and this source is played without a conversion; leave these options, or convert "
        "the source");
  }
  if (ReadsDirectly(options) && options.order.shuffle == Shuffle::kRandom) {
    Refuse(
        "LoaderOptions::storage = Direct would read a whole block for each sample of "
        "Shuffle::kRandom; use Shuffle::kQuasiRandom, or leave storage as Mapped");
  }
}

void CheckEpoch(const DatasetFacts& dataset, const LoaderOptions& options, std::uint64_t epoch,
                const EpochSize& size) {
  if (size.batches > 0) return;
  const std::string folder = dataset.folder.string();
  if (dataset.manifest.samples == 0) {
    throw Error(ErrorCode::kInvalidArgument, folder, "the dataset has no samples to play");
  }
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, folder,
                "epoch " + std::to_string(epoch) + " has no batches: " + what);
  };
  if (!options.order.samples.all() && options.order.samples.size() == 0) {
    refuse("LoaderOptions::order.samples is empty: " + WhyEmpty(options.order.samples));
  }
  // Only LastBatch::kDrop leaves samples out.
  const std::string keep =
      ", or keep short batches (LoaderOptions::ranks.last_batch = kKeep or LastBatch::kPad)";
  std::string what = "it has " + std::to_string(size.positions) + " samples, ";
  if (options.ranks.world_size > 1) {
    what += std::to_string(size.least) + " for the rank of " +
            std::to_string(options.ranks.world_size) + " with the fewest, and ";
  }
  what += "LoaderOptions::batch_size is " + std::to_string(options.batch_size) +
          ", and LastBatch::kDrop leaves out samples that do not fill a batch; ";
  if (size.least == 0) {
    refuse(what + "use fewer ranks (LoaderOptions::ranks.world_size)" + keep);
  }
  refuse(what + "make batch_size at most " + std::to_string(size.least) + keep);
}

namespace {

// The user's batches are played as a list, in the order given.
void SetBatches(const DatasetFacts& dataset, LoaderOptions& options) {
  if (!options.order.batches) return;
  const auto refuse = [](const std::string& what) {
    Refuse("LoaderOptions::order.batches says which samples each batch has; " + what);
  };
  if (!options.order.samples.all()) refuse("leave order.samples empty");
  if (options.ranks.by_shards) refuse("leave ranks.by_shards false");
  if (options.ranks.last_batch != LastBatch::kKeep) refuse("leave ranks.last_batch at kKeep");
  if (ReadsDirectly(options))
    refuse("storage = Direct would read a whole block for each of them: leave storage as Mapped");
  options.order.shuffle = Shuffle::kSequential;
  options.order.batches = BatchSampler(
      options.order.batches.function(),
      std::make_shared<BatchLists>(
          options.order.batches.function(), options.seed, dataset.manifest.samples,
          std::uint64_t{options.batch_size} * options.ranks.world_size, options.timeout));
}

// A mixture with weights is played as a list that is drawn again for each epoch.
void SetMixture(const DatasetFacts& dataset, LoaderOptions& options) {
  if (!dataset.mixture) return;
  const auto refuse = [](const std::string& what) {
    Refuse("Mixture: its weights say which samples an epoch has; " + what +
           ", or leave out the weights to play every sample once");
  };
  if (!options.order.samples.all()) refuse("leave LoaderOptions::order.samples empty");
  if (options.order.batches) refuse("leave LoaderOptions::order.batches empty");
  if (options.ranks.by_shards) refuse("leave LoaderOptions::ranks.by_shards false");
  if (options.order.shuffle == Shuffle::kSequential)
    refuse("set LoaderOptions::order.shuffle to kQuasiRandom or kRandom");
  const MixtureRule& rule = *dataset.mixture;
  std::vector<DatasetShape> shapes;
  std::vector<std::uint64_t> windows;
  for (const MixedDataset& part : dataset.parts) {
    shapes.push_back(part.dataset->facts->shape);
    windows.push_back(WindowBlocks(part.dataset->facts->shape, OrderParametersOf(options)));
  }
  MixtureParameters parameters{rule.weights, rule.shares, rule.length, rule.samples};
  parameters.batch_size = options.batch_size;
  parameters.world_size = options.ranks.world_size;
  parameters.lanes = options.order.lanes;
  parameters.most_bytes = AvailableMemory();
  options.order.samples =
      MixtureList(std::make_shared<const MixturePlan>(std::move(shapes), parameters), windows);
}

// Puts the ranges into order, and counts them in batches of this loader. A range up to the epoch's
// end gets the largest count, so that nobody has to ask again where the epoch ends.
void SetSkip(const DatasetFacts& dataset, LoaderOptions& options) {
  std::vector<SkippedBatches> ranges = std::exchange(options.order.skip, {});
  const Deal deal(dataset.shape, DealOptionsOf(options));
  const std::uint64_t own = GlobalBatchOf(options);
  const SkippedBatches* before = nullptr;
  std::ranges::sort(ranges, {},
                    [](const auto& range) { return std::pair(range.epoch, range.first); });
  for (SkippedBatches& range : ranges) {
    const auto refuse = [&](const std::string& what) {
      Refuse("LoaderOptions::order.skip has " + std::to_string(range.count) +
             " batches from batch " + std::to_string(range.first) + " of epoch " +
             std::to_string(range.epoch) + " on, " + what);
    };
    const std::uint64_t batches = deal.SizeOf(range.epoch).batches;
    const std::uint64_t unit = range.global_batch == 0 ? own : range.global_batch;
    if (options.order.batches && unit != own)
      refuse("but order.batches composes the batches; leave global_batch 0");
    std::uint64_t counted = batches;
    if (unit != own) {
      const std::uint64_t samples = deal.PositionsOf(range.epoch);
      counted =
          options.ranks.last_batch == LastBatch::kDrop ? samples / unit : CeilDiv(samples, unit);
    }
    if (range.count == 0 || range.first > counted || range.count > counted - range.first)
      refuse("and the epoch has " + std::to_string(counted) +
             " batches, numbered from 0; name one or more that it has");
    const std::uint64_t begin = range.first * unit, end = begin + range.count * unit;
    const bool to_end = end >= batches * own;
    if (begin % own != 0 || (end % own != 0 && !to_end)) {
      refuse("which are the samples from " + std::to_string(begin) + " to " + std::to_string(end) +
             " of the epoch, and not whole batches of this loader, which have batch_size x "
             "world_size = " +
             std::to_string(own) + " samples; choose batch_size and world_size so that they are");
    }
    if (before != nullptr && before->epoch == range.epoch &&
        before->first + before->count > begin / own)
      refuse("and another range of it that overlaps with them; join the two");
    range = {range.epoch, begin / own, 0, 0};
    range.count = to_end ? UINT64_MAX - range.first : end / own - range.first;
    before = &range;
  }
  options.order.skip = std::move(ranges);
}

void CheckDecoding(const LoaderOptions& options) {
  if (options.on_device.images != ImagesIn::kStorage) {
    if (options.on_device.decode != DecodeOn::kDevice) {
      Refuse(
          "LoaderOptions::on_device.images only matters for pictures that the device decodes; set "
          "on_device.decode = kDevice, or leave images at kStorage");
    }
    if (options.stage) {
      Refuse(
          "LoaderOptions::on_device.images keeps all images in memory: leave LoaderOptions::stage "
          "empty");
    }
  }
  if (options.on_device.decode == DecodeOn::kHost) return;
  const bool shares = options.on_device.decode == DecodeOn::kAuto;
  const auto refuse = [shares](const std::string& why) {
    Refuse("LoaderOptions::on_device.decode = k" + std::string(shares ? "Auto " : "Device ") + why);
  };
  if (options.device.is_host()) refuse("needs a device: set LoaderOptions::device");
  if (options.keep)
    refuse(
        "leaves no pictures on the host to keep: leave LoaderOptions::keep empty, or decode on "
        "the host");
  if (options.sample_function || options.batch_function)
    refuse("leaves no pixels on the host for your functions: decode on the host");
  if (MixesPictures(options))
    refuse(
        "leaves no pixels on the host for MixUp, CutMix and CopyPaste to mix: decode on the host");
  if (options.output.image_sizes != ImageSizes::kEqual)
    refuse(
        "makes images of one size: leave LoaderOptions::output.image_sizes at kEqual, or decode "
        "on the host");
}

}  // namespace

LoaderOptions CheckedOptions(const DatasetFacts& dataset, LoaderOptions options) {
  const auto check_ranges = [&options] {
    const std::string wrong = option_list::WhatIsOutOfRange(options);
    if (!wrong.empty()) Refuse("LoaderOptions::" + wrong);
  };
  check_ranges();
  const Tuning most = TuningFor(options).most();
  options.threads = most.threads;
  if (options.ring.prefetch || options.ring.pinned || !options.device.is_host())
    options.ring.prefetch = most.prefetch;
  CheckList(options.order.samples, dataset);
  if (options.ranks.by_shards && !options.order.samples.all()) {
    Refuse(
        "LoaderOptions::order.samples cannot be dealt by shards; leave "
        "LoaderOptions::ranks.by_shards false");
  }
  if (options.ranks.world_size == 0) {
    if (options.ranks.rank != 0)
      Refuse("LoaderOptions::ranks.rank is set, but world_size is not; set both");
    const Rank found = Rank::FromEnvironment();
    options.ranks.rank = found.rank;
    options.ranks.world_size = found.world_size;
    check_ranges();
  }
  CheckRank(dataset, options);
  CheckMosaic(options);
  SetMixture(dataset, options);
  SetBatches(dataset, options);
  SetSkip(dataset, options);
  CheckStorage(dataset, options);
  CheckDecoding(options);
  CheckSharing(dataset, options);
  return options;
}

}  // namespace sluice
