// A batch: what a loader hands over, and how its fields are read.
//
// Every field that LoaderOptions::output.fields chooses is in it. Images lie in the batch's slot,
// one sample after another, all of one size; fixed-shape arrays likewise; what varies from sample
// to sample (boxes, text, other bytes) comes as the values of all samples one after another, and
// where each sample's begin. All of it lives as long as a handle to the batch does.
//
// With LoaderOptions::device, images and fixed-shape arrays are on that device: see
// Batch::WaitOn().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include <sluice/device.h>
#include <sluice/image.h>
#include <sluice/pixel_transform.h>
#include <sluice/schema.h>

namespace sluice {

enum class Layout { kNHWC, kNCHW };

// What a row of a batch holds.
enum class SampleFlag : std::uint8_t {
  kOwn,         // the sample whose turn it is
  kSubstitute,  // another one in the place of a faulty one
  kFillsUp,     // one that this epoch has elsewhere: see LastBatch::kPad
};

// What the images of a batch are made of.
enum class ElementType : std::uint8_t {
  kUint8,
  kUint16,    // 16-bit raw images
  kFloat32,   // after Normalize
  kFloat16,   // IEEE 754 binary16
  kBFloat16,  // the upper half of a float32
};

constexpr ElementType ElementTypeOf(FloatType type) noexcept {
  return type == FloatType::kFloat32   ? ElementType::kFloat32
         : type == FloatType::kFloat16 ? ElementType::kFloat16
                                       : ElementType::kBFloat16;
}

constexpr std::size_t SizeOf(ElementType type) noexcept {
  return type == ElementType::kUint8 ? 1 : type == ElementType::kFloat32 ? 4 : 2;
}

std::string_view NameOf(ElementType type) noexcept;  // "uint8" ... "bfloat16"

// Whether values of that type are read as T: std::uint8_t; std::uint16_t of kUint16, and the bits
// of kFloat16 and kBFloat16; float.
template <class T>
constexpr bool IsReadAs(ElementType type) noexcept {
  if constexpr (std::is_same_v<T, std::uint16_t>) return SizeOf(type) == 2;
  if constexpr (std::is_same_v<T, std::uint8_t>) return type == ElementType::kUint8;
  static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t> ||
                    std::is_same_v<T, float>,
                "images are made of std::uint8_t, std::uint16_t or float");
  return type == ElementType::kFloat32;
}
// Throws Error(kInvalidArgument): what the images hold, and how others are had. `field`: empty
// where it is not known.
[[noreturn]] void RefuseValuesOf(ElementType type, std::string_view field = {});

// The decoded images of a batch, samples one after another; in the memory of the batch's device.
struct ImageBatch {
  const std::uint8_t* data = nullptr;  // the first element's first byte
  std::size_t samples = 0, height = 0, width = 0, channels = 0;
  Layout layout = Layout::kNHWC;
  ElementType type = ElementType::kUint8;
  std::size_t sample_bytes() const noexcept { return height * width * channels * SizeOf(type); }
  // All samples' values. Error(kInvalidArgument) where they are not read as T.
  template <class T>
  const T* Values() const {
    if (!IsReadAs<T>(type)) RefuseValuesOf(type);
    return reinterpret_cast<const T*>(data);
  }
  const float* floats() const { return Values<float>(); }  // of kFloat32
};

// A fixed-shape array field of a batch, samples one after another; in the memory of the batch's
// device.
struct ArrayBatch {
  const std::byte* data = nullptr;
  DType type = DType::kUint8;
  std::size_t samples = 0;
  std::span<const std::uint32_t> shape;  // of a sample's; empty: one number
  std::size_t bytes = 0;                 // of all samples
};

// A field whose values differ in number from sample to sample. Sample i has the entries
// offsets[i] .. offsets[i + 1] - 1, each of `entry` elements (4 for boxes, 1 for bytes).
template <class T>
struct VariableValues {
  std::span<const T> values;               // of all samples, one after another
  std::span<const std::uint64_t> offsets;  // in entries; one more than the batch has samples
  std::size_t entry = 1;                   // elements
  // The elements of one sample.
  std::span<const T> operator[](std::size_t sample) const {
    return values.subspan(static_cast<std::size_t>(offsets[sample]) * entry,
                          static_cast<std::size_t>(offsets[sample + 1] - offsets[sample]) * entry);
  }
};

struct Slot;  // private

// A handle to one batch. Copies share it; its slot goes back to the loader when the last one is
// gone. It may outlive the epoch and the loader. Asking for a field that is not in the batch, or as
// another kind or type, throws Error(kInvalidArgument). Any thread may call any function.
class Batch {
 public:
  std::size_t size() const noexcept;   // samples
  std::size_t valid() const noexcept;  // size(), less what only fills up: the last rows
  std::uint64_t epoch() const noexcept;
  std::uint64_t index() const noexcept;  // of this batch in its epoch, from 0

  // The image that LoaderOptions::output.image names; samples == 0 where there is none.
  const ImageBatch& image() const noexcept;
  // Any image field of the batch, such as a mask.
  const ImageBatch& image(std::string_view field) const;
  bool HoldsImage(std::string_view field) const noexcept;
  // A fixed-shape array field: size() x its elements. T must be the field's element type. Always in
  // the host's memory.
  template <class T>
  std::span<const T> Field(std::string_view name) const;
  // A variable-length field. T must be its element type.
  template <class T>
  VariableValues<T> Variable(std::string_view name) const;
  // A bytes field (text and JSON included), decompressed.
  VariableValues<std::byte> Bytes(std::string_view name) const;
  std::string_view Text(std::string_view name, std::size_t sample) const;
  // Whether the sample has a value in that field. One that it lacks is no entries, or an image of
  // zeros. (A sample without the image that image() has cannot be used: it is a fault.)
  bool Has(std::string_view field, std::size_t sample) const;

  // What each row holds. After OnFault::kSkip, rows that were left out are not there at all.
  std::span<const SampleFlag> flags() const noexcept;
  // The dataset's sample numbers, in the batch's order: of substitutes, their own.
  std::span<const std::uint64_t> samples() const noexcept;

  // Where image(), DeviceArray() and DeviceField() lie. What follows does nothing for batches on
  // the host.
  const Device& device() const noexcept;
  // Work given to that stream of the device from now on finds the batch there; nothing blocks. When
  // the last handle to the batch is dropped, its place is used again once all work that the streams
  // named here had been given by then is done: a stream must live until then. One of another device
  // is Error(kInvalidArgument), one that is being captured into a graph Error(kState). A batch that
  // is dropped during a capture gives its place back when that has ended; a thread that captures,
  // and asks for more batches than there are other places, gets Error(kState). (A default stream
  // counts as captured while any stream is that it waits for, whichever thread captures that.)
  void WaitOn(DeviceStream stream) const;
  // The calling thread waits until the batch is on the device.
  void Synchronize() const;
  // A fixed-shape array field on the device: whatever its type, or as Field() is.
  ArrayBatch DeviceArray(std::string_view name) const;
  template <class T>
  DeviceSpan<T> DeviceField(std::string_view name) const;

 private:
  friend class Loader;
  friend class EpochIterator;
  friend struct LoaderState;
  Batch() = default;  // of an iterator at its end
  explicit Batch(std::shared_ptr<const Slot> slot) : slot_(std::move(slot)) {}
  std::span<const std::byte> FieldBytes(std::string_view name, DType type) const;
  ArrayBatch DeviceArrayOf(std::string_view name, DType type) const;
  VariableValues<std::byte> VariableBytes(std::string_view name, DType type) const;
  std::shared_ptr<const Slot> slot_;
};

template <class T>
std::span<const T> Batch::Field(std::string_view name) const {
  const std::span<const std::byte> bytes = FieldBytes(name, DTypeOf<T>());
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
DeviceSpan<T> Batch::DeviceField(std::string_view name) const {
  const ArrayBatch array = DeviceArrayOf(name, DTypeOf<T>());
  return {reinterpret_cast<const T*>(array.data), array.bytes / sizeof(T)};
}

template <class T>
VariableValues<T> Batch::Variable(std::string_view name) const {
  const VariableValues<std::byte> bytes = VariableBytes(name, DTypeOf<T>());
  return {{reinterpret_cast<const T*>(bytes.values.data()), bytes.values.size() / sizeof(T)},
          bytes.offsets,
          bytes.entry};
}

}  // namespace sluice
