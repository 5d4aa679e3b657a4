// An opened dataset, and random access to its samples, without a loader.
//
// A Sample finds its shard and block by arithmetic, and reads nothing until a field is asked for.
// Its bytes lie in a mapping, or in a block that was fetched from an object store. Spans point into
// these, so the sample keeps the mapping or the block alive. (A sample of a source that is played
// lies in memory of its own.) A file can be cut or lose pages at any moment; a thread with a
// ReadGuard then reads the lost bytes as zeros. Hence Guarded(), which reads first, and then asks
// whether anything that it read was lost.
#include <algorithm>
#include <cstring>
#include <new>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "format/disk/sample_supply.h"
#include "format/disk/shard_look.h"
#include "format/disk/zstd.h"
#include "format/pixels/decode.h"
#include "format/remote/remote_manifest.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

std::shared_ptr<DatasetState> DatasetState::Open(const std::filesystem::path& path,
                                                 const ReadLimits& limits, std::size_t max_mapped,
                                                 const std::stop_token& stop,
                                                 DatasetFacts::Fields fields) {
  return std::make_shared<DatasetState>(
      std::make_shared<const DatasetFacts>(DatasetFacts::Source::Of(path, stop), limits, fields),
      ShardTable::Options{.max_mapped = max_mapped});
}

std::shared_ptr<DatasetState> DatasetState::Open(std::shared_ptr<ObjectStore> store,
                                                 const ReadLimits& limits,
                                                 const std::stop_token& stop,
                                                 const std::string& manifest) {
  return std::make_shared<DatasetState>(
      std::make_shared<const DatasetFacts>(
          DatasetFacts::Source::Of(std::move(store), stop, manifest), limits),
      ShardTable::Options());
}

std::shared_ptr<DatasetState> DatasetState::Open(std::shared_ptr<SampleSupply> samples,
                                                 const ReadLimits& limits) {
  return std::make_shared<DatasetState>(
      std::make_shared<const DatasetFacts>(std::move(samples), limits), ShardTable::Options());
}

std::shared_ptr<DatasetState> DatasetState::Mix(const Mixture& mixture) {
  const auto facts = std::make_shared<const DatasetFacts>(mixture);
  ShardTable::Options options;
  // If one dataset does not keep all of its shards mapped, the mixture does not either.
  for (const MixedDataset& part : facts->parts)
    options.max_mapped = std::min(options.max_mapped, part.dataset->table.max_mapped());
  return std::make_shared<DatasetState>(facts, options);
}

std::shared_ptr<DatasetState> DatasetState::WithOwnShards(ShardTable::Options options) const {
  options.max_mapped = table.max_mapped();
  return std::make_shared<DatasetState>(facts, options);
}

std::uint64_t DatasetState::MemoryBytes() const noexcept {
  std::uint64_t schema = 0;
  for (const Field& field : facts->manifest.schema.fields) {
    // A guess at what a field and its names take.
    schema += 256;
    for (const std::string& name : field.classes)
      schema += 64 + name.size();
  }
  const std::uint64_t list = facts->supply != nullptr ? facts->supply->ListBytes() : 0;
  std::uint64_t of_columns = 0;
  for (const std::shared_ptr<DatasetState>& column : columns)
    of_columns += column->MemoryBytes();
  return schema + list + table.MemoryBytes() + KeyCache::kMemoryBytes + of_columns;
}

Dataset DatasetOf(std::shared_ptr<DatasetState> state) {
  Dataset dataset;
  dataset.state_ = std::move(state);
  return dataset;
}

Dataset Dataset::Open(const std::filesystem::path& path, const ReadLimits& limits,
                      const std::stop_token& stop) {
  return DatasetOf(DatasetState::Open(path, limits, MaxMappedShards(), stop));
}

Dataset Dataset::Open(std::shared_ptr<SampleSupply> samples, const ReadLimits& limits) {
  if (samples == nullptr) throw Error(ErrorCode::kInvalidArgument, "Dataset::Open: null");
  return DatasetOf(DatasetState::Open(std::move(samples), limits));
}

std::uint64_t Dataset::size() const noexcept {
  return state_->facts->manifest.samples;
}
const Schema& Dataset::schema() const noexcept {
  return state_->facts->manifest.schema;
}
const std::string& Dataset::id() const noexcept {
  return state_->facts->id;
}
const std::string& Dataset::name() const noexcept {
  return state_->facts->manifest.name;
}
const std::filesystem::path& Dataset::path() const noexcept {
  return state_->facts->path;
}
const std::vector<ShardSummary>& Dataset::shards() const noexcept {
  return state_->facts->shards;
}
const std::vector<ImageSummary>& Dataset::images() const noexcept {
  return state_->facts->images;
}
const std::vector<std::uint64_t>& Dataset::class_counts() const noexcept {
  return state_->facts->manifest.class_counts;
}
const ReadLimits& Dataset::limits() const noexcept {
  return state_->facts->limits.read_limits();
}

const std::string& Dataset::made_with() const noexcept {
  return state_->facts->manifest.made;
}

const std::map<std::string, std::string>& Dataset::meta() const noexcept {
  return state_->facts->manifest.meta;
}

ShardFaults Dataset::LookAtShards(const std::stop_token& stop) const {
  if (state_->facts->supply != nullptr) return {std::vector<bool>(shards().size()), 0, 0, {}};
  ShardsLook look =
      state_->facts->store != nullptr
          ? sluice::LookAtShards(*state_->facts->store, state_->facts->manifest, stop)
          : sluice::LookAtShards(state_->facts->folder, state_->facts->manifest, stop);
  ShardFaults faults{std::move(look.faulty), look.shards, look.samples, {}};
  for (const Error& error : look.errors)
    faults.reasons.emplace_back(error.what());
  return faults;
}

std::optional<std::uint64_t> Dataset::Find(std::string_view key) const {
  return state_->Find(key);
}

Sample Dataset::operator[](std::uint64_t index) const {
  if (index >= size()) {
    throw Error(ErrorCode::kInvalidArgument, state_->facts->folder.string(),
                "has " + std::to_string(size()) + " samples, so there is no sample " +
                    std::to_string(index));
  }
  state_->facts->RequireThere(index);
  return Sample(state_, index);
}

bool Dataset::IsDeleted(std::uint64_t index) const noexcept {
  return state_->facts->Deleted(index);
}

std::uint64_t Dataset::deleted() const noexcept {
  return CountOf(state_->facts->manifest.deleted);
}

Sample::Sample(std::shared_ptr<DatasetState> dataset, std::uint64_t index)
    : dataset_(std::move(dataset)), index_(index) {
  const SampleRef ref = dataset_->facts->shape.Sample(index);
  shard_ = ref.shard;
  block_ = ref.block;
  row_ = ref.record;
}

// If the field lies in a column, the sample's row of that column; else null. The rows live as long
// as this sample, because spans point into them.
const Sample* Sample::InColumn(std::size_t field) const {
  const DatasetFacts& facts = *dataset_->facts;
  if (!facts.InColumn(field)) return nullptr;
  columns_.resize(facts.columns.size());
  const std::size_t column = facts.sources[field] - 1;
  if (columns_[column] == nullptr)
    columns_[column].reset(new Sample(dataset_->columns[column], index_));
  return columns_[column].get();
}

// The caller's span points into this shard, so the sample keeps it mapped.
const ShardFile& Sample::File() const {
  if (file_ != nullptr) return *file_;
  ShardUse use = dataset_->table.Shard(shard_);
  // The table itself keeps the shard, so that samples cost no reference each.
  if (dataset_->table.keeps_all()) return *use;
  file_ = std::move(use);
  return *file_;
}

// Returns the shard as File() does, and holds the sample's block as long as the sample lives. If
// the source is played, makes the sample.
const ShardFile& Sample::FileWithBlock() const {
  const ShardFile& shard = File();
  if (shard.fetched() != nullptr && block_held_ == nullptr) {
    block_held_ = dataset_->table.HoldBlock(shard_, shard, block_);
  }
  if (dataset_->facts->supply != nullptr && made_ == nullptr) {
    made_ = std::make_shared<const std::vector<std::byte>>(dataset_->facts->supply->Make(
        shard_, std::uint64_t{block_} * shard.block_samples() + row_, nullptr));
  }
  return shard;
}

// The sample's block. Call FileWithBlock() first.
BlockView Sample::BlockIn(const ShardFile& shard) const {
  return made_ != nullptr ? BlockView::OfOneRecord(*made_, row_) : shard.BlockThere(block_);
}

std::string Sample::key() const {
  const ShardFile& shard = File();
  return dataset_->Key(shard, std::uint64_t{block_} * shard.block_samples() + row_);
}

std::string Sample::place() const {
  return dataset_->facts->shards[shard_].file + ", block " + std::to_string(block_) + ", record " +
         std::to_string(row_);
}

namespace {

// The values of a scalar field. The directory repeats them, so no block is read.
Bytes ColumnOf(const ShardFile& shard, const Schema& stored, std::string_view field) {
  const auto is_scalar = [](const Field& one) {
    return one.kind == FieldKind::kArray && one.shape.empty();
  };
  const auto begin = stored.fields.begin();
  const auto at = static_cast<std::ptrdiff_t>(stored.Find(field));
  return shard.Column(static_cast<std::size_t>(std::count_if(begin, begin + at, is_scalar)));
}

[[noreturn]] void Corrupt(const DatasetState& dataset, std::uint32_t shard, std::uint32_t block,
                          std::uint32_t row, const std::string& what,
                          ErrorCode code = ErrorCode::kCorrupt) {
  throw Error(code, (dataset.facts->folder / dataset.facts->shards[shard].file).string(),
              "block " + std::to_string(block) + ", record " + std::to_string(row), what);
}

}  // namespace

template <class Read>
auto Sample::Guarded(const Read& read) const {
  const ShardFile& shard = FileWithBlock();
  const ReadGuard guard = shard.Guard();
  const BlockView block = BlockIn(shard);
  sluice::Bytes payload;
  const auto lost = [&] { return shard.Lost(block.Record(row_)) || shard.Lost(payload); };
  try {
    auto value = read(block, payload);
    if (!lost()) return value;
  } catch (const Error&) {  // perhaps about zeros in place of lost bytes
    if (!lost()) throw;
  }
  throw shard.Unreadable(place());
}

std::span<const std::byte> Sample::Elements(std::string_view name, DType type) const {
  const std::size_t index = dataset_->facts->FieldIndex(name);
  const Field& field = dataset_->facts->manifest.schema.fields[index];
  const bool array = field.kind == FieldKind::kArray;
  if ((!array && field.kind != FieldKind::kVariable) || field.dtype != type) {
    throw Error(ErrorCode::kInvalidArgument, dataset_->facts->folder.string(),
                "field \"" + field.name + "\" is not an array of " + std::string(NameOf(type)));
  }
  if (const Sample* const row = InColumn(index)) return row->Elements(name, type);
  if (array && field.shape.empty()) {
    const ShardFile& shard = File();
    const std::size_t at = std::size_t{block_} * shard.block_samples() + row_;
    return ColumnOf(shard, dataset_->facts->stored, name).subspan(at * SizeOf(type), SizeOf(type));
  }
  if (array) {
    return BlockIn(FileWithBlock()).Elements(dataset_->facts->layout, row_, index);
  }
  const std::span<const std::byte> bytes = Bytes(name);
  if (bytes.size() % (field.elements() * SizeOf(type)) != 0) {
    Corrupt(*dataset_, shard_, block_, row_,
            "field \"" + field.name + "\" does not hold a whole number of entries");
  }
  return bytes;
}

std::int64_t Sample::Integer(std::string_view name) const {
  const Field& field = dataset_->facts->manifest.schema.fields[dataset_->facts->FieldIndex(name)];
  if (field.kind == FieldKind::kArray && field.shape.empty() && IsInteger(field.dtype)) {
    return ClassNumber(field, Copy(name));
  }
  throw Error(ErrorCode::kInvalidArgument, dataset_->facts->folder.string(),
              "field \"" + field.name + "\" is not an integer scalar");
}

std::span<const std::byte> Sample::Bytes(std::string_view name) const {
  const std::size_t index = dataset_->facts->FieldIndex(name);
  const Field& field = dataset_->facts->manifest.schema.fields[index];
  if (field.kind != FieldKind::kBytes && field.kind != FieldKind::kVariable) {
    throw Error(ErrorCode::kInvalidArgument, dataset_->facts->folder.string(),
                "field \"" + field.name + "\" is not a bytes field; its kind is " +
                    std::string(NameOf(field.kind)));
  }
  if (const Sample* const row = InColumn(index)) return row->Bytes(name);
  return Guarded(
      [&](const BlockView& block, sluice::Bytes& read) { return BytesIn(block, index, read); });
}

std::span<const std::byte> Sample::BytesIn(const BlockView& block, std::size_t index,
                                           std::span<const std::byte>& read) const {
  const Field& field = dataset_->facts->manifest.schema.fields[index];
  BlockView::Payload payload;
  if (const Defect defect = block.GetPayload(dataset_->facts->layout, row_, index, payload)) {
    Corrupt(*dataset_, shard_, block_, row_, "field \"" + field.name + "\": " + defect);
  }
  if (payload.entry.codec == static_cast<std::uint16_t>(Codec::kAbsent)) return {};
  read = payload.bytes;
  if (!block.Matches(payload.bytes, payload.entry.checksum)) {
    Corrupt(*dataset_, shard_, block_, row_,
            "field \"" + field.name + "\": the checksum does not match");
  }
  if (const Defect defect = BlockView::CheckContentCodec(payload)) {
    Corrupt(*dataset_, shard_, block_, row_,
            "field \"" + field.name + "\" (codec " + std::to_string(payload.entry.codec) +
                "): " + defect,
            ErrorCode::kUnsupported);
  }
  if (payload.entry.codec == static_cast<std::uint16_t>(Codec::kRaw)) return payload.bytes;
  // Spans of earlier calls point into this content, so it is neither made twice nor dropped.
  for (const Inflated& before : inflated_) {
    if (before.field == index) return before.content;
  }
  const std::optional<std::uint64_t> size = ZstdContentBytes(payload.bytes);
  if (!size) {
    Corrupt(*dataset_, shard_, block_, row_, "field \"" + field.name + "\": no usable zstd frame");
  }
  if (const ValueFault over = dataset_->facts->limits.CheckBytes(index, *size)) {
    Corrupt(*dataset_, shard_, block_, row_, "field \"" + field.name + "\": " + over.what,
            over.code);
  }
  std::vector<std::byte> content(*size);
  if (!ZstdDecompress(payload.bytes, content)) {
    Corrupt(*dataset_, shard_, block_, row_,
            "field \"" + field.name + "\": the zstd frame cannot be decompressed");
  }
  return inflated_.emplace_back(Inflated{index, std::move(content)}).content;
}

std::string_view Sample::Text(std::string_view field) const {
  const std::span<const std::byte> bytes = Bytes(field);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool Sample::Has(std::string_view name) const {
  const std::size_t index = dataset_->facts->FieldIndex(name);
  if (dataset_->facts->manifest.schema.fields[index].kind == FieldKind::kArray) return true;
  if (const Sample* const row = InColumn(index)) return row->Has(name);
  return Guarded([&](const BlockView& block, sluice::Bytes&) {
    BlockView::Payload payload;
    if (const Defect defect = block.GetPayload(dataset_->facts->layout, row_, index, payload)) {
      Corrupt(*dataset_, shard_, block_, row_, defect);
    }
    return payload.entry.codec != static_cast<std::uint16_t>(Codec::kAbsent);
  });
}

ImagePayload Sample::EntryOf(std::string_view name, std::uint64_t& checksum) const {
  const std::size_t index = dataset_->facts->ImageField(name);
  if (const Sample* const row = InColumn(index)) return row->EntryOf(name, checksum);
  return Guarded([&](const BlockView& block, sluice::Bytes&) {
    ImagePayload payload;
    if (const Defect defect =
            block.GetImage(dataset_->facts->layout, row_, index, payload, checksum)) {
      Corrupt(*dataset_, shard_, block_, row_, defect);
    }
    return payload;
  });
}

ImagePayload Sample::Shape(std::string_view field) const {
  std::uint64_t checksum = 0;
  ImagePayload payload = EntryOf(field, checksum);
  payload.bytes = {};
  return payload;
}

ImagePayload Sample::Payload(std::string_view field) const {
  if (const Sample* const row = InColumn(dataset_->facts->ImageField(field)))
    return row->Payload(field);
  std::uint64_t checksum = 0;
  return Guarded([&](const BlockView& block, sluice::Bytes& read) {
    const ImagePayload payload = EntryOf(field, checksum);
    read = payload.bytes;
    if (payload.codec != Codec::kAbsent && !block.Matches(payload.bytes, checksum)) {
      Corrupt(*dataset_, shard_, block_, row_, "the image's checksum does not match");
    }
    return payload;
  });
}

std::vector<std::byte> Sample::Copy(std::string_view name) const {
  const std::size_t index =
      name.empty() ? dataset_->facts->ImageField(name) : dataset_->facts->FieldIndex(name);
  if (const Sample* const row = InColumn(index)) return row->Copy(name);
  const Field& field = dataset_->facts->manifest.schema.fields[index];
  const ShardFile& shard = File();
  const ReadGuard guard = shard.Guard();
  std::span<const std::byte> bytes;
  switch (field.kind) {
    case FieldKind::kImage: bytes = Payload(field.name).bytes; break;
    case FieldKind::kBytes: bytes = Bytes(name); break;
    case FieldKind::kArray:
    case FieldKind::kVariable: bytes = Elements(name, field.dtype); break;
  }
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  // If a file is cut in the middle of a page, the bytes after the cut read as zeros. Checksums
  // notice that, but arrays have none, so for arrays in a file CutOff() is asked. (If the sample
  // was made, only its scalars lie in a file: in the directory's columns.)
  const bool in_file = made_ == nullptr || (field.kind == FieldKind::kArray && field.shape.empty());
  if (shard.Lost(bytes) || (field.kind == FieldKind::kArray && in_file && shard.CutOff(bytes)))
    throw shard.Unreadable(place());
  return copy;
}

std::vector<std::byte> Dataset::Column(std::string_view name) const {
  const std::size_t index = state_->facts->FieldIndex(name);
  const Field& field = state_->facts->manifest.schema.fields[index];
  if (field.kind != FieldKind::kArray || !field.shape.empty()) {
    throw Error(ErrorCode::kInvalidArgument, path().string(),
                "field \"" + field.name + "\" is not one number for each sample");
  }
  // The values of deleted samples must not come out by way of a column.
  const auto without_deleted = [&](std::vector<std::byte> all) {
    const std::size_t bytes = SizeOf(field.dtype);
    for (const DeletedRun& run : state_->facts->manifest.deleted)
      std::memset(all.data() + run.first * bytes, 0, run.count * bytes);
    return all;
  };
  if (state_->facts->InColumn(index)) {
    return without_deleted(
        DatasetOf(state_->columns[state_->facts->sources[index] - 1]).Column(name));
  }
  std::vector<std::byte> values;
  values.reserve(size() * SizeOf(field.dtype));
  for (std::uint32_t s = 0; s < state_->facts->shards.size(); ++s) {
    const ShardUse shard = state_->table.Shard(s);
    const ReadGuard guard = shard->Guard();
    const Bytes column = ColumnOf(*shard, state_->facts->stored, name);
    values.insert(values.end(), column.begin(), column.end());
    if (shard->Lost(column) || shard->CutOff(column)) throw shard->Unreadable("directory");
  }
  return without_deleted(std::move(values));
}

Image Sample::Decode(std::string_view field) const try {
  if (const Sample* const row = InColumn(dataset_->facts->ImageField(field)))
    return row->Decode(field);
  const ShardFile& shard = FileWithBlock();
  const ReadGuard guard = shard.Guard();
  const ImagePayload payload = Payload(field);
  if (const ValueFault over =
          dataset_->facts->limits.CheckImage(dataset_->facts->ImageField(field), payload);
      over && payload.codec != Codec::kAbsent) {
    Corrupt(*dataset_, shard_, block_, row_, over.what, over.code);
  }
  Image image;
  image.width = payload.width;
  image.height = payload.height;
  image.channels = payload.channels;
  image.pixel_type = payload.pixel_type;
  image.pixels.resize(std::size_t{payload.width} * payload.height * payload.channels *
                      SizeOf(payload.pixel_type));
  // Each thread keeps one decoder. If one were made for each picture, its memory would lie between
  // what is kept of shards, and fragment the heap. Only a decoder that has grown by a large picture
  // is freed.
  constexpr std::uint64_t kKeptPixels = 4 << 20;
  thread_local PayloadDecoder decoder;
  const Defect defect =
      decoder.Decode(payload, Region::Whole(payload.width, payload.height),
                     {image.pixels.data(), payload.channels, PixelOrder::kInterleaved});
  if (shard.Lost(payload.bytes)) throw shard.Unreadable(place());
  if (defect != nullptr) {
    Corrupt(*dataset_, shard_, block_, row_, std::string("the image cannot be decoded: ") + defect);
  }
  if (std::uint64_t{image.width} * image.height > kKeptPixels) decoder = PayloadDecoder();
  return image;
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::kMemory, place(), "there is not enough memory to decode its image");
}

}  // namespace sluice
