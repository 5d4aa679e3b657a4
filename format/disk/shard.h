// A shard file's frame, which is everything but its blocks: header, sections, directory and tail
// (format/FORMAT.md, "Shards").
//
// ShardFile opens a shard for reading. shard_fetch.h fetches the parts that it needs of a shard in
// an object store; shard_build.h builds frames for writers; block.h has the blocks.
//
// A new section gets its number in FORMAT.md, which assigns all numbers. An edit that writes shards
// anew drops the section unless writer/edit/ copies it. With more than four sections, kSections in
// shard_fetch.cpp must grow. A new section also goes into these files, where
// "kSectionOrigin|\bsection 2\b|2 \| origin" shows how:
//   format/disk/shard.cpp                 the numbers that a shard may require
//   format/FORMAT.md
//   writer/shard_writer.cpp
//   reader/dataset/verify.cpp             its content
//   writer/convert/planned_shard.cpp      if a conversion reads it again
//   tests/format/shard_test.cpp
//   tests/reader/forged_verify_test.cpp
//   tests/fuzz/forged_dataset.cpp
//   tests/fuzz/forged_targets.cpp
//
// tests/format/read_from_spec.py has the known numbers, too.
#pragma once

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <sluice/error.h>
#include <sluice/schema.h>

#include "format/disk/block.h"
#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/disk/shard_fetch.h"

namespace sluice {

struct ShardHeader {
  char magic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'S', 'H'};
  std::uint32_t version = 1;
  std::uint32_t header_bytes = 0;  // whole pages, schema and padding included
  Id128 shard_id;
  std::uint32_t block_samples = 0;  // in every block but the last
  std::uint32_t schema_bytes = 0;
  std::uint64_t required = 0;  // features a reader must know; none in version 1
  std::uint64_t schema_checksum = 0;
  std::uint64_t header_checksum = 0;  // checksum of the bytes before this word
};
static_assert(sizeof(ShardHeader) == 64);

struct DirectoryHeader {
  char magic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'D', 'R'};
  std::uint32_t blocks = 0;
  std::uint32_t sections = 0;
  std::uint64_t samples = 0;
  std::uint32_t columns = 0;
  std::uint32_t zero = 0;
  Id128 shard_id;
  std::uint64_t bytes = 0;            // size of the whole directory
  std::uint64_t header_checksum = 0;  // a copy of the shard header's: the digest covers it, too
};
static_assert(sizeof(DirectoryHeader) == 64);

struct BlockEntry {
  std::uint64_t offset = 0;  // from the shard's start
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  std::uint32_t zero = 0;
  std::uint64_t header_checksum = 0;  // a copy of the block header's
};
static_assert(sizeof(BlockEntry) == 32);

struct SectionEntry {
  std::uint32_t number = 0;  // enum SectionNumber
  std::uint32_t flags = 0;   // bit 0: a reader that does not know the number must refuse the shard
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(SectionEntry) == 32);
inline constexpr std::uint32_t kSectionRequired = 1;

enum SectionNumber : std::uint32_t {
  kSectionKeys = 1,    // the samples' keys (keys.h)
  kSectionOrigin = 2,  // how a conversion made this shard, as JSON; not needed for reading
};

struct ShardTail {
  char magic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'N', 'D'};
  std::uint32_t version = 1;
  std::uint32_t zero = 0;
  Id128 shard_id;
  std::uint64_t directory_offset = 0;
  std::uint64_t directory_bytes = 0;
  std::uint64_t directory_checksum = 0;
  std::uint64_t tail_checksum = 0;  // checksum of the bytes before this word
};
static_assert(sizeof(ShardTail) == 64);

// Whether a ShardHeader, DirectoryHeader or ShardTail begins as it must.
template <class Frame>
bool HasMagic(const Frame& frame) noexcept {
  return std::memcmp(frame.magic, Frame{}.magic, sizeof(frame.magic)) == 0;
}

// Where the columns begin, from the directory's start.
inline std::uint64_t ColumnsOffset(std::uint64_t blocks, std::uint64_t sections) noexcept {
  return sizeof(DirectoryHeader) + blocks * sizeof(BlockEntry) + sections * sizeof(SectionEntry);
}

inline std::uint64_t ColumnBytes(const Field& field, std::uint64_t samples) noexcept {
  return samples * SizeOf(field.dtype);
}

// The scalar array fields, which the directory repeats as columns; in the schema's order.
std::vector<std::size_t> ColumnFields(const Schema& schema);

// Bytes of a directory.
std::uint64_t DirectoryBytes(const Schema& schema, std::uint64_t blocks, std::uint64_t sections,
                             std::uint64_t samples) noexcept;

// A schema, and what ShardFile needs to know of it. All shards of a dataset share one, because
// there may be many class names.
struct ShardSchema {
  explicit ShardSchema(const Schema& of);

  Schema schema;
  std::string text;  // nearly always the same as in a shard's header
  RecordLayout layout;
  std::vector<std::size_t> columns;  // ColumnFields()
};

struct KeyChunk;
struct ManifestShard;

// The manifest's description of a shard, to compare when it is opened; unset members are not
// compared.
struct ShardExpectation {
  std::optional<Id128> id;
  std::optional<Id128> digest;
  std::optional<std::uint64_t> samples;
  std::optional<std::uint64_t> blocks;
  std::optional<std::uint64_t> bytes;
  std::optional<std::uint32_t> block_samples;

  static ShardExpectation Of(const ManifestShard& entry);
};

// A shard mapped for reading. Opening it checks header, tail and directory. A block's header and
// table are checked when the block is first asked for; payloads, by the code that reads them.
// Thread-safe.
//
// If bytes become unreadable while it is open, these functions throw Error(kIo). To read rows and
// payloads, hold a Guard() meanwhile and ask Lost() afterwards.
class ShardFile {
 public:
  // `schema`: the dataset's; a shard with another schema is refused. Errors: kNotFound, kMemory,
  // kIo, kCorrupt, kUnsupported.
  ShardFile(const std::filesystem::path& path, const Schema& schema,
            const ShardExpectation& expect = {}, MapAdvice advice = MapAdvice::kNormal)
      : ShardFile(MappedFile(path, advice), path.string(),
                  std::make_shared<const ShardSchema>(schema), expect) {}
  ShardFile(MappedFile file, std::string name, std::shared_ptr<const ShardSchema> schema,
            const ShardExpectation& expect = {});
  // A shard whose parts are brought when they are needed. A block that Block() has brought stays
  // while this lives; to keep less, use BlockHold (shard_fetch.h).
  ShardFile(std::shared_ptr<ShardParts> parts, std::shared_ptr<const ShardSchema> schema,
            const ManifestShard& entry);

  const std::string& name() const noexcept { return name_; }
  const Schema& schema() const noexcept { return schema_->schema; }
  const RecordLayout& layout() const noexcept { return schema_->layout; }
  Id128 id() const noexcept { return header_.shard_id; }
  Id128 digest() const noexcept { return digest_; }
  std::uint64_t samples() const noexcept { return directory_.samples; }
  std::uint32_t blocks() const noexcept { return directory_.blocks; }
  std::uint32_t block_samples() const noexcept { return header_.block_samples; }
  Bytes bytes() const noexcept { return file_.bytes(); }
  ReadGuard Guard() const noexcept { return file_.Guard(); }
  bool Lost(Bytes range) const noexcept { return file_.Lost(range); }
  // The mapping, as an entry of the list that a ReadGuard takes, for code that reads rows of many
  // shards.
  GuardedMapping guarded() const noexcept { return file_.guarded(); }
  // Whether the file's last bytes are those it was opened with. False once the file was cut, or
  // overwritten with another shard. Call it under a guard, and after a fence that keeps earlier
  // reads before it. No system call.
  //
  // It notices a cut anywhere in the file: the kernel takes away all pages after the cut, so also
  // the last one, before it zeroes the rest of the page that was cut.
  bool EndIsThere() const noexcept {
    const Bytes end = file_.bytes().last(sizeof(std::uint64_t));
    const auto checksum = LoadAt<std::uint64_t>(end, 0);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // reading the checksum may lose its page
    return checksum == tail_.tail_checksum && !Lost(end);
  }
  // Whether the file had every byte read from the mapping so far. Same preconditions as
  // EndIsThere().
  bool WholeSoFar() const noexcept { return EndIsThere() && !file_.LostAny(); }
  // Whether a byte of the range has been cut off: lies after the file's present end. Asks the file
  // system. The size of a file that has lost its name cannot be asked for; then returns true for
  // every range once EndIsThere() is false.
  bool CutOff(Bytes range) const noexcept;
  FileId file() const noexcept { return file_.id(); }
  // Whether an open file is the same file as the mapped one.
  bool Maps(const FileHandle& file) const noexcept { return file_.Maps(file); }
  // Whether the file still has the name it was opened by: only then does it have a WrittenAt().
  bool HasItsName() const noexcept { return file_.WrittenAt().has_value(); }
  // False once another program has written another shard over this one; from then on, Block()
  // throws Error(kIo). Asks the file system when the file was last written to, and compares the
  // directory only if that has changed, so that a `touch`, or a copy of the same bytes, does no
  // harm.
  bool StillTheSame() const;
  // The Error for bytes that are Lost(), after the file's end, or overwritten.
  Error Unreadable(const std::string& place) const;

  std::uint64_t first_block_offset() const noexcept { return header_.header_bytes; }

  // Returns the schema in a shard's header, for a dataset without a manifest. `text`, if not null,
  // receives the schema's text.
  static Schema ReadSchema(const std::filesystem::path& path, std::string* text = nullptr);

  const BlockEntry& block_entry(std::uint32_t block) const noexcept { return blocks_[block]; }
  const std::vector<SectionEntry>& sections() const noexcept { return sections_; }
  // A section's bytes, with the checksum compared on first use; empty if there is no such section.
  Bytes Section(std::uint32_t number) const;
  // A directory column: the values of all samples of the `column`th of ColumnFields().
  Bytes Column(std::size_t column) const noexcept;

  // A block, its header and table verified on first use. Throws Error(kCorrupt).
  BlockView Block(std::uint32_t block) const;
  // Like Block(), for a copy of the block's bytes; `checked`: an earlier call has verified them.
  BlockView Block(std::uint32_t block, Bytes bytes, bool checked) const;
  // Like Block(), for a block that is there already: one that the caller holds (fetched()), or
  // any block of a shard that is a file.
  BlockView BlockThere(std::uint32_t block) const;
  // The first byte of a file's block, if the block's header and table have been verified; otherwise
  // null: call Block().
  const std::byte* VerifiedBlock(std::uint32_t block) const noexcept {
    if (fetched_ != nullptr || overwritten_.load(std::memory_order_relaxed)) return nullptr;
    const std::uint64_t word = verified_[block / 64].load(std::memory_order_relaxed);
    if ((word >> (block % 64) & 1) == 0) return nullptr;
    return file_.bytes().data() + blocks_[block].offset;
  }
  // Call it after bytes of this shard failed a check, since they may have been damaged in the
  // transfer: ShardParts::Mend(). False if the shard is a file.
  bool Mended(Bytes range, const std::function<bool(Bytes)>& passes) const {
    return fetched_ != nullptr && fetched_->Mend(range, passes);
  }
  // Null if the shard is a file, whose blocks are always there.
  FetchedParts* fetched() const noexcept { return fetched_.get(); }
  // FetchedParts::PartsOf(). The shard must not be a file.
  ShardParts::Block BlockParts(std::uint32_t block) const noexcept {
    return fetched_->PartsOf(block);
  }

  // The key of a sample of this shard. Throws Error(kCorrupt).
  std::string Key(std::uint64_t sample) const;
  // The key, for reading many keys; `chunk` and `most` as for ReadKeyChunk(). Throws Error(kLimit)
  // for a chunk of more than `most` bytes.
  std::string Key(std::uint64_t sample, KeyChunk& chunk, std::uint64_t most = UINT64_MAX) const;

  // "block 5, record 2"
  std::string Place(std::uint64_t sample) const;

  // Checks that padding outside blocks is zero, and that blocks and sections follow each other
  // without gaps. Throws Error if these parts cannot be brought.
  Defect VerifyPlacement() const;

 private:
  Defect CheckBlock(std::uint32_t block, Bytes bytes, BlockHeader& header) const;
  // Throws Error(kCorrupt), or the Error of an unreadable or overwritten shard if that is the
  // reason.
  [[noreturn]] void Corrupt(const std::string& place, const std::string& what) const;
  Error Overwritten(const std::string& place) const;
  Id128 DigestNow() const;
  void Open(const ShardExpectation& expect);
  void ReadHeader();
  void ReadTail();
  void ReadDirectory();
  void ReadEntries();

  std::string name_;  // the path, for messages
  std::shared_ptr<const ShardSchema> schema_;
  std::unique_ptr<FetchedParts> fetched_;
  MappedFile file_;
  ShardHeader header_;
  ShardTail tail_;
  DirectoryHeader directory_;
  Bytes directory_bytes_;
  // Copies, checked once: even if the file changes under the mapping, no offset leads outside it.
  std::vector<BlockEntry> blocks_;
  std::vector<SectionEntry> sections_;
  Id128 digest_;
  // One bit a block: whether its header and table have been verified.
  mutable std::vector<std::atomic<std::uint64_t>> verified_;
  // One bit for each of the first 64 sections: whether its checksum has been compared.
  mutable std::atomic<std::uint64_t> verified_sections_{0};
  // The file's modification time as of the last comparison of the directory.
  mutable std::atomic<std::int64_t> written_at_{0};
  mutable std::atomic<bool> overwritten_{false};
};

}  // namespace sluice
