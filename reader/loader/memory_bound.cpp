#include "reader/loader/memory_bound.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/manifest.h"
#include "format/disk/system_error.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/dataset/ring_slots.h"
#include "reader/dataset/storage_choice.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/loader/checked_options.h"
#include "reader/order/batch_lists.h"
#include "reader/order/ceil_div.h"
#include "reader/order/mixture_order.h"
#include "reader/reading/available_memory.h"
#include "reader/reading/decoded_cache.h"
#include "reader/reading/remote_blocks.h"
#include "reader/transform/batch_mix.h"
#include "reader/transform/geometric_steps.h"
#include "reader/transform/step_kind.h"
#include "reader/transform/visible_part.h"

namespace sluice {

namespace {

constexpr std::uint64_t kThreadBytes = std::uint64_t{2} << 20;
// For a thread that meets every kind of payload: components by our decoder and by libjpeg (3 + 3),
// a progressive file's coefficients (6), rows in other colours (3), a zstd payload inflated and
// converted (up to 8).
constexpr std::uint64_t kPixelBytes = 24;
constexpr std::uint64_t kMargin = 32;  // whole MCUs on either side
constexpr std::uint64_t kFaults = 10'000 * 512;
// Keys decompressed to name samples: those kept, and one chunk of the same size.
constexpr std::uint64_t kKeys = std::uint64_t{8} << 20;

// Steps work in buffers of their own: the picture, the picture before turning, before warping and
// before an operation, a smoothed one, and two of 16 bits.
std::uint64_t StepsOf(const Pipeline& transform, const std::vector<ScheduledTransform>& schedule,
                      const ImageBatch& image) {
  const auto plain = [](const Pipeline& steps) {
    return std::all_of(steps.begin(), steps.end(), [](const Transform& step) {
      return IsGeometric(step) && !Warps(step) && !SwapsSides(step);
    });
  };
  const bool all_plain = plain(transform) && std::all_of(schedule.begin(), schedule.end(),
                                                         [&plain](const ScheduledTransform& later) {
                                                           return plain(later.transform);
                                                         });
  return all_plain ? 0 : 10 * image.height * image.width * image.channels;
}

// One sample, which mixing a batch sets aside.
std::uint64_t SetAsideOf(const BatchRecipe& recipe) {
  return recipe.program.mixes() ? recipe.layout.picture().image.sample_bytes() : 0;
}

// A mask decoded whole, and its crop before turning or warping.
std::uint64_t MasksOf(const DatasetState& dataset, const SlotLayout& layout) {
  std::uint64_t most = 0;
  for (const SlotLayout::ImageField& field : layout.images) {
    if (!field.nearest || field.field == layout.picture_field()) continue;
    const ImageSummary& masks = dataset.facts->ImagesOf(field.field);
    const std::uint64_t pixels = dataset.facts->limits.pixels(field.field);
    most = std::max(most, pixels * masks.max_channels * SizeOf(masks.pixel_type) +
                              2 * field.image.sample_bytes() + masks.max_payload_bytes);
  }
  return most;
}

// Threads that decode, and the one that uploads what a device decodes: the host decodes again what
// that refuses.
std::uint64_t WorkersOf(const LoaderOptions& options) {
  return *options.threads + (options.on_device.decode != DecodeOn::kHost ? 1U : 0U);
}

std::uint64_t ScratchOfThread(const BatchRecipe& recipe) {
  const DatasetState& dataset = recipe.dataset;
  const LoaderOptions& options = recipe.options;
  const SlotLayout& layout = recipe.layout;
  if (layout.images.empty()) return kThreadBytes;
  const ImageBatch& picture = layout.picture().image;
  const ImageSummary& images = dataset.facts->ImagesOf(layout.picture_field());
  const std::uint64_t pixels =
      dataset.facts->limits.pixels(layout.picture_field()) +
      kMargin * (std::uint64_t{images.max_width} + images.max_height + kMargin);
  std::uint64_t steps = StepsOf(options.transform, options.schedule, picture);
  std::uint64_t shared = 0;
  for (std::size_t v = 0; v < options.views.size(); ++v) {
    const View& view = options.views[v];
    steps = std::max(steps, StepsOf(view.transform, view.schedule, layout.images[1 + v].image));
    shared = picture.channels * pixels;  // one decoding for all views
  }
  return kThreadBytes + kPixelBytes * pixels + steps + shared + images.max_payload_bytes +
         SetAsideOf(recipe) + MasksOf(dataset, layout);
}

// The blocks and samples that are open for shuffling at once on this rank.
struct Window {
  std::uint64_t blocks = 0;
  std::uint64_t samples = 0;
};

Window WindowOf(const DatasetShape& shape, const LoaderOptions& options) {
  Window window{shape.blocks(), shape.samples()};
  if (options.order.shuffle == Shuffle::kSequential) {
    window.blocks = std::min<std::uint64_t>(1, shape.blocks());
  } else if (options.order.shuffle == Shuffle::kQuasiRandom) {
    const std::uint64_t lanes = options.ranks.by_shards
                                    ? options.order.lanes
                                    : options.order.lanes / options.ranks.world_size;
    window.blocks =
        std::min(window.blocks, lanes * WindowBlocks(shape, OrderParametersOf(options)));
  }
  window.samples = std::min(window.samples, window.blocks * shape.max_block_samples());
  return window;
}

Window WindowOf(const DatasetState& dataset, const LoaderOptions& options) {
  const std::shared_ptr<const MixturePlan> mixture = MixturePlanOf(options);
  if (mixture == nullptr) return WindowOf(dataset.facts->shape, options);
  Window all;
  for (const MixturePlan::Part& part : mixture->parts()) {
    const Window window = WindowOf(part.shape, options);
    all.blocks += window.blocks;
    all.samples += window.samples;
  }
  return all;
}

// The blocks of an epoch's tail. If several ranks share it, they stay open to its end, because no
// rank knows how many of a block's samples are its own.
std::uint64_t SharedTail(const DatasetShape& shape, const LoaderOptions& options) {
  if (options.order.shuffle != Shuffle::kQuasiRandom || options.ranks.world_size == 1 ||
      options.ranks.by_shards) {
    return 0;
  }
  if (!options.order.samples.all()) return shape.blocks();  // of a mixture: of each time it begins
  const std::uint64_t mean = std::max<std::uint64_t>(shape.samples() / shape.blocks(), 1);
  return options.order.lanes * (shape.even() ? 1 : CeilDiv(shape.max_block_samples(), mean));
}

std::uint64_t BookkeepingOf(const DatasetState& dataset, const LoaderOptions& options,
                            const SlotLayout& layout, std::uint64_t slots, const Window& window) {
  const DatasetShape& shape = dataset.facts->shape;
  const std::uint64_t order = OrderBound(shape, options, window.samples);
  std::uint64_t schema = 0;
  for (const Field& field : dataset.facts->manifest.schema.fields) {
    schema += 256;
    for (const std::string& name : field.classes)
      schema += 64 + name.size();
  }
  // Every shard costs something, and a mapped one more, with its directory.
  const std::uint64_t all = std::max<std::uint64_t>(shape.shards().size(), 1);
  const std::uint64_t mapped = std::min<std::uint64_t>(all, dataset.table.max_mapped());
  const std::uint64_t shards = schema + 512 * all + 4096 * mapped +
                               CeilDiv(40 * shape.blocks(), all) * mapped + shape.blocks() / 8;
  // Kept for each image of a row if the user's functions may ask: see SlotLayout::keeps_shown.
  const std::uint64_t shown = layout.keeps_shown ? sizeof(VisiblePart) * layout.images.size() : 0;
  const std::uint64_t rows = (80 + shown) * options.batch_size * slots;
  const bool once =
      options.integrity.verify == Verify::kAuto || options.integrity.verify == Verify::kFirstEpoch;
  const std::uint64_t compared =
      once ? ComparedPayloads::MemoryBytes(shape.samples(), shape.shards().size(),
                                           options.stage.has_value())
           : 0;
  const auto& lists = options.order.batches.lists();
  // Each thread that has to find substitutes makes an order of its own.
  const std::uint64_t workers = 1 + WorkersOf(options);
  return workers * order + shards + rows + (lists ? lists->memory_bytes() : 0) +
         (64 + 32 * workers) * window.blocks + compared + kFaults + kKeys;
}

// Passes over shards that cannot be read: no batch will hold their values.
std::vector<ManifestValues> SurveyValues(DatasetState& dataset) {
  const Schema& schema = dataset.facts->manifest.schema;
  std::vector<ManifestValues> values = NoValues(schema);
  for (std::uint32_t s = 0; s < dataset.facts->shards.size(); ++s) {
    try {
      const ShardUse shard = dataset.table.Shard(s);
      const ReadGuard guard = shard->Guard();
      BlockHold blocks(*shard);
      for (std::uint32_t block = 0; block < shard->blocks(); ++block)
        AddValues(blocks.Block(block), dataset.facts->LayoutOf(s), schema, values);
    } catch (const Error& error) {
      if (IsShortage(error)) throw;
    }
  }
  return values;
}

// The index of a field's entry in Manifest::values.
std::size_t ValuesBefore(const std::vector<Field>& fields, std::size_t field) {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(field), HasValues));
}

// The bytes that so many batches' bytes fields and variable-length fields take if each value has
// the average size in the manifest; 0 if the manifest does not say.
std::uint64_t UsualVariableBytes(const DatasetState& dataset, const SlotLayout& layout,
                                 std::size_t slots) {
  const Manifest& manifest = dataset.facts->manifest;
  if (manifest.values.empty() || manifest.samples == 0) return 0;
  std::uint64_t bytes = 0;
  for (const SlotLayout::VariableField& field : layout.variables) {
    if (field.field == Schema::kNone) continue;
    const ManifestValues& values =
        manifest.values[ValuesBefore(manifest.schema.fields, field.field)];
    // The loader does not read a value larger than ReadLimits allows.
    bytes +=
        2 * std::min(values.bytes / manifest.samples, dataset.facts->limits.bytes(field.field));
  }
  return bytes * slots * layout.batch_size;
}

constexpr std::uint64_t kMB = 1'000'000;

}  // namespace

void RequireRoom(const BatchRecipe& recipe, std::size_t slots) {
  const DatasetState& dataset = recipe.dataset;
  const LoaderOptions& options = recipe.options;
  const std::uint64_t bytes =
      slots * recipe.layout.bytes + UsualVariableBytes(dataset, recipe.layout, slots);
  std::uint64_t available = AvailableMemory();
  if (bytes > available) {
    throw Error(ErrorCode::kLimit,
                "the loader's " + std::to_string(slots) + " batches (1 + prefetch + hold) take " +
                    std::to_string(bytes / kMB) + " MB, and there are " +
                    std::to_string(available / kMB) +
                    " MB of memory left; lower LoaderOptions::batch_size, ring.prefetch or "
                    "ring.hold, or leave large fields out of LoaderOptions::output.fields" +
                    (options.output.image_sizes == ImageSizes::kEqual
                         ? ""
                         : ", or make its largest images smaller (each row of a batch has room for "
                           "the largest): by a step of the transform, or by "
                           "ReadLimits::max_pixels with ImageSizes::kOwn"));
  }
  // An order takes more than a few MB only with a list, or if blocks have several sizes.
  if (options.order.shuffle != Shuffle::kQuasiRandom && options.order.samples.all()) return;
  const std::uint64_t order = OrderBound(dataset.facts->shape, options, 0);
  available = AvailableMemory();
  if (order > available) {
    throw Error(
        ErrorCode::kLimit, dataset.facts->folder.string(),
        "the order of an epoch of its " + std::to_string(dataset.facts->shape.blocks()) +
            " blocks takes " + std::to_string(order / kMB) + " MB, and there are " +
            std::to_string(available / kMB) +
            " MB of memory left; set LoaderOptions::order.shuffle = kSequential, play "
            "without a list of samples, or make blocks of one size with `sluice transcode`");
  }
}

std::uint64_t VariableBound(const BatchRecipe& recipe) {
  DatasetState& dataset = recipe.dataset;
  const LoaderOptions& options = recipe.options;
  const SlotLayout& layout = recipe.layout;
  constexpr std::uint64_t kRowBytes = 128;  // the row's bookkeeping and the allocator's overhead
  const std::vector<Field>& fields = dataset.facts->manifest.schema.fields;
  const auto of_dataset = [](const SlotLayout::VariableField& field) {
    return field.field != Schema::kNone;
  };
  if (std::none_of(layout.variables.begin(), layout.variables.end(), of_dataset)) return 0;
  const std::vector<ManifestValues> found = dataset.facts->manifest.values.empty()
                                                ? SurveyValues(dataset)
                                                : std::vector<ManifestValues>();
  std::uint64_t row = 0;
  for (const SlotLayout::VariableField& field : layout.variables) {
    if (!of_dataset(field)) continue;
    std::uint64_t most = dataset.facts->limits.bytes(field.field);
    if (!found.empty()) most = std::min(most, found[ValuesBefore(fields, field.field)].max_bytes);
    row += 2 * most + kRowBytes;
  }
  return SlotsOf(options) * options.batch_size * row;
}

std::uint64_t OpenBound(const BatchRecipe& recipe) {
  const DatasetState& dataset = recipe.dataset;
  const DatasetShape& shape = dataset.facts->shape;
  if (shape.blocks() == 0) return 0;
  const std::uint64_t block_bytes = CeilDiv(shape.bytes(), shape.blocks());
  // Random order uses a block for one row at a time.
  if (recipe.options.order.shuffle == Shuffle::kRandom) return RemoteShards::kIdleBytes;
  const Window window = WindowOf(dataset, recipe.options);
  const std::uint64_t blocks = window.blocks + SharedTail(shape, recipe.options);
  return std::min(blocks, shape.blocks()) * block_bytes + block_bytes;
}

namespace {

// What a loader holds of a dataset in an object store: blocks that are open, those that rows in the
// ring still need, those on their way, and what stays although nobody holds it.
std::uint64_t RemoteBound(const BatchRecipe& recipe) {
  const DatasetState& dataset = recipe.dataset;
  const LoaderOptions& options = recipe.options;
  const DatasetShape& shape = dataset.facts->shape;
  const std::uint64_t block_bytes = CeilDiv(shape.bytes(), shape.blocks());
  const std::uint64_t rows = (SlotsOf(options) + 1) * options.batch_size;
  const std::uint64_t windows =
      CeilDiv(rows, std::max<std::uint64_t>(WindowOf(dataset, options).samples, 1));
  const std::uint64_t open = OpenBound(recipe);
  const bool scattered = options.order.shuffle == Shuffle::kRandom ||
                         !options.order.samples.all() || options.order.batches;
  const std::uint64_t in_ring = scattered ? rows * block_bytes : windows * open;
  // On their way, and for the next windows; a block begins while there is room.
  const std::uint64_t ahead =
      2 * (ReadAheadBytesOf(options).value_or(kMostRemoteAhead) + block_bytes);
  const std::uint64_t held = open + in_ring + ahead + WorkersOf(options) * block_bytes;
  // Blocks have different sizes.
  return std::min(shape.bytes(), held + CeilDiv(held, 8) + RemoteShards::kIdleBytes) +
         dataset.table.FrameBytes();
}

// The connections' buffers, the table of what is there, and for a cache when that is needed next.
std::uint64_t RemoteBookkeeping(const BatchRecipe& recipe) {
  const DatasetState& dataset = recipe.dataset;
  const std::uint64_t bytes =
      dataset.facts->store->BufferBytes() + dataset.table.remote->BookkeepingBytes();
  if (!dataset.table.remote->has_cache()) return bytes;
  return bytes + NextUsesAhead::MemoryBytes(dataset.facts->shape) +
         OrderBound(dataset.facts->shape, recipe.options,
                    WindowOf(dataset, recipe.options).samples);
}

}  // namespace

LoaderMemory MemoryBound(const BatchRecipe& recipe) {
  const DatasetState& dataset = recipe.dataset;
  const LoaderOptions& options = recipe.options;
  const SlotLayout& layout = recipe.layout;
  const DatasetShape& shape = dataset.facts->shape;
  const std::uint64_t slots = SlotsOf(options);
  const Window window = WindowOf(dataset, options);
  LoaderMemory memory;
  memory.slots = slots * layout.bytes;
  memory.scratch = WorkersOf(options) * ScratchOfThread(recipe);
  memory.bookkeeping = BookkeepingOf(dataset, options, layout, slots, window);
  if (options.keep) {
    memory.kept = DecodedCache::MemoryBytes(shape.samples(), options.keep->bytes,
                                            !options.keep->folder.empty());
    // A picture on its way to the store and one read from it.
    memory.scratch *= 2;
  }
  if (shape.blocks() == 0) return memory;
  const std::uint64_t block_bytes = CeilDiv(shape.bytes(), shape.blocks());
  memory.window = window.blocks * block_bytes;
  memory.mapped = shape.bytes();
  const bool let_go =
      BehindOf(options) != Behind::kKeep && options.order.shuffle != Shuffle::kRandom;
  const bool direct = ReadsDirectly(options);
  if (dataset.table.remote != nullptr) {
    memory.bookkeeping += RemoteBookkeeping(recipe);
    memory.blocks = RemoteBound(recipe);
    memory.mapped = 0;
  } else if (let_go || direct) {
    // Blocks closed by the batches in the ring, or by the one being planned, are not released yet.
    const std::uint64_t rows = (slots + 1) * options.batch_size;
    const std::uint64_t windows = 1 + CeilDiv(rows, std::max<std::uint64_t>(window.samples, 1)) +
                                  (options.order.shuffle == Shuffle::kSequential ? 1 : 0);
    memory.mapped = std::min(memory.mapped, windows * memory.window);
    if (!direct) {
      const std::uint64_t tail = SharedTail(shape, options) * block_bytes;
      memory.mapped = std::min(shape.bytes(), memory.mapped + tail);
    }
    if (direct) {
      // With a list, each row may be in a different block.
      if (!options.order.samples.all()) {
        memory.mapped = std::min(shape.bytes(), memory.mapped + rows * block_bytes);
      }
      memory.blocks = memory.mapped + WorkersOf(options) * block_bytes;
      memory.blocks += CeilDiv(memory.blocks, 8);
      memory.mapped = 0;
    }
  }
  return memory;
}

LoaderMemory RowBound(const BatchRecipe& row, const BatchRecipe& recipe) {
  LoaderMemory memory;
  memory.slots = row.layout.bytes;
  memory.variable = VariableBound(row) / SlotsOf(row.options);
  memory.scratch = ScratchOfThread(row);
  const DatasetState& dataset = recipe.dataset;
  memory.bookkeeping = kFaults + 2 * OrderBound(dataset.facts->shape, recipe.options,
                                                WindowOf(dataset, recipe.options).samples);
  return memory;
}

namespace {

// The plan, an order for each time that a dataset begins again and that some columns are still in,
// and the permutation of the tail.
std::uint64_t OrderBoundOf(const MixturePlan& plan, const LoaderOptions& options) {
  LoaderOptions alone = options;
  alone.order.samples = {};
  std::uint64_t bytes = plan.memory_bytes() + 8 * options.order.lanes + 2 * std::uint64_t{65536};
  for (const MixturePlan::Part& part : plan.parts()) {
    const std::uint64_t samples = part.shape.samples();
    const std::uint64_t orders = MixtureOrder::MostOrders(part, options.order.lanes);
    const bool table = samples < options.order.lanes || options.order.shuffle == Shuffle::kRandom;
    bytes +=
        orders *
        (1024 + (table ? 2 * std::min<std::uint64_t>(samples, 65536)
                       : OrderBound(part.shape, alone, WindowOf(part.shape, options).samples)));
  }
  return bytes;
}

}  // namespace

std::uint64_t OrderBound(const DatasetShape& shape, const LoaderOptions& options,
                         std::uint64_t window_samples) {
  if (const auto mixture = MixturePlanOf(options)) return OrderBoundOf(*mixture, options);
  const auto& lists = options.order.batches.lists();
  constexpr std::uint64_t kTableLimit = 65536;  // the largest table that Permutation makes
  const std::uint64_t listed = options.order.samples.all() ? 0 : options.order.samples.size();
  const std::uint64_t listed_blocks = std::min(listed, shape.blocks());
  // Blocks that the order keeps an entry for: all blocks of a list; all blocks if their sizes
  // differ; otherwise the last of each shard.
  std::uint64_t noted = shape.even() ? shape.shards().size() : shape.blocks();
  if (listed > 0) noted = listed_blocks;
  return 6 * std::min(shape.blocks(), kTableLimit) + 512 * options.order.lanes +
         2 * std::min(window_samples, shape.samples()) + 24 * listed + 64 * listed_blocks +
         64 * noted + 64 * shape.shards().size() + (lists ? 8 * lists->most_samples() : 0);
}

}  // namespace sluice
