// The public face of a slot: Batch hands out what the slot holds. The rest of this file makes the
// errors for callers who ask for a field as something that it is not; each error names the call
// that would work.
#include <sluice/batch.h>
#include <sluice/error.h>

#include "reader/batch/slot.h"
#include "reader/dataset/field_choice.h"

namespace sluice {

namespace {

VariableValues<std::byte> ValuesOf(const Slot& slot, std::size_t variable) {
  const SlotLayout::VariableField& field = slot.layout->variables[variable];
  const VariableRows& rows = slot.variables[variable];
  return {rows.values, std::span(rows.offsets).first(slot.size + 1), field.entry};
}

// Advice for a caller who read values as another type.
const char* HowToRead(ElementType type) noexcept {
  switch (type) {
    case ElementType::kUint8:
      return "read them as std::uint8_t, or end the transform with Normalize to get float32 "
             "(Normalize{} gives 0 to 1)";
    case ElementType::kUint16: return "read them as std::uint16_t";
    case ElementType::kInt16: return "read them as std::int16_t";
    case ElementType::kFloat32: return "read them as float";
    case ElementType::kFloat16:
    case ElementType::kBFloat16: break;
  }
  return "read their bits as std::uint16_t, or set Normalize::type to kFloat32";
}

// Returns the index of the image field in Slot::images. Throws Error unless the batch has that
// field.
std::size_t ImageIn(const SlotLayout& layout, std::string_view field) {
  if (field.empty() && layout.images.empty())
    throw Error(ErrorCode::kInvalidArgument, "the batch has no image");
  const std::size_t image = field.empty() ? 0 : FindIn(layout.images, field);
  if (image == Schema::kNone) RefuseKind(layout, field, "image");
  return image;
}

const SizedRows& SizedRowsOf(const Slot& slot, std::string_view field) {
  const SlotLayout& layout = *slot.layout;
  if (field.empty() && layout.images.empty())
    throw Error(ErrorCode::kInvalidArgument, "the batch has no image");
  if (layout.image_sizes == ImageSizes::kEqual) {
    RefuseField(
        layout.NameFor(field),
        "has images of one size, which image(field) gives; for images of different sizes, set "
        "LoaderOptions::output.image_sizes");
  }
  return slot.images[ImageIn(layout, field)].sized;
}

// With a device, the host's memory may hold the images before the device's steps, or not at all.
const ImageBatch& DeliveredImageOf(const Slot& slot, std::size_t image) {
  return slot.device != nullptr ? slot.device->images[image] : slot.images[image].image;
}

[[noreturn]] void RefuseRow(std::string_view field, std::size_t sample, std::size_t size) {
  RefuseField(field, "is asked for sample " + std::to_string(sample) + " of a batch of " +
                         std::to_string(size));
}

}  // namespace

std::string_view NameOf(ElementType type) noexcept {
  switch (type) {
    case ElementType::kUint8: return "uint8";
    case ElementType::kUint16: return "uint16";
    case ElementType::kInt16: return "int16";
    case ElementType::kFloat32: return "float32";
    case ElementType::kFloat16: return "float16";
    case ElementType::kBFloat16: break;
  }
  return "bfloat16";
}

void RefuseValuesOf(ElementType type, std::string_view field) {
  const std::string what = std::string(NameOf(type)) + "; " + HowToRead(type);
  if (!field.empty()) RefuseField(field, "holds values of " + what);
  throw Error(ErrorCode::kInvalidArgument, "the batch's images hold values of " + what);
}

std::size_t Batch::size() const noexcept {
  return slot_->size;
}
std::size_t Batch::valid() const noexcept {
  return slot_->valid;
}
std::uint64_t Batch::epoch() const noexcept {
  return slot_->epoch;
}
std::uint64_t Batch::index() const noexcept {
  return slot_->index;
}
const ImageBatch& Batch::image() const noexcept {
  // Empty rather than an error if the dataset has no images, so that programs can ask.
  static const ImageBatch no_image;
  return slot_->images.empty() ? no_image : DeliveredImageOf(*slot_, 0);
}
std::span<const SampleFlag> Batch::flags() const noexcept {
  return std::span(slot_->flags).first(slot_->size);
}
std::span<const std::uint64_t> Batch::samples() const noexcept {
  return {slot_->samples.data(), slot_->size};
}
std::span<const RowMap> Batch::maps() const noexcept {
  return {slot_->maps.data(), slot_->size * slot_->layout->parts};
}
std::span<const std::uint64_t> Batch::parts() const noexcept {
  return slot_->layout->parts == 1 ? samples() : slot_->part_samples;
}
std::size_t Batch::parts_of_row() const noexcept {
  return slot_->layout->parts;
}

const ImageBatch& Batch::image(std::string_view field) const {
  const std::size_t image = FindIn(slot_->layout->images, field);
  if (image == Schema::kNone) RefuseKind(*slot_->layout, field, "image");
  return DeliveredImageOf(*slot_, image);
}

ImageSizes Batch::image_sizes() const noexcept {
  return slot_->layout->image_sizes;
}

ImageBatch Batch::image(std::string_view field, std::size_t sample) const {
  const SlotLayout& layout = *slot_->layout;
  if (sample >= size()) RefuseRow(layout.NameFor(field), sample, size());
  ImageBatch one = field.empty() ? image() : image(field);
  if (one.samples == 0) return one;
  one.samples = 1;
  // Images of their own sizes lie one after another; the others have equal distances.
  if (layout.image_sizes == ImageSizes::kOwn) {
    const SizedRows& sized = SizedRowsOf(*slot_, field);
    one.height = sized.sizes[sample].height;
    one.width = sized.sizes[sample].width;
    one.data += sized.offsets[sample] * SizeOf(one.type);
  } else {
    one.data += sample * one.sample_bytes();
  }
  return one;
}

std::span<const ImageSize> Batch::sizes(std::string_view field) const {
  return {SizedRowsOf(*slot_, field).sizes.data(), size()};
}

std::span<const std::uint64_t> Batch::offsets(std::string_view field) const {
  return {SizedRowsOf(*slot_, field).offsets.data(), size()};
}

// Always the host's copy: values of a device cannot be read through a span.
std::span<const std::byte> Batch::FieldBytes(std::string_view name, DType type) const {
  const std::size_t index = FindIn(slot_->layout->arrays, name);
  if (index == Schema::kNone) RefuseKind(*slot_->layout, name, "fixed-shape array");
  const SlotLayout::ArrayField& array = slot_->layout->arrays[index];
  RequireType(name, array.dtype, type);
  return {slot_->memory.data() + array.offset, slot_->size * array.sample_bytes};
}

bool Batch::HoldsImage(std::string_view field) const noexcept {
  return FindIn(slot_->layout->images, field) != Schema::kNone;
}

// An array has the same offset on the device as in the slot's memory.
ArrayBatch Batch::DeviceArray(std::string_view name) const {
  const std::size_t index = FindIn(slot_->layout->arrays, name);
  if (index == Schema::kNone) RefuseKind(*slot_->layout, name, "fixed-shape array");
  const SlotLayout::ArrayField& array = slot_->layout->arrays[index];
  const std::byte* const first = slot_->device != nullptr ? slot_->device->At(array.offset)
                                                          : slot_->memory.data() + array.offset;
  return {first, array.dtype, slot_->size, array.shape, slot_->size * array.sample_bytes};
}

ArrayBatch Batch::DeviceArrayOf(std::string_view name, DType type) const {
  const ArrayBatch array = DeviceArray(name);
  RequireType(name, array.type, type);
  return array;
}

VariableBatch Batch::VariableArray(std::string_view name) const {
  const std::size_t index = FindIn(slot_->layout->variables, name);
  if (index == Schema::kNone) RefuseKind(*slot_->layout, name, "variable-length or bytes field");
  const SlotLayout::VariableField& field = slot_->layout->variables[index];
  const VariableValues<std::byte> values = ValuesOf(*slot_, index);
  return {values.values.data(), field.dtype, field.shape, values.offsets, values.values.size()};
}

std::vector<std::string> Batch::fields() const {
  const SlotLayout& layout = *slot_->layout;
  std::vector<std::string> names;
  for (const SlotLayout::ImageField& image : layout.images)
    names.push_back(image.name);
  for (const SlotLayout::ArrayField& array : layout.arrays)
    names.push_back(array.name);
  for (const SlotLayout::VariableField& variable : layout.variables)
    names.push_back(variable.name);
  return names;
}

bool Batch::HoldsVariable(std::string_view field) const noexcept {
  return FindIn(slot_->layout->variables, field) != Schema::kNone;
}

const Device& Batch::device() const noexcept {
  static const Device host;
  return slot_->device != nullptr ? slot_->device->device() : host;
}

void Batch::WaitOn(DeviceStream stream) const {
  if (slot_->device != nullptr) slot_->device->WaitOn(stream.handle);
}

void Batch::Synchronize() const {
  if (slot_->device != nullptr) slot_->device->Synchronize();
}

VariableValues<std::byte> Batch::VariableBytes(std::string_view name, DType type) const {
  const std::size_t index = FindIn(slot_->layout->variables, name);
  if (index == Schema::kNone || slot_->layout->variables[index].bytes) {
    RefuseKind(*slot_->layout, name, "variable-length array");
  }
  RequireType(name, slot_->layout->variables[index].dtype, type);
  return ValuesOf(*slot_, index);
}

VariableValues<std::byte> Batch::Bytes(std::string_view name) const {
  const std::size_t index = FindIn(slot_->layout->variables, name);
  if (index == Schema::kNone || !slot_->layout->variables[index].bytes) {
    RefuseKind(*slot_->layout, name, "bytes field");
  }
  return ValuesOf(*slot_, index);
}

std::string_view Batch::Text(std::string_view name, std::size_t sample) const {
  if (sample >= size()) RefuseRow(name, sample, size());
  const std::span<const std::byte> bytes = Bytes(name)[sample];
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool Batch::Has(std::string_view name, std::size_t sample) const {
  if (sample >= size()) RefuseRow(name, sample, size());
  const SlotLayout& layout = *slot_->layout;
  // Whether an array is there depends on the dataset of the sample (in a mixture); variable-length
  // fields and images may be absent sample by sample.
  if (const std::size_t a = FindIn(layout.arrays, name); a != Schema::kNone)
    return layout.arrays[a].Has(slot_->samples[sample]);
  if (const std::size_t v = FindIn(layout.variables, name); v != Schema::kNone)
    return slot_->variables[v].present[sample] != 0;
  if (const std::size_t i = FindIn(layout.images, name); i != Schema::kNone)
    return slot_->images[i].present[sample] != 0;
  RefuseKind(*slot_->layout, name, "field");
}

}  // namespace sluice
