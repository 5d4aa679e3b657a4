// A conversion in three steps, for several processes or machines that share a folder. The functions
// do what `sluice plan`, `sluice convert --part`, `sluice finish` and `sluice status` do.
//
//   sluice::PlanConversion(sluice::ConvertSource("photos/"), "data/photos");  // once
//   sluice::ConvertPlanned("data/photos", {.number = 3, .of = 10});  // each part, anywhere
//   sluice::FinishConversion("data/photos");                         // once
//
// The dataset has the same bytes as from Convert(), whatever the number of parts. A planned shard
// that exists is not made again. A part may therefore be repeated, several processes may make the
// same part at the same time, and `of` may change from call to call.
//
// All processes must see the sources and the dataset's folder at the paths that PlanConversion()
// got (made absolute), and run the same versions of Sluice and its libraries.
//
// The dataset may be the URL of a folder in an object store ("s3://bucket/dataset"). A process then
// makes its shards in a temporary folder of its own, at most three at a time, and uploads them.
#pragma once

#include <chrono>

#include <sluice/convert.h>

namespace sluice {

// A part of a plan: every planned shard whose number modulo `of` is `number`.
struct PlanPart {
  std::uint64_t number = 0;  // 0 to of - 1
  std::uint64_t of = 1;      // number of parts
};

// The options of ConvertPlanned().
struct PartOptions {
  unsigned threads = 0;  // 0: one for each CPU this process may use
  bool direct = false;   // as ConvertOptions::run.direct
};

// The result of ConvertPlanned().
struct PartSummary {
  std::uint64_t shards = 0;       // planned shards in the part
  std::uint64_t found = 0;        // of these, shards that existed before this call
  std::uint64_t samples = 0;      // planned for the part, including samples that are left out
  std::uint64_t left_out = 0;     // broken or unsupported images in the part
  std::uint64_t shrunk = 0;       // images that this call stored with fewer pixels than they had
  std::uint64_t reencoded = 0;    // JPEGs that this call stored with other coefficients
  std::uint64_t rounded = 0;      // images of more than 8 bits that this call stored with 8
  std::uint64_t bytes_out = 0;    // of the part's shards
  bool dataset_finished = false;  // the manifest exists, so nothing is left to do
  bool direct_refused = false;    // the file system refused `direct`
  double seconds = 0;             // duration of the call
};

// Finds the sources, and writes the plan (plan.json) and the list of sources (plan-sources.bin,
// about as large as the compressed keys). FinishConversion() removes the list. Converts the first
// samples to learn their sizes, as Convert() does, but stores none of them. Returns the summary of
// a dry run.
//
// If the folder already has the same plan, only the list of sources is written again; if the
// dataset is finished, nothing is written. Errors: as of Convert(), and kUnsupported for a source
// whose URL has a password or a query.
ConvertSummary PlanConversion(const ConvertSource& source, const std::filesystem::path& dataset,
                              const ConvertOptions& options = {}, const ConvertHooks& hooks = {});

// Makes the missing shards of a part. Waits for no other process, and removes only files that it
// has begun itself. Any number of processes may be at work in the folder. Errors:
//
//   kInvalidArgument   the part
//   kNotFound          the folder has no plan
//   kExists            the folder holds a dataset of another plan; or the plan is of another
//                      version of Sluice or of a library
//   kState             stopped, or another command has locked the folder for itself
//   kCorrupt           the plan is damaged; with OnError::kFail, a source is damaged
//   kIo, kLimit
PartSummary ConvertPlanned(const std::filesystem::path& dataset, const PlanPart& part,
                           const PartOptions& options = {}, const ConvertHooks& hooks = {});

// The result of FinishConversion().
struct FinishedConversion {
  ConvertSummary summary;     // of the whole conversion
  ConvertOptions options;     // the planned options that decide the dataset's bytes
  bool was_finished = false;  // true: an earlier call had finished the conversion
};

// Finishes the dataset once all planned shards exist: writes skipped.tsv, the manifest, and, if
// planned, duplicates.tsv. Reads the shards' tables, but not their samples. (VerifyDataset() reads
// the samples.) If planned shards are missing, damaged or of another plan, throws
// Error(kUnfinished), which gives their numbers.
//
// Several processes may call it at the same time. A finished dataset is left as it is; the summary
// then has only counts. `threads`: threads that search for duplicates. Other errors: as of
// ConvertPlanned().
FinishedConversion FinishConversion(const std::filesystem::path& dataset, unsigned threads = 0,
                                    const ConvertHooks& hooks = {});

// How far a conversion has come, according to the names of the files in its folder. Only the plan
// is opened. An object store shows neither unfinished files nor useful times. For a conversion
// there, `writing` and `abandoned` are 0, and `samples_per_second` is nullopt.
struct ConversionStatus {
  bool finished = false;           // the manifest exists
  std::uint64_t samples = 0;       // planned samples
  std::uint64_t shards = 0;        // planned shards
  std::uint64_t done = 0;          // planned shards that exist
  std::uint64_t done_samples = 0;  // samples planned for the shards that exist
  std::uint64_t bytes = 0;         // of the shards' files
  std::uint64_t writing = 0;       // unfinished files that grew in the last minute
  std::uint64_t abandoned = 0;     // other unfinished files: their process has died, or is stuck
  std::vector<std::uint64_t> missing;  // numbers of the planned shards that do not exist
  // The speed so far: the samples of all shards that exist except the oldest, divided by the time
  // between the oldest and the newest shard. nullopt if no two shards have different times.
  std::optional<double> samples_per_second;
};

// Finds out how far the conversion in this folder has come. Errors: kNotFound (no plan), kCorrupt,
// kIo, kState (stopped).
ConversionStatus StatusOfConversion(const std::filesystem::path& dataset,
                                    const std::stop_token& stop = {});

// Writes sorted numbers as runs: "0-4, 7, 9-12". After `most` runs, " and N more" stands for the N
// numbers that are left.
std::string NumberRuns(const std::vector<std::uint64_t>& numbers, std::size_t most = 16);

}  // namespace sluice
