#include "reader/batch/slot.h"

#include <cstring>
#include <utility>

#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot_layout.h"

namespace sluice {

namespace {

void MoveRow(std::byte* first, std::size_t row_bytes, std::size_t from, std::size_t to) {
  std::memcpy(first + to * row_bytes, first + from * row_bytes, row_bytes);
}

// Images that differ in size stay where they are.
void MoveImage(std::byte* first, const ImageBatch& image, SizedRows& sized, std::size_t from,
               std::size_t to) {
  if (sized.sizes.empty()) {
    MoveRow(first, image.sample_bytes(), from, to);
  } else {
    sized.sizes[to] = sized.sizes[from];
    sized.offsets[to] = sized.offsets[from];
  }
}

void PrepareSized(SizedRows& sized, const SlotLayout& layout) {
  if (layout.image_sizes == ImageSizes::kEqual) return;
  sized.sizes.resize(layout.batch_size);
  sized.offsets.resize(layout.batch_size);
}

void Finish(const SlotLayout& layout, std::byte* memory, std::size_t count, std::uint16_t fill,
            ImageBatch& image, SizedRows& sized) {
  if (layout.image_sizes == ImageSizes::kPadded) {
    PadRows(reinterpret_cast<std::uint8_t*>(memory), count, fill, image, sized);
  } else if (layout.image_sizes == ImageSizes::kOwn) {
    image.height = image.width = 0;
  }
}

}  // namespace

void RenewMemory(Slot& slot, std::shared_ptr<DeviceDriver> pinned) {
  const SlotLayout& layout = *slot.layout;
  slot.memory = HostBuffer(layout.bytes, std::move(pinned));
  slot.image.data = reinterpret_cast<const std::uint8_t*>(slot.memory.data());
  for (std::size_t i = 0; i < layout.further_images.size(); ++i)
    slot.further_images[i].image.data = slot.image.data + layout.further_images[i].offset;
}

void Prepare(Slot& slot, const SlotLayout& layout, std::shared_ptr<DeviceDriver> pinned) {
  slot.layout = &layout;
  slot.image = layout.image;
  slot.image.samples = 0;
  for (const SlotLayout::ImageField& further : layout.further_images) {
    FurtherImage& image = slot.further_images.emplace_back();
    image.image = further.image;
    image.present.resize(layout.batch_size);
    if (layout.keeps_shown) image.shown.resize(layout.batch_size);
    PrepareSized(image.sized, layout);
  }
  if (layout.image_field != Schema::kNone) PrepareSized(slot.sized, layout);
  for (std::size_t v = 0; v < layout.variables.size(); ++v)
    slot.variables.emplace_back(layout.batch_size);
  if (layout.keeps_shown) slot.shown.resize(layout.batch_size);
  slot.refs.resize(layout.batch_size);
  slot.flags.resize(layout.batch_size);
  slot.positions.resize(layout.batch_size);
  slot.samples.resize(layout.batch_size);
  slot.files.resize(layout.batch_size);
  RenewMemory(slot, std::move(pinned));
}

void SetStages(Slot& slot, std::vector<std::size_t> stages) {
  const auto set = [](ImageBatch& image, const Geometry::Extent& extent) {
    image.width = extent.width;
    image.height = extent.height;
  };
  const SlotLayout& layout = *slot.layout;
  if (layout.image_field != Schema::kNone) set(slot.image, layout.extents[stages[0]]);
  for (std::size_t i = 0; i < layout.further_images.size(); ++i) {
    const SlotLayout::ImageField& further = layout.further_images[i];
    set(slot.further_images[i].image, further.extents[stages[further.view]]);
  }
  slot.stages = std::move(stages);
}

void BeginBatch(Slot& slot, const BatchRecipe& recipe, std::uint64_t epoch, std::size_t rows) {
  DropJpegs(slot);
  slot.epoch = epoch;
  slot.rows = slot.size = rows;
  if (slot.layout->image_field != Schema::kNone) slot.image.samples = rows;
  for (FurtherImage& further : slot.further_images)
    further.image.samples = rows;
  const std::uint64_t seed = recipe.options.seed;
  slot.draw_seed = DrawSeed(seed, epoch);
  slot.view_seeds.resize(recipe.views.size());
  std::vector<std::size_t> stages;
  for (std::size_t v = 0; v < recipe.views.size(); ++v) {
    slot.view_seeds[v] = DrawSeed(seed, epoch, static_cast<std::uint16_t>(v));
    stages.push_back(recipe.views[v].geometry.StageOf(epoch));
  }
  SetStages(slot, std::move(stages));
}

bool SetRowSize(Slot& slot, std::size_t picture, std::size_t row, std::size_t width,
                std::size_t height) {
  const SlotLayout& layout = *slot.layout;
  const SlotLayout::ImageField* const field =
      picture == 0 ? nullptr : &layout.further_images[picture - 1];
  const ImageBatch& image = field == nullptr ? slot.image : slot.further_images[picture - 1].image;
  if (layout.image_sizes == ImageSizes::kEqual)
    return width == image.width && height == image.height;
  SizedRows& sized = field == nullptr ? slot.sized : slot.further_images[picture - 1].sized;
  const std::size_t stage = slot.stages[field == nullptr ? 0 : field->view];
  const Geometry::Extent& least = field == nullptr ? layout.least[stage] : field->least[stage];
  const std::size_t room = field == nullptr ? layout.row_bytes : field->row_bytes;
  const std::size_t value = SizeOf(image.type);
  const std::size_t bytes = width * height * image.channels * value;
  if (width < least.width || width > image.width || height < least.height ||
      height > image.height || bytes > room) {
    return false;
  }
  sized.sizes[row] = {static_cast<std::uint32_t>(height), static_cast<std::uint32_t>(width)};
  const bool padded = layout.image_sizes == ImageSizes::kPadded;
  sized.offsets[row] = (padded ? (row + 1) * room - bytes : row * room) / value;
  return true;
}

ImageBatch RowOf(const Slot& slot, std::size_t picture, std::size_t row) {
  const bool first = picture == 0;
  ImageBatch image = first ? slot.image : slot.further_images[picture - 1].image;
  const SizedRows& sized = first ? slot.sized : slot.further_images[picture - 1].sized;
  image.samples = 1;
  if (sized.sizes.empty()) {
    image.data += row * image.sample_bytes();
  } else {
    image.data += sized.offsets[row] * SizeOf(image.type);
    image.height = sized.sizes[row].height;
    image.width = sized.sizes[row].width;
  }
  return image;
}

void ResetProgress(Slot& slot) {
  slot.blocks.clear();
  slot.handed_out = 0;
  slot.done = 0;
  slot.in_hand = 0;
  slot.to_upload = slot.uploading = 0;
  slot.all_here = false;
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
      const SlotLayout::DeviceOps& ops = slot.layout->ops;
      MoveImage(slot.memory.data(), slot.image, slot.sized, from, to);
      MoveRow(slot.memory.data() + ops.offset, ops.row_bytes(), from, to);
      for (std::size_t i = 0; i < slot.further_images.size(); ++i) {
        const SlotLayout::ImageField& further = slot.layout->further_images[i];
        FurtherImage& image = slot.further_images[i];
        MoveImage(slot.memory.data() + further.offset, image.image, image.sized, from, to);
        MoveRow(slot.memory.data() + further.ops.offset, further.ops.row_bytes(), from, to);
        image.present[to] = image.present[from];
        if (!image.shown.empty()) image.shown[to] = image.shown[from];
      }
      for (VariableRows& variable : slot.variables)
        variable.Move(from, to);
      for (const SlotLayout::ArrayField& array : slot.layout->arrays)
        MoveRow(slot.memory.data() + array.offset, array.sample_bytes, from, to);
      if (!slot.shown.empty()) slot.shown[to] = slot.shown[from];
      slot.flags[to] = slot.flags[from];
      slot.samples[to] = slot.samples[from];
    }
    ++to;
  }
  slot.size = to;
  if (slot.layout->image_field != Schema::kNone) slot.image.samples = to;
}

void Close(Slot& slot) {
  if (slot.left_out > 0) CloseGaps(slot);
  const SlotLayout& layout = *slot.layout;
  if (layout.image_field != Schema::kNone)
    Finish(layout, slot.memory.data(), slot.size, layout.image_fill, slot.image, slot.sized);
  for (std::size_t i = 0; i < slot.further_images.size(); ++i) {
    FurtherImage& further = slot.further_images[i];
    const SlotLayout::ImageField& field = layout.further_images[i];
    further.image.samples = slot.size;
    Finish(layout, slot.memory.data() + field.offset, slot.size, field.fill, further.image,
           further.sized);
  }
  for (std::size_t v = 0; v < slot.variables.size(); ++v)
    slot.variables[v].Join(slot.size, slot.layout->variables[v].entry_bytes);
}

}  // namespace sluice
