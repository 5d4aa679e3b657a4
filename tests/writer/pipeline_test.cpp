// The pipeline that converts sources on several threads and hands out the results in order.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "writer/convert/ordered_pipeline.h"

namespace sluice::test {

namespace {

Outcome OfBytes(std::uint64_t index, std::size_t bytes) {
  Outcome outcome;
  outcome.sample.key = std::to_string(index);
  outcome.sample.fields.resize(1);
  outcome.sample.fields[0].bytes.resize(bytes);
  return outcome;
}

}  // namespace

TEST_CASE("results come in order however the threads run") {
  for (const unsigned threads : {1U, 2U, 7U}) {
    std::vector<std::uint64_t> seen;
    RunInOrder(
        threads, 500, {},
        [](unsigned, std::uint64_t index) {
          if (index % 13 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
          return OfBytes(index, 10);
        },
        [&](std::uint64_t index, Outcome&& outcome) {
          CHECK(outcome.sample.key == std::to_string(index));
          seen.push_back(index);
        });
    CHECK(seen.size() == 500);
  }
}

TEST_CASE("no more than 8 results per thread are begun ahead of the consumer") {
  std::atomic<std::uint64_t> begun = 0;
  std::uint64_t most = 0;
  RunInOrder(
      2, 200, {},
      [&](unsigned, std::uint64_t index) {
        ++begun;
        return OfBytes(index, 1);
      },
      [&](std::uint64_t index, Outcome&&) {
        // The threads must run ahead once; the test waits as long as that takes.
        while (index == 0 && begun < 3)
          std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        most = std::max(most, begun - (index + 1));
      });
  CHECK(most <= 16);
  CHECK(most >= 2);
}

TEST_CASE("results that together exceed the pipeline's bound of bytes still come through") {
  std::uint64_t seen = 0;
  RunInOrder(
      3, 9, {},
      [](unsigned, std::uint64_t index) {
        // The first result is the slowest, so that the others wait for it.
        if (index == 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
        return OfBytes(index, 40 << 20);
      },
      [&](std::uint64_t, Outcome&&) { ++seen; });
  CHECK(seen == 9);
}

TEST_CASE("an exception on either side ends the pipeline and is thrown again") {
  struct Trouble {};
  CHECK_THROWS_AS(RunInOrder(
                      3, 1000, {},
                      [](unsigned, std::uint64_t index) -> Outcome {
                        if (index == 40) throw Trouble();
                        return OfBytes(index, 1);
                      },
                      [](std::uint64_t, Outcome&&) {}),
                  Trouble);
  CHECK_THROWS_AS(RunInOrder(
                      3, 1000, {}, [](unsigned, std::uint64_t index) { return OfBytes(index, 1); },
                      [](std::uint64_t index, Outcome&&) {
                        if (index == 40) throw Trouble();
                      }),
                  Trouble);
}

TEST_CASE(
    "a stop request ends the pipeline, whether it comes from the consumer or before the start") {
  std::stop_source stop;
  std::uint64_t seen = 0;
  const auto run = [&] {
    RunInOrder(
        2, 1000, stop.get_token(), [](unsigned, std::uint64_t index) { return OfBytes(index, 1); },
        [&](std::uint64_t index, Outcome&&) {
          ++seen;
          if (index == 10) stop.request_stop();
        });
  };
  CHECK(CodeOf(run) == ErrorCode::kState);
  CHECK(seen == 11);
  CHECK(CodeOf(run) == ErrorCode::kState);  // the stop was requested before the pipeline began
  CHECK(seen == 11);
}

}  // namespace sluice::test
