// The meaning of LoaderStats: which figures add up over time, and which part of the loader held the
// trainer back (LoaderStats::bound() and its advice).
//
// The verdict goes from the outside to the inside. If the trainer hardly waited, the trainer itself
// is the bottleneck. Otherwise the device is, if it decoded nearly all the time or if the loader
// waited for it; or else decoding, if the decoding threads were busy; or else storage, or a ring
// too short for samples that take different times.
#include <cstdio>
#include <tuple>
#include <utility>

#include <sluice/loader_stats.h>

#include "reader/order/deal.h"

namespace sluice {

namespace {

// A trainer that waits for less than this share of its time gains nothing from a faster loader.
constexpr double kWaitWorthMentioning = 0.05;
// Decoding threads that wait for more than this share of their time are not the bottleneck.
constexpr double kIdleThreads = 0.2;
// A decoding thread that met major faults and was on a CPU for less than this share of its time was
// waiting for the disk.
constexpr double kReadingThreads = 0.7;
// If copies to the device, or its decoding, are under way for more than this share of the time,
// they are the bottleneck.
constexpr double kBusyDevice = 0.8;
constexpr std::uint64_t kEnoughBatches = 8;
// Pictures are large if they have more pixels than this for each pixel that is made of them: twice
// as many as pictures of 500 pixels a side for crops of 224.
constexpr double kLargePictures = 10;
// A first batch that took longer, in seconds, is worth mentioning.
constexpr double kLongStart = 1;

double Share(double part, double rest) noexcept {
  return part + rest > 0 ? part / (part + rest) : 0;
}

// The trainer's thread runs ahead of its device, so it waits for batches whichever part is slow. A
// dropped slot becomes free only when the device has finished with it. If the loader waits for
// that, the bottleneck is the device or the copies to it.
bool WaitsForDevice(const LoaderStats& stats) noexcept {
  return stats.upload_wait_seconds > kIdleThreads * stats.seconds;
}

template <class... Arguments>
std::string Sentence(const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

// The figures that add up; of all others, the last snapshot's value counts. All members are named,
// so that a new one does not compile until somebody decides which it is.
template <class Stats>
auto SumsOf(Stats& stats) noexcept {
  auto& [seconds, samples, batches, faults, payload_bytes, picture_pixels, shown_pixels,
         left_out_objects, read_ahead_bytes, kept_pictures, kept_bytes, taken_rows, refused_shards,
         fetched_bytes, cached_bytes, past_cache_bytes, requests, repeated_requests, read_seconds,
         read_wait_seconds, decode_seconds, decode_wait_seconds, decode_cpu_seconds,
         file_read_seconds, file_make_seconds, compiled_samples, decode_major_faults, upload_bytes,
         device_pictures, device_decode_seconds, stored_pictures, stored_bytes, upload_seconds,
         upload_wait_seconds, consumer_wait_seconds, first_wait_seconds, consumer_seconds,
         ready_batches, batch_waits, sample_decodes, block_reads, prefetch, threads, device_share,
         read_ahead_depth_bytes, changes, rank, epoch_samples, epoch_samples_of_all] = stats;
  return std::tie(seconds, samples, batches, faults, payload_bytes, picture_pixels, shown_pixels,
                  read_ahead_bytes, read_seconds, read_wait_seconds, decode_seconds,
                  decode_wait_seconds, decode_cpu_seconds, file_read_seconds, file_make_seconds,
                  decode_major_faults, upload_bytes, device_pictures, device_decode_seconds,
                  upload_seconds, upload_wait_seconds, consumer_wait_seconds, first_wait_seconds,
                  consumer_seconds, batch_waits, sample_decodes, block_reads, changes,
                  fetched_bytes, cached_bytes, past_cache_bytes, requests, repeated_requests,
                  taken_rows, compiled_samples, left_out_objects);
}

template <class... Own, class... Other, class Do>
void ForEachSum(std::tuple<Own&...> own, std::tuple<Other&...> other, const Do& apply) noexcept {
  [&]<std::size_t... at>(std::index_sequence<at...>) {
    (apply(std::get<at>(own), std::get<at>(other)), ...);
  }
  (std::index_sequence_for<Own...>());
}

}  // namespace

LoaderStats& LoaderStats::operator+=(const LoaderStats& more) noexcept {
  ForEachSum(SumsOf(*this), SumsOf(more), [](auto& own, const auto& other) { own += other; });
  return *this;
}

LoaderStats LoaderStats::Since(const LoaderStats& earlier) const {
  LoaderStats since = *this;
  ForEachSum(SumsOf(since), SumsOf(earlier), [](auto& own, const auto& other) { own -= other; });
  const double before = earlier.ready_batches * static_cast<double>(earlier.batches);
  const double after = ready_batches * static_cast<double>(batches);
  since.ready_batches = since.batches == 0 ? 0 : (after - before) / double(since.batches);
  return since;
}

Bound LoaderStats::bound() const noexcept {
  if (batches < kEnoughBatches) return Bound::kTooEarly;
  if (threads == 0)
    return decode_seconds > kWaitWorthMentioning * seconds ? Bound::kDecoding : Bound::kTrainer;
  // The wait for the first batch of all says nothing of the epochs after it.
  if (Share(consumer_wait_seconds - first_wait_seconds, consumer_seconds) < kWaitWorthMentioning)
    return Bound::kTrainer;
  if (device_decode_seconds > kBusyDevice * seconds) return Bound::kDevice;
  if (WaitsForDevice(*this)) {
    return upload_seconds > kBusyDevice * seconds ? Bound::kUpload : Bound::kTrainer;
  }
  if (Share(decode_wait_seconds, decode_seconds) > kIdleThreads) {
    return read_seconds > read_wait_seconds ? Bound::kStorage : Bound::kPrefetch;
  }
  const bool reading =
      decode_major_faults > 0 && decode_cpu_seconds < kReadingThreads * decode_seconds;
  return reading ? Bound::kStorage : Bound::kDecoding;
}

std::string LoaderStats::Verdict() const {
  const std::string share = ShareText(rank, epoch_samples, epoch_samples_of_all);
  std::string text = share.empty() ? BoundText() : BoundText() + "; " + share;
  if (device_pictures > 0 && device_share < 1 && seconds > 0) {
    text += Sentence(
        "; the device is offered %.0f%% of the pictures to decode, and did that %.0f%% of the time",
        100 * device_share, 100 * device_decode_seconds / seconds);
  }
  if (file_read_seconds + file_make_seconds > 0 && decode_seconds > 0) {
    text += Sentence(
        "; of the decoding threads' work, %.0f%% was reading files and %.0f%% making samples of "
        "them, which `sluice convert` does once for all epochs",
        100 * file_read_seconds / decode_seconds, 100 * file_make_seconds / decode_seconds);
  }
  if (shown_pixels > 0 && (bound() == Bound::kDecoding || bound() == Bound::kStorage) &&
      double(picture_pixels) > kLargePictures * double(shown_pixels)) {
    text += Sentence(
        "; pictures have %.0f times as many pixels as are made of them: smaller ones (convert "
        "--max-side) take less, and sluice-bench advise says how much",
        double(picture_pixels) / double(shown_pixels));
  }
  // A long start does not make an epoch slow: it comes once.
  if (bound() != Bound::kTooEarly && first_wait_seconds > kLongStart &&
      first_wait_seconds > kWaitWorthMentioning * seconds) {
    text += Sentence("; the first batch came after %.1f s, which is not counted above",
                     first_wait_seconds);
    if (fetched_bytes > 0)
      text += ": with a smaller window, and fewer lanes, less is fetched before it";
  }
  return text;
}

std::string LoaderStats::BoundText() const {
  const double waited = 100 * Share(consumer_wait_seconds - first_wait_seconds, consumer_seconds);
  const double idle = 100 * Share(decode_wait_seconds, decode_seconds);
  switch (bound()) {
    case Bound::kTooEarly: return "too early to say: fewer than 8 batches";
    case Bound::kUpload:
      return Sentence(
          "bound by copies to the device: they were under way %.0f%% of the time, at %.1f GB/s; "
          "uint8 transfers (Normalize, without MixUp or your own functions), smaller batches or a "
          "faster bus help",
          100 * upload_seconds / seconds, 1e-9 * double(upload_bytes) / upload_seconds);
    case Bound::kTrainer:
      if (WaitsForDevice(*this)) {
        return Sentence(
            "bound by the trainer's device: batches were ready, and the loader waited %.0f%% of "
            "the time for the device to release a slot",
            100 * upload_wait_seconds / seconds);
      }
      return Sentence(
          "bound by the trainer: it waited %.1f%% of its time, and %.1f batches were ready; the "
          "decoding threads were idle %.0f%% of theirs, so fewer would do",
          waited, ready_batches, idle);
    case Bound::kDecoding: {
      if (threads == 0) {
        return Sentence(
            "bound by decoding: the thread that asks for batches decodes them, for %.0f%% of the "
            "time; leave LoaderOptions::threads empty once there is nothing left to debug",
            100 * decode_seconds / seconds);
      }
      std::string text = Sentence(
          "bound by decoding: the trainer waited %.1f%% of its time, and the decoding threads "
          "%.0f%% of theirs; more threads (and CPUs), or images stored packed, smaller or raw help",
          waited, idle);
      if (decode_cpu_seconds < kReadingThreads * decode_seconds) {
        text +=
            Sentence("; they had a CPU for only %.0f%% of their work: something else uses the CPUs",
                     100 * decode_cpu_seconds / decode_seconds);
      }
      return text;
    }
    case Bound::kStorage:
      // If most of the bytes came over the link, the link is slow; otherwise, the disk is.
      if (2 * fetched_bytes > read_ahead_bytes) {
        return Sentence(
            "bound by the link to the dataset: the trainer waited %.1f%% of its time, the decoding "
            "threads %.0f%% of theirs, while %.1f MB/s came in %.1f requests a second, %.1f%% of "
            "them repeated; a faster link or disk, blocks kept on a local disk "
            "(LoaderOptions::stage), or smaller images help",
            waited, idle, seconds > 0 ? double(fetched_bytes) / seconds / 1e6 : 0.0,
            seconds > 0 ? double(requests) / seconds : 0.0,
            requests > 0 ? 100 * double(repeated_requests) / double(requests) : 0.0);
      }
      return Sentence(
          "bound by storage: the trainer waited %.1f%% of its time, the decoding threads %.0f%% of "
          "theirs, while %.1f MB/s were read ahead; threads waited for %llu pages; a faster disk, "
          "a local copy, more memory for the page cache, or quasi-random order help",
          waited, idle, seconds > 0 ? double(read_ahead_bytes) / seconds / 1e6 : 0.0,
          static_cast<unsigned long long>(decode_major_faults));
    case Bound::kDevice:
      return Sentence(
          "bound by decoding on the device, which took %.0f%% of the time, %.2f us a picture; the "
          "trainer waited %.1f%% of its time, the decoding threads %.0f%% of theirs; %s",
          100 * device_decode_seconds / seconds,
          1e6 * device_decode_seconds / double(device_pictures > 0 ? device_pictures : 1), waited,
          idle,
          device_share < 1 ? "smaller images or a faster device help"
                           : "OnDevice::decode = kAuto gives the decoding threads a share");
    case Bound::kPrefetch: break;
  }
  return Sentence(
      "bound by the length of the ring: the trainer waited %.1f%% of its time, though the decoding "
      "threads were idle %.0f%% of theirs; raise LoaderOptions::ring.prefetch (now %llu)",
      waited, idle, static_cast<unsigned long long>(prefetch));
}

}  // namespace sluice
