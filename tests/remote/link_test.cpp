// How many connections and bytes in flight are useful, on links simulated by formulas.
#include "format/remote/http/link.h"

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>

#include "bench/epoch/slow_store.h"
#include "format/remote/http/link.h"
#include "format/remote/local_store.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace sluice {

TEST_CASE("Connections are added while they raise the rate, until the link is full") {
  ConnectionCount count;
  const auto rate = [&] {
    return std::min(count.limit(), 60U) * 50e6;
  };  // 60 connections fill the link
  for (int i = 0; i < 30; ++i)
    count.Window(rate());
  CHECK(count.limit() >= 54);
  CHECK(count.limit() <= 85);
}

TEST_CASE("Connections that do not raise the rate are closed again") {
  ConnectionCount count;
  for (int i = 0; i < 200; ++i) {
    count.Window(1e9);
    CHECK(count.limit() <= ConnectionCount::kFirst * 3 / 2);
  }
}

TEST_CASE("If a server is busy the number of connections is halved, and later grows again") {
  ConnectionCount count;
  count.Halve();
  CHECK(count.limit() == ConnectionCount::kFirst / 2);
  for (int i = 0; i < 20; ++i)
    count.Halve();
  CHECK(count.limit() == 1);
  for (int i = 0; i < 200; ++i)
    count.Window(count.limit() * 50e6);
  CHECK(count.limit() > ConnectionCount::kFirst);
  for (int i = 0; i < 2000; ++i)
    count.Window(count.limit() * 50e6);
  CHECK(count.limit() == ConnectionCount::kMax);
}

TEST_CASE("Connections are added only once the server sends bytes") {
  ConnectionCount count;
  for (int i = 0; i < 10; ++i)
    count.Window(0);
  CHECK(count.limit() == ConnectionCount::kFirst);
  for (int i = 0; i < 3; ++i)
    count.Window(count.limit() * 50e6);
  CHECK(count.limit() > ConnectionCount::kFirst);
}

TEST_CASE("The useful bytes in flight are a read per connection, at most two seconds of the link") {
  using namespace std::chrono_literals;
  LinkMeasure link;
  CHECK(link.useful_bytes(16) == 16ULL * (8 << 20));
  const auto play = [&](double bytes_per_second) {
    auto now = LinkMeasure::Clock::now();
    link.Begin(now);
    for (int i = 0; i < 40; ++i) {
      now += 250ms;
      link.NoteBytes(static_cast<std::uint64_t>(bytes_per_second / 4));
      REQUIRE(link.End(now));
    }
  };
  link.NoteReadSize(4 << 20);
  link.NoteFirstByte(100ms);
  play(10e6);
  CHECK(link.useful_bytes(16) == Approx(20e6).epsilon(0.01));  // two seconds of the link
  play(1e9);
  // A read per connection, plus twice what the link transfers in the time to a first byte.
  CHECK(link.useful_bytes(16) == Approx(16.0 * (4 << 20) + 2e9 * 0.1).epsilon(0.01));
}

TEST_CASE("The tail of a transfer is what it receives in the time to a first byte") {
  using namespace std::chrono_literals;
  LinkMeasure link;
  CHECK(link.tail_bytes(16) == 0);  // nothing was measured yet
  link.NoteFirstByte(100ms);
  auto now = LinkMeasure::Clock::now();
  link.Begin(now);
  now += 1s;
  link.NoteBytes(80'000'000);
  REQUIRE(link.End(now));
  CHECK(link.tail_bytes(16) == Approx(80e6 * 0.1 / 16).epsilon(0.01));
}

TEST_CASE("A simulated store sends the next request before those under way have ended") {
  using namespace std::chrono_literals;
  const test::TemporaryFolder folder;
  std::ofstream(folder / "object") << std::string(2'500'000, 'x');
  // Twice the delay of 40 ms, plus 20 ms for a busy machine, is the time in which 1 MB comes at
  // 10 MB/s: two requests.
  SlowStore store(std::make_shared<LocalStore>(folder.path()), {40ms, 10'000'000, 0, 64});
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t sent_at_first_byte = 0, sent_at_first_end = 0, done = 0;
  for (std::uint64_t i = 0; i < 5; ++i) {
    RangeRead read;
    read.object = "object";
    read.offset = i * 500'000;
    read.bytes = 500'000;
    read.take = [&](Bytes) {
      if (sent_at_first_byte == 0) sent_at_first_byte = store.counts().requests;
    };
    read.done = [&](const Error* error) {
      if (sent_at_first_end == 0) sent_at_first_end = store.counts().requests;
      const std::lock_guard lock(mutex);
      done += error == nullptr ? 1 : 100;
      changed.notify_all();
    };
    store.Read(std::move(read));
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done >= 5; });
  CHECK(done == 5);
  CHECK(sent_at_first_byte == 2);
  CHECK(sent_at_first_end >= 3);
}

TEST_CASE("A request is a straggler if its first byte takes far longer than usual") {
  using namespace std::chrono_literals;
  LinkMeasure link;
  CHECK(link.late() == 3s);
  for (int i = 0; i < 100; ++i)
    link.NoteFirstByte(1ms);
  CHECK(link.late() == 200ms);
  for (int i = 0; i < 200; ++i)
    link.NoteFirstByte(i % 2 == 0 ? 400ms : 600ms);
  CHECK(link.late() > 900ms);
  CHECK(link.late() < 1500ms);
}

}  // namespace sluice
