// Counts heap allocations, for which it replaces the whole test program's operators new and delete.
// (They must not be inlined: otherwise GCC warns that free() frees memory from new.)
#include <atomic>
#include <cstdlib>
#include <new>

#include <malloc.h>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/baseline/segments.h"
#include "format/pixels/decode.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/recoding.h"
#include "writer/encode/jpeg.h"

namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> taken{0};  // bytes, in total
std::atomic<std::int64_t> held{0};    // bytes allocated now

void* Take(std::size_t size) noexcept {
  void* const memory = std::malloc(size != 0 ? size : 1);
  allocations.fetch_add(1, std::memory_order_relaxed);
  taken.fetch_add(size, std::memory_order_relaxed);
  held.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  return memory;
}

void Free(void* memory) noexcept {
  held.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const memory = Take(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return Take(size);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  Free(memory);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  Free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  Free(memory);
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
    // If the files are large (640 x 480), the decoder then builds its strand tables from the files'
    // own Huffman tables.
    options.optimise = own_tables;
    files.push_back(MakeJpeg(MakePicture(width, height, i % 4 == 3 ? 1 : 3, i), options));
  }
  return files;
}

// Uses each file in three rounds. Returns the number of allocations in the second and third round.
template <class Use>
std::uint64_t CountAllocations(const std::vector<std::vector<std::byte>>& files, const Use& use) {
  std::uint64_t before = 0;
  for (int round = 0; round < 3; ++round) {
    if (round == 1) before = allocations.load();
    for (std::size_t i = 0; i < files.size(); ++i)
      use(files[i], i % 4 == 3 ? 1U : 3U);  // channels, as in MakeFiles()
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

TEST_CASE("After the first pictures, decoding allocates no memory") {
  std::vector<std::uint8_t> out(224 * 224 * 3);
  PayloadDecoder decoder;
  const Region region = {
      .x =
          {.start = 20, .length = 250, .bound = 20, .bound_length = 250, .out = 224, .target = 224},
      .y =
          {.start = 10, .length = 220, .bound = 10, .bound_length = 220, .out = 224, .target = 224},
      .flip = true};
  CHECK(CountAllocations(MakeFiles(320, 240, false), [&](const auto& file, std::uint32_t channels) {
          for (const PixelOrder order : {PixelOrder::kInterleaved, PixelOrder::kPlanar})
            Decode(decoder, file, 320, 240, region, {out.data(), channels, order});
        }) == 0);
}

TEST_CASE("After the first pictures, decoding and recoding whole pictures allocates no memory") {
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

TEST_CASE("Decoding several views allocates their planes, and little else that one view does not") {
  constexpr std::int64_t kLists = 16 << 10;  // bytes for lists of regions, windows, jobs and planes
  std::vector<std::uint8_t> out(std::size_t{640} * 480 * 3);
  JpegOptions options;
  options.restart_rows = 1;
  const std::vector<std::byte> file = MakeJpeg(MakePicture(640, 480), options);
  const ImagePayload payload{Codec::kJpeg, PixelType::kUint8, 3, 640, 480, file};
  PayloadDecoder decoder;
  Decode(decoder, file, 640, 480, Region::Whole(640, 480), {out.data(), 3});
  const std::int64_t before = held.load();
  const std::vector<Region> regions(12, Region::Whole(640, 480));
  decoder.DecodeViews(payload, regions);
  for (std::size_t i = 0; i < regions.size(); ++i)
    CHECK(decoder.DecodeView(i, payload, regions[i], {out.data(), 3}) == nullptr);
  CHECK(held.load() - before > 3 * 640 * 480);  // the views were decoded together
  CHECK(held.load() - before <=
        static_cast<std::int64_t>(PayloadDecoder::kViewBytes) * 640 * 480 + kLists);
}

TEST_CASE("A copy of coded data is never larger than the file") {
  // The first segment has nearly all of the file's bytes, and the buffer starts small.
  JpegOptions options;
  options.quality = 100;
  options.restart_interval = 40 * 30 - 1;
  const std::vector<std::byte> file = MakeJpeg(MakePicture(640, 480), options);
  baseline::Header header;
  REQUIRE(baseline::ParseHeader(file, header));
  baseline::Segments segments(header.scan);
  std::vector<std::uint8_t> bytes(100);
  segments.Read(bytes);
  CHECK(bytes.capacity() > file.size() / 2);
  CHECK(bytes.capacity() <= file.size() + baseline::kSegmentPadding);
}

TEST_CASE("After a large picture, whether it was read or refused, its memory is released",
          "[no-asan]") {
  constexpr std::uint32_t kWidth = 4000;  // 29 MB of coefficients with 4:2:0
  constexpr std::uint32_t kHeight = 2400;
  // Less than the picture's coefficients: only buffers of up to 16 MiB each may be kept.
  constexpr std::int64_t kKept = 24 << 20;
  const std::vector<std::byte> small = MakeJpeg(MakePicture(64, 48), {.quality = 80});
  for (const bool subsample : {true, false}) {
    const std::vector<std::byte> large =
        MakeJpeg(MakePicture(kWidth, kHeight), {.quality = 80, .subsample = subsample});
    std::vector<std::byte> broken = large;
    broken.erase(broken.end() - 100, broken.end());
    baseline::BlockReader reader(kernels::Chosen());
    JpegRecoder recoder;
    const auto read = [&](const std::vector<std::byte>& file) {
      return reader.Begin(file) && reader.ReadLines([](const std::int16_t*) { return true; });
    };
    const auto recode = [&](const std::vector<std::byte>& file, ImageCodec form) {
      ConvertOptions options;
      options.form.image = form;
      const bool is_small = file.size() == small.size();
      if (!recoder.Take(file, is_small ? 64 : kWidth, is_small ? 48 : kHeight, options))
        return false;
      FieldValue value;
      recoder.Store(value);
      return true;
    };
    CHECK(read(small));
    CHECK(recode(small, ImageCodec::kJpeg));
    CHECK(recode(small, ImageCodec::kPacked));
    const std::int64_t before = held.load();
    CHECK(read(large));
    CHECK(held.load() - before < kKept);
    CHECK_FALSE(read(broken));
    CHECK(held.load() - before < kKept);
    for (const ImageCodec form : {ImageCodec::kJpeg, ImageCodec::kPacked}) {
      CHECK(recode(large, form));
      CHECK(held.load() - before < kKept);
      CHECK_FALSE(recode(broken, form));
      CHECK(held.load() - before < kKept);
    }
  }
}

TEST_CASE(
    "For a file that it cannot recode, the recoder allocates little, whatever size is stated") {
  const std::vector<std::byte> file = MakeJpeg(MakePicture(64, 48), {.progressive = true});
  JpegRecoder recoder;
  const std::uint64_t before = taken.load();
  CHECK_FALSE(recoder.Take(file, 13'000, 13'000, {}));
  CHECK(taken.load() - before < 4096);
}
