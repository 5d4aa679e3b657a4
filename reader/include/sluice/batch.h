// A batch, as a loader hands it over, and how to read its fields.
//
// A batch has every field that LoaderOptions::output.fields chooses. Images lie in the batch's
// slot, one sample after another, all of one size (unless ImageSizes says otherwise). Fixed-shape
// arrays lie there in the same way. A field whose length varies (boxes, text, other bytes) has the
// entries of all samples, one sample after another. Its offsets say which entries are a sample's:
// see VariableValues. Everything stays valid as long as a handle to the batch lives.
//
// With LoaderOptions::device, images are in that device's memory: see Batch::WaitOn(). Fixed-shape
// arrays are in both memories: Batch::DeviceField() gives them on the device, Batch::Field() on the
// host. All other fields are in host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <sluice/device.h>
#include <sluice/image.h>
#include <sluice/pixel_transform.h>
#include <sluice/schema.h>

namespace sluice {

// The order of an image batch's dimensions.
enum class Layout {
  kNHWC,  // samples x height x width x channels: the values of a pixel lie together
  kNCHW,  // samples x channels x height x width: each channel is a plane, as PyTorch has it
};

// How a batch holds images that differ in size: LoaderOptions::output.image_sizes.
enum class ImageSizes {
  kEqual,   // all images have one size; otherwise, the Loader's constructor throws
  kPadded,  // a batch is as wide as its widest image, and as high as its highest: Batch::sizes()
  kOwn,     // each image keeps its own size: Batch::image(field, sample)
};

// The size of an image.
struct ImageSize {
  std::uint32_t height = 0, width = 0;  // pixels
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// Where the sample of a row comes from.
enum class SampleFlag : std::uint8_t {
  kOwn,         // the sample that the epoch's order has at this position
  kSubstitute,  // another sample, in place of a faulty or deleted one
  kFillsUp,     // a repeated sample that fills up the batch: LastBatch, BatchSampler
};

// The type of an image's values in a batch.
enum class ElementType : std::uint8_t {
  kUint8,     // 0 to 255
  kUint16,    // 0 to 65535
  kFloat32,   // IEEE 754 binary32: as stored, or after Normalize
  kFloat16,   // IEEE 754 binary16: likewise
  kBFloat16,  // the upper half of a float32: after Normalize
  kInt16,     // -32768 to 32767
};

// The ElementType of the numbers that Normalize makes.
constexpr ElementType ElementTypeOf(FloatType type) noexcept {
  switch (type) {
    case FloatType::kFloat32: return ElementType::kFloat32;
    case FloatType::kFloat16: return ElementType::kFloat16;
    case FloatType::kBFloat16: break;
  }
  return ElementType::kBFloat16;
}

// Bytes of one value.
constexpr std::size_t SizeOf(ElementType type) noexcept {
  switch (type) {
    case ElementType::kUint8: return 1;
    case ElementType::kFloat32: return 4;
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16: break;
  }
  return 2;
}

std::string_view NameOf(ElementType type) noexcept;  // "uint8" ... "bfloat16"

// Whether values of that type can be read as T:
//
//   std::uint8_t     kUint8
//   std::uint16_t    kUint16, and the bits of kFloat16 and kBFloat16
//   std::int16_t     kInt16
//   float            kFloat32
template <class T>
constexpr bool IsReadAs(ElementType type) noexcept {
  if constexpr (std::is_same_v<T, std::int16_t>) return type == ElementType::kInt16;
  if constexpr (std::is_same_v<T, std::uint16_t>)
    return SizeOf(type) == 2 && type != ElementType::kInt16;
  if constexpr (std::is_same_v<T, std::uint8_t>) return type == ElementType::kUint8;
  static_assert(std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t> ||
                    std::is_same_v<T, std::int16_t> || std::is_same_v<T, float>,
                "images are made of std::uint8_t, std::uint16_t, std::int16_t or float");
  return type == ElementType::kFloat32;
}
// Throws an Error(kInvalidArgument) that names the images' type and says how to read this type, or
// how to get another one. `field`: the image's name, empty if unknown.
[[noreturn]] void RefuseValuesOf(ElementType type, std::string_view field = {});

// The decoded images of a batch, one sample after another, in the memory of the batch's device.
// With ImageSizes::kOwn, height and width are 0, and Batch::offsets() says where each image begins.
struct ImageBatch {
  const std::uint8_t* data = nullptr;                            // the first element's first byte
  std::size_t samples = 0, height = 0, width = 0, channels = 0;  // the four extents
  Layout layout = Layout::kNHWC;
  ElementType type = ElementType::kUint8;
  // Bytes of one sample's image; 0 with ImageSizes::kOwn.
  std::size_t sample_bytes() const noexcept { return height * width * channels * SizeOf(type); }
  // The values of all samples. Throws Error(kInvalidArgument) if they cannot be read as T.
  template <class T>
  const T* Values() const {
    if (!IsReadAs<T>(type)) RefuseValuesOf(type);
    return reinterpret_cast<const T*>(data);
  }
  const float* floats() const { return Values<float>(); }  // for kFloat32
};

// A fixed-shape array field of a batch, one sample after another, in the memory of the batch's
// device.
struct ArrayBatch {
  const std::byte* data = nullptr;  // the first element's first byte
  DType type = DType::kUint8;
  std::size_t samples = 0;               // samples in the batch
  std::span<const std::uint32_t> shape;  // of one sample; empty: one number
  std::size_t bytes = 0;                 // size of all samples together
};

// A field with a different number of entries in each sample. An entry is one box or one byte, for
// example. Sample i has the entries offsets[i] to offsets[i + 1] - 1.
template <class T>
struct VariableValues {
  std::span<const T> values;  // the elements of all samples, one sample after another
  // Where each sample's entries begin, counted in entries, and where the last one's end: batch size
  // + 1 numbers.
  std::span<const std::uint64_t> offsets;
  std::size_t entry = 1;  // elements of an entry: 4 for boxes, 1 for bytes
// Without this, GCC 13 and later warn that the span below refers to a temporary object.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-reference"
#endif
  // The elements of one sample. The span is valid as long as the batch lives, even after this
  // VariableValues is gone.
  std::span<const T> operator[](std::size_t sample) const {
    return values.subspan(static_cast<std::size_t>(offsets[sample]) * entry,
                          static_cast<std::size_t>(offsets[sample + 1] - offsets[sample]) * entry);
  }
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
#pragma GCC diagnostic pop
#endif
};

// A variable-length or bytes field of any type, in host memory.
struct VariableBatch {
  const std::byte* data = nullptr;         // of all samples' entries, one after another
  DType type = DType::kUint8;              // kUint8 for bytes fields, whose entries are bytes
  std::span<const std::uint32_t> shape;    // of one entry; empty: one number
  std::span<const std::uint64_t> offsets;  // in entries, as VariableValues::offsets
  std::size_t bytes = 0;                   // size of all entries together
};

// The 3x3 matrix of a map from a stored picture to a row of a batch, line by line. The point (x, y)
// of the picture, in pixels from its upper left corner, goes to the point (u / w, v / w) of the
// row, where (u, v, w) is the matrix times (x, y, 1). The last line is 0, 0, 1 unless
// RandomPerspective was drawn.
using RowMap = std::array<double, 9>;

struct Slot;  // private

// A handle to one batch. Copies of the handle share the batch. When the last copy is gone, the
// batch's slot goes back to the loader. A handle may outlive the epoch and the loader.
//
// Any thread may call any function. Asking for a field that the batch lacks, or for a field as the
// wrong kind or type, throws Error(kInvalidArgument). If the batch has the field, the message says
// how to ask for it.
class Batch {
 public:
  std::size_t size() const noexcept;     // samples
  std::size_t valid() const noexcept;    // size() without the rows that only fill up the batch
  std::uint64_t epoch() const noexcept;  // the epoch that the batch belongs to
  std::uint64_t index() const noexcept;  // the batch's number in its epoch, from 0

  // The image that LoaderOptions::output.image names; samples == 0 if the batch has no image.
  const ImageBatch& image() const noexcept;
  // Any image field of the batch, such as a mask.
  const ImageBatch& image(std::string_view field) const;
  bool HoldsImage(std::string_view field) const noexcept;  // whether image(field) has it
  ImageSizes image_sizes() const noexcept;                 // LoaderOptions::output.image_sizes
  // One sample of an image field ({}: of image()), as a batch of one image.
  ImageBatch image(std::string_view field, std::size_t sample) const;
  // The size of each sample's image in that field ({}: in image()), without padding. Padding is
  // added to the right and below. If a sample lacks the image, this is the size of the image that
  // the field follows (Field::follows), or 0 x 0 if the field follows none. Throws
  // Error(kInvalidArgument) with ImageSizes::kEqual.
  std::span<const ImageSize> sizes(std::string_view field = {}) const;
  // Where each sample's image begins: the number of values after the field's `data`. With
  // ImageSizes::kOwn, there may be gaps between images. Throws as sizes() does.
  std::span<const std::uint64_t> offsets(std::string_view field = {}) const;
  // A fixed-shape array field, in host memory: the elements of all samples, one sample after
  // another. T must be the field's element type.
  template <class T>
  std::span<const T> Field(std::string_view name) const;
  // A variable-length field. T must be the field's element type.
  template <class T>
  VariableValues<T> Variable(std::string_view name) const;
  // A variable-length or bytes field of any type. Always in host memory.
  VariableBatch VariableArray(std::string_view name) const;
  bool HoldsVariable(std::string_view field) const noexcept;  // whether VariableArray() has it
  // The names of all fields of the batch: first images (that of image() before the others), then
  // fixed-shape arrays, then variable-length and bytes fields.
  std::vector<std::string> fields() const;
  // A bytes field (text and JSON included), decompressed.
  VariableValues<std::byte> Bytes(std::string_view name) const;
  // Bytes() of one sample, as text.
  std::string_view Text(std::string_view name, std::size_t sample) const;
  // Whether the sample has a value in that field. If not, the batch has in its place:
  //
  //   variable-length and bytes fields    no entries
  //   further images                      zeros; in masks LoaderOptions::output.mask_fill
  //   fixed-shape arrays                  LoaderOptions::output.absent (only in mixtures)
  //
  // A sample without a value in the field of image() is a fault.
  bool Has(std::string_view field, std::size_t sample) const;

  // For each row, where its sample comes from. Rows that OnFault::kSkip leaves out are not in the
  // batch at all.
  std::span<const SampleFlag> flags() const noexcept;
  // For each row, its sample's number in the dataset; of a substitute, the substitute's number.
  // dataset[number].key() is that sample's key; Dataset::Find() gives the number for a key.
  std::span<const std::uint64_t> samples() const noexcept;
  // For each row, the map from the stored picture to the row's image(): its inverse takes boxes
  // that a model has found back to the picture. Boxes and key points of the batch were moved by it.
  // If a row shows nothing of its picture, the map takes every point to one outside the row. With
  // views, the map is that of the first one. In batches without image() all maps are the identity.
  // If rows may be mosaics (Mosaic), a row has parts_of_row() maps, one for each of its parts(); a
  // map without a sample is the identity.
  std::span<const RowMap> maps() const noexcept;
  // For each row, the numbers of the parts_of_row() samples that it shows, its own first: four if
  // a step of LoaderOptions::transform is Mosaic, otherwise one. A row for which that step was not
  // drawn has kNoSample in the other three.
  std::span<const std::uint64_t> parts() const noexcept;
  // How many numbers parts(), and maps, maps() has for each row: 4 or 1.
  std::size_t parts_of_row() const noexcept;
  // In parts(): the row shows its own sample alone.
  static constexpr std::uint64_t kNoSample = ~std::uint64_t{0};

  // The device that has image(), DeviceArray() and DeviceField() in its memory. For batches on the
  // host, WaitOn() and Synchronize() do nothing.
  const Device& device() const noexcept;
  // Call this for each stream that reads the batch on its device. Work submitted to the stream
  // after this call waits until the batch is on the device. The call itself does not block.
  //
  // When the last handle to the batch is dropped, the loader reuses the slot once all work
  // submitted so far to these streams has finished. The streams must live until then.
  //
  // Throws Error(kInvalidArgument) for a stream of another device, and Error(kState) for a stream
  // that is being captured into a graph. (A default stream counts as being captured while any
  // thread captures a stream that the default stream waits for.)
  //
  // A batch dropped during a capture keeps its slot until the capture ends. If no other slot is
  // free then, the capturing thread gets Error(kState) when it asks for a batch.
  void WaitOn(DeviceStream stream) const;
  // Blocks the calling thread until the batch is on the device. This does not tell the loader which
  // streams read the batch. So also call WaitOn() for each of them, or keep the batch until their
  // work has finished. Otherwise, the loader may write to the slot of a dropped batch while a
  // kernel still reads it.
  void Synchronize() const;
  // A fixed-shape array field on the device, of any type.
  ArrayBatch DeviceArray(std::string_view name) const;
  // DeviceArray() as numbers of type T, which must be the field's element type.
  template <class T>
  DeviceSpan<T> DeviceField(std::string_view name) const;

 private:
  friend class Loader;
  friend class EpochIterator;
  friend class EpochRange;
  friend struct LoaderState;
  Batch() = default;  // for an iterator without a batch
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
