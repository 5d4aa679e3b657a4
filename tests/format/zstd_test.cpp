// zstd frames, as the format allows them.
#include "format/disk/zstd.h"

#include "tests/catch.h"

namespace sluice {

namespace {

std::vector<std::byte> BytesOf(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE("compressed bytes come back, and state their size beforehand") {
  const std::string text(100'000, 'x');
  const std::vector<std::byte> frame = ZstdCompress(AsBytes(text));
  CHECK(frame.size() < 1000);
  REQUIRE(ZstdContentBytes(frame) == 100'000);
  std::vector<std::byte> content(100'000);
  REQUIRE(ZstdDecompress(frame, content));
  CHECK(AsText(content) == text);
}

// A frame written by hand after RFC 8878: single segment, size 3, one stored block.
TEST_CASE("a frame made by hand from the standard is read") {
  const auto frame = BytesOf({0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x03, 0x19, 0x00, 0x00, 'a', 'b', 'c'});
  REQUIRE(ZstdContentBytes(frame) == 3);
  std::vector<std::byte> content(3);
  REQUIRE(ZstdDecompress(frame, content));
  CHECK(AsText(content) == "abc");
}

TEST_CASE("a frame is refused unless it fills its target exactly and nothing follows it") {
  const std::vector<std::byte> frame = ZstdCompress(AsBytes("some content"));
  std::vector<std::byte> content(12);
  CHECK(ZstdDecompress(frame, content));
  CHECK_FALSE(ZstdDecompress(frame, std::span(content).first(11)));
  std::vector<std::byte> larger(13);
  CHECK_FALSE(ZstdDecompress(frame, larger));
  CHECK_FALSE(ZstdDecompress(Bytes(frame).first(frame.size() - 1), content));
  std::vector<std::byte> longer = frame;
  longer.push_back(std::byte{0});
  CHECK_FALSE(ZstdDecompress(longer, content));
  std::vector<std::byte> twice = frame;
  twice.insert(twice.end(), frame.begin(), frame.end());
  CHECK_FALSE(ZstdDecompress(twice, content));
}

TEST_CASE("a frame's content is appended if it has exactly the stated size") {
  for (const std::size_t size : {0, 12, 1 << 20, 3'000'001}) {
    const std::string text(size, 'x');
    std::vector<std::byte> frame = ZstdCompress(AsBytes(text));
    std::vector<std::byte> content = BytesOf({'a', 'b'});
    REQUIRE(ZstdAppend(frame, size, content));
    CHECK(AsText(content) == "ab" + text);
    CHECK_FALSE(ZstdAppend(frame, size + 1, content));
    if (size > 0) CHECK_FALSE(ZstdAppend(frame, size - 1, content));
    CHECK_FALSE(ZstdAppend(Bytes(frame).first(frame.size() - 1), size, content));
    frame.push_back(std::byte{0});
    CHECK_FALSE(ZstdAppend(frame, size, content));
  }
  std::vector<std::byte> content;
  CHECK_FALSE(ZstdAppend({}, 0, content));
  // A caller expects 2^50 bytes of a frame that holds three: their memory is not allocated.
  const auto frame = BytesOf({0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x03, 0x19, 0x00, 0x00, 'a', 'b', 'c'});
  CHECK_FALSE(ZstdAppend(frame, std::uint64_t{1} << 50, content));
  CHECK(content.capacity() <= 1 << 21);
}

TEST_CASE(
    "frames that do not state their size, skippable frames and frames of old versions are "
    "refused") {
  // Not a single segment: window descriptor, no content size.
  const auto unsized =
      BytesOf({0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x58, 0x19, 0x00, 0x00, 'a', 'b', 'c'});
  CHECK_FALSE(ZstdContentBytes(unsized).has_value());
  const auto skippable = BytesOf({0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0});
  CHECK_FALSE(ZstdContentBytes(skippable).has_value());
  CHECK_FALSE(ZstdDecompress(skippable, {}));
  const auto version_07 = BytesOf({0x27, 0xB5, 0x2F, 0xFD, 0x20, 0x03, 0x19, 0x00, 0x00, 'a', 'b'});
  CHECK_FALSE(ZstdContentBytes(version_07).has_value());
  CHECK_FALSE(ZstdContentBytes({}).has_value());
  CHECK_FALSE(ZstdDecompress({}, {}));
}

TEST_CASE("empty content also makes a frame") {
  const std::vector<std::byte> frame = ZstdCompress({});
  REQUIRE(ZstdContentBytes(frame) == 0);
  CHECK(ZstdDecompress(frame, {}));
}

}  // namespace sluice
