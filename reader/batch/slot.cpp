// The layout of a slot's memory is fixed (SlotLayout); these functions decide where a row's bytes
// lie in it. Nothing here takes a lock: BatchRing decides which thread has a slot.
//
// Close() has an order that matters. It closes the gaps of rows left out first, because padding and
// joining take the first `size` rows. Then it pads images in place, which works because each image
// lies at the end of its room (PadRows()). At last it joins the variable fields, which threads have
// filled row by row, each row in its own memory.
#include "reader/batch/slot.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "format/pixels/nearest.h"
#include "reader/batch/batch_recipe.h"
#include "reader/dataset/options_of.h"
#include "reader/order/sample_draw.h"

namespace sluice {

namespace {

void MoveRow(std::byte* first, std::size_t row_bytes, std::size_t from, std::size_t to) {
  std::memcpy(first + to * row_bytes, first + from * row_bytes, row_bytes);
}

// Images that differ in size stay where they are; only their sizes and offsets move.
void MoveImage(std::byte* first, SlotImage& image, std::size_t from, std::size_t to) {
  if (image.sized.sizes.empty()) {
    MoveRow(first, image.image.sample_bytes(), from, to);
  } else {
    image.sized.sizes[to] = image.sized.sizes[from];
    image.sized.offsets[to] = image.sized.offsets[from];
  }
  image.present[to] = image.present[from];
  if (!image.shown.empty()) image.shown[to] = image.shown[from];
}

void FillPixels(std::uint8_t* at, std::size_t bytes, std::size_t value_bytes, std::uint32_t fill) {
  if (fill == 0) {
    std::memset(at, 0, bytes);
  } else {
    SetValues(at, bytes / value_bytes, static_cast<std::uint32_t>(value_bytes), fill);
  }
}

// Pads the first `count` rows to the right and below with values of the bits `fill`, and gives the
// image the size of the padded rows. The rows lie in order, and none begins before its padded
// place.
void PadRows(std::uint8_t* first, std::size_t count, std::uint32_t fill, ImageBatch& image,
             SizedRows& rows) {
  image.height = image.width = 0;
  for (std::size_t row = 0; row < count; ++row) {
    image.height = std::max<std::size_t>(image.height, rows.sizes[row].height);
    image.width = std::max<std::size_t>(image.width, rows.sizes[row].width);
  }
  const std::size_t value = SizeOf(image.type);
  const bool planar = image.layout == Layout::kNCHW;
  const std::size_t planes = planar ? image.channels : 1;
  const std::size_t pixel = value * (planar ? 1 : image.channels);
  const std::size_t line = image.width * pixel;
  // Every line moves towards the front, and never onto a line that has yet to move: an image ends
  // at or after the end of its padded place, and its remaining lines take no more bytes than remain
  // of that place.
  for (std::size_t row = 0; row < count; ++row) {
    const ImageSize size = rows.sizes[row];
    const std::uint8_t* from = first + rows.offsets[row] * value;
    std::uint8_t* to = first + row * image.sample_bytes();
    for (std::size_t plane = 0; plane < planes; ++plane) {
      for (std::size_t y = 0; y < size.height; ++y, from += size.width * pixel, to += line) {
        std::memmove(to, from, size.width * pixel);
        FillPixels(to + size.width * pixel, line - size.width * pixel, value, fill);
      }
      const std::size_t below = (image.height - size.height) * line;
      FillPixels(to, below, value, fill);
      to += below;
    }
    rows.offsets[row] = row * image.sample_bytes() / value;
  }
}

// Joins the first `count` rows. Keeps memory for the next batch, except that of long rows.
void JoinRows(VariableRows& variable, std::size_t count, std::size_t entry_bytes) {
  constexpr std::size_t kMaxKeptBytes = 16384;
  const std::size_t bytes = std::accumulate(
      variable.rows.begin(), variable.rows.begin() + static_cast<std::ptrdiff_t>(count),
      std::size_t{0},
      [](std::size_t sum, const std::vector<std::byte>& row) { return sum + row.size(); });
  std::vector<std::byte>& values = variable.values;
  values.clear();
  if (bytes > values.capacity()) {
    values = {};  // freed first, so that the old and the new buffer never exist together
    values.reserve(bytes);
  }
  variable.offsets[0] = 0;
  for (std::size_t row = 0; row < count; ++row) {
    std::vector<std::byte>& of_row = variable.rows[row];
    values.insert(values.end(), of_row.begin(), of_row.end());
    variable.offsets[row + 1] = values.size() / entry_bytes;
    if (of_row.capacity() > kMaxKeptBytes) of_row = {};
  }
}

}  // namespace

void RenewMemory(Slot& slot, HostBuffer memory) {
  const SlotLayout& layout = *slot.layout;
  slot.memory = std::move(memory);
  for (std::size_t i = 0; i < layout.images.size(); ++i) {
    slot.images[i].image.data =
        reinterpret_cast<const std::uint8_t*>(slot.memory.data() + layout.images[i].offset);
  }
}

void Prepare(Slot& slot, const SlotLayout& layout, HostBuffer memory) {
  slot.layout = &layout;
  for (const SlotLayout::ImageField& field : layout.images) {
    SlotImage& image = slot.images.emplace_back();
    image.image = field.image;
    image.image.samples = 0;
    image.present.resize(layout.batch_size, 1);
    if (layout.keeps_shown) image.shown.resize(layout.batch_size);
    if (layout.image_sizes == ImageSizes::kEqual) continue;
    image.sized.sizes.resize(layout.batch_size);
    image.sized.offsets.resize(layout.batch_size);
  }
  for (std::size_t v = 0; v < layout.variables.size(); ++v)
    slot.variables.emplace_back(layout.batch_size);
  slot.refs.resize(layout.batch_size);
  slot.flags.resize(layout.batch_size);
  slot.positions.resize(layout.batch_size);
  slot.samples.resize(layout.batch_size);
  slot.part_counts.resize(layout.batch_size, 1);
  slot.maps.resize(layout.batch_size * layout.parts, RowMapOf({}));
  slot.partners.resize(layout.batch_size * (layout.parts - 1));
  slot.files.resize(layout.batch_size);
  RenewMemory(slot, std::move(memory));
}

std::size_t PartsOf(const Slot& slot, std::size_t row) noexcept {
  return slot.has_partners ? slot.part_counts[row] : 1;
}

void SetStages(Slot& slot, std::vector<std::size_t> stages) {
  for (std::size_t i = 0; i < slot.images.size(); ++i) {
    const SlotLayout::ImageField& field = slot.layout->images[i];
    const Geometry::Extent& extent = field.extents[stages[field.view]];
    slot.images[i].image.width = extent.width;
    slot.images[i].image.height = extent.height;
  }
  slot.stages = std::move(stages);
}

void BeginBatch(Slot& slot, const BatchRecipe& recipe, std::uint64_t epoch, std::size_t rows) {
  if (slot.device != nullptr) slot.device->TakeBackAll();
  slot.epoch = epoch;
  slot.rows = slot.size = rows;
  for (SlotImage& image : slot.images)
    image.image.samples = rows;
  const std::uint64_t seed = recipe.options.seed;
  slot.draw_seed = DrawSeed(seed, epoch);
  slot.has_partners = PartsIn(recipe.options, epoch) > 1;
  slot.view_seeds.resize(recipe.views.size());
  std::optional<std::uint32_t> size;
  if (const auto& lists = recipe.options.order.batches.lists()) {
    const auto batches = lists->Of(epoch);
    if (!batches->sizes.empty()) size = batches->sizes[slot.index];
  }
  std::vector<std::size_t> stages;
  for (std::size_t v = 0; v < recipe.views.size(); ++v) {
    slot.view_seeds[v] = DrawSeed(seed, epoch, static_cast<std::uint16_t>(v));
    // LoaderOptions::sizes are those of the first view.
    stages.push_back(recipe.views[v].geometry.StageOf(epoch, slot.draw_seed, slot.index,
                                                      v == 0 ? size : std::nullopt));
  }
  SetStages(slot, std::move(stages));
}

void CountParts(const BatchRecipe& recipe, Slot& slot, std::size_t row) {
  const Geometry& geometry = recipe.views[0].geometry;
  const std::size_t stage =
      geometry.RowStage(slot.stages[0], slot.view_seeds[0], slot.positions[row]);
  slot.part_counts[row] = static_cast<std::uint8_t>(geometry.parts(stage));
}

bool SetRowSize(Slot& slot, std::size_t image, std::size_t row, std::size_t width,
                std::size_t height) {
  const SlotLayout& layout = *slot.layout;
  const ImageBatch& batch = slot.images[image].image;
  if (layout.image_sizes == ImageSizes::kEqual)
    return width == batch.width && height == batch.height;
  const SlotLayout::ImageField& field = layout.images[image];
  const Geometry::Extent& least = field.least[slot.stages[field.view]];
  const std::size_t room = field.row_bytes;
  const std::size_t value = SizeOf(batch.type);
  const std::size_t bytes = width * height * batch.channels * value;
  // The room was computed from the manifest's sizes: a picture of another size would not fit, or
  // would break a step that needs a least size.
  if (width < least.width || width > batch.width || height < least.height ||
      height > batch.height || bytes > room) {
    return false;
  }
  SizedRows& sized = slot.images[image].sized;
  sized.sizes[row] = {static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width)};
  const bool padded = layout.image_sizes == ImageSizes::kPadded;
  // At the end of the row's room if it will be padded: PadRows() then moves every line towards the
  // front.
  sized.offsets[row] = (padded ? (row + 1) * room - bytes : row * room) / value;
  return true;
}

ImageBatch RowOf(const Slot& slot, std::size_t image, std::size_t row) {
  ImageBatch one = slot.images[image].image;
  const SizedRows& sized = slot.images[image].sized;
  one.samples = 1;
  if (sized.sizes.empty()) {
    one.data += row * one.sample_bytes();
  } else {
    one.data += sized.offsets[row] * SizeOf(one.type);
    one.height = sized.sizes[row].height;
    one.width = sized.sizes[row].width;
  }
  return one;
}

void ResetProgress(Slot& slot) {
  slot.blocks.clear();
  slot.column_blocks.clear();
  slot.handed_out = 0;
  slot.done = 0;
  slot.in_hand = 0;
  slot.to_upload = slot.uploading = 0;
  if (slot.device != nullptr) slot.device->host_only = false;
  slot.left_out = 0;
  slot.error.reset();
  slot.abandoned.store(false, std::memory_order_relaxed);
}

void CloseGaps(Slot& slot) {
  std::size_t to = 0;
  slot.valid = 0;
  for (std::size_t from = 0; from < slot.rows; ++from) {
    if (slot.flags[from] == kLeftOut) continue;
    if (slot.flags[from] != SampleFlag::kFillsUp) ++slot.valid;
    if (to != from) {
      for (std::size_t i = 0; i < slot.images.size(); ++i) {
        const SlotLayout::ImageField& field = slot.layout->images[i];
        MoveImage(slot.memory.data() + field.offset, slot.images[i], from, to);
      }
      if (slot.device != nullptr) slot.device->MoveRow(from, to);
      for (VariableRows& variable : slot.variables) {
        // Swapped, not copied, so that both rows keep their memory for later batches.
        variable.rows[to].swap(variable.rows[from]);
        variable.present[to] = variable.present[from];
      }
      for (const SlotLayout::ArrayField& array : slot.layout->arrays)
        MoveRow(slot.memory.data() + array.offset, array.sample_bytes, from, to);
      slot.flags[to] = slot.flags[from];
      slot.part_counts[to] = slot.part_counts[from];
      slot.samples[to] = slot.samples[from];
      slot.positions[to] = slot.positions[from];
      for (std::size_t part = 0; part < slot.layout->parts; ++part) {
        MapOf(slot, to, part) = MapOf(slot, from, part);
        if (part > 0) PartnerOf(slot, to, part) = PartnerOf(slot, from, part);
      }
    }
    ++to;
  }
  slot.size = to;
  for (SlotImage& image : slot.images)
    image.image.samples = to;
}

void Close(Slot& slot) {
  slot.first_position = slot.positions[0];
  if (slot.left_out > 0) CloseGaps(slot);
  slot.part_samples.clear();
  for (std::size_t row = 0; row < slot.size && slot.layout->parts > 1; ++row) {
    slot.part_samples.push_back(slot.samples[row]);
    for (std::size_t part = 1; part < slot.layout->parts; ++part) {
      const bool shown = part < PartsOf(slot, row);
      slot.part_samples.push_back(shown ? RefOf(slot, row, part).index : Batch::kNoSample);
      if (!shown) MapOf(slot, row, part) = RowMapOf({});  // it has that of an earlier batch
    }
  }
  const SlotLayout& layout = *slot.layout;
  for (std::size_t i = 0; i < slot.images.size(); ++i) {
    const SlotLayout::ImageField& field = layout.images[i];
    SlotImage& image = slot.images[i];
    image.image.samples = slot.size;
    if (layout.image_sizes == ImageSizes::kPadded) {
      auto* const first = reinterpret_cast<std::uint8_t*>(slot.memory.data() + field.offset);
      PadRows(first, slot.size, field.fill, image.image, image.sized);
    } else if (layout.image_sizes == ImageSizes::kOwn) {
      image.image.height = image.image.width = 0;
    }
  }
}

void JoinFields(Slot& slot) {
  for (std::size_t v = 0; v < slot.variables.size(); ++v)
    JoinRows(slot.variables[v], slot.size, slot.layout->variables[v].entry_bytes);
}

}  // namespace sluice
