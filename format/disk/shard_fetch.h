// A shard in an object store, of which a ShardFile fetches only the parts that it needs.
//
//   |      header      |     block 0     | block 1 | ... | sections | directory and tail |
//   | start |   rest   | table, payloads |                          |    rest    |  end  |
//
// Opening the shard asks for its two ends at once, with sizes estimated from the manifest
// (ShardFrame). The header and the tail then say how long they really are, and the rest is fetched,
// which is rarely needed. Sections and blocks come when they are asked for. The part of a block's
// pages that one of the ends already has is not fetched again.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/disk/block.h"
#include "format/disk/bytes.h"
#include "format/mutex.h"

namespace sluice {

struct ManifestShard;
struct ShardSchema;

// A shard in an object store (format/remote).
//
// It is mapped like a local shard, but a part's bytes are valid only from the end of its fetch on,
// and as long as somebody holds the part. Thread-safe.
class ShardParts {
 public:
  // The header and the end are requested before their sizes are known. Each may turn out to be
  // longer than requested; then its rest is a separate part. A block has two parts: its header and
  // table, up to a page's end, and its payloads.
  enum PartNumber : std::uint64_t { kHeader, kHeaderRest, kSections, kEndRest, kEnd, kFirstBlock };
  static constexpr std::uint64_t FirstPartOf(std::uint64_t block) {
    return kFirstBlock + 2 * block;
  }
  // The number of parts of a shard of that many blocks.
  static constexpr std::uint64_t PartsOf(std::uint64_t blocks) { return FirstPartOf(blocks); }
  struct Part {
    std::uint64_t number = 0;  // a PartNumber; of a block: FirstPartOf(block) and the next one
    std::uint64_t offset = 0;  // from the shard's start, whole pages
    std::uint64_t bytes = 0;
  };
  struct Block {
    std::array<Part, 2> parts;
    std::span<const Part> whole() const noexcept { return parts; }
    std::span<const Part> table() const noexcept { return {parts.data(), 1}; }
    std::uint64_t bytes() const noexcept { return parts[0].bytes + parts[1].bytes; }
    std::uint64_t table_bytes() const noexcept { return parts[0].bytes; }
  };
  // Holds parts while it lives.
  using Held = std::shared_ptr<const void>;

  virtual ~ShardParts() = default;

  virtual const std::string& name() const noexcept = 0;  // for messages
  virtual Bytes bytes() const noexcept = 0;              // the mapping, as long as the shard
  // Begins to bring parts: to fetch those that are not in the mapping yet. Returns at once. Throws
  // Error.
  virtual Held Begin(std::span<const Part> parts) = 0;
  // Waits for all parts of `held`; throws the Error of one that failed.
  virtual void Await(const Held& held) = 0;
  // Call it after a range failed a check: fetches the range once more. Its parts must be held, and
  // Await() must have returned for them. If the new bytes pass the check, they replace the old
  // ones; readers of other bytes notice nothing. False if the new bytes fail the check, too, or
  // cannot be fetched or written.
  virtual bool Mend(std::uint64_t offset, std::uint64_t bytes,
                    const std::function<bool(Bytes)>& passes) = 0;

  Held Bring(const Part& part) {
    Held held = Begin({&part, 1});
    Await(held);
    return held;
  }
};

// The bytes that opening a shard reads first: its first and its last whole pages, estimated from
// the manifest. Nearly always they contain the whole header, directory and tail. `end` has 0 bytes
// if `start` is the whole shard.
struct ShardFrame {
  static ShardFrame Of(const ShardSchema& schema, const ManifestShard& entry);

  ShardParts::Part start;
  ShardParts::Part end;
};

// The parts of a shard that its ShardFile has fetched, and keeps. Thread-safe once the shard is
// open.
class FetchedParts {
 public:
  // Brings the frame. `shard` must outlive this, and is not used before it is open.
  FetchedParts(const ShardFile& shard, std::shared_ptr<ShardParts> parts, const ShardFrame& frame);

  ShardParts& parts() noexcept { return *parts_; }
  // Brings the whole header, and mends it if it was damaged in the transfer, so that the length
  // that it states can be used.
  void BringHeader();
  // Brings the beginning of a directory that is longer than expected.
  void BringDirectory(std::uint64_t offset);
  void BringSections();
  // Brings a block, and begins to bring some of the blocks after it.
  void BringBlock(std::uint32_t block);
  // The parts of a block, for parts().Begin(). They leave out bytes that the frame already has,
  // which may be the whole block.
  ShardParts::Block PartsOf(std::uint32_t block) const noexcept;
  // ShardParts::Mend() of a range of the mapping; false if the range lies elsewhere.
  bool Mend(Bytes range, const std::function<bool(Bytes)>& passes);

 private:
  const ShardFile& shard_;
  const std::shared_ptr<ShardParts> parts_;
  ShardFrame frame_;                      // what opening the shard has brought
  std::vector<ShardParts::Held> opened_;  // the parts of frame_
  Mutex mutex_;
  ShardParts::Held sections_ GUARDED_BY(mutex_);
  std::vector<ShardParts::Held> blocks_ GUARDED_BY(mutex_);
};

// Reads the blocks of a shard one at a time, whether it is a file or in an object store. From an
// object store, it keeps the block read last and some that come next.
class BlockHold {
 public:
  explicit BlockHold(const ShardFile& shard) : shard_(shard) {}
  // The view is valid until the next call. `ahead`: how many bytes of the following blocks to bring
  // meanwhile, rounded up to whole blocks.
  BlockView Block(std::uint32_t block, std::uint64_t ahead = kAheadBytes);

  static constexpr std::uint64_t kAheadBytes = std::uint64_t{16} << 20;

 private:
  const ShardFile& shard_;
  std::map<std::uint32_t, ShardParts::Held> held_;  // by block
};

}  // namespace sluice
