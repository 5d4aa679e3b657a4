// The share of pictures that a device decodes, where the loader chooses it (DecodeOn::kAuto).
#include "reader/upload/decoding_share.h"

#include <algorithm>
#include <random>

#include "tests/catch.h"

using namespace sluice;

namespace {

// The host and the device, which both decode, and the seconds that each of them needs for a row.
struct Sides {
  double kept = 0;     // seconds of a thread, for a row that the host decodes
  double offered = 0;  // seconds of a thread, for a row that is left to the device
  double device = 0;   // seconds of the device, for a row that is left to it
  unsigned threads = 4;
  bool trainer_waits = true;

  double ThreadSeconds(double share) const { return (1 - share) * kept + share * offered; }
  double RowSeconds(double share) const {
    return std::max(ThreadSeconds(share) / threads, share * device);
  }

  // Lets `share` learn from a second of playing, as the loader would measure it. `noise`: the
  // factor by which the device's measured seconds are wrong; the host's are wrong by its inverse.
  // Returns whether the share has changed.
  bool Play(DecodingShare& share, double noise = 1) const {
    const double x = share.share();
    const double rows = 1 / RowSeconds(x);
    LoaderStats stats;
    stats.seconds = 1;
    stats.batches = 100;
    stats.threads = threads;
    stats.decode_seconds = rows * ((1 - x) * kept + x * offered);
    stats.decode_cpu_seconds = stats.decode_seconds;
    stats.decode_wait_seconds = threads - stats.decode_seconds;
    stats.device_decode_seconds = rows * x * device * noise;
    stats.read_wait_seconds = 1;
    (trainer_waits ? stats.consumer_wait_seconds : stats.consumer_seconds) = 1;
    DecodingCosts costs;
    costs.kept = {rows * (1 - x) * kept / noise, static_cast<std::uint64_t>(rows * (1 - x))};
    costs.offered = {rows * x * offered, static_cast<std::uint64_t>(rows * x)};
    return share.Learn(stats, costs);
  }
  // Plays `seconds` seconds and returns the share.
  double After(DecodingShare& share, int seconds) const {
    for (int second = 0; second < seconds; ++second)
      Play(share);
    return share.share();
  }
  // The best of all possible shares.
  double Best() const {
    double best = 1;
    for (unsigned part = 1; part <= DeviceShare::kParts; ++part) {
      const double share = double(part) / DeviceShare::kParts;
      if (RowSeconds(share) < RowSeconds(best)) best = share;
    }
    return best;
  }
};

}  // namespace

TEST_CASE("A fixed share does not change") {
  const Sides sides{300e-6, 20e-6, 1e-3};
  for (const DecodeOn decode : {DecodeOn::kHost, DecodeOn::kDevice}) {
    DecodingShare share(decode);
    CHECK(share.fixed());
    CHECK(sides.After(share, 10) == (decode == DecodeOn::kDevice ? 1 : 0));
    CHECK(share.changes() == 0);
  }
}

TEST_CASE("A slow device gets less, a slow host gives more, and the share ends near the best one") {
  const Sides slow_device{200e-6, 20e-6, 400e-6}, slow_host{2e-3, 20e-6, 50e-6};
  const Sides alike{240e-6, 20e-6, 80e-6}, hopeless{30e-6, 20e-6, 5e-3}, fast{240e-6, 20e-6, 2e-6};
  for (const Sides& sides : {slow_device, slow_host, alike, hopeless, fast}) {
    DecodingShare share(DecodeOn::kAuto);
    CHECK(share.share() == 0.5);
    const double end = sides.After(share, 10);
    CAPTURE(sides.kept, sides.device, end, sides.Best());
    CHECK(sides.RowSeconds(end) < 1.1 * sides.RowSeconds(sides.Best()));
  }
  DecodingShare less(DecodeOn::kAuto), more(DecodeOn::kAuto), all(DecodeOn::kAuto);
  CHECK(slow_device.After(less, 10) < 0.25);
  CHECK(slow_host.After(more, 10) > 0.9);
  CHECK(fast.After(all, 10) == 1);
  DecodingShare least(DecodeOn::kAuto);
  CHECK(hopeless.After(least, 10) == 1.0 / DeviceShare::kParts);
}

TEST_CASE("A share stays where both sides take equally long, though measurements vary") {
  const Sides sides{240e-6, 20e-6, 80e-6};
  DecodingShare share(DecodeOn::kAuto);
  sides.After(share, 10);
  const std::uint64_t changes = share.changes();
  CHECK(changes <= 2);
  for (int second = 0; second < 100; ++second)
    CHECK_FALSE(sides.Play(share));
  std::mt19937 random(5);
  for (int second = 0; second < 200; ++second)
    sides.Play(share, 0.97 + 0.06 * double(random() % 1000) / 1000);
  CHECK(share.changes() == changes);
}

TEST_CASE("A share follows sides that change, also from the largest and the smallest share") {
  Sides sides{240e-6, 20e-6, 2e-6};
  DecodingShare share(DecodeOn::kAuto);
  CHECK(sides.After(share, 10) == 1);
  sides.device = 2e-3;  // a trainer takes the device for itself
  const double less = sides.After(share, 20);
  CHECK(less < 0.1);
  sides.device = 20e-6;
  CHECK(sides.After(share, 20) > 0.75);
}

TEST_CASE(
    "A share does not move while everybody waits for the trainer, nor because of one interval") {
  Sides sides{200e-6, 20e-6, 400e-6};
  sides.trainer_waits = false;
  DecodingShare share(DecodeOn::kAuto);
  CHECK(sides.After(share, 20) == 0.5);
  sides.trainer_waits = true;
  CHECK_FALSE(sides.Play(share));
  CHECK(share.share() == 0.5);
  CHECK(sides.Play(share));
  CHECK(share.share() < 0.5);
}
