// Counts heap allocations. A program of its own, because it replaces operator new. (Not inlined:
// GCC would warn that free() frees memory from new.)
#include <atomic>
#include <cstdlib>
#include <new>

#include "format/pixels/decode.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/recoding.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size != 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

using namespace sluice;
using namespace sluice::test;

TEST_CASE("After the first pictures, decoding takes no memory") {
  std::vector<std::vector<std::byte>> files;
  for (std::uint64_t i = 0; i < 8; ++i) {
    JpegOptions options;
    options.restart_rows = static_cast<int>(i % 2);
    options.subsample = i % 3 != 0;
    files.push_back(MakeJpeg(MakePicture(320, 240, i % 4 == 3 ? 1 : 3, i), options));
  }
  std::vector<std::uint8_t> out(224 * 224 * 3);
  PayloadDecoder decoder;
  std::uint64_t before = 0;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) before = allocations.load();
    for (std::size_t i = 0; i < files.size(); ++i) {
      const auto channels = static_cast<std::uint8_t>(i % 4 == 3 ? 1 : 3);
      for (const PixelOrder order : {PixelOrder::kInterleaved, PixelOrder::kPlanar}) {
        const Region region = {
            {20, 250, 20, 250, 224, 0, 224}, {10, 220, 10, 220, 224, 0, 224}, true};
        const Defect defect =
            decoder.Decode({Codec::kJpeg, PixelType::kUint8, channels, 320, 240, files[i]}, region,
                           {out.data(), 3, order});
        if (defect != nullptr) FAIL(defect);
      }
    }
  }
  CHECK(allocations.load() == before);
}

TEST_CASE("After the first pictures, decoding and recoding whole ones takes no memory") {
  std::vector<std::vector<std::byte>> files;
  for (std::uint64_t i = 0; i < 6; ++i) {
    JpegOptions options;
    options.restart_rows = static_cast<int>(i % 2);
    options.subsample = i % 3 != 0;
    options.optimise = true;  // tables of its own, for which strand tables are made
    files.push_back(MakeJpeg(MakePicture(640, 480, 3, i), options));
  }
  const baseline::Header target = TargetHeader(640, 480, 3, true, 90, 40);
  const baseline::McuRow row(target);
  std::vector<std::int16_t> rows(row.values() * target.mcus_down);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < 3; ++c) {
    const std::uint32_t log2 = c == 0 ? 1 : 0;
    places[c] = {rows.data() + row.PlaceOf(c, 0, 0),
                 row.across(c),
                 row.down(c),
                 log2,
                 log2,
                 row.mcu_values(),
                 row.values()};
  }
  std::vector<std::uint8_t> out(std::size_t{640} * 480 * 3);
  PayloadDecoder decoder;
  baseline::Recoder recoder(kernels::Chosen());
  std::uint64_t before = 0;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) before = allocations.load();
    for (const std::vector<std::byte>& file : files) {
      const Defect defect = decoder.Decode({Codec::kJpeg, PixelType::kUint8, 3, 640, 480, file},
                                           Region::Whole(640, 480), {out.data(), 3});
      if (defect != nullptr) FAIL(defect);
      if (!recoder.Recode(file, target, places, false)) FAIL("not recoded");
    }
  }
  CHECK(allocations.load() == before);
}
