// Writing a dataset of one's own from C++: a schema, a name, samples one by one, Finish().
//
//   sluice::Schema schema{{sluice::Field::Image(), sluice::Field::Label("label", {"cat", "dog"})}};
//   sluice::DatasetWriter writer("data/pets", schema, {.name = "pets"});
//   sluice::SampleBuilder sample = writer.NewSample("cats/1.jpg");
//   sample.SetJpeg("image", jpeg_bytes);
//   sample.Set<std::int32_t>("label", 0);
//   writer.Add(sample);
//   writer.Finish();
//
// Samples are stored in the order they are added. A key may come twice, as in a table that lists an
// image twice; Dataset::Find() then gives one of the samples. Writing cannot be resumed: a writer
// that is destroyed without Finish() leaves a folder without a manifest, which readers refuse. One
// thread at a time may use a writer; SampleBuilders are independent of each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <sluice/image.h>
#include <sluice/schema.h>

namespace sluice {

// The options of a DatasetWriter.
struct DatasetWriterOptions {
  std::string name = {};  // shard ids are derived from it; the folder's name if empty
  std::uint64_t shard_bytes = kDefaultShardBytes;  // planned; kMinShardBytes to kMaxShardBytes
  std::uint32_t block_samples = 0;  // 0: from the first samples, for about 512 KiB a block
  // Pictures that their Exif orientation turns are stored upright (SetJpeg()). True says that the
  // boxes, masks and key points of such pictures were drawn on the upright picture, as most tools
  // show it; they are stored as they are given. Otherwise Add() refuses a turned picture that has
  // any, because they may lie off their objects.
  bool upright = false;
  // Metadata of the dataset by name, such as its license: Dataset::meta().
  std::map<std::string, std::string> meta = {};
};

// The fields of one sample. Every array field must be set before Add(); image, bytes and variable
// fields left alone are stored as absent. Values are copied. Setters throw Error(kInvalidArgument)
// on a name, type or shape that the schema does not have, and Error(kLimit) on a value that is too
// large.
class SampleBuilder {
 public:
  // Takes the other builder's sample. After that, the other may only be assigned to or destroyed.
  SampleBuilder(SampleBuilder&&) noexcept;
  SampleBuilder& operator=(SampleBuilder&&) noexcept;
  ~SampleBuilder();

  // A scalar array field.
  template <class T>
  requires std::is_arithmetic_v<T>
  void Set(std::string_view field, T value) { SetArray<T>(field, std::span<const T>(&value, 1)); }
  // A fixed-shape or variable-length array, elements in row-major order.
  template <class T>
  void SetArray(std::string_view field, std::span<const T> values) {
    SetElements(field, DTypeOf<T>(), std::as_bytes(values));
  }
  // A complete JPEG file, stored as it is. If its Exif orientation turns it, it is stored upright,
  // as `sluice convert` stores it: its coefficients turned if whole blocks allow it, else encoded
  // again (4:2:0, quality 90). A missing end marker is added; a file that is cut short, or that
  // readers could not decode, is kInvalidArgument (a baseline file is not decoded to find that
  // out). Boxes, masks and key points are not turned with it: see DatasetWriterOptions::upright.
  void SetJpeg(std::string_view field, std::span<const std::byte> file);
  // Like SetJpeg(), but stores a packed image: the same pixels, faster to decode, larger
  // (FORMAT.md, "Packed"). False if the JPEG has no packed form (other colours than grey and Y Cb
  // Cr, unusual sampling) and is stored as SetJpeg() would. Reads the whole file; a broken one is
  // Error(kInvalidArgument).
  bool SetPacked(std::string_view field, std::span<const std::byte> jpeg_file);
  // Raw pixels, rows of interleaved pixels without padding. `compress` stores them zstd-compressed.
  void SetPixels(std::string_view field, std::uint32_t width, std::uint32_t height,
                 std::uint8_t channels, PixelType type, std::span<const std::byte> pixels,
                 bool compress = false);
  // Like SetPixels(), for 8-bit pixels of one (grey) or three (RGB) channels, encoded as `sluice
  // convert` does: a baseline JPEG of that quality (1 to 100) with 4:2:0 subsampling and restart
  // markers, or with `packed` the same as a packed image. Encoding takes time; several threads may
  // do it at once, each with a builder of its own.
  void SetEncoded(std::string_view field, std::uint32_t width, std::uint32_t height,
                  std::uint8_t channels, std::span<const std::byte> pixels, int quality = 90,
                  bool packed = false);
  // A bytes field. `compress` stores it zstd-compressed. Throws Error(kInvalidArgument) if the
  // field has the role text and the bytes are not UTF-8, or the role json and they are not a JSON
  // text as format/FORMAT.md, "Conventions", wants it.
  void SetBytes(std::string_view field, std::span<const std::byte> bytes, bool compress = false);
  // A bytes field, from text.
  void SetText(std::string_view field, std::string_view text, bool compress = false);
  // Prepares the builder for the next sample: forgets every value, keeps the memory.
  void Reset(std::string key);

 private:
  friend class DatasetWriter;
  struct State;
  explicit SampleBuilder(std::unique_ptr<State> state);
  void SetElements(std::string_view field, DType type, std::span<const std::byte> bytes);

  std::unique_ptr<State> state_;
};

// Writes a dataset, sample by sample.
class DatasetWriter {
 public:
  // Creates `dataset`; throws Error(kExists) if the folder holds anything, and kInvalidArgument for
  // a field of boxes or key points that a loader could not move with its image.
  DatasetWriter(const std::filesystem::path& dataset, const Schema& schema,
                const DatasetWriterOptions& options = {});
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  // A sample to fill and to hand to Add().
  SampleBuilder NewSample(std::string key) const;
  // Stores the sample. After an Error of code kInvalidArgument or kLimit the sample was not stored
  // and the writer can be used again; after kIo, or kLimit because of too many shards, it cannot. A
  // sample with boxes, masks or key points whose picture SetJpeg() turned upright is
  // kInvalidArgument without DatasetWriterOptions::upright, and so is one with a box that ends
  // before it begins, or with a field that has another number of entries than boxes.
  void Add(const SampleBuilder& sample);
  // Writes what is pending, then the manifest. No call may follow.
  void Finish();

  std::uint64_t samples() const noexcept;  // added so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
