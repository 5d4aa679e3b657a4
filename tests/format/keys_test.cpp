// Sections of keys: compressed chunks, in which a key is looked up by its number.
#include "format/disk/keys.h"

#include <algorithm>

#include "format/disk/limits.h"
#include "format/disk/zstd.h"
#include "tests/catch.h"

namespace sluice {

namespace {

std::vector<std::byte> SectionOf(const std::vector<std::string>& keys) {
  KeysBuilder builder;
  for (const std::string& key : keys) {
    builder.Add(key);
  }
  const std::uint64_t bound = builder.BoundBytes();
  std::vector<std::byte> section = builder.Finish();
  CHECK(section.size() <= bound);
  return section;
}

// A section with one chunk, made by hand from FORMAT.md.
std::vector<std::byte> HandMade(std::uint32_t chunk_samples, std::uint32_t chunks,
                                const std::vector<std::uint32_t>& ends, std::string_view text) {
  std::vector<std::byte> content(ends.size() * 4 + text.size());
  std::memcpy(content.data(), ends.data(), ends.size() * 4);
  std::memcpy(content.data() + ends.size() * 4, text.data(), text.size());
  const std::vector<std::byte> frame = ZstdCompress(content);
  std::vector<std::byte> section(16 + frame.size());
  StoreAt<std::uint32_t>(section, 0, chunk_samples);
  StoreAt<std::uint32_t>(section, 4, chunks);
  StoreAt<std::uint32_t>(section, 8, static_cast<std::uint32_t>(frame.size()));
  StoreAt<std::uint32_t>(section, 12, static_cast<std::uint32_t>(content.size()));
  std::copy(frame.begin(), frame.end(), section.begin() + 16);
  return section;
}

Defect Read(const std::vector<std::byte>& section, std::uint64_t samples, std::uint64_t index) {
  std::string key;
  return ReadKey(section, samples, index, key);
}

}  // namespace

TEST_CASE("keys come back by number, across chunk borders") {
  const std::size_t count = GENERATE(std::size_t{1}, 2, 4095, 4096, 4097, 10'000);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(i % 7 == 3 ? "" : "class/picture-" + std::to_string(i * i) + ".jpg");
  }
  const std::vector<std::byte> section = SectionOf(keys);
  for (const std::size_t i :
       {std::size_t{0}, count / 2, count - 1, std::min<std::size_t>(count - 1, 4096)}) {
    std::string key = "what was there before";
    REQUIRE(ReadKey(section, count, i, key) == nullptr);
    CHECK(key == keys[i]);
  }
  std::uint64_t seen = 0;
  KeyChunk chunk;
  while (seen < count) {
    REQUIRE(ReadKeyChunk(section, count, seen, chunk) == nullptr);
    REQUIRE(chunk.first == seen);
    for (std::uint64_t i = 0; i < chunk.count; ++i)
      REQUIRE(chunk.Key(seen + i) == keys[seen + i]);
    seen += chunk.count;
  }
  CHECK(seen == count);
}

TEST_CASE("keys may be empty, of any bytes and of the maximum length") {
  const std::vector<std::string> keys = {"", std::string("\0\xFF\n\"", 4),
                                         std::string(kMaxKeyBytes, 'k'), ""};
  const std::vector<std::byte> section = SectionOf(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::string key;
    REQUIRE(ReadKey(section, keys.size(), i, key) == nullptr);
    CHECK(key == keys[i]);
  }
}

TEST_CASE("no key is read from a section without keys, or from an empty section") {
  CHECK(Read(SectionOf({}), 0, 0) != nullptr);
  CHECK(Read({}, 1, 0) != nullptr);
}

TEST_CASE("a section made by hand from FORMAT.md is read") {
  const auto section = HandMade(4096, 1, {1, 1, 4}, "abcd");
  std::string key;
  REQUIRE(ReadKey(section, 3, 0, key) == nullptr);
  CHECK(key == "a");
  REQUIRE(ReadKey(section, 3, 1, key) == nullptr);
  CHECK(key.empty());
  REQUIRE(ReadKey(section, 3, 2, key) == nullptr);
  CHECK(key == "bcd");
  CHECK(Read(section, 3, 3) != nullptr);
}

TEST_CASE("key sections that contradict themselves are refused") {
  CHECK(Read(HandMade(4096, 1, {1, 4}, "abcd"), 2, 0) == nullptr);
  CHECK(Read(HandMade(0, 1, {1, 4}, "abcd"), 2, 0) != nullptr);  // no keys in a chunk
  CHECK(Read(HandMade(4097, 1, {1, 4}, "abcd"), 2, 0) !=
        nullptr);  // more keys in a chunk than allowed
  CHECK(Read(HandMade(4096, 2, {1, 4}, "abcd"), 2, 0) != nullptr);  // a chunk too many
  CHECK(Read(HandMade(4096, 1, {1, 5}, "abcd"), 2, 0) != nullptr);  // ends beyond the text
  CHECK(Read(HandMade(4096, 1, {4, 1}, "abcd"), 2, 0) != nullptr);  // ends that decrease
  CHECK(Read(HandMade(4096, 1, {1, 3}, "abcd"), 2, 0) != nullptr);  // text that belongs to no key
  CHECK(Read(HandMade(4096, 1, {1}, "abc"), 2, 0) != nullptr);      // fewer ends than samples
  std::vector<std::byte> section = HandMade(4096, 1, {1, 4}, "abcd");
  StoreAt<std::uint32_t>(section, 12, 13);  // not the size in the frame's header
  CHECK(Read(section, 2, 0) != nullptr);
  StoreAt<std::uint32_t>(section, 12, 0xFFFFFFFF);
  CHECK(Read(section, 2, 0) != nullptr);
  section = HandMade(4096, 1, {1, 4}, "abcd");
  StoreAt<std::uint32_t>(section, 8, 0xFFFFFFFF);
  CHECK(Read(section, 2, 0) != nullptr);
  section = HandMade(4096, 1, {1, 4}, "abcd");
  section.push_back(std::byte{0});  // a byte after the last frame
  CHECK(Read(section, 2, 0) != nullptr);
  section.resize(12);
  CHECK(Read(section, 2, 0) != nullptr);
}

TEST_CASE(
    "a chunk of keys is replaced by an earlier or later one, and kept if it has the requested "
    "key") {
  // Chunks of one key each, made by hand: one frame after another.
  constexpr std::uint32_t kCount = 300;
  std::vector<std::byte> section(8 + 8 * kCount);
  StoreAt<std::uint32_t>(section, 0, 1);
  StoreAt<std::uint32_t>(section, 4, kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const std::string key = "key " + std::to_string(i * i);
    std::vector<std::byte> content(4 + key.size());
    StoreAt<std::uint32_t>(content, 0, static_cast<std::uint32_t>(key.size()));
    std::memcpy(content.data() + 4, key.data(), key.size());
    const std::vector<std::byte> frame = ZstdCompress(content);
    StoreAt<std::uint32_t>(section, 8 + 8 * i, static_cast<std::uint32_t>(frame.size()));
    StoreAt<std::uint32_t>(section, 12 + 8 * i, static_cast<std::uint32_t>(content.size()));
    section.insert(section.end(), frame.begin(), frame.end());
  }
  KeyChunk chunk;
  for (const std::uint64_t i : {0, 1, 2, 7, 299, 298, 3, 3, 4}) {
    REQUIRE(ReadKeyChunk(section, kCount, i, chunk) == nullptr);
    CHECK(chunk.Key(i) == "key " + std::to_string(i * i));
  }
  const std::byte* const held = chunk.content.data();
  section.clear();  // keys of the current chunk are found without the section
  REQUIRE(ReadKeyChunk(section, kCount, 4, chunk) == nullptr);
  CHECK(chunk.content.data() == held);
  CHECK(ReadKeyChunk(section, kCount, 5, chunk) != nullptr);
  CHECK_FALSE(chunk.Holds(4));
}

TEST_CASE("keys that need more memory than allowed are not decompressed") {
  const std::vector<std::byte> section =
      SectionOf(std::vector<std::string>(4096, std::string(kMaxKeyBytes, 'k')));
  KeyChunk chunk;
  CHECK(ReadKeyChunk(section, 4096, 0, chunk, 1 << 20) == kKeyChunkTooLarge);
  CHECK(chunk.content.capacity() == 0);
}

}  // namespace sluice
