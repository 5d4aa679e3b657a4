// Which piece a full cache evicts: the one that all its processes need last.
#include <algorithm>
#include <random>

#include "format/remote/cache/cache_room.h"
#include "reader/dataset/dataset_state.h"
#include "reader/reading/next_uses.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("The evicted piece is the one needed last, as a scan of all pieces finds it",
          "[no-tsan]") {
  constexpr std::uint64_t kPieces = 30'000;
  std::vector<std::atomic<std::uint64_t>> next_uses(kPieces);
  std::mt19937_64 random(5);
  for (std::uint64_t piece = 0; piece < kPieces; ++piece)
    next_uses[piece] = random() % 5 == 0 ? 0 : 1 + random() % 1'000'000;
  EvictionOrder order(next_uses.data(), kPieces);
  const auto latest = [&] {
    return std::max_element(next_uses.begin(), next_uses.end(),
                            [](const auto& a, const auto& b) { return a.load() < b.load(); })
        ->load();
  };
  for (int turn = 0; turn < 600; ++turn) {
    // Pieces come, or get a next use that is nearly always later.
    for (int use = 0; use < 30; ++use) {
      const std::uint64_t piece = random() % kPieces;
      next_uses[piece] = 1 + random() % 1'000'000 + 500 * static_cast<std::uint64_t>(turn);
      order.Add(piece);
    }
    order.Begin();
    const std::uint64_t last = latest();
    REQUIRE_FALSE(order.TakeLatest(last).has_value());  // no piece is needed later than `last`
    const std::optional<std::uint64_t> given = order.TakeLatest(last - 1);
    REQUIRE(given.has_value());
    REQUIRE(next_uses[*given] == last);
    next_uses[*given] = 0;
  }
}

TEST_CASE("A piece that other processes need later is evicted once the table is read again") {
  constexpr std::uint64_t kPieces = 640;
  std::vector<std::atomic<std::uint64_t>> next_uses(kPieces);
  for (std::uint64_t piece = 0; piece < kPieces; ++piece)
    next_uses[piece] = 1000 + piece;
  EvictionOrder order(next_uses.data(), kPieces);
  order.Begin();
  CHECK(order.TakeLatest(0) == kPieces - 1);
  next_uses[kPieces - 1] = 0;
  next_uses[7] = 1'000'000;    // by another process
  next_uses[kPieces - 2] = 2;  // by another process, too
  order.Begin();
  // The table is scanned in only some calls of Begin(), so it may take a few of them until the new
  // next use of piece 7 is seen.
  const std::optional<std::uint64_t> second = order.TakeLatest(0);
  CHECK((second == kPieces - 3 || second == 7u));
  bool found = second == 7u;
  for (int i = 0; i < 20 && !found; ++i) {
    order.Begin();
    found = order.TakeLatest(0) == 7u;
  }
  CHECK(found);
}

TEST_CASE("Next uses of blocks are computed during playing, for the epoch requested last") {
  const TemporaryFolder folder;
  const auto path = WriteRawDataset(folder, 3000);
  const auto state = DatasetState::Open(path);
  LoaderOptions options = OptionsFor(10, 1);
  options.order.lanes = 4;
  const std::atomic<bool> never{false};
  NextUsesAhead ahead(state->facts->shape, options);
  for (const std::uint64_t epoch : {1u, 2u, 3u, 9u, 4u, 4u, 5u}) {
    ahead.Begin(epoch);
    ahead.Await(&never);
    const NextUsesAhead::Uses uses = ahead.Find();
    REQUIRE(uses != nullptr);
    CHECK(*uses == NextUses(state->facts->shape, options, epoch, nullptr));
  }
  for (std::uint64_t epoch = 20; epoch < 40; epoch += 3)
    ahead.Begin(epoch);  // and is left halfway through
}
