// What a Loader has measured about itself, and what that means.
#pragma once

#include <cstdint>
#include <string>

#include <sluice/rank.h>

namespace sluice {

// What the speed of a training is limited by, as far as the loader can see.
enum class Bound {
  kTooEarly,  // fewer than 8 batches: nothing can be said
  kTrainer,   // batches were ready before they were asked for
  kDecoding,  // all decoding threads were busy, and the trainer waited
  kStorage,   // decoding threads waited for data
  kUpload,    // copies to the device were under way nearly all the time
  kPrefetch,  // neither was busy all the time: the ring of batches is too short to even out
};

struct LoaderStats {
  double seconds = 0;         // since the first Epoch()
  std::uint64_t samples = 0;  // handed to the consumer
  std::uint64_t batches = 0;
  std::uint64_t faults = 0;         // samples that could not be read, each time they were met
  std::uint64_t payload_bytes = 0;  // of the payloads that were decoded
  // Of the blocks made resident ahead of decoding. Not counted for Shuffle::kRandom, which has
  // none.
  std::uint64_t read_ahead_bytes = 0;
  std::uint64_t kept_pictures = 0;  // LoaderOptions::keep: that later epochs need not decode
  std::uint64_t kept_bytes = 0;
  std::uint64_t refused_shards =
      0;  // LoaderOptions::storage = Direct: on a file system that refuses it
  std::uint64_t staged_shards = 0;  // LoaderOptions::stage: that are read from there

  // Each stage's time at work and waiting for the one before or behind it.
  double read_seconds = 0;       // ordering and reading ahead: one thread
  double read_wait_seconds = 0;  // ... while every batch of the ring was in use
  double decode_seconds = 0;     // summed over the decoding threads
  double decode_wait_seconds = 0;
  double decode_cpu_seconds = 0;  // of decode_seconds, those on a processor; sampled
  std::uint64_t decode_major_faults =
      0;  // pages that decoding threads waited for themselves; sampled
  // LoaderOptions::device. A copy's time is the device's own measure, known when its slot is used
  // again.
  std::uint64_t upload_bytes = 0;
  double upload_seconds = 0;         // copying
  double upload_wait_seconds = 0;    // the planning thread waited for a slot's copy to be done
  double consumer_wait_seconds = 0;  // the consumer blocked, waiting for a batch
  double consumer_seconds = 0;       // the consumer had its batch: training
  double ready_batches = 0;          // that lay ready when one was asked for: the mean
  std::uint64_t prefetch = 0;        // batches decoded ahead, as set or as chosen
  // What the loader has chosen, or was told to use; and how often it has changed that.
  unsigned threads = 0;  // those that rest not included
  std::uint64_t read_ahead_depth_bytes = 0;
  std::uint64_t changes = 0;
  // Which rank it plays as, and how many samples of an epoch that is (of the one asked for last;
  // those that fill up included), of how many for all ranks together.
  Rank rank;
  std::uint64_t epoch_samples = 0;
  std::uint64_t epoch_samples_of_all = 0;

  // What happened since an earlier snapshot of the same Loader, such as one epoch's.
  LoaderStats Since(const LoaderStats& earlier) const;

  Bound bound() const noexcept;
  // bound() as a sentence, with the figures behind it and what to change; and, of several ranks,
  // which one this is and what it plays.
  std::string Verdict() const;

 private:
  std::string BoundText() const;
};

}  // namespace sluice
