// A Loader's measurements of itself, and the bottleneck that they show.
#pragma once

#include <cstdint>
#include <string>

#include <sluice/duration_histogram.h>
#include <sluice/rank.h>

namespace sluice {

// The bottleneck of a training, as far as the loader can see.
enum class Bound {
  kTooEarly,  // fewer than 8 batches: too few to tell
  kTrainer,   // batches were ready before they were asked for
  kDecoding,  // all decoding threads were busy, and the trainer waited
  kStorage,   // decoding threads waited for data
  kUpload,    // copies to the device were under way nearly all the time
  kDevice,    // the device decoded nearly all the time, and the trainer waited
  kPrefetch,  // none of these was busy all the time: the ring is too short to even out slow samples
};

// A Loader's measurements of itself. Sums count from the first Epoch(). Since() gives the sums of
// an interval.
struct LoaderStats {
  double seconds = 0;         // since the first Epoch()
  std::uint64_t samples = 0;  // handed to the consumer
  std::uint64_t batches = 0;  // handed to the consumer
  // How often a sample could not be read, in the epochs that have begun.
  std::uint64_t faults = 0;
  std::uint64_t payload_bytes = 0;  // size, as stored, of the payloads that were decoded
  // picture_pixels: pixels of the decoded pictures, as stored. shown_pixels: pixels of the rows and
  // views that were made of these pictures.
  std::uint64_t picture_pixels = 0, shown_pixels = 0;
  // Objects that BoxRule::most left out of the rows that this loader has made. (Rows that it took
  // from a cache or from another loader are not counted again.)
  std::uint64_t left_out_objects = 0;
  // Bytes of blocks that were brought into memory ahead of decoding. 0 for Shuffle::kRandom, which
  // does not read ahead.
  std::uint64_t read_ahead_bytes = 0;
  std::uint64_t kept_pictures = 0;  // LoaderOptions::keep: pictures that are kept decoded
  std::uint64_t kept_bytes = 0;     // size of those pictures
  std::uint64_t taken_rows = 0;     // LoaderOptions::share: rows that another loader had made
  // LoaderOptions::storage = Direct: shards that are read through the page cache, because their
  // file system refuses O_DIRECT.
  std::uint64_t refused_shards = 0;
  // Bytes of blocks that were fetched from a URL, or for a stage (LoaderOptions::stage). This
  // figure and the next two count this loader alone if it has a stage. Otherwise, they count all
  // users of this Dataset together.
  std::uint64_t fetched_bytes = 0;
  std::uint64_t cached_bytes = 0;       // bytes of blocks found on the stage
  std::uint64_t past_cache_bytes = 0;   // bytes fetched, but not kept on the stage
  std::uint64_t requests = 0;           // sent by all users of this Dataset, repeated ones included
  std::uint64_t repeated_requests = 0;  // those sent because an earlier one failed or was slow

  // For each part of the loader: the time at work, and the time waiting for the part before or
  // after it.
  double read_seconds = 0;         // the planning thread: ordering and reading ahead
  double read_wait_seconds = 0;    // the planning thread waited: every slot of the ring was in use
  double decode_seconds = 0;       // summed over the decoding threads
  double decode_wait_seconds = 0;  // decoding threads waited; also summed
  double decode_cpu_seconds = 0;   // the part of decode_seconds on a CPU; updated every 50 ms
  // For a source that is played without a conversion (PlaySource()): the part of decode_seconds in
  // which files were read. This figure and the next include the work for other loaders that play
  // this Dataset at the same time.
  double file_read_seconds = 0;
  double file_make_seconds = 0;  // the same for making samples of the files, and the rows' payloads
  // PlayOptions::compile_to: samples that were read from the dataset compiled so far, not from the
  // files. The two sums above do not include their time.
  std::uint64_t compiled_samples = 0;
  // Page faults in which decoding threads waited for storage; updated every 50 ms.
  std::uint64_t decode_major_faults = 0;
  std::uint64_t upload_bytes = 0;     // LoaderOptions::device: bytes copied to it
  std::uint64_t device_pictures = 0;  // OnDevice::decode: pictures that the device decoded
  // The time in which the device decoded these pictures, by its own clock. The device decodes
  // several batches at once, so this is the sum of the batches' times, divided by the number of
  // batches at once.
  double device_decode_seconds = 0;
  // OnDevice::images: pictures in the device's memory.
  std::uint64_t stored_pictures = 0;
  std::uint64_t stored_bytes = 0;  // size of those pictures in that memory
  // The time of copies to the device, by the device's clock. A copy is counted when the loader
  // reuses the batch's slot.
  double upload_seconds = 0;
  double upload_wait_seconds = 0;    // the planning thread waited for a slot's copy to finish
  double consumer_wait_seconds = 0;  // the consumer blocked, waiting for a batch
  double first_wait_seconds = 0;     // the part of consumer_wait_seconds for the very first batch
  double consumer_seconds = 0;       // the consumer had its batch, and trained
  double ready_batches = 0;          // mean number ready when the consumer asked for a batch
  // How long the consumer waited for each batch: 0 if the batch was ready. This and the next two
  // are histograms of single times; their quantiles are in seconds.
  DurationHistogram batch_waits;
  // How long it took to make each sample's row: its checksum, decoding, steps and sample_function.
  // Rows that take less than 30 us are timed together: each counts with the mean time of the rows
  // that its thread made in one go.
  DurationHistogram sample_decodes;
  // How long the planning thread waited for each block. If the block was in memory, or was read
  // ahead in time, the wait is short. For Shuffle::kRandom in files, nothing is counted. For a
  // source that is played without a conversion: how long it took to read each sample's file.
  DurationHistogram block_reads;
  std::uint64_t prefetch = 0;  // batches decoded ahead, as set or as chosen
  // The decoding threads, as set or as chosen, without those that rest (LoaderOptions::threads). 0:
  // the thread that asks for batches decodes.
  unsigned threads = 1;
  double device_share = 0;                   // share of the pictures offered to the device, 0 to 1
  std::uint64_t read_ahead_depth_bytes = 0;  // bytes of blocks being read at any time
  std::uint64_t changes = 0;                 // how often the loader has changed a setting
  Rank rank;                                 // this loader's rank
  // This rank's samples in the epoch that was asked for last, including samples that fill up
  // batches.
  std::uint64_t epoch_samples = 0;
  std::uint64_t epoch_samples_of_all = 0;  // the samples of that epoch, over all ranks

  // Adds the sums: times, samples, bytes and so on. Means, settings, and figures of the present
  // state (such as kept_pictures) stay as they are.
  LoaderStats& operator+=(const LoaderStats& more) noexcept;
  // The difference from an earlier snapshot of the same Loader, for instance of one epoch.
  LoaderStats Since(const LoaderStats& earlier) const;

  // The bottleneck that these figures show.
  Bound bound() const noexcept;
  // bound() as a sentence, with its figures and with what to change. With several ranks, the
  // sentence also names this rank and its share of the samples.
  std::string Verdict() const;

 private:
  std::string BoundText() const;
};

}  // namespace sluice
