// Loaders made and dropped at random for a while: no sample is lost or doubled, nothing leaks or
// hangs.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kSoakSamples = 6000;

std::size_t Entries(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// The state of the process while a loader is made: its threads inherit the blocked signals, and the
// way they read depends on how many files may be open.
class Surroundings {
 public:
  Surroundings(bool few_files, bool signals_blocked) {
    getrlimit(RLIMIT_NOFILE, &files_);
    rlimit fewer = files_;
    if (few_files) fewer.rlim_cur = 16 + Entries("/proc/self/fd");
    setrlimit(RLIMIT_NOFILE, &fewer);
    sigset_t blocked;
    sigemptyset(&blocked);
    if (signals_blocked) sigaddset(&blocked, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &blocked, &signals_);
  }
  ~Surroundings() {
    setrlimit(RLIMIT_NOFILE, &files_);
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

 private:
  rlimit files_{};
  sigset_t signals_{};
};

class Soak {
 public:
  explicit Soak(std::uint64_t seed) : random_(seed) {
    id_ = Dataset::Open(WriteRawDataset(folder_, static_cast<int>(kSoakSamples), 4)).id();
  }

  void Round() {
    UNSCOPED_INFO("round " << round_++);
    if (Chance(3)) SpoilStage();
    if (Chance(4)) {
      Broken();
    } else if (Chance(3)) {
      Resumed();
    } else {
      Whole();
    }
  }

 private:
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  bool Chance(std::uint64_t one_in) { return Below(one_in) == 0; }

  LoaderOptions AnyOptions() {
    LoaderOptions options = OptionsFor(1 + Below(400), 1 + static_cast<unsigned>(Below(6)));
    options.ring.prefetch = 1 + Below(4);
    options.ring.hold = Below(3);
    options.seed = Below(1000);
    options.order.lanes = Chance(2) ? 192 : 1 + static_cast<std::uint32_t>(Below(30));
    options.order.shuffle = Chance(3)   ? Shuffle::kRandom
                            : Chance(3) ? Shuffle::kSequential
                                        : Shuffle::kQuasiRandom;
    options.integrity.verify = Chance(2) ? Verify::kAlways : Verify::kAuto;
    if (options.order.shuffle != Shuffle::kRandom && Chance(3)) options.storage = Direct{};
    if (Chance(4)) options.ring.prefetch.reset();
    if (Chance(3)) {  // with room for some of the blocks
      options.storage = Mapped{};
      options.stage = Stage{(folder_ / "stage").string(), Below(5'000'000) + 1};
      options.integrity.verify = Verify::kAlways;  // which detects damage
    }
    return options;
  }

  Loader Make(const Dataset& dataset, const LoaderOptions& options) {
    const Surroundings surroundings(Chance(2), Chance(3));
    return Loader(dataset, options);
  }

  // Damages or truncates what lies on the stage. No loader reads from the stage meanwhile.
  void SpoilStage() {
    const std::filesystem::path data = folder_ / "stage" / id_ / "data";
    if (!std::filesystem::exists(data)) return;
    const std::uint64_t at = Below(std::filesystem::file_size(data));
    if (Chance(3)) return std::filesystem::resize_file(data, at);
    std::fstream file(data, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file << "spoilt";
  }

  // Plays the rest of the range, or a part of it, and adds the samples to `seen`.
  void Play(const EpochRange& range, std::size_t limit, std::vector<std::uint64_t>& seen) {
    for (const Batch& batch : range) {
      for (std::size_t row = 0; row < batch.size(); ++row) {
        const std::uint64_t sample = batch.samples()[row];
        const std::uint8_t* const pixels = batch.image().data + row * 192;
        const auto right = static_cast<std::uint8_t>(sample % 251);
        if (pixels[0] != right || pixels[191] != right) FAIL("wrong pixels of " << sample);
        seen.push_back(sample);
      }
      if (--limit == 0) break;
    }
  }

  static void RequireEachOnce(std::vector<std::uint64_t> seen) {
    std::sort(seen.begin(), seen.end());
    REQUIRE(seen.size() == kSoakSamples);
    for (std::uint64_t i = 0; i < kSoakSamples; ++i)
      REQUIRE(seen[i] == i);
  }

  // Plays some epochs with one loader, and leaves some of them early.
  void Whole() {
    Loader loader = Make(Dataset::Open(folder_ / "raw"), AnyOptions());
    for (std::uint64_t epochs = 1 + Below(3), epoch = Below(9); epochs > 0; --epochs) {
      std::vector<std::uint64_t> seen;
      const bool whole = Chance(2);
      Play(loader.Epoch(epoch), whole ? SIZE_MAX : 1 + Below(9), seen);
      if (whole) RequireEachOnce(std::move(seen));
      epoch = Chance(2) ? epoch + 1 : Below(9);
    }
  }

  // An epoch in pieces, each played by a new loader.
  void Resumed() {
    LoaderOptions options = AnyOptions();
    std::vector<std::uint64_t> seen;
    for (std::uint64_t piece = 0;; ++piece) {
      options.threads = 1 + static_cast<unsigned>(Below(6));
      Loader loader = Make(Dataset::Open(folder_ / "raw"), options);
      const std::uint64_t left =
          loader.batches_per_epoch() - loader.State().position / options.batch_size;
      Play(loader.Epoch(3), piece == 4 ? SIZE_MAX : 1 + Below(left), seen);
      if (loader.State().epoch != 3) break;
      options.resume_from = ResumePoint::Parse(loader.State().Text());
    }
    RequireEachOnce(std::move(seen));
  }

  // A shard is truncated while it is played: the other samples still come, once each.
  void Broken() {
    const TemporaryFolder copy;
    std::filesystem::copy(folder_ / "raw", copy / "raw");
    const Dataset dataset = Dataset::Open(copy / "raw");
    LoaderOptions options = AnyOptions();
    // In other orders, all of the next samples may lie in the truncated shard, and if none of them
    // can be a substitute, the step throws.
    const bool substitute = options.order.shuffle == Shuffle::kRandom && Chance(2);
    options.integrity.on_fault = substitute ? OnFault::kSubstitute : OnFault::kSkip;
    options.integrity.verify = Verify::kAlways;
    Loader loader = Make(dataset, options);
    std::vector<std::uint64_t> seen;
    Play(loader.Epoch(0), 1 + Below(5), seen);
    const ShardSummary& shard = dataset.shards()[Below(dataset.shards().size())];
    REQUIRE(truncate((copy / "raw" / shard.file).c_str(), static_cast<off_t>(Below(shard.bytes))) ==
            0);
    seen.clear();
    Play(loader.Epoch(1), SIZE_MAX, seen);
    if (options.integrity.on_fault == OnFault::kSubstitute) {
      REQUIRE(seen.size() == kSoakSamples);
      return;
    }
    const std::size_t count = seen.size();
    CHECK(count >= kSoakSamples - shard.samples);
    std::sort(seen.begin(), seen.end());
    REQUIRE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  }

  TemporaryFolder folder_;
  std::string id_;  // of the dataset in folder_
  std::mt19937_64 random_;
  std::uint64_t round_ = 0;
};

void SoakFor(std::uint64_t rounds, std::chrono::seconds time) {
  Soak soak(2026);
  const auto begin = std::chrono::steady_clock::now();
  for (int warm_up = 0; warm_up < 5; ++warm_up)
    soak.Round();
  const std::uint64_t memory = AnonymousBytes();
  const std::size_t files = Entries("/proc/self/fd");
  const std::size_t threads = Entries("/proc/self/task");
  std::uint64_t played = 0;
  while (played < rounds || std::chrono::steady_clock::now() - begin < time) {
    soak.Round();
    ++played;
  }
  CHECK(Entries("/proc/self/fd") == files);
  // A joined thread stays in the list for a moment.
  while (Entries("/proc/self/task") > threads)
    std::this_thread::yield();
  // The memory that the allocator keeps varies by some megabytes with the order of the rounds.
  if (!kSanitized) CHECK(AnonymousBytes() < memory + (48 << 20));
  if (time.count() > 0) {
    WARN(played << " rounds; anonymous memory " << memory << " bytes at first, " << AnonymousBytes()
                << " in the end");
  }
}

}  // namespace

TEST_CASE("Loaders made and dropped in 25 rounds lose, double and leak nothing") {
  SoakFor(25, std::chrono::seconds(0));
}

TEST_CASE("Loaders made and dropped for 20 minutes lose, double and leak nothing", "[slow]") {
  SoakFor(25, std::chrono::minutes(20));
}
