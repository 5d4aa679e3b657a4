// The loader's own decisions in real playing. No test here depends on how fast or busy the machine
// is: trainers and stores are slow by construction, the tests wait for changes that must come, and
// other changes cannot come.
#include <algorithm>
#include <optional>
#include <thread>

#include <sched.h>

#include <sluice/cpu.h>

#include "reader/loader/loader_state.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/reader/slow_disk.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Moment = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{1};  // the longest step of a slow trainer

constexpr std::uint64_t kTunedMiB = std::uint64_t{1} << 20;
constexpr std::size_t kTunedBatch = 16;

LoaderOptions Tuned() {
  LoaderOptions options = OptionsFor(kTunedBatch, {});
  options.order.lanes = 4;
  options.order.window_bytes = 1;  // one block per lane
  return options;
}

// Plays epoch after epoch of a WriteLargerDataset, and lets the loader learn from every 8 batches.
class Trainer {
 public:
  Trainer(const Dataset& dataset, const LoaderOptions& options)
      : state_(std::make_shared<LoaderState>(dataset, options)),
        batches_(state_->SizeOf(0).batches),
        range_(state_->StartEpoch(0)),
        learned_(state_->Stats()) {}
  ~Trainer() { state_->Stop(); }

  LoaderStats Stats() const { return state_->Stats(); }
  unsigned most_threads() const { return state_->threads(); }

  void Step() {
    if (steps_ > 0 && steps_ % batches_ == 0) range_ = state_->StartEpoch(++epoch_);
    const Batch batch = state_->Next(range_);
    for (std::size_t row = 0; row < batch.size(); ++row)
      REQUIRE(batch.image().data[row * kPictureBytes] ==
              static_cast<std::uint8_t>(batch.samples()[row]));
    held_ = batch;
    if (++steps_ % 8 != 0) return;
    const LoaderStats now = state_->Stats();
    state_->Tune(now.Since(learned_));
    learned_ = now;
  }

  // Waits until all other batches of the ring are ready, then four times as long as that took, and
  // only then asks for the next batch. So the trainer never waits for a batch, and the decoding
  // threads are mostly idle.
  void StepSlowly() {
    const Moment::time_point begin = Moment::now();
    const auto all_ready = [this] {
      const LoaderStats stats = state_->Stats();
      const std::uint64_t others = stats.prefetch + 1 + (steps_ == 0 ? 1 : 0);
      return stats.payload_bytes >= (steps_ + others) * kTunedBatch * kPictureBytes;
    };
    while (!all_ready())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    // At most kLongest, so that the test does not wait for minutes if the machine stood still
    // meanwhile. Then the loader learns nothing from this time, but from later steps.
    std::this_thread::sleep_for(std::min<Moment::duration>(4 * (Moment::now() - begin), kLongest));
    Step();
  }

 private:
  std::shared_ptr<LoaderState> state_;
  std::uint64_t batches_;
  std::uint64_t range_;
  LoaderStats learned_;
  std::uint64_t epoch_ = 0;
  std::uint64_t steps_ = 0;
  std::optional<Batch> held_;
};

// This thread and those that it starts get two CPUs, if there are that many.
class TwoCpus {
 public:
  TwoCpus() {
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t two;
    CPU_ZERO(&two);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &two);
    REQUIRE(sched_setaffinity(0, sizeof two, &two) == 0);
  }
  ~TwoCpus() { sched_setaffinity(0, sizeof before_, &before_); }
  TwoCpus(const TwoCpus&) = delete;
  TwoCpus& operator=(const TwoCpus&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace

TEST_CASE("Threads rest while a trainer is slow, come back when it is fast, and then stay") {
  const TwoCpus two_cpus;
  if (AvailableCpus() < 2) {
    WARN("skipped: there is one CPU");
    return;
  }
  const TemporaryFolder folder;
  std::atomic<bool> slow_decoding{false};
  LoaderOptions options = Tuned();
  options.sample_function = [&](MutableSample&) {
    if (slow_decoding) std::this_thread::sleep_for(std::chrono::microseconds(200));
  };
  Trainer trainer(Dataset::Open(WriteLargerDataset(folder, 640)), options);
  const unsigned most = trainer.most_threads();
  while (trainer.Stats().threads == most)
    trainer.StepSlowly();
  CHECK(trainer.Stats().threads == most - 1);
  CHECK(trainer.Stats().changes == 1);  // a trainer that waits for nothing gets no more threads
  CHECK(trainer.Stats().prefetch == 2);
  CHECK(trainer.Stats().read_ahead_depth_bytes == 16 * kTunedMiB);
  slow_decoding = true;
  while (trainer.Stats().threads < most)
    trainer.Step();
  slow_decoding = false;
  // 42 intervals: threads that may rest do so after 40 (SelfTuning::kShrinkAfter).
  for (int step = 0; step < 8 * 42; ++step)
    trainer.StepSlowly();
  CHECK(trainer.Stats().threads == most);
}

TEST_CASE("From a store with slow reads, more is read at a time") {
  if (!MayMountDisks()) {
    WARN("skipped: FUSE or its Python module (fuse3, python3-fusepy) is not here");
    return;
  }
  const TemporaryFolder folder;
  // No byte fails; each read of a part of a block takes 3 ms.
  const MountedDisk disk(WriteLargerDataset(folder, 640), "none 0 0 0.003");
  LoaderOptions options = Tuned();
  options.storage = Direct{};  // else the data would be in the page cache from the second epoch on
  Trainer trainer(Dataset::Open(disk.path()), options);
  CHECK(trainer.Stats().read_ahead_depth_bytes == 16 * kTunedMiB);
  while (trainer.Stats().read_ahead_depth_bytes < 64 * kTunedMiB)
    trainer.Step();
}

TEST_CASE("With trainer and store both fast, the tuning stays in its bounds") {
  const TemporaryFolder folder;
  Trainer trainer(Dataset::Open(WriteLargerDataset(folder, 640)), Tuned());
  for (int step = 0; step < 8 * 100; ++step)
    trainer.Step();
  const LoaderStats stats = trainer.Stats();
  CHECK((stats.threads >= 1 && stats.threads <= trainer.most_threads()));
  CHECK((stats.prefetch >= 2 && stats.prefetch <= 32));
  CHECK((stats.read_ahead_depth_bytes >= 16 * kTunedMiB &&
         stats.read_ahead_depth_bytes <= 64 * kTunedMiB));
  CHECK(stats.changes <= (2 + 3) * (trainer.most_threads() - 1) + 15 + 2);
}
