#include "reader/loader/resume_check.h"

#include <sluice/error.h>

#include "reader/dataset/rank_epoch.h"
#include "reader/loader/checked_options.h"

namespace sluice {

namespace {

[[noreturn]] void RefuseResume(const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, "LoaderOptions::resume_from " + sentence);
}

void RequireSame(const char* option, const std::string& saved, const std::string& here) {
  if (saved == here) return;
  RefuseResume("was saved with " + std::string(option) + " = " + saved + ", and this loader has " +
               here + "; set it to the saved value, or leave resume_from empty to start anew");
}

}  // namespace

ResumePoint StartOf(const DatasetFacts& dataset, const LoaderOptions& options) {
  const OrderParameters order = OrderParametersOf(options);
  ResumePoint start;
  start.dataset = dataset.id;
  start.shuffle = order.shuffle;
  start.seed = order.seed;
  if (order.shuffle == Shuffle::kQuasiRandom) {
    start.lanes = order.lanes;
    start.window_blocks = WindowBlocks(dataset.shape, order);
  }
  if (options.ranks.by_shards) start.shard_ranks = options.ranks.world_size;
  start.list = options.order.batches ? "batches" : options.order.samples.digest();
  return start;
}

void CheckResume(const ResumePoint& point, const ResumePoint& start, std::uint64_t global_batch,
                 std::uint64_t positions) {
  if (point.dataset != start.dataset) {
    RefuseResume("belongs to the dataset with id " + point.dataset + ", and this one has id " +
                 start.dataset +
                 "; open the dataset that the training began with, or leave resume_from empty to "
                 "start anew");
  }
  if (point.order_version != start.order_version) {
    RefuseResume("was saved by a version of Sluice with order version " +
                 std::to_string(point.order_version) + ", and this one has version " +
                 std::to_string(start.order_version) +
                 "; use that version of Sluice, or start the epoch anew");
  }
  RequireSame("shuffle", std::string(NameOf(point.shuffle)), std::string(NameOf(start.shuffle)));
  RequireSame("seed", std::to_string(point.seed), std::to_string(start.seed));
  RequireSame("lanes", std::to_string(point.lanes), std::to_string(start.lanes));
  RequireSame("window (in blocks of a lane)", std::to_string(point.window_blocks),
              std::to_string(start.window_blocks));
  RequireSame("world_size (0: ranks.by_shards is false)", std::to_string(point.shard_ranks),
              std::to_string(start.shard_ranks));
  if (point.list != start.list) {
    RefuseResume(
        "was saved with another list of samples (LoaderOptions::order.samples, or batches composed "
        "by order.batches, or another mixture: weights, length, shares, and with shares of each "
        "batch its batch_size and world size); use the same, or leave resume_from empty to start "
        "anew");
  }
  if (point.position % global_batch != 0) {
    RefuseResume(
        "lies at sample " + std::to_string(point.position) +
        " of its epoch, which is not a multiple of the global batch (batch_size x world_size = " +
        std::to_string(global_batch) + "); choose batch_size and world_size so that it is");
  }
  if (point.position > 0 && point.position >= positions) {
    RefuseResume(std::string("lies at ") + (point.list == "batches" ? "batch " : "sample ") +
                 std::to_string(point.position) + " of an epoch of " + std::to_string(positions) +
                 "; use the value of Loader::State() unchanged");
  }
}

}  // namespace sluice
