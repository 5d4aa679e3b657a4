// The loader's own decisions on threads, the length of the ring and reading ahead, in a simulated
// training.
#include "reader/loader/self_tuning.h"

#include <random>

#include "reader/loader/loader_state.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// A simulated training whose batches need these seconds in each part. Second() is one second of it,
// as the loader would measure it. All parts overlap, so the slowest sets the pace.
struct Training {
  double step = 0;           // the trainer's
  double decode = 0;         // of one thread
  double read = 0;           // with 16 MiB in flight; half as long with twice as much in flight,
  double read_at_least = 0;  // but never less than this
  double uneven = 0;         // stalls with a ring of 2; half as long with twice the ring

  double ReadWith(const Tuning& tuning) const {
    return std::max(read_at_least, read * 16.0 * kMiB / double(tuning.read_ahead_bytes));
  }
  double PaceWith(const Tuning& tuning) const {
    return std::max({step, decode / tuning.threads, ReadWith(tuning)}) +
           uneven * 2 / double(tuning.prefetch);
  }
  LoaderStats Second(const Tuning& tuning) const {
    const double batches = 1 / PaceWith(tuning);
    LoaderStats stats;
    stats.seconds = 1;
    stats.batches = static_cast<std::uint64_t>(batches);
    stats.decode_seconds = std::min(batches * decode, double(tuning.threads));
    stats.decode_cpu_seconds = stats.decode_seconds;
    stats.decode_wait_seconds = tuning.threads - stats.decode_seconds;
    stats.read_seconds = std::min(batches * ReadWith(tuning), 1.0);
    stats.read_wait_seconds = 1 - stats.read_seconds;
    stats.consumer_seconds = std::min(batches * step, 1.0);
    stats.consumer_wait_seconds = 1 - stats.consumer_seconds;
    return stats;
  }
};

const Tuning kLeast{1, 2, 16 * kMiB};
const Tuning kMost{8, 8, 64 * kMiB};
const Tuning kStart{8, 2, 16 * kMiB};

Tuning After(const Training& training, unsigned seconds, std::uint64_t* changes = nullptr) {
  SelfTuning tuning(kLeast, kMost, kStart);
  for (unsigned second = 0; second < seconds; ++second)
    tuning.Learn(training.Second(tuning.now()));
  if (changes != nullptr) *changes = tuning.changes();
  return tuning.now();
}

}  // namespace

TEST_CASE("With a slow trainer, idle threads rest, and nothing else changes") {
  // 8 threads could decode 100 batches per second. The 20 that are needed keep 1.6 threads busy.
  const Training training{.step = 0.05, .decode = 0.08};
  const Tuning tuned = After(training, 1000);
  CHECK(tuned.threads == 3);  // two would be busy for 80% of their time, which is too much
  CHECK(tuned.prefetch == 2);
  CHECK(tuned.read_ahead_bytes == 16 * kMiB);
  CHECK(After(training, SelfTuning::kShrinkAfter - 1) == kStart);
  // And the trainer still waits for nothing.
  CHECK(training.PaceWith(tuned) == training.PaceWith(kStart));
}

TEST_CASE("With a slow store, more is read at a time, as long as storage is the bottleneck") {
  // The trainer wants 100 batches per second. The store gives 20 with 16 MiB in flight, 40 with 32.
  const Training latency{.step = 0.01, .decode = 0.02, .read = 0.05, .read_at_least = 0.005};
  CHECK(After(latency, 20).read_ahead_bytes == 64 * kMiB);
  const Training nearly{.step = 0.0255, .decode = 0.02, .read = 0.05, .read_at_least = 0.005};
  CHECK(After(nearly, 20).read_ahead_bytes == 32 * kMiB);
  // If the store gives no more at any depth, the loader stays at the largest depth.
  std::uint64_t changes = 0;
  const Training slow{.step = 0.01, .decode = 0.02, .read = 0.05, .read_at_least = 0.05};
  CHECK(After(slow, 500, &changes) == Tuning{8, 2, 64 * kMiB});
  CHECK(changes == 2);
}

TEST_CASE("With a fast trainer and a fast store, nothing changes: all threads decode") {
  std::uint64_t changes = 0;
  const Training training{.step = 0.001, .decode = 0.08, .read = 0.002};
  CHECK(After(training, 500, &changes) == kStart);
  CHECK(changes == 0);
}

TEST_CASE("Where neither side is always busy, the ring becomes longer") {
  const Training training{.step = 0.02, .decode = 0.08, .read = 0.001, .uneven = 0.003};
  const Tuning tuned = After(training, 45);
  CHECK(tuned.prefetch > 2);
  CHECK(tuned.prefetch < 8);
  CHECK(tuned.threads == 8);
}

TEST_CASE("The ring also becomes longer where slow samples delay threads a little") {
  // With a ring of 2 they wait 9% of the time, with one of 5 less than 4%.
  const Training training{.step = 0.001, .decode = 0.08, .read = 0.001, .uneven = 0.001};
  CHECK(After(training, 45).prefetch == 5);
  const Training even{.step = 0.001, .decode = 0.08, .read = 0.001, .uneven = 0.0003};
  CHECK(After(even, 45).prefetch == 2);
}

TEST_CASE("Resting threads come back when they are needed, and do not rest again") {
  SelfTuning tuning(kLeast, kMost, kStart);
  const Training slow{.step = 0.05, .decode = 0.08};
  const Training fast{.step = 0.001, .decode = 0.08};
  for (int second = 0; second < 1000; ++second)
    tuning.Learn(slow.Second(tuning.now()));
  CHECK(tuning.now().threads == 3);
  for (int second = 0; second < 10; ++second)
    tuning.Learn(fast.Second(tuning.now()));
  CHECK(tuning.now().threads == 8);
  for (int second = 0; second < 1000; ++second)
    tuning.Learn(slow.Second(tuning.now()));
  CHECK(tuning.now().threads == 8);
}

namespace {

// A second in which threads that always decode have a CPU only part of the time.
LoaderStats CrowdedSecond(unsigned threads, double batches) {
  LoaderStats stats;
  stats.seconds = 1;
  stats.batches = static_cast<std::uint64_t>(batches);
  stats.decode_seconds = threads;
  stats.decode_cpu_seconds = 0.8 * threads;
  stats.consumer_seconds = 0.7;
  stats.consumer_wait_seconds = 0.3;
  return stats;
}

// A second in which each thread has a CPU and decodes a sample in `microseconds`.
LoaderStats BusySecond(unsigned threads, double batches, double microseconds) {
  LoaderStats stats = CrowdedSecond(threads, batches);
  stats.decode_cpu_seconds = stats.decode_seconds;
  stats.samples = static_cast<std::uint64_t>(1e6 * stats.decode_seconds / microseconds);
  return stats;
}

// The final number of threads if the loader measures `second`.
template <typename Second>
unsigned ThreadsAfter(const Second& second, std::uint64_t* changes = nullptr) {
  SelfTuning tuning(kLeast, kMost, kStart);
  for (unsigned s = 0; s < 500; ++s)
    tuning.Learn(second(tuning.now().threads, s));
  if (changes != nullptr) *changes = tuning.changes();
  return tuning.now().threads;
}

}  // namespace

TEST_CASE("If more threads want CPUs than there are, some rest where fewer play faster") {
  // Six play fastest: seven are 4% slower, eight 8%.
  CHECK(ThreadsAfter([](unsigned threads, unsigned) {
          return CrowdedSecond(threads, 1000 - 40 * std::abs(double(threads) - 6));
        }) == 6);
}

TEST_CASE("If threads do little for each sample, some rest where fewer play faster") {
  const auto batches = [](unsigned threads) { return 1000 - 40 * double(threads); };
  std::uint64_t changes = 0;
  CHECK(ThreadsAfter([&](unsigned threads, unsigned) {
          return BusySecond(threads, batches(threads), 0.5);
        }) == 1);
  // Some rest, too, if threads wait for the thread that orders samples, once reading ahead has its
  // largest depth.
  const auto waiting = [&](double microseconds) {
    return [&, microseconds](unsigned threads, unsigned) {
      LoaderStats stats = BusySecond(threads, batches(threads), microseconds);
      stats.decode_seconds = stats.decode_cpu_seconds = 0.3 * threads;
      stats.decode_wait_seconds = 0.7 * threads;
      stats.read_seconds = 0.8;
      stats.read_wait_seconds = 0.2;
      return stats;
    };
  };
  CHECK(ThreadsAfter(waiting(0.5)) == 1);
  CHECK(ThreadsAfter(waiting(100)) == 8);
  // If decoding a sample takes long, the tuning does not try fewer threads, since that would lower
  // the rate.
  CHECK(ThreadsAfter(
            [&](unsigned threads, unsigned) { return BusySecond(threads, batches(threads), 100); },
            &changes) == 8);
  CHECK(changes == 0);
}

TEST_CASE("If fewer threads play no faster, all decode again, and no other number is tried") {
  std::uint64_t changes = 0;
  CHECK(ThreadsAfter(
            [](unsigned threads, unsigned) { return CrowdedSecond(threads, 1000 + 10 * threads); },
            &changes) == 8);
  CHECK(changes == 2);
  // The same holds for threads that mostly wait although the ring has its largest length. The trial
  // comes after the ring has grown.
  const Training idle{.step = 0.01, .decode = 0.02, .read = 0.001, .uneven = 0.03};
  CHECK(After(idle, 100, &changes) == Tuning{8, 8, 16 * kMiB});
  CHECK(changes == 6 + 2);  // the ring from 2 to 8, and both changes of the trial
  // Nor does the tuning credit a trial with a rate that rises by itself.
  CHECK(ThreadsAfter([](unsigned threads,
                        unsigned second) { return CrowdedSecond(threads, 1000 + 50 * second); },
                     &changes) == 8);
  CHECK(changes == 2);
}

TEST_CASE("Whatever is measured, choices stay in their bounds and come to an end") {
  std::mt19937_64 random(3);
  const auto draw = [&](double most) {
    return most * double(random() >> 11) / double(std::uint64_t{1} << 53);
  };
  for (int round = 0; round < 50; ++round) {
    SelfTuning tuning(kLeast, kMost, kStart);
    for (int part = 0; part < 400; ++part) {
      const Training training{draw(0.05), draw(0.4), draw(0.05), draw(0.02), draw(0.01)};
      for (std::uint64_t seconds = random() % 60; seconds > 0; --seconds) {
        tuning.Learn(training.Second(tuning.now()));
        const Tuning& now = tuning.now();
        REQUIRE((now.threads >= 1 && now.threads <= 8));
        REQUIRE((now.prefetch >= 2 && now.prefetch <= 8));
        REQUIRE((now.read_ahead_bytes >= 16 * kMiB && now.read_ahead_bytes <= 64 * kMiB));
      }
    }
    // For each thread but one: at most one rest, one return and three changes by trials. The other
    // choices only grow: the ring six times, and reading ahead twice.
    CHECK(tuning.changes() <= (2 + 3) * 7 + 6 + 2);
  }
}

TEST_CASE("Too short an interval changes nothing, and fixed options stay the same") {
  SelfTuning tuning(kLeast, kMost, kStart);
  LoaderStats few = Training{.step = 0.01, .decode = 0.02, .read = 0.05}.Second(kStart);
  few.batches = 7;
  for (int second = 0; second < 100; ++second)
    CHECK_FALSE(tuning.Learn(few));
  SelfTuning fixed(kStart, kStart, kStart);
  CHECK(fixed.fixed());
  CHECK_FALSE(tuning.fixed());
  for (int second = 0; second < 100; ++second)
    CHECK_FALSE(fixed.Learn(Training{.step = 0.01, .decode = 0.1, .read = 0.05}.Second(kStart)));
}

TEST_CASE("A loader whose choices change during playing gives the same batches") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 3000));
  LoaderOptions options = OptionsFor(20, 1);
  Loader plain(dataset, options);
  options.threads.reset();
  options.ring.prefetch.reset();
  CHECK(std::make_shared<LoaderState>(dataset, options)->Stats().prefetch ==
        8);  // rows are only copied
  options.sample_function = [](MutableSample&) {};
  const auto state = std::make_shared<LoaderState>(dataset, options);
  const unsigned most = state->threads();
  CHECK(state->Stats().prefetch == 2);
  CHECK(state->Stats().threads == most);
  CHECK(state->Stats().read_ahead_depth_bytes == 16 * kMiB);
  const Training bound[] = {{.step = 1, .decode = 0.001},
                            {.step = 0.01, .decode = 0.02, .read = 0.05},
                            {.step = 0.02, .decode = 0.001, .uneven = 0.01},
                            {.step = 0.001, .decode = 5}};
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    const std::vector<PlayedBatch> expected = PlayBatches(plain, epoch);
    const std::uint64_t range = state->StartEpoch(epoch);
    for (const PlayedBatch& batch : expected) {
      REQUIRE(Keep(state->Next(range)) == batch);
      LoaderStats interval = bound[epoch].Second({8, 2, 16 * kMiB});
      interval.batches = 100;
      for (int i = 0; i < 100; ++i)
        state->Tune(interval);
      const LoaderStats stats = state->Stats();
      CHECK((stats.threads >= 1 && stats.threads <= most));
      CHECK((stats.prefetch >= 2 && stats.prefetch <= 32));
      CHECK(
          (stats.read_ahead_depth_bytes >= 16 * kMiB && stats.read_ahead_depth_bytes <= 64 * kMiB));
    }
    if (epoch == 0) CHECK(state->Stats().threads == 1);
    if (epoch == 1) CHECK(state->Stats().read_ahead_depth_bytes == 64 * kMiB);
    if (epoch == 2) CHECK(state->Stats().prefetch > 2);
    if (epoch == 3) CHECK(state->Stats().threads == most);
  }
  CHECK(state->memory_bytes() >= 10 * 20 * 192);
  state->Stop();
}

TEST_CASE("The memory bound assumes the maximum of options that the loader chooses") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 300));
  LoaderOptions options = OptionsFor(20, 2);
  const auto slots = [&](std::optional<std::size_t> prefetch) {
    options.ring.prefetch = prefetch;
    return Loader(dataset, options).Memory().slots;
  };
  CHECK(slots({}) == slots(32));
  options.transform = {Resize(700, 500)};  // 21 MB a batch
  CHECK(slots({}) == slots(8));
  options.transform = {Resize(350, 500)};
  CHECK(slots({}) == slots(12));
}

TEST_CASE("Invalid depths of reading ahead are refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  LoaderOptions options = OptionsFor(10, 1);
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{2} << 30}) {
    options.storage = Mapped{.read_ahead_bytes = bytes};
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring("read_ahead_bytes"));
  }
  options.storage = Mapped{.read_ahead_bytes = kMiB};
  CHECK(SamplesOf(PlayBatches(*std::make_unique<Loader>(dataset, options), 0)).size() == 50);
}
