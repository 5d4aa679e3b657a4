// The user's own steps: a function for each sample, and one for each batch.
//
//   options.sample_function = [](sluice::MutableSample& sample) {
//     std::span<std::uint8_t> pixels = sample.image();                 // in place
//     for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(255 - value);
//     sample.Field<float>("weight")[0] = sample.draws().Uniform() < 0.5 ? 1.F : 2.F;
//   };
//   options.output.made_fields = {sluice::Field::Array("weight", sluice::DType::kFloat32, {})};
//
// The functions run on the decoding threads, several at once, so anything that they share must be
// thread-safe. A SampleFunction runs after all steps of the transform except those that mix a batch
// (MixUp, CutMix, CopyPaste). A BatchFunction runs after these.
//
// The spans that a function gets are valid until the function returns. The span of a
// variable-length field is valid only until the function sets that field. See also Keep().
//
// An exception from a SampleFunction is a fault of the sample, handled as
// LoaderOptions::integrity.on_fault says. An exception from a BatchFunction is the error of the
// batch.
//
// A function should depend only on its argument and on the argument's draws(). Then batches stay
// the same for any number of threads and after a resume.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <sluice/batch.h>

namespace sluice {

struct DatasetState;  // private
class RandomStream;   // private
class SlotFiller;     // private

// A stream of random numbers that depend only on the seed, the epoch and the position. It meets the
// requirements of a uniform random bit generator, so the distributions of the standard library
// accept it. (Their results differ between libraries.)
class Draws {
 public:
  using result_type = std::uint32_t;  // of operator()
  // The least result of operator().
  static constexpr result_type min() noexcept { return 0; }
  // The greatest result of operator().
  static constexpr result_type max() noexcept { return UINT32_MAX; }
  // The same as Word(), for the standard library's distributions.
  result_type operator()() noexcept { return Word(); }

  std::uint32_t Word() noexcept;                  // 32 random bits
  double Uniform() noexcept;                      // in [0, 1), a multiple of 2^-53
  std::uint64_t Below(std::uint64_t n) noexcept;  // in [0, n), n > 0

 private:
  friend class SlotFiller;
  explicit Draws(RandomStream& stream) : stream_(&stream) {}
  RandomStream* stream_;
};

// The rows that a function sees: one row of a batch, or all of its rows. Asking for a field that is
// not there, or for a field as the wrong kind or type, throws Error(kInvalidArgument).
class MutableRows {
 public:
  std::uint64_t epoch() const noexcept;  // the epoch that is being played
  // The size, layout and type of the images in that field ({}: in Batch::image()).
  // With ImageSizes::kPadded, a MutableSample's image has its own size, and a MutableBatch's images
  // have the padded size. With ImageSizes::kOwn, a MutableBatch's images have no common size.
  ImageBatch shape(std::string_view field = {}) const;
  // The elements of a fixed-shape array field, which is a field of the dataset or one of
  // OutputOptions::made_fields.
  template <class T>
  std::span<T> Field(std::string_view name) {
    const std::span<std::byte> bytes = FieldBytes(name, DTypeOf<T>());
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // The values of the images in that field ({}: in Batch::image()), in the batch's layout. T is
  // std::uint8_t, std::uint16_t (also for the bits of 16-bit floats), std::int16_t or float: see
  // IsReadAs().
  template <class T>
  std::span<T> Values(std::string_view field = {}) {
    if (!IsReadAs<T>(shape(field).type)) RefuseValues(field);
    const std::span<std::byte> bytes = ImageBytes(field);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // Values() of 8-bit images.
  std::span<std::uint8_t> image(std::string_view field = {}) { return Values<std::uint8_t>(field); }
  // Values() of float images: those that Normalize makes with FloatType::kFloat32.
  std::span<float> floats(std::string_view field = {}) { return Values<float>(field); }
  std::span<std::byte> ImageBytes(std::string_view field = {});  // pixels of any type
  // Writes a map of the pixels that lie beyond the edge of the stored picture, such as the padding
  // of a crop: height x width bytes for each row, 1 for such a pixel, else 0. `field` is an image,
  // a view or a mask ({}: Batch::image()).
  //
  // The map shows the result of all geometric steps together. It follows the rule for masks
  // (nearest pixel), so it is 1 wherever LoaderOptions::output.mask_fill fills a mask. It is also 1
  // for pixels that Border::kReflect mirrors, and everywhere if the sample lacks the image. In a
  // BatchFunction, the map shows images as they were before the batch was mixed.
  //
  // Throws Error(kInvalidArgument) if
  //   the map has the wrong size;
  //   the image went through RandAugment or TrivialAugmentWide, which move pixels on their own;
  //   there are several rows, and images may differ in size (ImageSizes).
  void WriteBorder(std::span<std::uint8_t> map, std::string_view field = {}) const;

  // Keeps the memory of the function's spans alive as long as the result lives. The batch is then
  // lost: instead of delivering it, ++ or Next() throws Error(kState), whatever
  // LoaderOptions::integrity.on_fault says. The loader takes new memory for further batches.
  //
  // This is for language bindings. A Python function may store an array for later, and the binding
  // cannot make that array invalid. The array could still change the batch.
  std::shared_ptr<const void> Keep();

  // The function's own random numbers, for this sample or batch.
  Draws& draws() noexcept { return draws_; }
  // The thread's own memory, for any use. Its size and content stay from call to call.
  std::vector<std::byte>& scratch() noexcept { return memory_->scratch; }
  // The object that LoaderOptions::thread_setup made for the thread. Throws Error(kState) if there
  // is no such object, or if it is not a T.
  template <class T>
  T& state() {
    if (T* const found = std::any_cast<T>(&memory_->state)) return *found;
    RefuseState();
  }

 protected:
  friend class SlotFiller;
  // The DType of a variable-length field's elements, or -1 for the bytes of a bytes field.
  template <class T>
  static constexpr int TypeOf() noexcept {
    if constexpr (std::is_same_v<T, std::byte>) {
      return -1;
    } else {
      return static_cast<int>(DTypeOf<T>());
    }
  }
  // The memory that each thread has for itself.
  struct Memory {
    std::vector<std::byte> scratch;
    std::any state;
  };
  MutableRows(Slot& slot, std::size_t first, std::size_t count, Draws draws, Memory& memory)
      : slot_(slot), first_(first), count_(count), draws_(draws), memory_(&memory) {}
  [[noreturn]] void RefuseState() const;
  std::span<std::byte> FieldBytes(std::string_view name, DType type);
  [[noreturn]] void RefuseValues(std::string_view field) const;
  // The index of an image field: 0 for Batch::image(), from 1 on for further images.
  std::size_t PictureOf(std::string_view field) const;
  ImageBatch ImageOf(std::size_t picture) const;
  bool HasInRow(std::string_view field, std::size_t row) const;

  Slot& slot_;
  std::size_t first_, count_;  // rows
  Draws draws_;
  Memory* memory_;
  bool kept_ = false;
};

// One sample, after the transform's steps: the argument of a SampleFunction.
class MutableSample : public MutableRows {
 public:
  // The sample's key, as Sample::key(). In a shuffled epoch, this is slow: keys are stored in
  // compressed chunks of up to 4096, so nearly every call decompresses a chunk, and only one thread
  // at a time does so. To look something up for each sample, use a table by index() instead;
  // Dataset::Find() helps to make the table.
  //
  // Throws Error if the key cannot be read, and Error(kLimit) if its chunk has more than 4 MiB
  // (keys of over 1000 bytes on average).
  std::string key() const;
  std::uint64_t index() const noexcept;     // the sample's number in the dataset
  std::uint64_t position() const noexcept;  // the sample's position in the epoch

  // The elements of a variable-length field; for bytes fields, T is std::byte.
  template <class T>
  std::span<const T> Variable(std::string_view name) const {
    const std::vector<std::byte>& bytes = VariableBytes(name, TypeOf<T>());
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  // Whether the sample has a value in that field: see Batch::Has(). A variable-length or bytes
  // field of OutputOptions::made_fields has a value once SetVariable() has been called.
  bool Has(std::string_view field) const;
  // Replaces the field's value. `values` has any number of whole entries, and may be a part of the
  // present value.
  template <class T>
  void SetVariable(std::string_view name, std::span<const T> values) {
    SetVariableBytes(name, TypeOf<T>(), std::as_bytes(values));
  }

 private:
  friend class SlotFiller;
  MutableSample(DatasetState& dataset, Slot& slot, std::size_t row, Draws draws, Memory& memory)
      : MutableRows(slot, row, 1, draws, memory), dataset_(dataset) {}
  std::vector<std::byte>& VariableBytes(std::string_view name, int type) const;
  void SetVariableBytes(std::string_view name, int type, std::span<const std::byte> bytes);

  DatasetState& dataset_;
};

// A whole batch: the argument of a BatchFunction. Rows that OnFault::kSkip leaves out are already
// removed.
class MutableBatch : public MutableRows {
 public:
  std::size_t size() const noexcept { return count_; }      // samples
  std::uint64_t index() const noexcept;                     // the batch's number in its epoch
  std::span<const std::uint64_t> samples() const noexcept;  // as Batch::samples()
  std::span<const std::uint64_t> parts() const noexcept;    // as Batch::parts()
  std::size_t parts_of_row() const noexcept;                // as Batch::parts_of_row()
  std::span<const RowMap> maps() const noexcept;            // as Batch::maps()
  // Variable-length and bytes fields (T is std::byte).
  template <class T>
  VariableValues<T> Variable(std::string_view name) const {
    const VariableValues<std::byte> bytes = VariableBytes(name, TypeOf<T>());
    return {{reinterpret_cast<const T*>(bytes.values.data()), bytes.values.size() / sizeof(T)},
            bytes.offsets,
            bytes.entry};
  }
  // Replaces a row's value of such a field by any number of whole entries. What Variable() has
  // returned is no longer valid then.
  template <class T>
  void SetVariable(std::string_view name, std::size_t row, std::span<const T> values) {
    SetVariableBytes(name, TypeOf<T>(), row, std::as_bytes(values));
  }
  bool Has(std::string_view field, std::size_t row) const;  // as Batch::Has()
  // With ImageSizes::kOwn and several rows, ImageBytes(field) throws Error(kInvalidArgument), and
  // shape(field) has no common size. Use the functions for one row below instead.
  using MutableRows::ImageBytes;
  using MutableRows::shape;
  // The size, layout and type of one row's image.
  ImageBatch shape(std::string_view field, std::size_t row) const;
  // The bytes of that image, of any type.
  std::span<std::byte> ImageBytes(std::string_view field, std::size_t row);
  // As Batch::sizes().
  std::span<const ImageSize> sizes(std::string_view field = {}) const;

 private:
  friend class SlotFiller;
  using MutableRows::MutableRows;
  VariableValues<std::byte> VariableBytes(std::string_view name, int type) const;
  void SetVariableBytes(std::string_view name, int type, std::size_t row,
                        std::span<const std::byte> bytes);
};

// LoaderOptions::sample_function: called for each sample, by several threads at once.
using SampleFunction = std::function<void(MutableSample&)>;
// LoaderOptions::batch_function: called for each batch, by several threads at once.
using BatchFunction = std::function<void(MutableBatch&)>;
// Makes an object for one decoding thread. The thread's functions get the object as state<T>().
// Each thread calls this once, before it decodes, with the thread's number from 0. The Loader's
// constructor waits for all of these calls; if one throws, the constructor throws Error. The object
// is destroyed when its thread ends, with the loader.
using ThreadSetup = std::function<std::any(unsigned thread)>;

}  // namespace sluice
