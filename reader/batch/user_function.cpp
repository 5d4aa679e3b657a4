// The two objects by which the user's functions see a slot: MutableSample is one row, which nobody
// else touches meanwhile; MutableBatch is all rows, once they are done. Both change the slot's
// memory in place.
#include <algorithm>
#include <cstring>
#include <functional>

#include <sluice/error.h>
#include <sluice/user_function.h>

#include "format/random.h"
#include "reader/batch/slot.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"

namespace sluice {

namespace {

template <class FieldOfLayout>
// RefuseKind() tells a name that the batch lacks from one of another kind, and names the call that
// reads that kind.
std::size_t Find(const SlotLayout& layout, const std::vector<FieldOfLayout>& fields,
                 std::string_view name, const char* kind) {
  const std::size_t found = FindIn(fields, name);
  if (found == Schema::kNone) RefuseKind(layout, name, kind, "Variable<std::byte>()");
  return found;
}

// `type`: a DType, or -1 for a bytes field.
std::size_t FindVariable(const SlotLayout& layout, std::string_view name, int type) {
  const std::size_t v = Find(layout, layout.variables, name, "variable-length or bytes field");
  const SlotLayout::VariableField& field = layout.variables[v];
  if (field.bytes != (type < 0)) {
    RefuseField(name,
                field.bytes ? "holds bytes; read it as std::byte" : "holds numbers, not bytes");
  }
  if (type >= 0) RequireType(name, field.dtype, static_cast<DType>(type));
  return v;
}

void RequireWholeEntries(const SlotLayout& layout, std::size_t v,
                         std::span<const std::byte> bytes) {
  const SlotLayout::VariableField& field = layout.variables[v];
  if (bytes.size() % field.entry_bytes == 0) return;
  RefuseField(field.name, "was given a number of elements that is not a whole number of entries");
}

void RequireRow(std::string_view field, std::size_t row, std::size_t rows) {
  if (row < rows) return;
  RefuseField(field, "is asked for row " + std::to_string(row) + " of " + std::to_string(rows));
}

}  // namespace

std::uint32_t Draws::Word() noexcept {
  return stream_->Word();
}
double Draws::Uniform() noexcept {
  return stream_->Uniform();
}
std::uint64_t Draws::Below(std::uint64_t n) noexcept {
  return stream_->Below(n);
}

std::uint64_t MutableRows::epoch() const noexcept {
  return slot_.epoch;
}

std::shared_ptr<const void> MutableRows::Keep() {
  // An array that the function left behind points into the slot's memory. The share keeps it valid;
  // the loader then reports the function by an error, since it has to reuse that memory for later
  // batches.
  kept_ = true;
  return slot_.memory.Share();
}

std::size_t MutableRows::PictureOf(std::string_view field) const {
  const SlotLayout& layout = *slot_.layout;
  if (!field.empty()) return Find(layout, layout.images, field, "image");
  if (!layout.images.empty()) return 0;
  throw Error(
      ErrorCode::kInvalidArgument,
      "this batch has no image: the dataset has none, or LoaderOptions::output.fields leaves it "
      "out");
}

// A single row's image has its own size: a sample's batch is not padded yet, and a batch of one row
// is padded to the size of that row.
ImageBatch MutableRows::ImageOf(std::size_t picture) const {
  if (count_ == 1) return RowOf(slot_, picture, first_);
  ImageBatch image = slot_.images[picture].image;
  image.data += first_ * image.sample_bytes();
  image.samples = count_;
  return image;
}

ImageBatch MutableRows::shape(std::string_view field) const {
  return ImageOf(PictureOf(field));
}

ImageBatch MutableBatch::shape(std::string_view field, std::size_t row) const {
  RequireRow(field, row, count_);
  const std::size_t picture = PictureOf(field);
  if (slot_.layout->image_sizes == ImageSizes::kOwn) return RowOf(slot_, picture, first_ + row);
  ImageBatch image = ImageOf(picture);
  image.data += row * image.sample_bytes();
  image.samples = 1;
  return image;
}

std::span<const ImageSize> MutableBatch::sizes(std::string_view field) const {
  if (slot_.layout->image_sizes == ImageSizes::kEqual) {
    RefuseField(slot_.layout->NameFor(field), "has images of one size, which shape() gives");
  }
  const std::size_t picture = PictureOf(field);
  return std::span(slot_.images[picture].sized.sizes).subspan(first_, count_);
}

std::span<std::byte> MutableBatch::ImageBytes(std::string_view field, std::size_t row) {
  const ImageBatch image = shape(field, row);
  return {const_cast<std::byte*>(reinterpret_cast<const std::byte*>(image.data)),
          image.sample_bytes()};
}

void MutableRows::RefuseState() const {
  throw Error(ErrorCode::kState, memory_->state.has_value()
                                     ? "the thread's state has another type: ask for the type that "
                                       "LoaderOptions::thread_setup returns"
                                     : "the thread has no state: set LoaderOptions::thread_setup "
                                       "to a function that makes one");
}

void MutableRows::RefuseValues(std::string_view field) const {
  RefuseValuesOf(shape(field).type, slot_.layout->NameFor(field));
}

std::span<std::byte> MutableRows::ImageBytes(std::string_view field) {
  const ImageBatch image = shape(field);
  if (count_ > 1 && slot_.layout->image_sizes == ImageSizes::kOwn) {
    RefuseField(slot_.layout->NameFor(field),
                "has images of different sizes; ask for the image of one row at a time");
  }
  return {const_cast<std::byte*>(reinterpret_cast<const std::byte*>(image.data)),
          count_ * image.sample_bytes()};
}

void MutableRows::WriteBorder(std::span<std::uint8_t> map, std::string_view field) const {
  const SlotLayout& layout = *slot_.layout;
  const std::size_t picture = PictureOf(field);
  const ImageBatch image = ImageOf(picture);
  const std::string_view name = layout.NameFor(field);
  const std::vector<VisiblePart>& shown = slot_.images[picture].shown;
  if (count_ > 1 && layout.image_sizes != ImageSizes::kEqual) {
    RefuseField(name, "has images of different sizes, whose border a sample_function may ask for");
  }
  if (layout.images[picture].moves) {
    RefuseField(name,
                "goes through RandAugment or TrivialAugmentWide, which move pixels on their own, "
                "so its border is unknown; use RandomAffine and steps that change colours");
  }
  const std::size_t pixels = image.height * image.width;
  if (map.size() != count_ * pixels) {
    RefuseField(name, "needs a map of " + std::to_string(count_ * pixels) +
                          " bytes for its border, one byte a pixel; this one has " +
                          std::to_string(map.size()));
  }
  for (std::size_t row = 0; row < count_; ++row)
    shown[first_ + row].WriteBorder(map.data() + row * pixels);
}

std::span<std::byte> MutableRows::FieldBytes(std::string_view name, DType type) {
  const SlotLayout& layout = *slot_.layout;
  const SlotLayout::ArrayField& array =
      layout.arrays[Find(layout, layout.arrays, name, "fixed-shape array")];
  RequireType(name, array.dtype, type);
  return {slot_.memory.data() + array.offset + first_ * array.sample_bytes,
          count_ * array.sample_bytes};
}

std::string MutableSample::key() const {
  // Keys are read from the shard now, since few functions ask for them.
  const SampleRef& ref = slot_.refs[first_];
  const ShardUse shard = dataset_.table.Shard(ref.shard);
  try {
    return dataset_.Key(*shard, std::uint64_t{ref.block} * shard->block_samples() + ref.record,
                        kMaxKeyChunkBytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kLimit) throw;
    throw Error(ErrorCode::kLimit, error.file(), error.place(),
                error.sentence() +
                    "; use index() in the function, and read keys before the epoch: "
                    "dataset[index].key() has no such limit");
  }
}
std::uint64_t MutableSample::index() const noexcept {
  return slot_.refs[first_].index;
}
std::uint64_t MutableSample::position() const noexcept {
  return slot_.positions[first_];
}

std::vector<std::byte>& MutableSample::VariableBytes(std::string_view name, int type) const {
  return slot_.variables[FindVariable(*slot_.layout, name, type)].rows[first_];
}

void MutableSample::SetVariableBytes(std::string_view name, int type,
                                     std::span<const std::byte> bytes) {
  const std::size_t v = FindVariable(*slot_.layout, name, type);
  RequireWholeEntries(*slot_.layout, v, bytes);
  std::vector<std::byte>& row = slot_.variables[v].rows[first_];
  // The new value may be a part of the old one, as when a function keeps only some entries;
  // assign() must not read from the vector that it changes.
  const auto after = [&row](const std::byte* at) { return std::less_equal<>()(row.data(), at); };
  if (!bytes.empty() && after(bytes.data()) &&
      std::less<>()(bytes.data(), row.data() + row.size())) {  // a part of the old value
    std::memmove(row.data(), bytes.data(), bytes.size());
    row.resize(bytes.size());
  } else {
    row.assign(bytes.begin(), bytes.end());
  }
  slot_.variables[v].present[first_] = 1;
}

bool MutableRows::HasInRow(std::string_view field, std::size_t row) const {
  const SlotLayout& layout = *slot_.layout;
  RequireRow(field, row, count_);
  if (const std::size_t a = FindIn(layout.arrays, field); a != Schema::kNone)
    return layout.arrays[a].Has(slot_.samples[first_ + row]);
  if (const std::size_t v = FindIn(layout.variables, field); v != Schema::kNone)
    return slot_.variables[v].present[first_ + row] != 0;
  const std::size_t i = Find(layout, layout.images, field, "field");
  return slot_.images[i].present[first_ + row] != 0;
}

bool MutableSample::Has(std::string_view field) const {
  return HasInRow(field, 0);
}
bool MutableBatch::Has(std::string_view field, std::size_t row) const {
  return HasInRow(field, row);
}

std::uint64_t MutableBatch::index() const noexcept {
  return slot_.index;
}
std::span<const std::uint64_t> MutableBatch::samples() const noexcept {
  return {slot_.samples.data(), count_};
}
std::span<const std::uint64_t> MutableBatch::parts() const noexcept {
  return parts_of_row() == 1 ? samples() : slot_.part_samples;
}
std::size_t MutableBatch::parts_of_row() const noexcept {
  return slot_.layout->parts;
}
std::span<const RowMap> MutableBatch::maps() const noexcept {
  return {slot_.maps.data(), count_ * parts_of_row()};
}

VariableValues<std::byte> MutableBatch::VariableBytes(std::string_view name, int type) const {
  const std::size_t v = FindVariable(*slot_.layout, name, type);
  const VariableRows& rows = slot_.variables[v];
  return {rows.values, std::span(rows.offsets).first(count_ + 1), slot_.layout->variables[v].entry};
}

void MutableBatch::SetVariableBytes(std::string_view name, int type, std::size_t row,
                                    std::span<const std::byte> bytes) {
  const std::size_t v = FindVariable(*slot_.layout, name, type);
  RequireWholeEntries(*slot_.layout, v, bytes);
  RequireRow(name, row, count_);
  const std::size_t entry_bytes = slot_.layout->variables[v].entry_bytes;
  VariableRows& rows = slot_.variables[v];
  const std::uint64_t old = rows.offsets[row + 1] - rows.offsets[row];
  const std::vector<std::byte> given(bytes.begin(), bytes.end());  // may be a part of the values
  const auto at =
      rows.values.begin() + static_cast<std::ptrdiff_t>(rows.offsets[row] * entry_bytes);
  rows.values.insert(rows.values.erase(at, at + static_cast<std::ptrdiff_t>(old * entry_bytes)),
                     given.begin(), given.end());
  for (std::size_t after = row + 1; after <= count_; ++after)
    rows.offsets[after] += given.size() / entry_bytes - old;
  rows.present[row] = 1;
}

}  // namespace sluice
