// LoaderStats: what is counted and timed, and the verdict that says what an epoch waited for.
#include <thread>

#include <sluice/loader_stats.h>

#include "reader/decoding/stage_clock.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

Clock::time_point At(double seconds) {
  return Clock::time_point() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// What a loader of two threads measures in 100 seconds, in which it delivers 100 batches.
LoaderStats Measured() {
  LoaderStats stats;
  stats.seconds = 100;
  stats.batches = 100;
  stats.read_seconds = 10;
  stats.read_wait_seconds = 90;
  stats.decode_seconds = 100;
  stats.decode_cpu_seconds = 100;
  stats.decode_wait_seconds = 100;
  stats.consumer_seconds = 100;
  stats.read_ahead_bytes = 5'000'000'000;
  stats.ready_batches = 1.5;
  stats.prefetch = 2;
  stats.threads = 2;
  return stats;
}

// Sets for how many of the 100 seconds the consumer waits, and for how many of their 200 the two
// decoding threads.
void SetWaits(LoaderStats& stats, double consumer, double decoders) {
  stats.consumer_wait_seconds = consumer;
  stats.consumer_seconds = 100 - consumer;
  stats.decode_wait_seconds = decoders;
  stats.decode_seconds = 200 - decoders;
  stats.decode_cpu_seconds = stats.decode_seconds;
}

}  // namespace

TEST_CASE("A wait clock adds up the waits of all threads, including those under way") {
  WaitClock clock;
  clock.Begin(At(1));  // waits that began before Start() count from Start() on
  clock.Start(At(10));
  CHECK(clock.Seconds(At(12)) == Approx(2));
  clock.Begin(At(13));
  CHECK(clock.Seconds(At(15)) == Approx(5 + 2));
  clock.End(At(1), At(16));
  CHECK(clock.Seconds(At(20)) == Approx(6 + 7));
  clock.End(At(13), At(20));
  CHECK(clock.Seconds(At(90)) == Approx(6 + 7));
}

TEST_CASE(
    "The verdict distinguishes a slow link from a slow disk, and a long start from a slow epoch") {
  LoaderStats stats = Measured();
  SetWaits(stats, 60, 150);
  stats.read_seconds = 90;
  stats.read_wait_seconds = 10;
  CHECK(stats.bound() == Bound::kStorage);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("bound by storage"));
  stats.fetched_bytes = 4'900'000'000;
  stats.requests = 2500;
  stats.repeated_requests = 125;
  CHECK(stats.bound() == Bound::kStorage);
  CHECK_THAT(
      stats.Verdict(),
      ContainsSubstring("bound by the link to the dataset") &&
          ContainsSubstring("49.0 MB/s came in 25.0 requests a second, 5.0% of them repeated"));
  // The same bytes, most of them from the cache's disk.
  stats.fetched_bytes = 100'000'000;
  CHECK_THAT(stats.Verdict(), ContainsSubstring("bound by storage"));
  stats.first_wait_seconds = 58;
  CHECK(stats.bound() == Bound::kTrainer);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("the first batch came after 58.0 s"));
}

TEST_CASE("The verdict says that a device decodes all the time, and its share of the pictures") {
  LoaderStats stats = Measured();
  SetWaits(stats, 60, 150);
  stats.read_seconds = 5;
  stats.read_wait_seconds = 95;
  stats.device_pictures = 1000;
  stats.device_share = 1;
  stats.device_decode_seconds = 0.7 * stats.seconds;
  CHECK(stats.bound() == Bound::kPrefetch);
  stats.device_decode_seconds = 0.9 * stats.seconds;
  CHECK(stats.bound() == Bound::kDevice);
  CHECK_THAT(stats.Verdict(),
             ContainsSubstring("bound by decoding on the device, which took 90%") &&
                 ContainsSubstring("decode = kAuto"));
  stats.device_share = 0.25;
  CHECK_THAT(stats.Verdict(), ContainsSubstring("offered 25% of the pictures to decode, and did "
                                                "that 90% of the time") &&
                                  !ContainsSubstring("kAuto"));
}

TEST_CASE("The verdict names what training waits for, and what to change") {
  LoaderStats stats = Measured();
  CHECK(stats.bound() == Bound::kTrainer);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("bound by the trainer: it waited 0.0%"));
  CHECK_THAT(stats.Verdict(), ContainsSubstring("and 1.5 batches were ready"));
  SetWaits(stats, 60, 5);
  CHECK(stats.bound() == Bound::kDecoding);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("bound by decoding: the trainer waited 60.0%"));
  CHECK_THAT(stats.Verdict(), ContainsSubstring("more threads"));
  SetWaits(stats, 0, 150);
  stats.threads = 0;
  CHECK(stats.bound() == Bound::kDecoding);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("decodes them, for 50% of the time"));
  stats.threads = 2;
  SetWaits(stats, 60, 150);
  stats.read_seconds = 95;
  stats.read_wait_seconds = 5;
  CHECK(stats.bound() == Bound::kStorage);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("50.0 MB/s"));
  stats.read_seconds = 5;
  stats.read_wait_seconds = 95;
  CHECK(stats.bound() == Bound::kPrefetch);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("prefetch (now 2)"));
  // Without reading ahead it is the decoding threads that wait for the disk.
  SetWaits(stats, 60, 5);
  stats.decode_cpu_seconds = 39;
  CHECK(stats.bound() == Bound::kDecoding);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("20% of their work"));
  stats.decode_major_faults = 1000;
  CHECK(stats.bound() == Bound::kStorage);
  stats.batches = 7;
  CHECK(stats.bound() == Bound::kTooEarly);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("too early"));
}

TEST_CASE("The difference of two snapshots counts what happened between them") {
  LoaderStats earlier = Measured();
  LoaderStats later = Measured();
  later.seconds = 130;
  later.batches = 400;
  later.samples = 9;
  later.ready_batches = 0.75;
  later.decode_seconds = 150;
  const LoaderStats since = later.Since(earlier);
  CHECK(since.seconds == Approx(30));
  CHECK(since.batches == 300);
  CHECK(since.samples == 9);
  CHECK(since.decode_seconds == Approx(50));
  CHECK(since.consumer_wait_seconds == 0);
  CHECK(since.ready_batches == Approx(0.5));  // 400 x 0.75 = 100 x 1.5 + 300 x 0.5
  CHECK(since.prefetch == 2);
}

TEST_CASE("Every counter is added and subtracted, and the other figures stay") {
  LoaderStats earlier, more;
  earlier.seconds = 100;
  earlier.samples = 100;
  earlier.batches = 100;
  earlier.faults = 100;
  earlier.payload_bytes = 100;
  earlier.picture_pixels = 100;
  earlier.shown_pixels = 100;
  earlier.left_out_objects = 100;
  earlier.read_ahead_bytes = 100;
  earlier.changes = 100;
  earlier.read_seconds = 100;
  earlier.read_wait_seconds = 100;
  earlier.decode_seconds = 100;
  earlier.decode_wait_seconds = 100;
  earlier.decode_cpu_seconds = 100;
  earlier.decode_major_faults = 100;
  earlier.upload_bytes = 100;
  earlier.device_pictures = 100;
  earlier.device_decode_seconds = 100;
  earlier.upload_seconds = 100;
  earlier.upload_wait_seconds = 100;
  earlier.consumer_wait_seconds = 100;
  earlier.consumer_seconds = 100;
  more.seconds = 2;
  more.samples = 3;
  more.batches = 4;
  more.faults = 5;
  more.payload_bytes = 6;
  more.picture_pixels = 30;
  more.shown_pixels = 31;
  more.left_out_objects = 32;
  more.read_ahead_bytes = 7;
  more.changes = 8;
  more.read_seconds = 9;
  more.read_wait_seconds = 10;
  more.decode_seconds = 11;
  more.decode_wait_seconds = 12;
  more.decode_cpu_seconds = 13;
  more.decode_major_faults = 14;
  more.batch_waits.Add(0.5, 3);
  more.upload_bytes = 15;
  more.device_pictures = 28;
  more.device_decode_seconds = 29;
  more.upload_seconds = 16;
  more.upload_wait_seconds = 17;
  more.consumer_wait_seconds = 18;
  more.consumer_seconds = 19;
  more.kept_bytes = 7;
  more.threads = 3;
  LoaderStats total = earlier;
  total += more;
  CHECK(total.seconds == 102);
  CHECK(total.Since(earlier).seconds == 2);
  CHECK(total.samples == 103);
  CHECK(total.Since(earlier).samples == 3);
  CHECK(total.batches == 104);
  CHECK(total.Since(earlier).batches == 4);
  CHECK(total.faults == 105);
  CHECK(total.Since(earlier).faults == 5);
  CHECK(total.payload_bytes == 106);
  CHECK(total.Since(earlier).payload_bytes == 6);
  CHECK(total.picture_pixels == 130);
  CHECK(total.Since(earlier).picture_pixels == 30);
  CHECK(total.shown_pixels == 131);
  CHECK(total.Since(earlier).shown_pixels == 31);
  CHECK(total.left_out_objects == 132);
  CHECK(total.Since(earlier).left_out_objects == 32);
  CHECK(total.read_ahead_bytes == 107);
  CHECK(total.Since(earlier).read_ahead_bytes == 7);
  CHECK(total.changes == 108);
  CHECK(total.Since(earlier).changes == 8);
  CHECK(total.read_seconds == 109);
  CHECK(total.Since(earlier).read_seconds == 9);
  CHECK(total.read_wait_seconds == 110);
  CHECK(total.Since(earlier).read_wait_seconds == 10);
  CHECK(total.decode_seconds == 111);
  CHECK(total.Since(earlier).decode_seconds == 11);
  CHECK(total.decode_wait_seconds == 112);
  CHECK(total.Since(earlier).decode_wait_seconds == 12);
  CHECK(total.decode_cpu_seconds == 113);
  CHECK(total.Since(earlier).decode_cpu_seconds == 13);
  CHECK(total.decode_major_faults == 114);
  CHECK(total.batch_waits.count == 3);
  CHECK(total.Since(more).batch_waits.seconds == 0);
  CHECK(total.Since(earlier).decode_major_faults == 14);
  CHECK(total.upload_bytes == 115);
  CHECK(total.Since(earlier).upload_bytes == 15);
  CHECK(total.device_pictures == 128);
  CHECK(total.device_decode_seconds == 129);
  CHECK(total.Since(earlier).device_pictures == 28);
  CHECK(total.Since(earlier).device_decode_seconds == 29);
  CHECK(total.upload_seconds == 116);
  CHECK(total.Since(earlier).upload_seconds == 16);
  CHECK(total.upload_wait_seconds == 117);
  CHECK(total.Since(earlier).upload_wait_seconds == 17);
  CHECK(total.consumer_wait_seconds == 118);
  CHECK(total.Since(earlier).consumer_wait_seconds == 18);
  CHECK(total.consumer_seconds == 119);
  CHECK(total.Since(earlier).consumer_seconds == 19);
  CHECK(total.kept_bytes == 0);
  CHECK(total.threads == LoaderStats().threads);
  CHECK(more.Since(earlier).kept_bytes == 7);
  CHECK(more.Since(earlier).threads == 3);
}

TEST_CASE("The verdict on decoding or storage mentions pictures much larger than their rows") {
  LoaderStats stats = Measured();
  SetWaits(stats, 40, 2);
  REQUIRE(stats.bound() == Bound::kDecoding);
  stats.shown_pixels = 1000;
  stats.picture_pixels = 10'000;
  CHECK_THAT(stats.Verdict(), !ContainsSubstring("--max-side"));
  stats.picture_pixels = 240'000;
  CHECK_THAT(stats.Verdict(), ContainsSubstring("pictures have 240 times as many pixels"));
  CHECK_THAT(stats.Verdict(), ContainsSubstring("convert --max-side"));
  stats.decode_major_faults = 1000;
  stats.decode_cpu_seconds = 50;
  REQUIRE(stats.bound() == Bound::kStorage);
  CHECK_THAT(stats.Verdict(), ContainsSubstring("--max-side"));
  SetWaits(stats, 1, 2);
  REQUIRE(stats.bound() == Bound::kTrainer);
  CHECK_THAT(stats.Verdict(), !ContainsSubstring("--max-side"));
}

TEST_CASE("The pixels of decoded pictures, and of all rows made from them, are counted") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {Resize(4)};
  options.views = {{"small", {RandomResizedCrop(2)}, {}}};
  Loader loader(Dataset::Open(WriteRawDataset(folder, 40)), options);
  PlayBatches(loader, 0);
  const LoaderStats stats = loader.Stats();
  CHECK(stats.picture_pixels >= 40 * 8 * 8);  // and what is decoded ahead
  CHECK(stats.picture_pixels / (8 * 8) == stats.shown_pixels / (4 * 4 + 2 * 2));
  CHECK(stats.shown_pixels % (4 * 4 + 2 * 2) == 0);
}

TEST_CASE("Each stage's times add up to the time played") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 3);
  options.ring.prefetch = 2;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 500)), options);
  CHECK(loader.Stats().seconds == 0);
  PlayBatches(loader, 0);
  PlayBatches(loader, 1);
  const LoaderStats stats = loader.Stats();
  CHECK(stats.seconds > 0);
  CHECK(stats.read_seconds + stats.read_wait_seconds == Approx(stats.seconds));
  CHECK(stats.consumer_seconds + stats.consumer_wait_seconds == Approx(stats.seconds));
  // Decoding under way is counted when it ends; handing out rows is neither decoding nor waiting.
  CHECK(stats.decode_seconds + stats.decode_wait_seconds <= 3 * stats.seconds * 1.001);
  CHECK((stats.read_seconds >= 0 && stats.decode_wait_seconds >= 0 && stats.decode_seconds > 0));
  CHECK((stats.ready_batches >= 1 && stats.ready_batches <= 4));
  CHECK(stats.batches == 100);
}
