// Writes a dataset from C++, sample by sample: a schema, a name, samples, Finish().
//
//   sluice::Schema schema{{sluice::Field::Image(), sluice::Field::Label("label", {"cat", "dog"})}};
//   sluice::DatasetWriter writer("data/pets", schema, {.name = "pets"});
//   sluice::SampleBuilder sample = writer.NewSample("cats/1.jpg");
//   sample.SetJpeg("image", jpeg_bytes);
//   sample.Set<std::int32_t>("label", 0);
//   writer.Add(sample);
//   writer.Finish();
//
// Samples are stored in the order in which they are added. Two samples may have the same key, as in
// a table that lists an image twice; Dataset::Find() then returns one of them. Writing cannot be
// resumed: a writer that is destroyed without Finish() leaves a folder without a manifest, which
// readers refuse. One thread at a time may use a writer. SampleBuilders are independent of each
// other.
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
  std::string name = {};  // shard ids are derived from it; empty: the folder's name
  // The planned size of a shard: kMinShardBytes to kMaxShardBytes.
  std::uint64_t shard_bytes = kDefaultShardBytes;
  std::uint32_t block_samples = 0;  // 0: chosen from the first samples, for about 512 KiB a block
  // If a JPEG's Exif orientation turns its picture, SetJpeg() stores the picture upright. This
  // option says what happens to the boxes, masks and key points of such a picture:
  //
  //   true    they were drawn on the upright picture, which most tools show, so they are stored
  //   false   it is not known on which picture they were drawn, so Add() refuses the sample
  bool upright = false;
  // Metadata of the dataset, such as its license: names with values (Dataset::meta()).
  std::map<std::string, std::string> meta = {};
};

// The fields of one sample. Every array field must be set before Add(). Image, bytes and variable
// fields that are not set are stored as absent. Setters copy their values. They throw
// Error(kInvalidArgument) if the schema has no such field, or if the field has another type or
// shape, and Error(kLimit) if the value is too large.
class SampleBuilder {
 public:
  // Takes over the other builder's sample. After that, the other builder may only be assigned to or
  // destroyed.
  SampleBuilder(SampleBuilder&&) noexcept;
  SampleBuilder& operator=(SampleBuilder&&) noexcept;
  ~SampleBuilder();

  // Sets a scalar array field.
  template <class T>
  requires std::is_arithmetic_v<T>
  void Set(std::string_view field, T value) { SetArray<T>(field, std::span<const T>(&value, 1)); }
  // Sets a fixed-shape or variable-length array, with its elements in row-major order.
  template <class T>
  void SetArray(std::string_view field, std::span<const T> values) {
    SetElements(field, DTypeOf<T>(), std::as_bytes(values));
  }
  // Stores a complete JPEG file as it is, with two exceptions. If the end marker is missing, it is
  // added. If Exif's orientation turns the picture, the picture is stored upright, as `sluice
  // convert` does: its coefficients are turned if whole blocks allow that; otherwise it is encoded
  // again (4:2:0, quality 90). Boxes, masks and key points are not turned with it: see
  // DatasetWriterOptions::upright.
  //
  // Throws Error(kInvalidArgument) for a file that is cut short or that readers could not decode.
  // (A baseline file is not decoded to find that out.)
  void SetJpeg(std::string_view field, std::span<const std::byte> file);
  // Like SetJpeg(), but stores a packed image: the same pixels, faster to decode, larger
  // (FORMAT.md, "Packed"). Some JPEGs have no packed form, because of their sampling, or because
  // their colours are neither grey nor Y Cb Cr. Such a JPEG is stored as SetJpeg() stores it, and
  // the result is false. Reads the whole file; throws Error(kInvalidArgument) if it is broken.
  bool SetPacked(std::string_view field, std::span<const std::byte> jpeg_file);
  // Stores pixels of any type and 1 to 64 channels without loss: rows of interleaved pixels without
  // padding. Add() refuses an image of another type than the field's other images.
  //
  // With `compress`, these are stored as zstd: 8-bit pictures, and masks of uint8 and uint16, with
  // up to four channels. All other images are stored as tiled (FORMAT.md, "Tiled").
  void SetPixels(std::string_view field, std::uint32_t width, std::uint32_t height,
                 std::uint8_t channels, PixelType type, std::span<const std::byte> pixels,
                 bool compress = false);
  // Encodes 8-bit pixels of one (grey) or three (RGB) channels as `sluice convert` does: as a
  // baseline JPEG of that quality (1 to 100) with 4:2:0 subsampling and restart markers, or with
  // `packed` as the packed image of that JPEG. Encoding takes time; several threads may do it at
  // the same time, each with a builder of its own.
  void SetEncoded(std::string_view field, std::uint32_t width, std::uint32_t height,
                  std::uint8_t channels, std::span<const std::byte> pixels, int quality = 90,
                  bool packed = false);
  // Sets a bytes field. `compress`: stored as zstd. Throws Error(kInvalidArgument) if the field has
  // the role text and the bytes are not UTF-8, or if it has the role json and they are not JSON
  // text as format/FORMAT.md, "Conventions", requires.
  void SetBytes(std::string_view field, std::span<const std::byte> bytes, bool compress = false);
  // Sets a bytes field to a text.
  void SetText(std::string_view field, std::string_view text, bool compress = false);
  // Prepares the builder for the next sample: forgets every value, but keeps the memory.
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
  // Creates the folder `dataset`. Throws Error(kExists) if the folder holds anything, and
  // Error(kInvalidArgument) for a field of boxes, key points or instances that a loader could not
  // move with its image.
  DatasetWriter(const std::filesystem::path& dataset, const Schema& schema,
                const DatasetWriterOptions& options = {});
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  // Returns a sample to fill and to pass to Add().
  SampleBuilder NewSample(std::string key) const;
  // Stores the sample. Throws Error(kInvalidArgument) in these cases, among others:
  //
  //   SetJpeg() turned its picture upright, it has boxes, masks or key points, and
  //     DatasetWriterOptions::upright is not set;
  //   a box ends before it begins;
  //   a field that has an entry for each box has another number of entries than the boxes;
  //   a value of instances (<sluice/instances.h>) does not keep to its form, or has another number
  //     of objects than there are boxes.
  //
  // After kInvalidArgument or kLimit, the sample was not stored, and the writer can be used again.
  // After kIo, or kLimit because there are too many shards, the writer cannot be used again.
  void Add(const SampleBuilder& sample);
  // Writes what is pending, then the manifest. No other call may follow.
  void Finish();

  std::uint64_t samples() const noexcept;  // number of samples added so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
