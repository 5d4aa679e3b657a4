// The stream of batches, without threads: which batch comes next for the planner and for the
// consumer.
#include "reader/loader/stream_cursor.h"

#include "tests/catch.h"

using namespace sluice;

namespace {

// Three shards of 40, 30 and 30 samples in blocks of 10.
const DatasetShape& Shape() {
  static const DatasetShape shape({{40, 4, 10, 4096}, {30, 3, 10, 4096}, {30, 3, 10, 4096}});
  return shape;
}

// A stream of batches of this size over that shape.
struct Stream {
  explicit Stream(std::size_t batch_size, std::optional<ResumePoint> resume_from = {},
                  DealOptions options = {})
      : deal(Shape(), With(options, batch_size)),
        cursor(deal, {batch_size * options.world_size, options.by_shards, {}, resume_from}) {}
  static DealOptions With(DealOptions options, std::size_t batch_size) {
    options.batch_size = batch_size;
    return options;
  }
  bool Begin(std::uint64_t epoch) { return cursor.BeginRange(epoch, deal.SizeOf(epoch)); }
  // Plays `batches` batches.
  void Play(int batches) {
    for (int i = 0; i < batches; ++i) {
      cursor.Advance();
      cursor.HandOver();
    }
  }
  std::pair<std::uint64_t, std::uint64_t> Point() const {
    const ResumePoint point = cursor.Resume();
    return {point.epoch, point.position};
  }

  Deal deal;
  StreamCursor cursor;
};

using Place = std::pair<std::uint64_t, std::uint64_t>;

ResumePoint At(std::uint64_t epoch, std::uint64_t position) {
  ResumePoint point;
  point.epoch = epoch;
  point.position = position;
  return point;
}

}  // namespace

TEST_CASE("Consecutive epochs are one stream, and planning continues into the next one") {
  Stream stream(30);  // batches of 30, 30, 30 and 10
  CHECK_FALSE(stream.cursor.begun());
  CHECK(stream.Begin(0));
  CHECK(stream.cursor.begun());
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::uint64_t batch = 0; batch < 4; ++batch) {
      CHECK(stream.cursor.TakeToPlan() == BatchNumber{epoch, batch});
      CHECK((stream.cursor.to_plan().epoch != epoch) == (batch == 3));
    }
  }
  CHECK_FALSE(stream.cursor.RangeIsOver());
  stream.Play(4);
  CHECK(stream.cursor.RangeIsOver());
  CHECK_FALSE(stream.Begin(1));
  CHECK_FALSE(stream.cursor.RangeIsOver());
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{3, 0});  // planned batches stay planned
  CHECK(stream.cursor.range() == 2);
  CHECK(stream.cursor.stream() == 1);
}

TEST_CASE("Any epoch but the next one, or the same one again, begins another stream") {
  Stream stream(30);
  stream.Begin(0);
  stream.cursor.TakeToPlan();
  stream.Play(1);
  CHECK(stream.Begin(0));
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{0, 0});
  CHECK(stream.Begin(5));
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{5, 0});
  CHECK_FALSE(stream.Begin(5));  // no batch of epoch 5 was consumed
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{5, 1});
  CHECK(stream.cursor.stream() == 3);
  CHECK(stream.cursor.range() == 4);
}

TEST_CASE("Resuming continues after the batch that was handed over last") {
  Stream stream(30);
  CHECK(stream.Point() == Place{0, 0});
  stream.Begin(2);
  CHECK(stream.Point() == Place{2, 0});
  stream.Play(2);
  CHECK(stream.Point() == Place{2, 60});
  stream.cursor.Advance();  // this batch is an error, so it is not handed over
  CHECK(stream.Point() == Place{2, 60});
  stream.Play(1);
  CHECK(stream.Point() == Place{3, 0});
}

TEST_CASE("The resumed epoch plays its rest, once") {
  Stream stream(30, At(2, 60));
  CHECK(stream.Point() == Place{2, 60});
  stream.Begin(2);
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{2, 2});
  CHECK(stream.Point() == Place{2, 60});
  stream.Play(2);
  CHECK(stream.cursor.RangeIsOver());
  stream.Begin(2);
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{2, 0});
}

TEST_CASE("Another epoch may be played before the resumed one") {
  Stream stream(30, At(2, 60));
  stream.Begin(7);
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{7, 0});
  stream.Begin(2);
  CHECK(stream.cursor.TakeToPlan() == BatchNumber{2, 2});
}

TEST_CASE("If short batches are dropped, an epoch with less than a batch left ends at once") {
  DealOptions drop;
  drop.last_batch = LastBatch::kDrop;
  Stream stream(30, At(0, 90), drop);  // three batches an epoch
  stream.Begin(0);
  CHECK(stream.cursor.RangeIsOver());
  CHECK(stream.Point() == Place{1, 0});
  CHECK_FALSE(stream.Begin(1));
  CHECK_FALSE(stream.cursor.RangeIsOver());
}

TEST_CASE("Where whole shards are dealt, each epoch has as many batches as its deal says") {
  DealOptions by_shards;
  by_shards.world_size = 2;
  by_shards.by_shards = true;
  by_shards.last_batch = LastBatch::kKeep;
  Stream stream(7, {}, by_shards);
  stream.Begin(0);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {  // more than the cursor remembers
    for (std::uint64_t batch = 0; batch < stream.deal.SizeOf(epoch).batches; ++batch)
      REQUIRE(stream.cursor.TakeToPlan() == BatchNumber{epoch, batch});
  }
  CHECK(stream.cursor.BatchesOf(0) == stream.deal.SizeOf(0).batches);
}
