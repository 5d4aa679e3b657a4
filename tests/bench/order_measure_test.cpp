// The arithmetic of `sluice-bench order`.
#include <algorithm>
#include <cmath>

#include "bench/parts/order.h"
#include "tests/catch.h"

namespace sluice::bench {

TEST_CASE("rank correlation is 1 for the same order, -1 for the opposite one") {
  CHECK(RankCorrelation({0, 1, 2, 3}, {0, 1, 2, 3}) == Approx(1));
  CHECK(RankCorrelation({0, 1, 2, 3}, {3, 2, 1, 0}) == Approx(-1));
  // 1 - 6 * sum of squared differences / (n (n^2 - 1)) = 1 - 6 * 4 / 60.
  CHECK(RankCorrelation({0, 1, 2, 3}, {1, 0, 3, 2}) == Approx(0.6));
}

TEST_CASE("a made-up dataset has the requested samples and blocks") {
  const DatasetShape shape = MadeUpShape(10'007, 8, 50'000);
  CHECK(shape.samples() == 10'007);
  CHECK(shape.blocks() == 1251);
  CHECK(shape.max_block_samples() == 8);
  CHECK(shape.bytes() == 10'007ULL * 50'000);
  // 64 MB hold 160 blocks of 400 kB.
  CHECK(shape.shards().size() == 8);
  CHECK(MadeUpShape(5, 8, 1'000'000'000).shards().size() == 1);
}

TEST_CASE(
    "orders are measured once per round, and a shuffled batch has as many classes as by chance") {
  const DatasetShape shape = MadeUpShape(40'000, 8, 50'000);
  OrderTask task;
  task.shape = &shape;
  task.rounds = 2;
  task.layouts = {{"sorted", [](std::uint64_t sample) { return std::uint32_t(sample / 40); }},
                  {"dealt", [](std::uint64_t sample) { return std::uint32_t(sample % 1000); }}};
  const std::vector<OrderFigures> figures = MeasureOrders(task, {});
  REQUIRE(figures.size() == 4);
  for (const OrderFigures& one : figures) {
    CAPTURE(one.mode);
    CHECK(one.setup_seconds.size() == 2);
    CHECK(one.draw_nanoseconds.size() == 2);
    REQUIRE(one.classes.size() == 2);
    REQUIRE(one.rank_correlation);
  }
  // 1000 classes of 40 samples each. A batch of 1024 out of 40000 lacks a class with the
  // probability (1 - 1024/40000)^40 = 0.3546, nearly, so it has 1000 x (1 - 0.3546) classes.
  const double chance = 1000 * (1 - std::pow(1 - 1024.0 / 40'000, 40));
  for (const std::size_t shuffled : {1, 3}) {
    CHECK(figures[shuffled].classes[0] == Approx(chance).epsilon(0.02));
    CHECK(std::abs(*figures[shuffled].rank_correlation) < 0.03);  // six standard deviations
  }
  // 1024 consecutive sorted samples: of 26 classes, or 27 if the batch begins inside a class.
  CHECK(figures[2].mode == "sequential");
  CHECK(figures[2].classes[0] >= 26);
  CHECK(figures[2].classes[0] <= 27);
  CHECK(figures[2].classes[1] == 1000);
  CHECK(*figures[2].rank_correlation == Approx(1));
}

TEST_CASE("a stop ends measuring orders") {
  const DatasetShape shape = MadeUpShape(100, 8, 1000);
  OrderTask task;
  task.shape = &shape;
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_AS(MeasureOrders(task, stop.get_token()), Interrupted);
}

}  // namespace sluice::bench
