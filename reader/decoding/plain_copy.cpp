// Serves() lists everything that must hold for a row to be a copy of mapped bytes. A new option
// that changes rows must be refused there.
//
// Fill() goes over its rows several times instead of row by row, so that one pass prefetches what
// the next one reads: FindRows() the rows of the blocks' tables, CopyImages() the pixels of later
// rows. The guard is held while bytes of mappings are read. A row counts as filled only if its file
// was still whole after everything had been copied; any other row is left to SampleReader, even if
// its memory has been written.
#include "reader/decoding/plain_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "format/pixels/lines.h"
#include "reader/dataset/options_of.h"

namespace sluice {

namespace {

// Each image is prefetched into the CPU's caches kRowsAhead rows before it is copied. Only its
// first kAheadBytes are: after those, the CPU prefetches by itself.
constexpr std::size_t kRowsAhead = 2;
constexpr std::size_t kAheadBytes = 1024;
constexpr std::size_t kAheadStep = 64;

template <class... Steps>
bool IsOneOf(const Transform& step) {
  return (std::holds_alternative<Steps>(step) || ...);
}

// Whether the step moves pixels without mixing them.
bool OnlyMoves(const Transform& step) {
  return IsOneOf<RandomCrop, CenterCrop, HorizontalFlip, VerticalFlip>(step);
}

// The form of every image of the recipe's field, if all are raw and of one size.
ImagePayload ImageOf(const BatchRecipe& recipe) {
  const ImageSummary& images = recipe.dataset.facts->ImagesOf(recipe.layout.picture_field());
  ImagePayload image;
  image.codec = Codec::kRaw;
  image.width = images.max_width;
  image.height = images.max_height;
  image.channels = images.max_channels;
  image.pixel_type = images.pixel_type;
  return image;
}

void CopyElements(const std::byte* from, std::size_t bytes, std::byte* to) noexcept {
  if (bytes == sizeof(std::uint32_t)) {
    std::memcpy(to, from, sizeof(std::uint32_t));
  } else if (bytes == sizeof(std::uint64_t)) {
    std::memcpy(to, from, sizeof(std::uint64_t));
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

bool PlainCopy::Serves(const BatchRecipe& recipe) {
  const SlotLayout& layout = recipe.layout;
  const LoaderOptions& options = recipe.options;
  if (layout.images.size() != 1 || layout.image_sizes != ImageSizes::kEqual || layout.keeps_shown ||
      !layout.variables.empty() || !recipe.followers.empty() || recipe.program.target() ||
      options.sample_function) {
    return false;
  }
  const SlotLayout::ImageField& picture = layout.picture();
  if (picture.wide || picture.nearest || recipe.views[0].pixels.device_ops() != 0 ||
      recipe.dataset.facts->RawImageBytes(picture.field) == 0) {
    return false;
  }
  if (options.on_device.images != ImagesIn::kStorage || ReadsDirectly(options) ||
      recipe.dataset.table.remote != nullptr || recipe.dataset.facts->supply != nullptr ||
      options.keep || !recipe.dataset.table.keeps_all() || !recipe.dataset.facts->one_layout() ||
      options.integrity.verify == Verify::kAlways) {
    return false;
  }
  for (const UsedColumn& used : UsedColumnsOf(recipe))
    if (used.column->table.remote != nullptr || !used.column->table.keeps_all()) return false;
  const ImagePayload image = ImageOf(recipe);
  const ViewProgram& view = recipe.views[0];
  for (std::size_t stage = 0; stage < view.geometry.stages(); ++stage) {
    const Pipeline& steps = view.geometry.steps(stage);
    if (!view.pixels.idle(stage) || !std::ranges::all_of(steps, OnlyMoves)) return false;
  }
  return image.channels == picture.image.channels &&
         !recipe.dataset.facts->limits.CheckImage(picture.field, image);
}

PlainCopy::PlainCopy(const BatchRecipe& recipe, ComparedPayloads* compared)
    : dataset_(recipe.dataset),
      layout_(recipe.layout),
      geometry_(recipe.views[0].geometry),
      compared_(compared),
      record_bytes_(dataset_.facts->layout.record_bytes()),
      entry_offset_(dataset_.facts->layout.offset(layout_.picture_field())),
      image_(ImageOf(recipe)),
      image_bytes_(dataset_.facts->RawImageBytes(layout_.picture_field())),
      whole_(geometry_.empty() && layout_.picture().image.layout == Layout::kNHWC &&
             layout_.picture().image.sample_bytes() == image_bytes_),
      read_later_(recipe.RowsLeaveCaches()),
      columns_(UsedColumnsOf(recipe)) {
  sources_.reserve(kMaxRows);
  mappings_.reserve(kMaxRows);
}

void PlainCopy::Fill(Slot& slot, std::size_t begin, std::size_t end) {
  begin_ = begin;
  std::fill_n(filled_, end - begin, false);
  FindRows(slot, begin, end);
  if (sources_.empty()) return;
  const ReadGuard guard(mappings_);
  FindPixels();
  CopyArrays(slot);
  CopyImages(slot);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // WholeSoFar() looks after all copying
  const auto whole = [](const ShardFile* file) { return file->WholeSoFar(); };
  if (!std::ranges::all_of(column_files_, whole)) return;
  for (const Source& source : sources_) {
    if (source.pixels == nullptr || !source.file->WholeSoFar()) continue;
    filled_[source.row - begin] = true;
    payload_bytes_ += image_bytes_;
  }
}

void PlainCopy::FindRows(const Slot& slot, std::size_t begin, std::size_t end) {
  sources_.clear();
  mappings_.clear();
  column_entries_.clear();
  column_files_.clear();
  const ShardFile* last = nullptr;
  for (std::size_t row = begin; row < end; ++row) {
    if (slot.flags[row] == kLeftOut) continue;
    const SampleRef& ref = slot.refs[row];
    const ShardFile* const file = dataset_.table.KeptShard(ref.shard);
    if (file == nullptr || (compared_ != nullptr && !compared_->Has(ref, *file))) continue;
    const std::byte* const block = file->VerifiedBlock(ref.block);
    if (block == nullptr) continue;
    if (!FindColumns(ref)) continue;
    const std::byte* const entries = block + sizeof(BlockHeader) + ref.record * record_bytes_;
    __builtin_prefetch(entries);
    sources_.push_back({file, row, block, file->block_entry(ref.block).bytes, entries, nullptr});
    if (file != last) mappings_.push_back(file->guarded());
    last = file;
  }
}

// Notes where the sample's values lie in columns. Returns false, and notes nothing, if a block is
// not open and verified yet: SampleReader then makes the row, and verifies the block.
bool PlainCopy::FindColumns(const SampleRef& ref) {
  const std::size_t before = column_entries_.size();
  for (const UsedColumn& used : columns_) {
    const SampleRef at = used.column->facts->shape.Sample(ref.index);
    const ShardFile* const file = used.column->table.KeptShard(at.shard);
    const std::byte* const block = file == nullptr ? nullptr : file->VerifiedBlock(at.block);
    if (block == nullptr) {
      column_entries_.resize(before);
      return false;
    }
    column_entries_.push_back(block + sizeof(BlockHeader) +
                              at.record * used.layout->record_bytes());
    if (std::ranges::find(column_files_, file) != column_files_.end()) continue;
    column_files_.push_back(file);
    mappings_.push_back(file->guarded());
  }
  return true;
}

void PlainCopy::FindPixels() {
  for (Source& source : sources_) {
    PayloadEntry entry;
    ImageEntryPart part;
    std::memcpy(&entry, source.entries + entry_offset_, sizeof entry);
    std::memcpy(&part, source.entries + entry_offset_ + sizeof entry, sizeof part);
    const bool usual = entry.codec == static_cast<std::uint16_t>(Codec::kRaw) && entry.flags == 0 &&
                       entry.size == image_bytes_ && part.width == image_.width &&
                       part.height == image_.height && part.channels == image_.channels &&
                       part.pixel_type == static_cast<std::uint8_t>(image_.pixel_type) &&
                       entry.offset <= source.block_bytes &&
                       image_bytes_ <= source.block_bytes - entry.offset;
    if (usual) source.pixels = source.block + entry.offset;
  }
}

void PlainCopy::CopyArrays(Slot& slot) const {
  for (const SlotLayout::ArrayField& array : layout_.arrays) {
    std::byte* const first = slot.memory.data() + array.offset;
    const std::size_t bytes = array.sample_bytes;
    if (array.field == Schema::kNone) {
      std::memset(first + sources_.front().row * bytes, 0,
                  (sources_.back().row + 1 - sources_.front().row) * bytes);
      continue;
    }
    const auto has = [&array](const UsedColumn& used) { return used.layout->has(array.field); };
    const auto column = std::ranges::find_if(columns_, has);
    if (column != columns_.end()) {
      const std::byte* const* entries = column_entries_.data() + (column - columns_.begin());
      for (const Source& source : sources_) {
        CopyElements(*entries + column->layout->offset(array.field), bytes,
                     first + source.row * bytes);
        entries += columns_.size();
      }
      continue;
    }
    const std::size_t offset = dataset_.facts->layout.offset(array.field);
    for (const Source& source : sources_)
      CopyElements(source.entries + offset, bytes, first + source.row * bytes);
  }
}

void PlainCopy::CopyImages(Slot& slot) {
  auto* const memory = reinterpret_cast<std::uint8_t*>(slot.memory.data());
  const std::size_t fetched = std::min(image_bytes_, kAheadBytes);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (i + kRowsAhead < sources_.size()) {
      const std::byte* const ahead = sources_[i + kRowsAhead].pixels;
      for (std::size_t at = 0; ahead != nullptr && at < fetched; at += kAheadStep)
        __builtin_prefetch(ahead + at);
    }
    Source& source = sources_[i];
    if (source.pixels == nullptr) continue;
    const auto* const pixels = reinterpret_cast<const std::uint8_t*>(source.pixels);
    if (!whole_) {
      if (!CopyPart(slot, source)) source.pixels = nullptr;
      continue;
    }
    slot.maps[source.row] = RowMapOf({});
    if (read_later_) {
      StreamLines(pixels, 0, image_bytes_, 1, memory + source.row * image_bytes_, 0);
    } else {
      std::memcpy(memory + source.row * image_bytes_, pixels, image_bytes_);
    }
  }
}

bool PlainCopy::CopyPart(Slot& slot, const Source& source) {
  const std::uint64_t seed = slot.view_seeds[0], position = slot.positions[source.row];
  const Frame frame = geometry_.FrameFor(image_.width, image_.height, seed, position,
                                         geometry_.RowStage(slot.stages[0], seed, position));
  const Region& region = frame.region;
  const ImageBatch& batch = slot.images[0].image;
  if (frame.warped || region.width() != batch.width || region.height() != batch.height)
    return false;
  slot.maps[source.row] = RowMapOf(frame.Map());
  ImagePayload image = image_;
  image.bytes = {source.pixels, image_bytes_};
  auto* const target =
      reinterpret_cast<std::uint8_t*>(slot.memory.data()) + source.row * batch.sample_bytes();
  return decoder_.Decode(image, region, {target, image_.channels, OrderOf(batch), read_later_}) ==
         nullptr;
}

}  // namespace sluice
