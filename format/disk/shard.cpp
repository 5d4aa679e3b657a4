// Opening a shard file and handing out its blocks.
//
// A shard is read from its two ends: at the beginning the header with the schema; at the end the
// tail, which says where the directory is. The directory's entries are checked against each other
// and against the file's size before anything is indexed by them. A block is checked when it is
// first asked for.
//
// The bytes may be a mapped file, which other programs can cut or overwrite, or parts that are
// brought from an object store when they are needed (FetchedParts). So if bytes from a store fail a
// check, Mended() first fetches them once more. Corrupt() then looks whether the file was cut or
// overwritten after it was opened; if so, its error says that instead.
#include "format/disk/shard.h"

#include <algorithm>
#include <chrono>
#include <set>

#include <sluice/error.h>
#include <sluice/version.h>

#include "format/disk/block.h"
#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "format/disk/manifest.h"

namespace sluice {

namespace {

constexpr const char* kNoKeys = "the shard has no section 1, which holds the keys of its samples";

// Parses the header at a file's beginning; returns the schema's text.
std::string_view ParseHeader(Bytes file, const std::string& name, ShardHeader& header) {
  const auto corrupt = [&name](const char* what) {
    return Error(ErrorCode::kCorrupt, name, "header", what);
  };
  if (file.size() < sizeof(ShardHeader)) throw corrupt("the file is cut short");
  header = LoadAt<ShardHeader>(file, 0);
  if (!HasMagic(header)) throw corrupt("this is not a Sluice shard");
  // Before the checksum: another version may compute it in another way.
  if (header.version != kFormatVersion) {
    throw Error(ErrorCode::kUnsupported, name, "header",
                "is of format version " + std::to_string(header.version) +
                    "; this build reads version " + std::to_string(kFormatVersion) +
                    ", use another version of Sluice");
  }
  if (header.header_checksum != Hash64(file.first(offsetof(ShardHeader, header_checksum)))) {
    throw corrupt("the checksum does not match; run `sluice verify` on the dataset");
  }
  if (header.required != 0) {
    throw Error(ErrorCode::kUnsupported, name, "header",
                "needs features that this build does not know; use a newer version of Sluice");
  }
  if (header.header_bytes % kPageBytes != 0 || header.header_bytes > kMaxHeaderBytes ||
      header.header_bytes > file.size() || header.block_samples == 0 ||
      header.block_samples > kMaxBlockSamples ||
      !Inside(sizeof(ShardHeader), header.schema_bytes, header.header_bytes)) {
    throw corrupt("the sizes are out of range");
  }
  const Bytes schema = file.subspan(sizeof(ShardHeader), header.schema_bytes);
  if (header.schema_checksum != Hash64(schema)) {
    throw corrupt("the schema's checksum does not match; run `sluice verify` on the dataset");
  }
  return AsText(schema);
}

// Returns the time of a file's last change, or 0 if it is so recent that a later change could have
// the same time: file systems count in steps of milliseconds, and their clock may differ from ours.
std::int64_t ZeroIfRecent(std::int64_t written) {
  constexpr std::chrono::seconds kNear{2};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::nanoseconds(written) > kNear ? written : 0;
}

}  // namespace

// Fields of one number for each sample are repeated in the directory, so that reading all labels of
// a dataset touches no block.
std::vector<std::size_t> ColumnFields(const Schema& schema) {
  std::vector<std::size_t> columns;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    if (field.kind == FieldKind::kArray && field.shape.empty()) columns.push_back(f);
  }
  return columns;
}

std::uint64_t DirectoryBytes(const Schema& schema, std::uint64_t blocks, std::uint64_t sections,
                             std::uint64_t samples) noexcept {
  std::uint64_t bytes = ColumnsOffset(blocks, sections);
  for (const Field& field : schema.fields) {
    if (field.kind == FieldKind::kArray && field.shape.empty()) {
      bytes = AlignUp(bytes, kPayloadAlignment) + ColumnBytes(field, samples);
    }
  }
  return AlignUp(bytes, kPayloadAlignment);
}

ShardExpectation ShardExpectation::Of(const ManifestShard& entry) {
  return {entry.id, entry.digest, entry.samples, entry.blocks, entry.bytes, entry.block_samples};
}

ShardSchema::ShardSchema(const Schema& of)
    : schema(of), text(SchemaToJson(of)), layout(of), columns(ColumnFields(of)) {}

ShardFile::ShardFile(MappedFile file, std::string name, std::shared_ptr<const ShardSchema> schema,
                     const ShardExpectation& expect)
    : name_(std::move(name)), schema_(std::move(schema)), file_(std::move(file)) {
  Open(expect);
}

ShardFile::ShardFile(std::shared_ptr<ShardParts> parts, std::shared_ptr<const ShardSchema> schema,
                     const ManifestShard& entry)
    : name_(parts->name()),
      schema_(std::move(schema)),
      fetched_(std::make_unique<FetchedParts>(*this, parts, ShardFrame::Of(*schema_, entry))),
      file_(parts->bytes()) {
  Open(ShardExpectation::Of(entry));
}

void ShardFile::Open(const ShardExpectation& expect) {
  const auto differs = [](const auto& expected, const auto& found) {
    return expected.has_value() && *expected != found;
  };
  written_at_.store(ZeroIfRecent(file_.WrittenAt().value_or(0)), std::memory_order_relaxed);
  if (differs(expect.bytes, file_.bytes().size())) {
    Corrupt({}, "has " + std::to_string(file_.bytes().size()) + " bytes, but the manifest says " +
                    std::to_string(*expect.bytes) +
                    "; it was cut short or replaced: restore it or convert again");
  }
  const ReadGuard guard = Guard();
  ReadHeader();
  ReadTail();
  ReadDirectory();
  if (differs(expect.id, id()) || differs(expect.digest, digest_) ||
      differs(expect.samples, samples()) || differs(expect.blocks, std::uint64_t{blocks()}) ||
      differs(expect.block_samples, block_samples())) {
    Corrupt({}, "is not the shard that the manifest names; restore it or convert again");
  }
}

Schema ShardFile::ReadSchema(const std::filesystem::path& path, std::string* text) {
  const MappedFile file(path);
  const ReadGuard guard = file.Guard();
  ShardHeader header;
  const std::string_view read = ParseHeader(file.bytes(), path.string(), header);
  if (text != nullptr) *text = read;
  return SchemaFromJson(read, path.string());
}

void ShardFile::Corrupt(const std::string& place, const std::string& what) const {
  if (Lost(file_.bytes()) || CutOff(file_.bytes())) throw Unreadable(place);
  if (!StillTheSame()) throw Overwritten(place);
  throw Error(ErrorCode::kCorrupt, name_, place, what);
}

Error ShardFile::Overwritten(const std::string& place) const {
  return Error(ErrorCode::kIo, name_, place,
               "was overwritten while it was open, and now holds other samples; open the dataset "
               "again, and replace shards by renaming, as Sluice's commands do");
}

bool ShardFile::StillTheSame() const {
  if (overwritten_.load(std::memory_order_relaxed)) return false;
  if (verified_.empty()) return true;  // it is being opened
  const std::optional<std::int64_t> written = file_.WrittenAt();
  // The digest is only computed if the file's time has changed, as a copy or `touch` may do.
  if (!written || *written == written_at_.load(std::memory_order_relaxed)) return true;
  const std::int64_t written_at = ZeroIfRecent(*written);
  const ReadGuard guard = Guard();
  const Id128 digest = DigestNow();
  // Unreadable bytes are not the same either, but the code that reads them will report that.
  if (Lost(file_.bytes()) || CutOff(file_.bytes())) return true;
  if (digest != digest_) {
    overwritten_.store(true, std::memory_order_relaxed);
    return false;
  }
  written_at_.store(written_at, std::memory_order_relaxed);
  // Written again with the same content: what was checked before has to be checked again.
  for (std::atomic<std::uint64_t>& word : verified_)
    word.store(0, std::memory_order_relaxed);
  verified_sections_.store(0, std::memory_order_relaxed);
  return true;
}

Id128 ShardFile::DigestNow() const {
  const Bytes tail = file_.bytes().subspan(file_.bytes().size() - sizeof(ShardTail));
  return Hash128({directory_bytes_, tail});
}

bool ShardFile::CutOff(Bytes range) const noexcept {
  const std::uint64_t left = file_.BytesLeft();
  if (static_cast<std::uint64_t>(range.data() + range.size() - file_.bytes().data()) > left) {
    return true;
  }
  // If the file has lost its name (a copy, say, that was removed because it was cut), its size
  // cannot be found by the name. Then its last bytes show whether it was cut.
  if (fetched_ != nullptr || left < file_.bytes().size() || HasItsName()) return false;
  const ReadGuard guard = Guard();
  std::atomic_thread_fence(std::memory_order_seq_cst);  // after what was read before
  return !EndIsThere();
}

Error ShardFile::Unreadable(const std::string& place) const {
  const std::uint64_t left = file_.BytesLeft();
  if (left < file_.bytes().size()) {
    return Error(ErrorCode::kIo, name_, place,
                 "was cut short while it was open: " + std::to_string(left) + " of its " +
                     std::to_string(file_.bytes().size()) +
                     " bytes are left; restore it and open the dataset again");
  }
  if (overwritten_.load(std::memory_order_relaxed)) return Overwritten(place);
  if (fetched_ != nullptr) {
    return Error(ErrorCode::kIo, name_, place,
                 "cannot be read from the folder that keeps fetched blocks (a cache or a stage): a "
                 "file there was cut short, or its disk reported an error; the dataset itself may "
                 "be whole. Remove that folder and open the dataset again");
  }
  return Error(ErrorCode::kIo, name_, place,
               "cannot be read: the disk or file system reported an error; see the system's log, "
               "restore the file and open the dataset again");
}

bool BlockView::Matches(Bytes payload, std::uint64_t checksum) const {
  const auto passes = [checksum](Bytes bytes) { return Hash64(bytes) == checksum; };
  return passes(payload) || (shard_ != nullptr && shard_->Mended(payload, passes));
}

void ShardFile::ReadHeader() {
  if (fetched_ != nullptr) fetched_->BringHeader();
  bool same_schema = false;
  try {
    const std::string_view text = ParseHeader(file_.bytes(), name_, header_);
    // The text is nearly always the same. Comparing schemas is for a manifest that another writer
    // made.
    same_schema = text == schema_->text || SchemaFromJson(text, name_) == schema_->schema;
  } catch (const Error&) {
    if (Lost(file_.bytes())) throw Unreadable("header");
    throw;
  }
  if (!same_schema) Corrupt("header", "has another schema than the dataset");
}

void ShardFile::ReadTail() {
  const Bytes file = file_.bytes();
  if (file.size() % kPageBytes != 0) Corrupt("tail", "the file is cut short");
  if (file.size() > kMaxShardBytes) Corrupt("tail", "the file is larger than a shard can be");
  const std::uint64_t at = file.size() - sizeof(ShardTail);
  const auto passes = [](Bytes bytes) {
    const auto tail = LoadAt<ShardTail>(bytes, 0);
    return HasMagic(tail) &&
           tail.tail_checksum == Hash64(bytes.first(offsetof(ShardTail, tail_checksum)));
  };
  if (!passes(file.subspan(at))) Mended(file.subspan(at), passes);
  tail_ = LoadAt<ShardTail>(file, at);
  if (!HasMagic(tail_)) Corrupt("tail", "the file is cut short or was never finished");
  if (tail_.tail_checksum != Hash64(file.subspan(at, offsetof(ShardTail, tail_checksum)))) {
    Corrupt("tail", "the checksum does not match");
  }
  if (tail_.version != kFormatVersion || tail_.shard_id != header_.shard_id ||
      tail_.directory_offset < header_.header_bytes ||
      tail_.directory_offset % kPayloadAlignment != 0 ||
      !Inside(tail_.directory_offset, tail_.directory_bytes, at)) {
    Corrupt("tail", "does not fit the header, or its sizes are out of range");
  }
}

void ShardFile::ReadDirectory() {
  if (fetched_ != nullptr) fetched_->BringDirectory(tail_.directory_offset);
  directory_bytes_ = file_.bytes().subspan(tail_.directory_offset, tail_.directory_bytes);
  const auto passes = [this](Bytes bytes) { return Hash64(bytes) == tail_.directory_checksum; };
  if (!passes(directory_bytes_) && !Mended(directory_bytes_, passes)) {
    Corrupt("directory", "the checksum does not match");
  }
  if (directory_bytes_.size() < sizeof(DirectoryHeader)) Corrupt("directory", "is cut short");
  directory_ = LoadAt<DirectoryHeader>(directory_bytes_, 0);
  // Counts are bounded by the directory's bytes, so that the arithmetic below cannot overflow.
  if (!HasMagic(directory_) || directory_.shard_id != header_.shard_id ||
      directory_.header_checksum != header_.header_checksum ||
      directory_.bytes != directory_bytes_.size() || directory_.samples > kMaxShardBytes ||
      directory_.columns != schema_->columns.size() || directory_.blocks == 0 ||
      directory_.bytes !=
          DirectoryBytes(schema(), directory_.blocks, directory_.sections, directory_.samples)) {
    Corrupt("directory", "does not fit the header, or its sizes are out of range");
  }
  ReadEntries();
  digest_ = DigestNow();
  verified_ = std::vector<std::atomic<std::uint64_t>>((directory_.blocks + 63) / 64);
}

void ShardFile::ReadEntries() {
  blocks_.resize(directory_.blocks);
  sections_.resize(directory_.sections);
  std::memcpy(blocks_.data(), directory_bytes_.data() + sizeof(DirectoryHeader),
              blocks_.size() * sizeof(BlockEntry));
  if (!sections_.empty()) {
    std::memcpy(sections_.data(), directory_bytes_.data() + ColumnsOffset(directory_.blocks, 0),
                sections_.size() * sizeof(SectionEntry));
  }
  std::uint64_t samples = 0;
  std::uint64_t free = header_.header_bytes;  // where the next block may begin
  for (std::uint32_t b = 0; b < directory_.blocks; ++b) {
    const BlockEntry& entry = block_entry(b);
    const bool last = b + 1 == directory_.blocks;
    if (entry.offset % kPageBytes != 0 || entry.offset < free ||
        !Inside(entry.offset, entry.bytes, tail_.directory_offset) || entry.count == 0 ||
        (last ? entry.count > header_.block_samples : entry.count != header_.block_samples) ||
        PayloadStart(entry.count, layout().record_bytes()) > entry.bytes) {
      Corrupt("directory", "block " + std::to_string(b) + " is out of range");
    }
    free = entry.offset + entry.bytes;
    samples += entry.count;
  }
  if (samples != directory_.samples) Corrupt("directory", "the samples do not add up");
  for (const SectionEntry& section : sections_) {
    if (!Inside(section.offset, section.bytes, tail_.directory_offset)) {
      Corrupt("directory", "section " + std::to_string(section.number) + " is out of range");
    }
    if ((section.flags & kSectionRequired) != 0 && section.number != kSectionKeys &&
        section.number != kSectionOrigin) {
      throw Error(ErrorCode::kUnsupported, name_, "directory",
                  "needs section " + std::to_string(section.number) +
                      ", which this build does not know; use a newer version of Sluice");
    }
  }
}

Bytes ShardFile::Section(std::uint32_t number) const {
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const SectionEntry& section = sections_[i];
    if (section.number != number) continue;
    if (fetched_ != nullptr) fetched_->BringSections();
    const Bytes bytes = file_.bytes().subspan(section.offset, section.bytes);
    const ReadGuard guard = Guard();
    // Sections beyond 64 are checked at each call.
    const std::uint64_t bit = i < 64 ? std::uint64_t{1} << i : 0;
    if ((verified_sections_.load(std::memory_order_relaxed) & bit) != 0) return bytes;
    const auto passes = [&section](Bytes now) { return Hash64(now) == section.checksum; };
    if (!passes(bytes) && !Mended(bytes, passes)) {
      Corrupt("section " + std::to_string(number), "the checksum does not match");
    }
    verified_sections_.fetch_or(bit, std::memory_order_relaxed);
    return bytes;
  }
  return {};
}

Bytes ShardFile::Column(std::size_t column) const noexcept {
  std::uint64_t at = ColumnsOffset(directory_.blocks, directory_.sections);
  for (std::size_t c = 0;; ++c) {
    at = AlignUp(at, kPayloadAlignment);
    const std::uint64_t bytes = ColumnBytes(schema().fields[schema_->columns[c]], samples());
    if (c == column) return directory_bytes_.subspan(at, bytes);
    at += bytes;
  }
}

BlockView ShardFile::Block(std::uint32_t block) const {
  if (fetched_ != nullptr) fetched_->BringBlock(block);
  const BlockEntry entry = block_entry(block);
  std::atomic<std::uint64_t>& word = verified_[block / 64];
  const std::uint64_t bit = std::uint64_t{1} << (block % 64);
  const Bytes bytes = file_.bytes().subspan(entry.offset, entry.bytes);
  if ((word.load(std::memory_order_relaxed) & bit) != 0) return Block(block, bytes, true);
  const ReadGuard guard = Guard();
  const BlockView view = Block(block, bytes, false);
  word.fetch_or(bit, std::memory_order_relaxed);
  return view;
}

BlockView ShardFile::BlockThere(std::uint32_t block) const {
  if (fetched_ == nullptr) return Block(block);
  // The block is checked each time: since the last time, it may have been dropped and brought anew.
  const BlockEntry& entry = block_entry(block);
  const ReadGuard guard = Guard();
  return Block(block, file_.bytes().subspan(entry.offset, entry.bytes), false);
}

BlockView ShardFile::Block(std::uint32_t block, Bytes bytes, bool checked) const {
  if (overwritten_.load(std::memory_order_relaxed)) {
    throw Overwritten("block " + std::to_string(block));
  }
  const BlockEntry& entry = block_entry(block);
  if (checked) {
    // The header was right when first read. Its numbers are taken from the checked directory, so
    // that a file that changes under the mapping cannot lead outside the block.
    BlockHeader header;
    header.bytes = entry.bytes;
    header.count = entry.count;
    header.record_bytes = static_cast<std::uint32_t>(layout().record_bytes());
    return {bytes, header, this};
  }
  BlockHeader header;
  if (Defect defect = CheckBlock(block, bytes, header)) {
    // Only the header and the table are fetched once more. A payload has a checksum of its own,
    // which is compared when it is read (BlockView::Matches()).
    const std::uint64_t table = sizeof(BlockHeader) + entry.count * layout().record_bytes();
    const auto passes = [&entry](Bytes now) {
      const auto found = LoadAt<BlockHeader>(now, 0);
      return found.header_checksum == entry.header_checksum &&
             found.header_checksum == Hash64(now.first(offsetof(BlockHeader, header_checksum))) &&
             found.table_checksum == Hash64(now.subspan(sizeof(BlockHeader)));
    };
    if (table <= bytes.size() && Mended(bytes.first(table), passes))
      defect = CheckBlock(block, bytes, header);
    if (defect != nullptr) Corrupt("block " + std::to_string(block), defect);
  }
  return {bytes, header, this};
}

Defect ShardFile::CheckBlock(std::uint32_t block, Bytes bytes, BlockHeader& header) const {
  const BlockEntry& entry = block_entry(block);
  if (const Defect defect = BlockView::ParseHeader(bytes, header)) return defect;
  if (header.bytes != entry.bytes || header.count != entry.count || header.number != block ||
      header.first_sample != std::uint64_t{block} * header_.block_samples ||
      header.record_bytes != layout().record_bytes() || header.shard_id != header_.shard_id ||
      header.header_checksum != entry.header_checksum) {
    return "is not the block that the directory names";
  }
  return BlockView(bytes, header).VerifyTable();
}

std::string ShardFile::Key(std::uint64_t sample) const {
  KeyChunk chunk;
  return Key(sample, chunk);
}

std::string ShardFile::Key(std::uint64_t sample, KeyChunk& chunk, std::uint64_t most) const {
  if (overwritten_.load(std::memory_order_relaxed)) throw Overwritten("keys");
  if (!chunk.Holds(sample)) {
    const ReadGuard guard = Guard();
    if (const Defect defect = ReadKeyChunk(Section(kSectionKeys), samples(), sample, chunk, most)) {
      if (defect == kKeyChunkTooLarge) {
        throw Error(ErrorCode::kLimit, name_, "keys",
                    "the key of sample " + std::to_string(sample) +
                        " is compressed with others into a chunk of more than " +
                        std::to_string(most) + " bytes, the most that is decompressed here");
      }
      if (Section(kSectionKeys).empty()) Corrupt("keys", kNoKeys);
      if (defect == kKeyTooLong) {
        Corrupt("keys", "the key of sample " + std::to_string(chunk.first) + " has more than " +
                            std::to_string(kMaxKeyBytes) + " bytes");
      }
      Corrupt("keys", defect);
    }
  }
  return std::string(chunk.Key(sample));
}

std::string ShardFile::Place(std::uint64_t sample) const {
  return "block " + std::to_string(sample / header_.block_samples) + ", record " +
         std::to_string(sample % header_.block_samples);
}

Defect ShardFile::VerifyPlacement() const {
  if (fetched_ != nullptr) fetched_->BringSections();
  const Bytes file = file_.bytes();
  const std::uint64_t schema_end = sizeof(ShardHeader) + header_.schema_bytes;
  if (!AllZero(file.subspan(schema_end, header_.header_bytes - schema_end))) {
    return "padding after the schema is not zero";
  }
  if (header_.header_bytes != AlignUp(schema_end, kPageBytes))
    return "the header is longer than its schema";
  std::uint64_t next = header_.header_bytes;
  for (std::uint32_t b = 0; b < directory_.blocks; ++b) {
    const BlockEntry entry = block_entry(b);
    if (entry.offset != next) return "a block is not where the format puts it";
    if (entry.zero != 0) return "padding in the directory is not zero";
    next += entry.bytes;
  }
  std::set<std::uint32_t> numbers;
  for (const SectionEntry& section : sections_) {
    if (!numbers.insert(section.number).second) return "a section's number occurs twice";
    if ((section.flags & ~kSectionRequired) != 0) return "a reserved flag of a section is set";
    if (section.offset != next) return "a section is not where the format puts it";
    const std::uint64_t end = next + section.bytes;
    next = AlignUp(end, kPayloadAlignment);
    if (next > file.size() || !AllZero(file.subspan(end, next - end))) {
      return "padding after a section is not zero";
    }
  }
  if (!numbers.contains(kSectionKeys)) return kNoKeys;
  if (tail_.directory_offset != next) return "the directory is not where the format puts it";
  const std::uint64_t directory_end = next + tail_.directory_bytes;
  const std::uint64_t tail_at = file.size() - sizeof(ShardTail);
  if (AlignUp(directory_end + sizeof(ShardTail), kPageBytes) != file.size() ||
      !AllZero(file.subspan(directory_end, tail_at - directory_end))) {
    return "padding before the tail is not zero";
  }
  std::uint64_t column_at = ColumnsOffset(directory_.blocks, directory_.sections);
  for (const std::size_t field : schema_->columns) {
    const std::uint64_t aligned = AlignUp(column_at, kPayloadAlignment);
    if (!AllZero(directory_bytes_.subspan(column_at, aligned - column_at))) {
      return "padding in the directory is not zero";
    }
    column_at = aligned + ColumnBytes(schema().fields[field], samples());
  }
  if (!AllZero(directory_bytes_.subspan(column_at)) || directory_.zero != 0 || tail_.zero != 0) {
    return "padding in the directory is not zero";
  }
  return nullptr;
}

}  // namespace sluice
