// Broken JPEG streams: with every set of kernels, the decoder refuses the same streams, and reads
// no byte beyond them.
#include <cstring>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/baseline/segments.h"
#include "format/pixels/decode.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

std::size_t Find(const std::vector<std::byte>& file, int marker, std::size_t from = 0) {
  for (std::size_t i = from; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] == std::byte(marker)) return i;
  }
  FAIL("no such marker");
  return 0;
}

std::vector<std::byte> RestartFile() {
  JpegOptions options;
  options.restart_rows = 1;
  return MakeJpeg(MakePicture(64, 96, 3), options);
}

// Returns whether the decoder accepts the file; every set of kernels must say the same.
bool Takes(const std::vector<std::byte>& file, const Region& region = Region::Whole(64, 96)) {
  bool taken = false;
  std::size_t count = 0;
  for (const kernels::Kernels* set : DecodingSets()) {
    baseline::Decoder decoder(*set);
    const bool takes = decoder.Decode(file, 64, 96, region);
    REQUIRE((count == 0 || takes == taken));
    taken = takes;
    ++count;
  }
  return taken;
}

}  // namespace

TEST_CASE("A truncated stream never counts as whole, wherever it is cut") {
  const auto file = RestartFile();
  REQUIRE(Takes(file));
  const std::size_t scan = Find(file, 0xDA);
  for (std::size_t size = 0; size + 2 < file.size(); size += size < scan ? 1 : 7) {
    // Allocated to the exact length, so that the sanitizer sees a read beyond the end.
    const std::vector<std::byte> cut(file.begin(),
                                     file.begin() + static_cast<std::ptrdiff_t>(size));
    INFO("cut to " << size << " of " << file.size());
    REQUIRE_FALSE(Takes(cut));
  }
}

TEST_CASE("Wrong, missing or repeated restart markers are noticed") {
  const auto file = RestartFile();
  auto wrong = file;
  wrong[Find(file, 0xD2) + 1] = std::byte{0xD3};
  CHECK_FALSE(Takes(wrong));
  auto missing = file;
  const std::size_t second = Find(file, 0xD1);
  missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(second),
                missing.begin() + static_cast<std::ptrdiff_t>(second) + 2);
  CHECK_FALSE(Takes(missing));
  auto doubled = file;
  doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(second),
                 {std::byte{0xFF}, std::byte{0xD1}});
  CHECK_FALSE(Takes(doubled));
  // Fill bytes before a marker are allowed.
  auto filled = file;
  filled.insert(filled.begin() + static_cast<std::ptrdiff_t>(second), std::byte{0xFF});
  CHECK(Takes(filled));
}

TEST_CASE("A region is decoded without reading what comes after it") {
  auto file = RestartFile();
  const Region top = {
      {.start = 0, .length = 64, .bound = 0, .bound_length = 64, .out = 32, .target = 32},
      {.start = 0, .length = 16, .bound = 0, .bound_length = 16, .out = 8, .target = 8},
      false};
  REQUIRE(Takes(file, top));
  const std::size_t later = Find(file, 0xD3);
  for (std::size_t i = later; i < file.size(); ++i)
    file[i] = std::byte{0x55};
  CHECK(Takes(file, top));
  CHECK_FALSE(Takes(file));
}

TEST_CASE("Tables that break the standard's rules are not built") {
  baseline::HuffmanTable table;
  baseline::HuffmanSpec spec;
  spec.counts[0] = 1;
  spec.symbol_count = 1;
  CHECK(BuildCodes(spec, false, table));
  spec.counts[0] = 2;  // both codes of one bit, but the code of all ones is reserved
  spec.symbol_count = 2;
  CHECK_FALSE(BuildCodes(spec, false, table));
  spec.counts[0] = 0;
  spec.counts[1] = 5;  // five codes of two bits
  spec.symbol_count = 5;
  CHECK_FALSE(BuildCodes(spec, false, table));
  spec = {};
  spec.counts[3] = 1;
  spec.symbol_count = 1;
  spec.symbols[0] = 12;  // a DC size that 8-bit samples cannot have
  CHECK_FALSE(BuildCodes(spec, false, table));
  spec.symbols[0] = 0x0B;  // an AC size (11) that 8-bit samples cannot have
  CHECK_FALSE(BuildCodes(spec, true, table));
  spec.symbols[0] =
      0x30;  // a run without a value that is neither an end of block nor sixteen zeros
  CHECK_FALSE(BuildCodes(spec, true, table));
  spec.symbols[0] = 0xF0;
  CHECK(BuildCodes(spec, true, table));
}

TEST_CASE("Codes too long for the look-up table are found, and unassigned codes are errors") {
  // One code of each length: 0, 10, 110, ...
  baseline::HuffmanSpec spec;
  for (std::uint32_t i = 0; i < 16; ++i) {
    spec.counts[i] = 1;
    spec.symbols[i] = static_cast<std::uint8_t>(i % 10 + 1);
  }
  spec.symbol_count = 16;
  static baseline::HuffmanTable table;
  REQUIRE(BuildCodes(spec, true, table));
  for (std::uint32_t length = 1; length <= 16; ++length) {
    // length - 1 ones, a zero, then a value of all ones.
    const std::uint64_t bits = ~std::uint64_t{0} ^ (std::uint64_t{1} << (64 - length));
    const baseline::Entry entry = table.SlowAc(bits);
    const std::uint32_t size = spec.symbols[length - 1];
    CHECK(baseline::LengthOf(entry) == length + size);
    CHECK(baseline::ValueOf(entry) == (1 << size) - 1);
    CHECK(baseline::AdvanceOf(entry) == 1);
  }
  CHECK(table.SlowAc(~std::uint64_t{0}) == 0);
}

TEST_CASE("With flipped bits, all sets give the same picture or an error, and stay in bounds") {
  for (const int restart_rows : {0, 1}) {
    JpegOptions options;
    options.restart_rows = restart_rows;
    options.quality = 60;
    const auto file = MakeJpeg(MakePicture(48, 48, 3), options);
    RandomStream random(7, static_cast<Purpose>(999), 0);
    std::vector<std::uint8_t> out(48 * 48 * 3);
    PayloadDecoder whole;
    for (int round = 0; round < (kSanitized ? 300 : 1000); ++round) {
      auto broken = file;
      for (std::uint64_t flips = 1 + random.Below(4); flips > 0; --flips) {
        broken[random.Below(broken.size())] ^= std::byte(1U << random.Below(8));
      }
      bool taken = false;
      std::vector<std::uint8_t> first;
      for (const kernels::Kernels* set : DecodingSets()) {
        baseline::Decoder decoder(*set);
        const bool takes = decoder.Decode(broken, 48, 48, Region::Whole(48, 48));
        std::vector<std::uint8_t> pixels;
        if (takes) {
          pixels.resize(out.size());
          PlanarResampler planar(*set);
          planar.Run(decoder.planes(), decoder.components(), Region::Whole(48, 48),
                     {pixels.data(), 3, PixelOrder::kInterleaved});
        }
        if (set == DecodingSets()[0]) {
          taken = takes;
          first = pixels;
        }
        REQUIRE(takes == taken);
        REQUIRE(pixels == first);
      }
      whole.Decode({Codec::kJpeg, PixelType::kUint8, 3, 48, 48, broken}, Region::Whole(48, 48),
                   {out.data(), 3, PixelOrder::kInterleaved});
    }
  }
}
