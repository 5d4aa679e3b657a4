#include "reader/batch/slot.h"

#include <cstring>

#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot_layout.h"

namespace sluice {

namespace {

void MoveRow(std::byte* first, std::size_t row_bytes, std::size_t from, std::size_t to) {
  std::memcpy(first + to * row_bytes, first + from * row_bytes, row_bytes);
}

}  // namespace

void Prepare(Slot& slot, const SlotLayout& layout, std::shared_ptr<DeviceDriver> pinned) {
  slot.layout = &layout;
  slot.memory = HostBuffer(layout.bytes, std::move(pinned));
  slot.image = layout.image;
  slot.image.samples = 0;
  slot.image.data = reinterpret_cast<const std::uint8_t*>(slot.memory.data());
  for (const SlotLayout::ImageField& further : layout.further_images) {
    FurtherImage& image = slot.further_images.emplace_back();
    image.image = further.image;
    image.image.data = slot.image.data + further.offset;
    image.present.resize(layout.batch_size);
    if (layout.keeps_shown) image.shown.resize(layout.batch_size);
  }
  for (std::size_t v = 0; v < layout.variables.size(); ++v)
    slot.variables.emplace_back(layout.batch_size);
  if (layout.keeps_shown) slot.shown.resize(layout.batch_size);
  slot.refs.resize(layout.batch_size);
  slot.flags.resize(layout.batch_size);
  slot.positions.resize(layout.batch_size);
  slot.samples.resize(layout.batch_size);
  slot.files.resize(layout.batch_size);
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

void ResetProgress(Slot& slot) {
  slot.blocks.clear();
  slot.handed_out = 0;
  slot.done = 0;
  slot.in_hand = 0;
  slot.to_upload = 0;
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
      MoveRow(slot.memory.data(), slot.image.sample_bytes(), from, to);
      MoveRow(slot.memory.data() + ops.offset, ops.row_bytes(), from, to);
      for (std::size_t i = 0; i < slot.further_images.size(); ++i) {
        const SlotLayout::ImageField& further = slot.layout->further_images[i];
        MoveRow(slot.memory.data() + further.offset, slot.further_images[i].image.sample_bytes(),
                from, to);
        MoveRow(slot.memory.data() + further.ops.offset, further.ops.row_bytes(), from, to);
        FurtherImage& image = slot.further_images[i];
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
  for (FurtherImage& further : slot.further_images)
    further.image.samples = slot.size;
  for (std::size_t v = 0; v < slot.variables.size(); ++v)
    slot.variables[v].Join(slot.size, slot.layout->variables[v].entry_bytes);
}

}  // namespace sluice
