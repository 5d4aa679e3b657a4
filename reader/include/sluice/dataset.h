// An opened dataset, with random access to its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.h>
#include <sluice/image.h>
#include <sluice/schema.h>

namespace sluice {

struct DatasetState;  // private
class BlockView;      // private
class ShardFile;      // private
class SampleSupply;   // what PlaySource() returns (<sluice/play_source.h>)

// Limits on the size of the values that are read from a dataset. They protect against untrusted
// datasets, whose manifests may claim any size. A value must be within both the manifest's figure
// for its field and the limit here. Both are checked before memory is allocated for the value: in a
// Loader, in Sample::Decode(), and when a value is decompressed.
//
// A value larger than the manifest says is Error(kCorrupt). A value that the manifest allows, but
// the limit does not, is Error(kLimit). In a Loader, either makes the sample a fault.
struct ReadLimits {
  // The most pixels of a decoded image. The default is the default of `sluice convert`.
  std::uint64_t max_pixels = 178'000'000;
  // The most bytes, decompressed, of a value in a bytes or variable-length field:
  //
  //   above 0   this many, but at most 1 GiB
  //   0         1 GiB; or 64 MiB, if the manifest has no figure for the field
  std::uint64_t max_value_bytes = 0;
  friend bool operator==(const ReadLimits&, const ReadLimits&) = default;
};

// One sample of a dataset. Its bytes are read when a field is asked for. One thread at a time may
// use a Sample.
//
// The spans and views that a Sample returns are valid as long as the Sample lives. They point into
// the mapped shard. (If the dataset is at a URL, they point into the sample's block, which the
// Sample keeps.)
//
// Functions for images take the first image field if `field` is empty. All functions that take a
// field throw Error(kInvalidArgument) if the schema lacks the field, or if the field has another
// type than the one asked for. They throw Error(kCorrupt) if a payload does not match its checksum.
class Sample {
 public:
  // The sample's number in the dataset, from 0.
  std::uint64_t index() const noexcept { return index_; }
  // The sample's key: the path of its source, relative to the source's folder, or the key that its
  // writer gave.
  std::string key() const;
  // Where the sample lies, for messages: "shard-00003.sluice, block 5, record 2".
  std::string place() const;

  // The value of a scalar field, of any integer type.
  std::int64_t Integer(std::string_view field) const;
  // The elements of a fixed-shape or variable-length field. T must be the field's element type.
  template <class T>
  std::span<const T> Array(std::string_view field) const;
  // The content of a bytes field (text included). A zstd payload is decompressed once, into memory
  // of the Sample.
  std::span<const std::byte> Bytes(std::string_view field) const;
  std::string_view Text(std::string_view field) const;  // Bytes(), as text
  // A copy of the bytes that Array(), Bytes() or Payload() points to. An empty `field` is the first
  // image field. Throws Error(kIo) if the file has lost these bytes, for instance because it was
  // cut short while it was open. (Reading lost bytes in place raises SIGBUS.)
  std::vector<std::byte> Copy(std::string_view field) const;

  bool Has(std::string_view field) const;  // false if the sample has no value in that field
  // The stored image: its bytes, not decoded, with its size and codec.
  ImagePayload Payload(std::string_view field = {}) const;
  // Payload() without the bytes. Reads no byte of the image itself.
  ImagePayload Shape(std::string_view field = {}) const;
  Image Decode(std::string_view field = {}) const;  // the whole image, in full size

 private:
  friend class Dataset;
  const Sample* InColumn(std::size_t field) const;
  Sample(std::shared_ptr<DatasetState> dataset, std::uint64_t index);
  std::span<const std::byte> Elements(std::string_view field, DType type) const;
  // Calls `read(block, touched)` with the sample's block, under a guard. `read` sets `touched` to
  // the part of the payload that it reads.
  template <class Read>
  auto Guarded(const Read& read) const;
  std::span<const std::byte> BytesIn(const BlockView& block, std::size_t field,
                                     std::span<const std::byte>& read) const;
  ImagePayload EntryOf(std::string_view field, std::uint64_t& checksum) const;
  const ShardFile& File() const;
  const ShardFile& FileWithBlock() const;
  BlockView BlockIn(const ShardFile& shard) const;

  std::shared_ptr<DatasetState> dataset_;
  std::uint64_t index_ = 0;
  std::uint32_t shard_ = 0;
  std::uint32_t block_ = 0;                                     // within the shard
  std::uint32_t row_ = 0;                                       // within the block
  mutable std::shared_ptr<const ShardFile> file_;               // null if all shards stay mapped
  mutable std::shared_ptr<const void> block_held_;              // of a dataset in an object store
  mutable std::shared_ptr<const std::vector<std::byte>> made_;  // a played source's sample
  struct Inflated {
    std::size_t field;
    std::vector<std::byte> content;
  };
  mutable std::vector<Inflated> inflated_;
  mutable std::vector<std::shared_ptr<Sample>> columns_;  // its rows of the dataset's columns
};

// A shard, as the manifest describes it.
struct ShardSummary {
  std::string file;                 // relative to the dataset's folder
  std::uint64_t samples = 0;        // samples in this shard
  std::uint64_t blocks = 0;         // blocks in this shard
  std::uint64_t bytes = 0;          // size of the shard's file
  std::uint32_t block_samples = 0;  // samples in each block; the last block may have fewer
};

// An image field over all samples, as the manifest describes it.
struct ImageSummary : ImageFigures {
  std::string field;  // the field's name
};

// The shards whose files do not match the manifest: missing, cut short, or replaced by another
// file.
struct ShardFaults {
  std::vector<bool> faulty;          // by shard: whether it is faulty
  std::uint64_t shards = 0;          // number of faulty shards
  std::uint64_t samples = 0;         // samples in faulty shards, as the manifest says
  std::vector<std::string> reasons;  // of up to 100 faulty shards: the file, and a sentence
};

// A dataset, opened for reading, with random access to its samples. A Dataset is a cheap handle:
// copies share the mapped shards. Any number of threads may use one Dataset at once.
//
//   const sluice::Dataset dataset = sluice::Dataset::Open("data/photos");
//   const sluice::Sample sample = dataset[17];
//   const std::int64_t label = sample.Integer("label");
//   const sluice::Image image = sample.Decode();
//
// Open() reads only manifest.json, so its cost does not grow with the number of samples. A shard is
// mapped when one of its samples is first asked for. It stays mapped while the Dataset, a copy of
// it, or a Sample or Loader made from it lives, unless that makes too many mapped shards.
//
// A process may have only a limited number of mappings. So at most 16,384 shards stay mapped (or a
// quarter of Linux's vm.max_map_count, if that is less): those used last. The environment variable
// SLUICE_MAX_MAPPED_SHARDS sets another number. Shards that Samples or batches need stay mapped in
// any case.
class Dataset {
 public:
  // Opens the dataset at `path`, which is one of:
  //
  //   the dataset's folder
  //   its URL: s3://bucket/prefix, gs://, https://, http:// (reader/MEMORY.md, "Remote datasets")
  //   a manifest in one of these: manifest.json, or an older one (manifest-ID.json)
  //
  // An older manifest is a dataset of its own.
  //
  // `limits` also holds for a Loader made from the Dataset.
  //
  // After a request on `stop`, calls that wait for the dataset's server soon throw Error(kState),
  // and so do later calls.
  //
  // Errors: kNotFound; kUnfinished, which says what to do; kCorrupt; kUnsupported for a version of
  // the format that this build does not read.
  static Dataset Open(const std::filesystem::path& path, const ReadLimits& limits = {},
                      const std::stop_token& stop = {});
  // Opens a source without a conversion: a folder of images, a table or archives that PlaySource()
  // (<sluice/play_source.h>, of the writer) has listed. Each sample is made when it is asked for.
  // If a sample cannot be made, reading it throws; in a Loader, it is a fault.
  static Dataset Open(std::shared_ptr<SampleSupply> samples, const ReadLimits& limits = {});

  std::uint64_t size() const noexcept;  // samples, deleted ones included: their numbers stay
  // Throws Error(kInvalidArgument) beyond the end, and for a sample that was deleted.
  Sample operator[](std::uint64_t index) const;
  // Whether the sample was deleted (`sluice delete`).
  bool IsDeleted(std::uint64_t index) const noexcept;
  std::uint64_t deleted() const noexcept;  // how many samples were deleted
  // The number of the sample with that key (Sample::key()). If several samples have the key, this
  // is the first of them; if no sample has it, the result is empty. Deleted samples are not found.
  //
  // The first call reads the keys of all samples. So it maps all shards, and takes time in
  // proportion to the dataset. From then on, the Dataset and its copies keep 16 bytes a sample (up
  // to 48 during the call). Throws Error(kLimit) if there is not that much memory. A later call
  // decompresses one chunk of up to 4096 keys, unless that chunk is still in memory. (The Dataset
  // keeps at most 4 MiB of chunks: one for each of the last 64 shards.)
  //
  // Find() passes over shards that are missing or whose keys cannot be read, so the sample that it
  // returns may be a later one with the key. If Find() finds no sample, the key may be in such a
  // shard. It then tries those shards again, and throws the Error of the first that still cannot be
  // read.
  std::optional<std::uint64_t> Find(std::string_view key) const;

  // The values of a field that has one number for each sample: the numbers of all samples, in the
  // field's element type. Throws Error(kInvalidArgument) for any other field, and Error(kIo) if a
  // file has lost the bytes (see Sample::Copy()).
  std::vector<std::byte> Column(std::string_view field) const;

  const Schema& schema() const noexcept;     // the fields of its samples
  const std::string& id() const noexcept;    // 32 hexadecimal digits
  const std::string& name() const noexcept;  // what the dataset holds, for people
  // The dataset's folder or URL. If an older manifest was opened, this is the path or URL of that
  // manifest. Opening this path again gives the same dataset.
  const std::filesystem::path& path() const noexcept;
  const ReadLimits& limits() const noexcept;                 // the limits that it was opened with
  const std::vector<ShardSummary>& shards() const noexcept;  // in the order of their numbers
  const std::vector<ImageSummary>& images() const noexcept;  // one for each image field, in order
  // The number of samples of each class of the field Schema::ClassField(). Empty if there is no
  // such field.
  const std::vector<std::uint64_t>& class_counts() const noexcept;
  const std::string& made_with() const noexcept;  // how the dataset was made, as JSON text
  // Metadata that the dataset's maker gave, such as its license: `--meta` of `sluice convert`.
  const std::map<std::string, std::string>& meta() const noexcept;

  // Compares the size and header of each shard's file with the manifest. Call it before work that
  // needs all shards. Maps no shard. After a request on `stop`, it returns what it has found so
  // far.
  ShardFaults LookAtShards(const std::stop_token& stop = {}) const;

  const std::shared_ptr<DatasetState>& state() const noexcept { return state_; }  // for the Loader

 private:
  friend class LoaderSetup;
  friend Dataset DatasetOf(std::shared_ptr<DatasetState> state);  // private
  std::shared_ptr<DatasetState> state_;
};

template <class T>
std::span<const T> Sample::Array(std::string_view field) const {
  const std::span<const std::byte> bytes = Elements(field, DTypeOf<T>());
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace sluice
