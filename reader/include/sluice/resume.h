// A position in a training's stream of epochs: a small value to store in a checkpoint.
//
//   checkpoint << loader.State().Text();                        // at any moment
//   ...
//   options.resume_from = sluice::ResumePoint::Parse(text);     // in another process
//   sluice::Loader loader(dataset, options);
//   for (auto epoch = loader.State().epoch; epoch < 90; ++epoch)
//     for (const sluice::Batch& batch : loader.Epoch(epoch)) ...
//
// Nothing before that position is read or decoded again, and the batches that follow are the same
// as without the interruption.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/order.h>
#include <sluice/version.h>

namespace sluice {

// A position in a training, with everything that the order of the samples depends on.
struct ResumePoint {
  // The order depends on the members from here to `list`. A Loader refuses a point if its own order
  // differs in one of them.
  //
  // The dataset's id: 32 hexadecimal digits; for a mixture, the ids of all of its datasets, with
  // '+' between them. A Loader also takes the point of another version of a dataset, if that
  // version's manifest is kept, its image shards are the same, and each field in use comes from the
  // same shards. So a training can resume after a column was added, or samples were deleted.
  std::string dataset;
  std::uint32_t order_version = kOrderVersion;  // the version of the order in reader/ORDER.md
  Shuffle shuffle = Shuffle::kQuasiRandom;      // LoaderOptions::order.shuffle
  std::uint64_t seed = 0;                       // LoaderOptions::seed
  std::uint64_t lanes = 0;          // for kQuasiRandom: LoaderOptions::order.lanes; else 0
  std::uint64_t window_blocks = 0;  // for kQuasiRandom: blocks in a lane's window; else 0
  // With LoaderOptions::ranks.by_shards, the number of ranks. Otherwise 0: a training may resume
  // with another number of ranks.
  std::uint64_t shard_ranks = 0;
  // Identifies the list of samples that the order is made of:
  //
  //   with LoaderOptions::order.samples    the list's digest
  //   of a mixture with weights            the mixture's digest
  //   with LoaderOptions::order.batches    "batches"
  //   otherwise                            empty
  std::string list;

  std::uint64_t epoch = 0;  // the epoch in which to resume
  // The number of samples of the epoch that are done, over all ranks. With
  // LoaderOptions::order.batches, the number of batches.
  std::uint64_t position = 0;
  // The version of the transforms' random draws in reader/DRAWS.md (kDrawsVersion). A Loader
  // refuses a point of another version. A point whose text does not name a version has version 1.
  std::uint32_t draws_version = 1;

  // One line of printable ASCII without quotation marks, with a check value at its end.
  std::string Text() const;
  // Throws Error(kInvalidArgument) for anything that Text() did not write.
  static ResumePoint Parse(std::string_view text);

  friend bool operator==(const ResumePoint&, const ResumePoint&) = default;
};

}  // namespace sluice
