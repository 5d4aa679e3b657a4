// How much memory a loader takes at most: the sum of what its parts state (MemoryBytes() and the
// like, next to the code of each part). If the slots or an epoch's order cannot fit into the
// machine's free memory, the loader is refused before it allocates them, and the Error names the
// options that would help.
#include <algorithm>

#include <sluice/error.h>

#include "format/disk/manifest.h"
#include "format/disk/system_error.h"
#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/decoding/row_sources.h"
#include "reader/decoding/slot_filler.h"
#include "reader/loader/loader_setup.h"
#include "reader/order/sample_draw.h"
#include "reader/reading/block_source.h"
#include "reader/reading/memory.h"

namespace sluice {

namespace {

constexpr std::uint64_t kBytesInMB = 1'000'000;

std::uint64_t BookkeepingOf(const BatchRecipe& recipe) {
  const LoaderOptions& options = recipe.options;
  const DatasetShape& shape = recipe.dataset.facts->shape;
  const OpenWindow window = OpenWindow::Of(shape, options);
  // The planner has an order, and each thread that has to find substitutes makes one.
  const std::uint64_t orders = 1 + SlotFillersOf(options);
  std::uint64_t bytes = orders * (OrderBytes(shape, options, window.samples) + 32 * window.blocks) +
                        64 * window.blocks + recipe.dataset.MemoryBytes() +
                        SlotsOf(options) * recipe.layout.bookkeeping_bytes() +
                        FaultLog::kMemoryBytes;
  if (const auto& lists = options.order.batches.lists()) bytes += lists->memory_bytes();
  if (options.integrity.verify == Verify::kAuto) {
    bytes += ComparedPayloads::MemoryBytes(shape.samples(), shape.shards().size());
  }
  return bytes;
}

}  // namespace

void RequireRoom(const BatchRecipe& recipe, std::size_t slots) {
  const DatasetFacts& dataset = recipe.dataset;
  const LoaderOptions& options = recipe.options;
  const std::uint64_t bytes = slots * (recipe.layout.bytes + recipe.UsualVariableBytes());
  // Memory for decoded pictures is reserved already, but not taken yet.
  const std::uint64_t kept = options.keep && options.keep->folder.empty() ? options.keep->bytes : 0;
  const std::uint64_t available = AvailableMemory();
  if (bytes > available || kept > available - bytes) {
    throw Error(ErrorCode::kLimit,
                (kept == 0 ? ""
                           : "decoded pictures (LoaderOptions::keep) take " +
                                 std::to_string(kept / kBytesInMB) + " MB, ") +
                    std::string("the loader's ") + std::to_string(slots) +
                    " batches (1 + prefetch + hold) take " + std::to_string(bytes / kBytesInMB) +
                    " MB, and there are " + std::to_string(available / kBytesInMB) +
                    " MB of memory left; lower LoaderOptions::" + (kept == 0 ? "" : "keep, ") +
                    "batch_size, ring.prefetch or "
                    "ring.hold, or leave large fields out of LoaderOptions::output.fields" +
                    (options.output.image_sizes == ImageSizes::kEqual
                         ? ""
                         : ", or make its largest images smaller (each row of a batch has room for "
                           "the largest): by a step of the transform, or by "
                           "ReadLimits::max_pixels with ImageSizes::kOwn"));
  }
  RequireRoomForOrder(dataset, options);
}

void RequireRoomForOrder(const DatasetFacts& dataset, const LoaderOptions& options) {
  // An order takes more than a few MB only with a list, or if blocks have several sizes.
  if (options.order.shuffle != Shuffle::kQuasiRandom && options.order.samples.all()) return;
  const std::uint64_t order = OrderBytes(dataset.shape, options, 0);
  const std::uint64_t available = AvailableMemory();
  if (order > available) {
    throw Error(
        ErrorCode::kLimit, dataset.folder.string(),
        "the order of an epoch of its " + std::to_string(dataset.shape.blocks()) +
            " blocks takes " + std::to_string(order / kBytesInMB) + " MB, and there are " +
            std::to_string(available / kBytesInMB) +
            " MB of memory left; set LoaderOptions::order.shuffle = kSequential, play "
            "without a list of samples, or make blocks of one size with `sluice transcode`");
  }
}

LoaderMemory MemoryBound(const BatchRecipe& recipe) {
  const LoaderOptions& options = recipe.options;
  const DatasetShape& shape = recipe.dataset.facts->shape;
  const BlockSourceBytes blocks = BlockSourceBytes::Of(recipe.dataset, options);
  LoaderMemory memory;
  memory.slots = SlotsOf(options) * recipe.layout.bytes;
  memory.scratch = SlotFillersOf(options) * SlotFiller::MemoryBytes(recipe);
  memory.bookkeeping = BookkeepingOf(recipe) + blocks.bookkeeping;
  // A played source's files are read sample by sample, so no block of them stays open.
  if (recipe.dataset.facts->supply == nullptr)
    memory.window = OpenWindow::Of(shape, options).blocks * MeanBlockBytes(shape);
  memory.blocks =
      blocks.memory + ColumnBlocks::MemoryBytes(recipe) + ColumnsAhead::MemoryBytes(recipe);
  memory.mapped = blocks.mapped;
  if (options.keep) {
    memory.kept = DecodedPictureCache::MemoryBytes(shape.samples(), options.keep->bytes,
                                                   !options.keep->folder.empty());
  }
  return memory;
}

LoaderMemory RowBound(const BatchRecipe& row, const BatchRecipe& recipe) {
  const DatasetShape& shape = recipe.dataset.facts->shape;
  LoaderMemory memory;
  memory.slots = row.layout.bytes;
  memory.variable = row.MaxVariableBytes();
  memory.scratch = SlotFiller::MemoryBytes(row);
  memory.bookkeeping =
      FaultLog::kMemoryBytes +
      2 * OrderBytes(shape, recipe.options, OpenWindow::Of(shape, recipe.options).samples);
  return memory;
}

}  // namespace sluice
