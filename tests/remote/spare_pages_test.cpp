// Pieces of a remote dataset in memory: new pieces reuse the memory of dropped ones.
#include <algorithm>
#include <fstream>
#include <random>

#include <sys/mman.h>

#include "format/remote/cache/sparse_data.h"
#include "tests/catch.h"

namespace sluice::test {

namespace {

constexpr std::uint64_t kKiB = 1024;

std::byte* NewMapping(std::uint64_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(at != MAP_FAILED);
  madvise(at, bytes, MADV_NOHUGEPAGE);
  return static_cast<std::byte*>(at);
}

bool AllAre(Bytes bytes, int value) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [value](std::byte one) { return one == static_cast<std::byte>(value); });
}

std::size_t Mappings() {
  std::ifstream file("/proc/self/maps");
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
}

}  // namespace

TEST_CASE("Kept pages move to another place, and leave no pages behind") {
  constexpr std::uint64_t kBytes = 4096 * kKiB;
  std::byte* const mapping = NewMapping(kBytes);
  {
    SparePages pages(mapping, 1024 * kKiB);
    std::fill_n(mapping, 256 * kKiB, std::byte{7});
    REQUIRE(pages.Keep(0, 256 * kKiB));
    CHECK_FALSE(pages.Give(2048 * kKiB, 260 * kKiB));  // no kept range is that large
    CHECK_FALSE(pages.Give(2048 * kKiB, 64 * kKiB));   // less than kLeast
    REQUIRE(pages.Give(2048 * kKiB, 200 * kKiB));
    CHECK(AllAre({mapping + (2048 * kKiB), 200 * kKiB}, 7));
    CHECK(AllAre({mapping, 256 * kKiB}, 0));
    CHECK_FALSE(pages.Give(1024 * kKiB, 200 * kKiB));  // no pages are kept any more
    // A piece at the place where pages were kept gets them, and no other piece does.
    REQUIRE(pages.Keep(2048 * kKiB, 200 * kKiB));
    REQUIRE(pages.Give(2048 * kKiB, 200 * kKiB));
    CHECK(AllAre({mapping + (2048 * kKiB), 200 * kKiB}, 7));
    CHECK_FALSE(pages.Give(1024 * kKiB, 200 * kKiB));
    CHECK_FALSE(pages.Keep(0, 64 * kKiB));
    CHECK(pages.Keep(0, 1000 * kKiB));
    CHECK_FALSE(pages.Keep(1000 * kKiB, 200 * kKiB));  // more than it may keep
  }
  munmap(mapping, kBytes);
}

TEST_CASE("Pieces in memory keep their bytes, however others come and go") {
  constexpr std::uint64_t kPieces = 400;
  constexpr std::uint64_t kPlace = 512 * kKiB;
  constexpr std::uint64_t kSpare = 4096 * kKiB;
  SparseData data(kPieces * kPlace, kPieces, kSpare);
  std::mt19937 random(3);
  std::vector<std::uint64_t> bytes(kPieces);  // 0: the piece is not there
  const auto value_of = [](std::uint64_t piece) { return static_cast<int>(piece % 251) + 1; };
  const std::size_t mappings = Mappings();
  std::uint64_t live = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t piece = random() % kPieces;
    if (bytes[piece] > 0) {
      CHECK(AllAre(data.bytes().subspan(piece * kPlace, bytes[piece]), value_of(piece)));
      data.Note(piece, {piece * kPlace, bytes[piece], 0});
      data.Drop(piece);
      live -= bytes[piece];
      bytes[piece] = 0;
    } else if (live < 8192 * kKiB) {
      bytes[piece] = 4096 + (random() % (kPlace - 4096));
      data.Prepare(piece * kPlace, bytes[piece]);
      data.Write(piece * kPlace,
                 std::vector<std::byte>(bytes[piece], static_cast<std::byte>(value_of(piece))));
      live += bytes[piece];
    }
    if (step % 500 == 0) CHECK(data.allocated() <= live + kSpare + (kPieces * 4096));
  }
  for (std::uint64_t piece = 0; piece < kPieces; ++piece) {
    if (bytes[piece] == 0) continue;
    CHECK(AllAre(data.bytes().subspan(piece * kPlace, bytes[piece]), value_of(piece)));
  }
  // Each moved piece is one mapping, and so is each gap between pieces.
  const auto held = static_cast<std::size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](std::uint64_t one) { return one > 0; }));
  CHECK(Mappings() <= mappings + (2 * held) + (2 * kSpare / SparePages::kLeast) + 50);
}

}  // namespace sluice::test
