// The section that holds a shard's keys (format/FORMAT.md, "Keys").
#pragma once

#include <string>
#include <string_view>

#include "format/disk/block.h"
#include "format/disk/bytes.h"

namespace sluice {

// Gathers keys and compresses them a chunk at a time.
class KeysBuilder {
 public:
  void Add(std::string_view key);
  // An upper bound for the section's size if it were finished now.
  std::uint64_t BoundBytes() const noexcept;
  std::vector<std::byte> Finish();

 private:
  struct Chunk {
    std::uint32_t content_bytes;
    std::vector<std::byte> frame;
  };
  void CloseChunk();
  // The chunk that is still open: where each of its keys ends, and the text of all of them.
  std::vector<std::uint32_t> ends_;
  std::string text_;
  std::vector<Chunk> chunks_;      // closed
  std::uint64_t frame_bytes_ = 0;  // of all closed chunks together
};

// The key of sample `index` of `samples`; decompresses one chunk.
Defect ReadKey(Bytes section, std::uint64_t samples, std::uint64_t index, std::string& key);

// All keys of one chunk of a section, for reading many keys. Read them in the samples' order: then
// each chunk is decompressed once, and its offset follows from that of the previous chunk.
struct KeyChunk {
  std::uint64_t first = 0;  // number of the chunk's first sample
  std::uint64_t count = 0;
  std::vector<std::byte> content;
  std::uint64_t number = 0;  // number of the chunk
  std::uint64_t offset = 0;  // of the chunk's zstd frame in the section; 0: no chunk was read yet

  bool Holds(std::uint64_t index) const noexcept { return index - first < count; }
  std::string_view Key(std::uint64_t index) const noexcept;  // Holds(index) must be true
};

// ReadKeyChunk() returns this pointer for a chunk that is larger than its caller allows. The chunk
// may be sound, so callers compare the pointer to tell this case from a damaged chunk.
inline constexpr char kKeyChunkTooLarge[] = "the chunk of keys is larger than may be read";
// ReadKeyChunk() returns this pointer if a key in the chunk has more than kMaxKeyBytes;
// `chunk.first` is then the sample with that key.
inline constexpr char kKeyTooLong[] = "a key has more than 65535 bytes";

// Reads the chunk that holds sample `index` of `samples` into `chunk`, which is new or was read
// from the same section. Returns kKeyChunkTooLarge if the chunk's content has more than `most`
// bytes.
Defect ReadKeyChunk(Bytes section, std::uint64_t samples, std::uint64_t index, KeyChunk& chunk,
                    std::uint64_t most = UINT64_MAX);

}  // namespace sluice
