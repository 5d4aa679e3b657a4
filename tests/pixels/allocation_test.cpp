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

namespace {

std::vector<std::vector<std::byte>> MakeFiles(std::uint32_t width, std::uint32_t height,
                                              bool own_tables) {
  std::vector<std::vector<std::byte>> files;
  for (std::uint64_t i = 0; i < 8; ++i) {
    JpegOptions options;
    options.restart_rows = static_cast<int>(i % 2);
    options.subsample = i % 3 != 0;
    options.optimise = own_tables;  // for which strand tables are made
    files.push_back(MakeJpeg(MakePicture(width, height, i % 4 == 3 ? 1 : 3, i), options));
  }
  return files;
}

// How often memory is taken for three rounds of files, the first one left out.
template <class Use>
std::uint64_t CountAllocations(const std::vector<std::vector<std::byte>>& files, const Use& use) {
  std::uint64_t before = 0;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) before = allocations.load();
    for (std::size_t i = 0; i < files.size(); ++i)
      use(files[i], i % 4 == 3 ? 1U : 3U);
  }
  return allocations.load() - before;
}

void Decode(PayloadDecoder& decoder, const std::vector<std::byte>& file, std::uint32_t width,
            std::uint32_t height, const Region& region, const PixelTarget& target) {
  const Defect defect =
      decoder.Decode({Codec::kJpeg, PixelType::kUint8, static_cast<std::uint8_t>(target.channels),
                      width, height, file},
                     region, target);
  if (defect != nullptr) FAIL(defect);
}

}  // namespace

TEST_CASE("After the first pictures, decoding takes no memory") {
  std::vector<std::uint8_t> out(224 * 224 * 3);
  PayloadDecoder decoder;
  const Region region = {{20, 250, 20, 250, 224, 0, 224}, {10, 220, 10, 220, 224, 0, 224}, true};
  CHECK(CountAllocations(MakeFiles(320, 240, false), [&](const auto& file, std::uint32_t channels) {
          for (const PixelOrder order : {PixelOrder::kInterleaved, PixelOrder::kPlanar})
            Decode(decoder, file, 320, 240, region, {out.data(), channels, order});
        }) == 0);
}

TEST_CASE("After the first pictures, decoding and recoding whole ones takes no memory") {
  std::vector<std::uint8_t> out(std::size_t{640} * 480 * 3);
  std::vector<std::int16_t> rows;
  PayloadDecoder decoder;
  baseline::Recoder recoder(kernels::Chosen());
  CHECK(CountAllocations(MakeFiles(640, 480, true), [&](const auto& file, std::uint32_t channels) {
          Decode(decoder, file, 640, 480, Region::Whole(640, 480), {out.data(), channels});
          if (!RecodeRows(recoder, file, HeaderFor({640, 480, channels}), rows))
            FAIL("not recoded");
        }) == 0);
}
