// Conversions killed by SIGKILL, at any call and at any time.
#include <algorithm>
#include <chrono>
#include <csignal>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/file_record.h"

namespace sluice::test {

namespace {

using Clock = std::chrono::steady_clock;

// Kills a conversion before its call `number` and finishes it.
void KillBefore(const Conversion& conversion, std::size_t number) {
  INFO("killed before call " << number);
  const auto data = conversion.folder() / ("killed" + std::to_string(number));
  const Outcome outcome = conversion.Run(data, "kill:" + std::to_string(number));
  CHECK(outcome.signal == SIGKILL);
  conversion.CheckReaders(data);
  conversion.CheckResumes(data);
  std::filesystem::remove_all(data);
}

std::size_t CallsOf(const Conversion& conversion) {
  const auto record = conversion.folder() / "record";
  REQUIRE(conversion.Run(conversion.folder() / "recorded", "", record).exit_code == 3);
  return ReadRecord(record).size();
}

// Kills conversions at random times, at least `kills` times in all. A killed conversion is run
// again, and may be killed again, until it ends by itself.
void KillAtRandom(int kills, bool direct) {
  const Conversion conversion(4, direct);
  const Clock::time_point start = Clock::now();
  REQUIRE(conversion.Run(conversion.folder() / "timed").exit_code == 3);
  double run_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  RandomStream random(7, static_cast<Purpose>(999), direct ? 2 : 1);
  int done = 0;
  for (int attempt = 0; done < kills; ++attempt) {
    const auto data = conversion.folder() / ("data" + std::to_string(attempt));
    // The longest wait grows after each kill, so that a conversion ends even if the machine has
    // become slower.
    double longest_wait = run_seconds;
    for (bool ended = false; !ended; longest_wait *= 1.5) {
      const std::chrono::duration<double> wait(longest_wait *
                                               static_cast<double>(random.Below(1000)) / 1000);
      Running running(SLUICE_COMMAND, conversion.Command(data));
      const Clock::time_point begin = Clock::now();
      const Outcome outcome = running.Wait([&](const Outcome&) {
        if (Clock::now() - begin >= wait) running.Signal(SIGKILL);
      });
      ended = outcome.signal != SIGKILL;
      if (ended) {
        CHECK(outcome.exit_code == 3);
        // Otherwise kills would come too late if the machine has become faster, or if the timed run
        // was held up.
        const std::chrono::duration<double> taken = Clock::now() - begin;
        if (longest_wait == run_seconds) run_seconds = std::min(run_seconds, taken.count());
      } else {
        ++done;
        conversion.CheckReaders(data);
      }
    }
    conversion.CheckResumes(data);
    std::filesystem::remove_all(data);
  }
}

}  // namespace

TEST_CASE("a conversion killed at a random time resumes and gives the same bytes") {
  KillAtRandom(3, GENERATE(false, true));
}

TEST_CASE("conversions killed 200 times at random resume and give the same bytes", "[slow]") {
  KillAtRandom(100, GENERATE(false, true));
}

TEST_CASE("a conversion killed before some of its file calls resumes and gives the same bytes") {
  const bool direct = GENERATE(false, true);
  const Conversion conversion(2, direct);
  const std::size_t calls = CallsOf(conversion);
  REQUIRE(calls > 25);
  for (std::size_t call = 3; call < calls; call += direct ? 6 : 13)
    KillBefore(conversion, call);
}

TEST_CASE("a conversion killed before any of its file calls resumes and gives the same bytes",
          "[slow]") {
  const Conversion conversion(3, GENERATE(false, true));
  const std::size_t calls = CallsOf(conversion);
  for (std::size_t call = 0; call < calls; ++call)
    KillBefore(conversion, call);
}

TEST_CASE("a conversion killed while it resumes can resume again", "[slow]") {
  const Conversion conversion(3, GENERATE(false, true));
  const std::size_t calls = CallsOf(conversion);
  for (std::size_t first = 5; first < calls; first += 5) {
    for (std::size_t second = 0; second < 12; second += 3) {
      INFO("killed before calls " << first << " and " << second);
      const auto data = conversion.folder() / "data";
      CHECK(conversion.Run(data, "kill:" + std::to_string(first)).signal == SIGKILL);
      conversion.Run(data, "kill:" + std::to_string(second));
      conversion.CheckReaders(data);
      conversion.CheckResumes(data);
      std::filesystem::remove_all(data);
    }
  }
}

}  // namespace sluice::test
