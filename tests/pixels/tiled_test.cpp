// Tiled images: every value comes back with its bits, in whole and in part; what a payload says of
// itself is checked; and damage is found where it shows.
#include "format/pixels/tiled/tiled.h"

#include <array>
#include <cstring>
#include <numeric>

#include <malloc.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/zstd.h"
#include "format/pixels/decode.h"
#include "format/pixels/tiled/form.h"
#include "format/pixels/wide.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pixels/kernel_sets.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;
using tiled::Decoder;
using tiled::Rect;

namespace {

constexpr PixelType kTypes[] = {PixelType::kUint8, PixelType::kUint16, PixelType::kInt16,
                                PixelType::kFloat16, PixelType::kFloat32};

struct Stored {
  ImagePayload raw;
  std::vector<std::byte> pixels, tiled;
  ImagePayload payload() const {
    ImagePayload image = raw;
    image.codec = Codec::kTiled;
    image.bytes = tiled;
    return image;
  }
};

// `make(x, y, c)` gives the bits of a value.
template <class Make>
Stored Store(PixelType type, std::uint32_t width, std::uint32_t height, std::uint8_t channels,
             Make make) {
  Stored stored;
  const std::size_t bytes = SizeOf(type);
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      for (std::uint8_t c = 0; c < channels; ++c) {
        const auto bits = static_cast<std::uint32_t>(make(x, y, c));
        for (std::size_t b = 0; b < bytes; ++b)
          stored.pixels.push_back(static_cast<std::byte>(bits >> (8 * b)));
      }
    }
  }
  stored.raw = {Codec::kRaw, type, channels, width, height, stored.pixels};
  stored.tiled = tiled::Encode(stored.raw);
  return stored;
}

// The values of a rectangle, as planes, by the definition of raw pixels.
std::vector<std::uint8_t> Cut(const ImagePayload& raw, const Rect& rect,
                              const std::vector<std::uint32_t>& channels) {
  std::vector<std::uint8_t> out;
  const std::size_t bytes = SizeOf(raw.pixel_type);
  for (const std::uint32_t c : channels) {
    for (std::uint32_t y = 0; y < rect.height; ++y) {
      for (std::uint32_t x = 0; x < rect.width; ++x) {
        const std::size_t pixel = std::size_t{rect.top + y} * raw.width + rect.left + x;
        for (std::size_t b = 0; b < bytes; ++b)
          out.push_back(
              std::to_integer<std::uint8_t>(raw.bytes[(pixel * raw.channels + c) * bytes + b]));
      }
    }
  }
  return out;
}

std::vector<std::uint32_t> All(std::uint32_t channels) {
  std::vector<std::uint32_t> all(channels);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

// Reads a rectangle with a decoder that has opened the image.
Defect Read(Decoder& decoder, const ImagePayload& image, const Rect& rect,
            const std::vector<std::uint32_t>& channels, std::vector<std::uint8_t>& out) {
  const std::size_t area = std::size_t{rect.width} * rect.height;
  out.assign(area * channels.size() * SizeOf(image.pixel_type), 0xAB);
  return decoder.Read(rect, channels,
                      {out.data(), 1, rect.width, static_cast<std::ptrdiff_t>(area)});
}

void Reseal(std::vector<std::byte>& payload, std::size_t first_tile) {
  StoreAt(payload, 0,
          static_cast<std::uint32_t>(Hash64(Bytes(payload).subspan(4, first_tile - 4))));
}

// A changed payload is opened and read as a whole; gives what is said of it.
std::string WhyNot(const Stored& stored, const std::vector<std::byte>& payload) {
  ImagePayload image = stored.payload();
  image.bytes = payload;
  Decoder decoder(kernels::Chosen());
  if (const Defect defect = decoder.Open(image)) return defect;
  std::vector<std::uint8_t> out;
  const Defect defect =
      Read(decoder, image, {0, 0, image.width, image.height}, All(image.channels), out);
  return defect == nullptr ? "" : defect;
}

}  // namespace

TEST_CASE("Every value of a tiled image comes back with its bits, in whole and in part") {
  RandomStream random(1, static_cast<Purpose>(990), 0);
  std::vector<Stored> images;
  for (const PixelType type : kTypes) {
    const std::uint32_t mask = SizeOf(type) == 4 ? 0xFFFFFFFF : SizeOf(type) == 2 ? 0xFFFF : 0xFF;
    // Noise of all bits, which has every NaN; slopes; few values; all the same; odd shapes.
    images.push_back(Store(type, 33, 77, 5, [&](auto...) { return random.Word() & mask; }));
    images.push_back(Store(type, 150, 140, 6, [&](std::uint32_t x, std::uint32_t y, unsigned c) {
      return (x * 5 + y * 3 + c * 11 + random.Below(4)) & mask;
    }));
    images.push_back(Store(type, 140, 20, 7, [&](std::uint32_t x, std::uint32_t y, unsigned) {
      return (x / 9 + y / 5) % 7 * 0x01234567U & mask;
    }));
    images.push_back(Store(type, 131, 130, 5, [](auto...) { return 0; }));
    images.push_back(Store(type, 1, 300, 64, [&](auto...) { return random.Below(3); }));
    images.push_back(Store(type, 257, 1, 5, [&](auto...) { return random.Below(300) & mask; }));
  }
  // Zeros of both signs, infinities and NaNs with payloads.
  const std::uint32_t odd[] = {0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFFFFFFF, 1};
  images.push_back(
      Store(PixelType::kFloat32, 60, 50, 3, [&](auto...) { return odd[random.Below(7)]; }));
  for (const kernels::Kernels* set : Sets()) {
    Decoder decoder(*set);
    for (const Stored& stored : images) {
      const ImagePayload image = stored.payload();
      const Defect why = decoder.Open(image);
      INFO(set->name << ", " << NameOf(image.pixel_type) << " " << image.width << "x"
                     << image.height);
      INFO((why == nullptr ? "" : why));
      REQUIRE(why == nullptr);
      std::vector<std::uint8_t> out;
      const Rect whole{0, 0, image.width, image.height};
      REQUIRE(Read(decoder, image, whole, All(image.channels), out) == nullptr);
      REQUIRE(out == Cut(stored.raw, whole, All(image.channels)));
      for (int i = 0; i < 8; ++i) {
        Rect rect;
        rect.left = static_cast<std::uint32_t>(random.Below(image.width));
        rect.top = static_cast<std::uint32_t>(random.Below(image.height));
        rect.width = static_cast<std::uint32_t>(1 + random.Below(image.width - rect.left));
        rect.height = static_cast<std::uint32_t>(1 + random.Below(image.height - rect.top));
        std::vector<std::uint32_t> channels;
        for (std::size_t c = 0; c <= random.Below(4); ++c)
          channels.push_back(static_cast<std::uint32_t>(random.Below(image.channels)));
        REQUIRE(Read(decoder, image, rect, channels, out) == nullptr);
        REQUIRE(out == Cut(stored.raw, rect, channels));
      }
    }
  }
}

TEST_CASE("Tables of 255 to 65,537 values keep every value") {
  // Steps of 64, so that a table pays for all sizes that it may have.
  for (const std::uint32_t values : {255U, 256U, 257U, 65'535U, 65'536U, 65'537U}) {
    const auto stored =
        Store(PixelType::kFloat32, 300, 300, 1, [&](std::uint32_t x, std::uint32_t y, unsigned) {
          return 0x3F000000 + (y * 300 + x) % values * 64;
        });
    INFO(values);
    const auto header = LoadAt<tiled::Header>(stored.tiled, 0);
    CHECK(header.table_values == (values <= 65'536 ? values : 0));
    CHECK(header.code_bytes == (values <= 256 ? 1 : values <= 65'536 ? 2 : 0));
    Decoder decoder(kernels::Chosen());
    REQUIRE(decoder.Open(stored.payload()) == nullptr);
    std::vector<std::uint8_t> out;
    REQUIRE(Read(decoder, stored.raw, {0, 0, 300, 300}, {0}, out) == nullptr);
    CHECK(out == Cut(stored.raw, {0, 0, 300, 300}, {0}));
  }
}

// The example of FORMAT.md, made there by hand.
TEST_CASE("The bytes of a tiled image are those of the format's example") {
  const auto stored =
      Store(PixelType::kUint16, 3, 2, 1,
            [](std::uint32_t x, std::uint32_t y, unsigned) { return 1000 + 10 * x + 100 * y; });
  constexpr std::uint8_t kBody[] = {0x00, 0x00, 0x00, 0x00,  // predictor none, as is, no base
                                    0xE8, 0x03, 0xF2, 0x03, 0xFC, 0x03,   // 1000 1010 1020
                                    0x4C, 0x04, 0x56, 0x04, 0x60, 0x04};  // 1100 1110 1120
  std::vector<std::byte> expected(28);
  expected[4] = std::byte{1};
  StoreAt(expected, 6, std::uint16_t{128});
  StoreAt(expected, 8, std::uint16_t{128});
  StoreAt(expected, 20, std::uint32_t{28 + sizeof kBody});
  StoreAt(expected, 24, static_cast<std::uint32_t>(Hash64(std::as_bytes(std::span(kBody)))));
  Reseal(expected, 28);
  for (const std::uint8_t byte : kBody)
    expected.push_back(std::byte{byte});
  expected.resize(expected.size() + 32);
  CHECK(stored.tiled == expected);
}

TEST_CASE("A flipped byte of a tile is found by every crop that shows it, and by no other") {
  RandomStream random(2, static_cast<Purpose>(990), 0);
  const auto stored =
      Store(PixelType::kUint16, 200, 150, 3, [&](std::uint32_t x, std::uint32_t y, unsigned c) {
        return x * 7 + y * 5 + c * random.Below(50);
      });
  const std::size_t first_tile = 20 + 8 * 2 * 2 * 3;
  const auto end_of = [&](std::size_t tile) {
    return tile == SIZE_MAX ? first_tile : LoadAt<tiled::Entry>(stored.tiled, 20 + 8 * tile).end;
  };
  for (std::size_t tile = 0; tile < 12; ++tile) {
    for (std::size_t at = end_of(tile - 1); at < end_of(tile); at += 1 + random.Below(400)) {
      std::vector<std::byte> damaged = stored.tiled;
      damaged[at] ^= static_cast<std::byte>(1U << random.Below(8));
      ImagePayload image = stored.payload();
      image.bytes = damaged;
      Decoder decoder(kernels::Chosen());
      REQUIRE(decoder.Open(image) == nullptr);
      for (std::size_t shown = 0; shown < 12; ++shown) {
        const auto row = static_cast<std::uint32_t>(shown / 6),
                   column = static_cast<std::uint32_t>(shown / 3 % 2);
        const Rect rect{column * 128, row * 128, column == 0 ? 128U : 72U, row == 0 ? 128U : 22U};
        const auto channel = static_cast<std::uint32_t>(shown % 3);
        std::vector<std::uint8_t> out;
        const Defect defect = Read(decoder, image, rect, {channel}, out);
        // A tile that is stored as its difference from another one shows that one's damage.
        const auto base = LoadAt<std::uint16_t>(stored.tiled, end_of(shown - 1) + 2);
        const bool shows = shown == tile || (base != 0 && shown / 3 * 3 + base - 1 == tile);
        REQUIRE((defect != nullptr) == shows);
        if (!shows) REQUIRE(out == Cut(stored.raw, rect, {channel}));
      }
    }
  }
}

TEST_CASE("A tiled image that says false things of itself is refused, whatever its checksums") {
  const auto plain =
      Store(PixelType::kUint16, 200, 40, 2,
            [](std::uint32_t x, std::uint32_t y, unsigned c) { return x * x + y * 3 + c; });
  const std::size_t first_tile = 20 + 8 * 2 * 2;
  const auto forged = [&](std::size_t at, auto value) {
    std::vector<std::byte> payload = plain.tiled;
    StoreAt(payload, at, value);
    Reseal(payload, first_tile);
    return WhyNot(plain, payload);
  };
  REQUIRE(WhyNot(plain, plain.tiled).empty());
  CHECK_THAT(forged(4, std::uint8_t{2}), ContainsSubstring("form is not known"));
  CHECK_THAT(forged(10, std::uint16_t{1}), ContainsSubstring("form is not known"));
  CHECK_THAT(forged(5, std::uint8_t{3}), ContainsSubstring("table has a size"));
  CHECK_THAT(forged(5, std::uint8_t{1}), ContainsSubstring("table has a size"));
  CHECK_THAT(forged(12, std::uint32_t{7}), ContainsSubstring("table has a size"));
  CHECK_THAT(forged(16, std::uint32_t{0xFFFFFFFF}), ContainsSubstring("table is longer"));
  for (const auto& [width, height] :
       {std::pair{0, 128}, {128, 0}, {8, 128}, {1025, 16}, {1024, 128}}) {
    const auto both = static_cast<std::uint32_t>(width | height << 16);
    CHECK_THAT(forged(6, both), ContainsSubstring("tiles have a size"));
  }
  CHECK_THAT(forged(6, std::uint32_t{16 | 16 << 16}), ContainsSubstring("directory is longer"));
  CHECK_THAT(forged(20, std::uint32_t{0xFFFFFFF0}), ContainsSubstring("outside"));
  CHECK_THAT(forged(20, static_cast<std::uint32_t>(first_tile + 3)), ContainsSubstring("outside"));
  CHECK_THAT(forged(28, static_cast<std::uint32_t>(first_tile)), ContainsSubstring("outside"));
  CHECK_THAT(forged(first_tile - 8, static_cast<std::uint32_t>(first_tile)),
             ContainsSubstring("after its last tile"));
  CHECK_THAT(forged(24, std::uint32_t{5}), ContainsSubstring("checksum of a tile"));

  // The first tile, changed and with its checksum made right.
  const auto tile_forged = [&](const Stored& stored, std::size_t entry, const auto& change) {
    std::vector<std::byte> payload = stored.tiled;
    const auto end = LoadAt<tiled::Entry>(payload, entry).end;
    const auto header = LoadAt<tiled::Header>(payload, 0);
    const std::size_t tiles =
        (stored.raw.width + 127) / 128 * ((stored.raw.height + 127) / 128) * stored.raw.channels;
    const std::size_t directory = 20 + header.table_bytes, start = directory + 8 * tiles;
    const std::size_t begin =
        entry == directory ? start : LoadAt<tiled::Entry>(payload, entry - 8).end;
    change(std::span(payload).subspan(begin, end - begin));
    StoreAt(payload, entry + 4,
            static_cast<std::uint32_t>(Hash64(Bytes(payload).subspan(begin, end - begin))));
    Reseal(payload, start);
    return WhyNot(stored, payload);
  };
  const auto set = [](std::size_t at, auto value) {
    return [=](std::span<std::byte> tile) { StoreAt(tile, at, value); };
  };
  CHECK_THAT(tile_forged(plain, 20, set(0, std::uint8_t{4})),
             ContainsSubstring("predictor or layout"));
  CHECK_THAT(tile_forged(plain, 20, set(1, std::uint8_t{3})),
             ContainsSubstring("predictor or layout"));
  CHECK_THAT(tile_forged(plain, 20, set(2, std::uint16_t{3})),
             ContainsSubstring("base is not a channel"));
  CHECK_THAT(tile_forged(plain, 20, set(2, std::uint16_t{1})),
             ContainsSubstring("base has a base"));
  CHECK_THAT(tile_forged(plain, 20, set(4, std::uint32_t{0xFFFF})), ContainsSubstring("tile"));

  // Groups that do not fill their tile, forged from a frame of widths that are all the same.
  const auto noise = Store(PixelType::kUint16, 128, 16, 1, [i = 0U](auto...) mutable {
    return (i += 40503) * 2654435761U >> 16 & 0xFFFF;
  });
  const auto made = [&](std::size_t groups_bytes, std::uint8_t width) {
    std::vector<std::byte> tile(8);
    tile[1] = std::byte{tiled::kGroups};
    const std::vector<std::byte> of_width =
        ZstdCompress(std::vector<std::byte>(128 * 16 / 8, std::byte{width}));
    StoreAt(tile, 4, static_cast<std::uint32_t>(of_width.size()));
    tile.insert(tile.end(), of_width.begin(), of_width.end());
    tile.resize(tile.size() + groups_bytes);
    std::vector<std::byte> payload(noise.tiled.begin(), noise.tiled.begin() + 28);
    StoreAt(payload, 20, static_cast<std::uint32_t>(28 + tile.size()));
    StoreAt(payload, 24, static_cast<std::uint32_t>(Hash64(tile)));
    Reseal(payload, 28);
    payload.insert(payload.end(), tile.begin(), tile.end());
    payload.resize(payload.size() + 32);
    return WhyNot(noise, payload);
  };
  CHECK(made(256 * 3, 3).empty());
  CHECK_THAT(made(256 * 3 - 1, 3), ContainsSubstring("do not fill"));
  CHECK_THAT(made(256 * 3 + 1, 3), ContainsSubstring("do not fill"));
  CHECK_THAT(made(256 * 17, 17), ContainsSubstring("do not fill"));

  // A table of another size than its frame, and an index that is not in the table.
  const auto few =
      Store(PixelType::kFloat32, 64, 64, 1, [](std::uint32_t x, std::uint32_t y, unsigned) {
        return 0x40000000 + (x / 8 + y / 8) % 5 * 1'000'003;
      });
  REQUIRE(LoadAt<tiled::Header>(few.tiled, 0).table_values == 5);
  std::vector<std::byte> payload = few.tiled;
  StoreAt(payload, 12, std::uint32_t{4});
  Reseal(payload, 20 + LoadAt<tiled::Header>(payload, 0).table_bytes + 8);
  CHECK_THAT(WhyNot(few, payload), ContainsSubstring("table cannot be decompressed"));
  const std::size_t entry = 20 + LoadAt<tiled::Header>(few.tiled, 0).table_bytes;
  // A tile of one byte for each index, as it is: 5 is one too many.
  const auto indices = [&](std::uint8_t index) {
    std::vector<std::byte> tile(4 + 64 * 64);
    tile.back() = std::byte{index};
    std::vector<std::byte> forged_tile(few.tiled.begin(),
                                       few.tiled.begin() + static_cast<std::ptrdiff_t>(entry));
    forged_tile.resize(entry + 8);
    StoreAt(forged_tile, entry, static_cast<std::uint32_t>(entry + 8 + tile.size()));
    StoreAt(forged_tile, entry + 4, static_cast<std::uint32_t>(Hash64(tile)));
    Reseal(forged_tile, entry + 8);
    forged_tile.insert(forged_tile.end(), tile.begin(), tile.end());
    forged_tile.resize(forged_tile.size() + 32);
    return WhyNot(few, forged_tile);
  };
  CHECK(indices(4).empty());
  CHECK_THAT(indices(5), ContainsSubstring("index that is not in the table"));
}

TEST_CASE("A wide image's region is copied to any place, mirrored, turned and with its border") {
  const auto stored = Store(
      PixelType::kInt16, 40, 30, 5,
      [](std::uint32_t x, std::uint32_t y, unsigned c) { return x * 1000 + y * 10 + c - 3000; });
  const auto value = [&](std::uint32_t x, std::uint32_t y, std::uint32_t c) {
    return static_cast<std::int16_t>(x * 1000 + y * 10 + c - 3000);
  };
  const std::vector<std::uint32_t> channels = {4, 0, 2};
  WideDecoder decoder(kernels::Chosen());
  for (const ImagePayload& payload : {stored.payload(), stored.raw}) {
    REQUIRE(decoder.Open(payload) == nullptr);
    for (int turns = 0; turns < 16; ++turns) {
      Region region = Region::Whole(40, 30);
      region.x = {5, 20, 5, 20, 20, 3, 26};
      region.y = {7, 11, 7, 11, 11, 2, 17};
      region.flip = (turns & 1) != 0;
      region.flip_y = (turns & 2) != 0;
      region.transpose = (turns & 4) != 0;
      const bool planar = (turns & 8) != 0;
      std::vector<std::int16_t> out(26 * 17 * 3, 77);
      REQUIRE(decoder.Copy(region, channels, 0xFFFF,
                           planar ? PixelOrder::kPlanar : PixelOrder::kInterleaved,
                           reinterpret_cast<std::uint8_t*>(out.data())) == nullptr);
      for (std::uint32_t v = 0; v < region.height(); ++v) {
        for (std::uint32_t u = 0; u < region.width(); ++u) {
          std::int64_t x = region.transpose ? v : u, y = region.transpose ? u : v;
          if (region.flip) x = 25 - x;
          if (region.flip_y) y = 16 - y;
          const bool inside = x >= 3 && x < 23 && y >= 2 && y < 13;
          for (std::uint32_t c = 0; c < 3; ++c) {
            const std::size_t pixel = std::size_t{v} * region.width() + u;
            const std::int16_t expected =
                inside ? value(static_cast<std::uint32_t>(x + 2), static_cast<std::uint32_t>(y + 5),
                               channels[c])
                       : std::int16_t{-1};
            REQUIRE(out[planar ? c * 26 * 17 + pixel : pixel * 3 + c] == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("Pixels of another size than the image are not encoded") {
  const std::vector<std::byte> pixels(8 * 8 * 5 * 2 - 1);
  CHECK_THROWS_AS(tiled::Encode({Codec::kRaw, PixelType::kUint16, 5, 8, 8, pixels}), Error);
}

// A loader of 8-bit pictures has decoders of tiled images, too, and never uses them. (mallinfo2()
// knows nothing of a sanitizer's heap.)
TEST_CASE("A decoder takes the working memory of zstd with its first image only") {
  const auto used = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const std::size_t before = used();
  const Decoder decoder(kernels::Chosen());
  CHECK(used() - before < 10'000);
}
