// Resuming a loader from a saved state (ResumePoint): the rest of the stream, to the byte, and
// refused states.
#include <sluice/resume.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

ResumePoint SomePoint() {
  ResumePoint point;
  point.dataset = "00112233445566778899aabbccddeeff";
  point.shuffle = Shuffle::kQuasiRandom;
  point.seed = 18446744073709551615U;
  point.lanes = 192;
  point.window_blocks = 3;
  point.epoch = 41;
  point.position = 123'456'789'012;
  return point;
}

// Continues from `point` as another process would, with different numbers of threads and slots.
Loader Resumed(const Dataset& dataset, LoaderOptions options, const ResumePoint& point) {
  options.threads = 3;
  options.ring.prefetch = 4;
  options.resume_from = ResumePoint::Parse(point.Text());
  return Loader(dataset, options);
}

}  // namespace

TEST_CASE("After a resume, the following batches are the same to the byte, in every order") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 90));
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    LoaderOptions options = OptionsFor(8, 1);
    options.order.shuffle = shuffle;
    options.order.lanes = 4;
    options.seed = 6;
    options.transform = {RandomResizedCrop(16), HorizontalFlip()};
    Loader whole(dataset, options);
    const std::vector<PlayedBatch> epoch = PlayBatches(whole, 5);
    const std::vector<PlayedBatch> after = PlayBatches(whole, 6);
    REQUIRE(epoch.size() == 12);
    for (std::size_t stop = 0; stop <= epoch.size(); stop += kSanitized ? 4 : 1) {
      Loader interrupted(dataset, options);
      PlayBatches(interrupted, 5, stop);
      if (stop == 0) interrupted.Epoch(5);
      const ResumePoint point = interrupted.State();
      REQUIRE(point.epoch == (stop == 12 ? 6 : 5));
      REQUIRE(point.position == (stop == 12 ? 0 : stop * 8));
      Loader loader = Resumed(dataset, options, point);
      REQUIRE(loader.State() == point);
      if (stop < 12) {
        REQUIRE(PlayBatches(loader, 5) == std::vector(epoch.begin() + long(stop), epoch.end()));
      }
      REQUIRE(PlayBatches(loader, 6) == after);
      REQUIRE(PlayBatches(loader, 5) == epoch);  // asked for again, the epoch is played whole
    }
  }
}

TEST_CASE("Resuming decodes nothing from before the resume point") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 2000));
  LoaderOptions options = OptionsFor(10, 2);
  options.ring.prefetch = 2;
  Loader loader(dataset, options);
  PlayBatches(loader, 0, 199);
  LoaderOptions resuming = options;
  resuming.resume_from = loader.State();
  Loader resumed(dataset, resuming);
  REQUIRE(PlayBatches(resumed, 0).size() == 1);
  // One batch, and what is decoded ahead of the next epoch into the ring of four.
  REQUIRE(resumed.Stats().payload_bytes <= (1 + 4) * 10 * 192);
}

TEST_CASE("A state says where the stream stands before, between and after epochs") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 25)), OptionsFor(10, 2));
  REQUIRE((loader.State().epoch == 0 && loader.State().position == 0));
  EpochIterator it = loader.Epoch(7).begin();
  REQUIRE((loader.State().epoch == 7 && loader.State().position == 10));
  ++it;
  REQUIRE((loader.State().epoch == 7 && loader.State().position == 20));
  ++it;
  REQUIRE((loader.State().epoch == 8 && loader.State().position == 0));
  loader.Epoch(3);
  REQUIRE((loader.State().epoch == 3 && loader.State().position == 0));
}

TEST_CASE("If a step throws instead of giving a batch, the batch is played after a resume") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 64, 16, 1'000'000);
  const Dataset dataset = Dataset::Open(path);
  std::filesystem::rename(path / dataset.shards()[0].file, path / "away");
  Loader loader(dataset, OptionsFor(16, 2));
  ErrorText([&] { PlayBatches(loader, 0); }, ErrorCode::kNotFound);
  REQUIRE(loader.State().position == 0);
  std::filesystem::rename(path / "away", path / dataset.shards()[0].file);
  Loader resumed = Resumed(Dataset::Open(path), OptionsFor(16, 2), loader.State());
  REQUIRE(PlayBatches(resumed, 0).size() == 4);
}

TEST_CASE("A state that does not fit the dataset or the options is refused, with advice") {
  const TemporaryFolder folder;
  const TemporaryFolder other_folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 500));
  LoaderOptions options = OptionsFor(10, 1);
  Loader loader(dataset, options);
  PlayBatches(loader, 2, 7);
  options.resume_from = loader.State();
  const auto refused = [&](const Dataset& opened, auto change, const char* word) {
    LoaderOptions changed = options;
    change(changed);
    CHECK_THAT(ErrorText([&] { Loader(opened, changed); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(word));
  };
  refused(
      dataset, [](LoaderOptions& o) { o.seed = 4; }, "seed");
  refused(
      dataset, [](LoaderOptions& o) { o.order.lanes = 96; }, "lanes");
  refused(
      dataset, [](LoaderOptions& o) { o.order.window_bytes = 1 << 30; }, "window");
  refused(
      dataset, [](LoaderOptions& o) { o.order.shuffle = Shuffle::kRandom; }, "shuffle");
  refused(
      dataset, [](LoaderOptions& o) { o.batch_size = 20; }, "batch_size");
  refused(
      dataset, [](LoaderOptions& o) { o.resume_from->order_version = 2; }, "version");
  refused(
      dataset, [](LoaderOptions& o) { o.resume_from->draws_version = 2; },
      "draw random numbers by version 2");
  for (const std::uint64_t beyond : {500U, 510U, 4'000'000'000U}) {
    refused(
        dataset, [beyond](LoaderOptions& o) { o.resume_from->position = beyond; }, "of 500");
  }
  refused(
      Dataset::Open(WriteRawDataset(other_folder, 501)), [](LoaderOptions&) {}, "dataset");
  // Options that do not change the order may change.
  options.batch_size = 7;
  options.ranks.last_batch = LastBatch::kDrop;
  Loader smaller(dataset, options);
  REQUIRE(PlayBatches(smaller, 2).size() == 500 / 7 - 10);
}

TEST_CASE("A state whose epoch has no whole batch left continues with the next epoch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 25));
  Loader loader(dataset, OptionsFor(10, 1));
  PlayBatches(loader, 0, 2);
  LoaderOptions options = OptionsFor(10, 1);
  options.ranks.last_batch = LastBatch::kDrop;
  options.resume_from = loader.State();
  Loader dropping(dataset, options);
  REQUIRE(PlayBatches(dropping, 0).empty());
  REQUIRE(PlayBatches(dropping, 1).size() == 2);
}

TEST_CASE("Every state that a loader gives is accepted again, however ranks share the epoch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 7001));
  REQUIRE(dataset.shards().size() >= 2);
  for (const bool by_shards : {false, true}) {
    for (const LastBatch last : {LastBatch::kKeep, LastBatch::kDrop, LastBatch::kPad}) {
      if (kSanitized && last == LastBatch::kPad) continue;
      LoaderOptions options = OptionsFor(1500, 1);
      options.ranks.by_shards = by_shards;
      options.ranks.last_batch = last;
      options.ranks.world_size = 2;
      options.ranks.rank = 1;
      for (const std::uint64_t epoch : {0, 1, 2}) {
        Loader loader(dataset, options);
        const std::uint64_t batches = loader.batches_per_epoch(epoch);
        for (std::uint64_t played = 1; played <= batches; ++played) {
          Loader stopped(dataset, options);
          PlayBatches(stopped, epoch, played);
          LoaderOptions resuming = options;
          resuming.resume_from = stopped.State();
          Loader resumed(dataset, resuming);
          CHECK(PlayBatches(resumed, epoch).size() ==
                (played == batches ? batches : batches - played));
        }
      }
    }
  }
}

TEST_CASE("A state's text is one line and parses back to the same value") {
  const ResumePoint point = SomePoint();
  const std::string text = point.Text();
  REQUIRE(text.find_first_of("\n\"'\\") == std::string::npos);
  REQUIRE_THAT(text, ContainsSubstring(" epoch=41 position=123456789012 "));
  REQUIRE(ResumePoint::Parse(text) == point);
  REQUIRE(ResumePoint::Parse(text + "\r\n") == point);
}

TEST_CASE("A state's text names the version of the draws, unless that is the first") {
  const std::string first = SomePoint().Text();
  CHECK_THAT(first, !ContainsSubstring(" draws="));
  CHECK(ResumePoint::Parse(first).draws_version == 1);
  ResumePoint later = SomePoint();
  later.draws_version = 2;
  CHECK_THAT(later.Text(), ContainsSubstring(" draws=2 check="));
  CHECK(ResumePoint::Parse(later.Text()) == later);
}

TEST_CASE("A state's text that was truncated or changed anywhere is refused") {
  const std::string text = SomePoint().Text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '7' ? '8' : '7';
    REQUIRE_THROWS_AS(ResumePoint::Parse(changed), Error);
    REQUIRE_THROWS_AS(ResumePoint::Parse(text.substr(0, at)), Error);
  }
  REQUIRE_THROWS_AS(ResumePoint::Parse(text + " "), Error);
  REQUIRE_THROWS_AS(ResumePoint::Parse("epoch 3"), Error);
}
