// Dataset and Sample: an opened dataset, with random access to its samples.
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

// Limits on the values that are read, as a protection against untrusted datasets, whose manifests
// may claim large values, too. A value must keep to what the manifest says of its field, and to the
// limit here. Both are checked before memory is allocated for the value: in a Loader, in
// Sample::Decode(), and when a value is decompressed. A value larger than the manifest says is
// Error(kCorrupt); one that the manifest allows, but not the limit, is Error(kLimit). In a Loader,
// either is a fault.
struct ReadLimits {
  // Pixels of a decoded image; the default is that of `sluice convert`.
  std::uint64_t max_pixels = 178'000'000;
  // Bytes of a value in a bytes or variable-length field, decompressed; more than 1 GiB counts as 1
  // GiB. 0: only the manifest's figure for the field's largest value limits a value, and at most 1
  // GiB; or 64 MiB, if the manifest gives no figure.
  std::uint64_t max_value_bytes = 0;
  friend bool operator==(const ReadLimits&, const ReadLimits&) = default;
};

// One sample. Spans and views that it returns point into the mapped shard and are valid as long as
// the Sample lives. (For a dataset at a URL, they point into the sample's block, which the Sample
// keeps.) Asking for a field that the schema lacks, or as the wrong type, throws
// Error(kInvalidArgument); a payload whose checksum does not match throws Error(kCorrupt).
class Sample {
 public:
  // The sample's number in the dataset, from 0.
  std::uint64_t index() const noexcept { return index_; }
  // The source's path relative to its folder, or whatever key the writer gave.
  std::string key() const;
  // "shard-00003.sluice, block 5, record 2": for messages.
  std::string place() const;

  // A scalar array field, converted from any integer type to int64.
  std::int64_t Integer(std::string_view field) const;
  // A fixed-shape or variable-length array. T must be the field's element type.
  template <class T>
  std::span<const T> Array(std::string_view field) const;
  // A bytes field (text included); a zstd payload is decompressed once, into the sample's own
  // memory.
  std::span<const std::byte> Bytes(std::string_view field) const;
  std::string_view Text(std::string_view field) const;  // Bytes(), as text
  // A copy of what Array(), Bytes() or Payload() points to ({}: the first image field). If the file
  // has lost these bytes, for instance because it was cut short while it was open, this throws
  // Error(kIo); reading them in place would raise SIGBUS.
  std::vector<std::byte> Copy(std::string_view field) const;

  bool Has(std::string_view field) const;  // false if the sample has no value in that field
  ImagePayload Payload(std::string_view field = {}) const;  // {}: the first image field
  // Payload() without the bytes: reads nothing of the payload.
  ImagePayload Shape(std::string_view field = {}) const;
  Image Decode(std::string_view field = {}) const;  // the whole image, full size

 private:
  friend class Dataset;
  Sample(std::shared_ptr<DatasetState> dataset, std::uint64_t index);
  std::span<const std::byte> Elements(std::string_view field, DType type) const;
  // Calls `read` with the sample's block, under a guard. In its second argument, `read` notes the
  // part of the payload that it has looked at.
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
  mutable std::shared_ptr<const std::vector<std::byte>> made_;  // of a source that is played
  struct Inflated {
    std::size_t field;
    std::vector<std::byte> content;
  };
  mutable std::vector<Inflated> inflated_;
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

// Shards that are not as the manifest says: missing, cut short, or another file.
struct ShardFaults {
  std::vector<bool> faulty;          // by shard
  std::uint64_t shards = 0;          // number of faulty shards
  std::uint64_t samples = 0;         // samples in faulty shards, as the manifest says
  std::vector<std::string> reasons;  // for the first hundred: the file, and a sentence
};

// A dataset, opened for reading, with random access to its samples.
//
// Open() reads only manifest.json, so its cost does not grow with the number of samples. A shard is
// mapped when one of its samples is first asked for, and stays mapped while any Dataset, Sample or
// Loader made from it lives. A process may have only a limited number of mappings, so only the
// shards used last stay mapped: 16,384 of them, but at most a quarter of Linux's vm.max_map_count;
// the environment variable SLUICE_MAX_MAPPED_SHARDS sets another number. More stay mapped only
// while Samples or batches need them. A Dataset is a cheap handle; copies share the mappings. Any
// number of threads may use one at once.
class Dataset {
 public:
  // `path` is the dataset's folder, or its URL: s3://bucket/prefix, gs://, https:// or http://
  // (reader/README.md, "Remote datasets"). Or it is a manifest in that folder: manifest.json, or an
  // older one (manifest-ID.json), which is a dataset of its own. Errors: kNotFound; kUnfinished,
  // with what to do; kCorrupt; kUnsupported for a version that this build does not read. A Loader
  // made from the Dataset keeps to the same limits. After a request on `stop`, every call that
  // waits for the dataset's server, then or later, soon ends with Error(kState).
  static Dataset Open(const std::filesystem::path& path, const ReadLimits& limits = {},
                      const std::stop_token& stop = {});
  // Opens a source without a conversion: a folder of images, a table or archives that PlaySource()
  // (<sluice/play_source.h>, of the writer) has listed. Each sample is made when it is asked for.
  // The call that asks for a sample that cannot be made throws; in a Loader, the sample is a fault.
  static Dataset Open(std::shared_ptr<SampleSupply> samples, const ReadLimits& limits = {});

  std::uint64_t size() const noexcept;           // samples
  Sample operator[](std::uint64_t index) const;  // Error(kInvalidArgument) beyond the end
  // The number of the sample with that key (Sample::key()), the first if several have it; empty if
  // none has. The first call reads the keys of all samples, so it maps all shards and takes time in
  // proportion to the dataset. The Dataset and its copies then keep 16 bytes a sample (up to 48
  // while the call reads); Error(kLimit) if there is not that much memory. A further call needs the
  // chunk of keys (up to 4096) that has the one it finds. It decompresses that chunk, unless the
  // Dataset still has it: for each of the last 64 shards, it keeps the chunk decompressed last, 4
  // MiB of chunks in all.
  //
  // Shards that are missing or whose keys cannot be read are passed over: the sample found need not
  // be the first with that key, which may lie in such a shard. If no sample is found, each call
  // tries those shards again, and throws the Error of the first that still cannot be read, because
  // its samples may have the key.
  std::optional<std::uint64_t> Find(std::string_view key) const;

  // For a field with one number for each sample: the numbers of all samples, in the field's element
  // type. Error(kInvalidArgument) for any other field; Error(kIo) as Sample::Copy().
  std::vector<std::byte> Column(std::string_view field) const;

  const Schema& schema() const noexcept;     // the fields of its samples
  const std::string& id() const noexcept;    // 32 hexadecimal digits
  const std::string& name() const noexcept;  // what the dataset holds, for people
  // The dataset's folder or URL; if an older manifest was opened, the path or URL of that manifest.
  // Opening it again gives the same dataset.
  const std::filesystem::path& path() const noexcept;
  const ReadLimits& limits() const noexcept;                 // the limits that it was opened with
  const std::vector<ShardSummary>& shards() const noexcept;  // in the order of their numbers
  const std::vector<ImageSummary>& images() const noexcept;  // one for each image field, in order
  // Number of samples of each class of the field Schema::ClassField(); empty if there is no such
  // field.
  const std::vector<std::uint64_t>& class_counts() const noexcept;
  const std::string& made_with() const noexcept;  // how the dataset was made, as JSON text
  // Metadata that its maker gave, such as its license: `--meta` of `sluice convert`.
  const std::map<std::string, std::string>& meta() const noexcept;

  // Compares the size and header of each shard's file with the manifest. Call it before work that
  // needs all shards. Maps nothing. When asked to stop, returns early with what it has found.
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
