// Steps through an epoch without an iterator: EpochRange::Next() and WaitFor().
#include <latch>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;
using std::chrono_literals::operator""ms;

TEST_CASE("Next() gives the batches that an iterator does, then nothing") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), OptionsFor(8, 2));
  std::vector<std::vector<std::uint64_t>> iterated, stepped;
  for (const Batch& batch : loader.Epoch(3))
    iterated.emplace_back(batch.samples().begin(), batch.samples().end());
  const EpochRange range = loader.Epoch(3);
  while (const std::optional<Batch> batch = range.Next())
    stepped.emplace_back(batch->samples().begin(), batch->samples().end());
  CHECK(iterated.size() == 7);
  CHECK(stepped == iterated);
  CHECK(range.Next() == std::nullopt);
  CHECK(range.WaitFor(0ms));
}

TEST_CASE("WaitFor() says whether the next step would wait") {
  const TemporaryFolder folder;
  std::latch go(1);
  LoaderOptions options = OptionsFor(8, 1);
  options.sample_function = [&go](MutableSample&) { go.wait(); };
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), options);
  const EpochRange range = loader.Epoch(0);
  CHECK_FALSE(range.WaitFor(0ms));
  CHECK_FALSE(range.WaitFor(20ms));
  go.count_down();
  while (!range.WaitFor(1000ms)) {
  }
  CHECK(range.Next()->size() == 8);
  loader.Epoch(1);
  CHECK(range.WaitFor(0ms));  // the range is over: another has begun
}

TEST_CASE("WaitFor() does not wait for batches that the consumer itself holds back") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(8, 1);
  options.ring = {.prefetch = 1, .hold = 0};
  Loader loader(Dataset::Open(WriteRawDataset(folder, 50)), options);
  const EpochRange range = loader.Epoch(0);
  const std::optional<Batch> first = range.Next(), second = range.Next();
  REQUIRE(range.WaitFor(600'000ms));
  CHECK(ErrorText([&] { range.Next(); }, ErrorCode::kState).find("ring.hold") != std::string::npos);
}
