// A conversion in three steps, for several processes or machines that see one folder: what
// `sluice plan`, `sluice convert --part`, `sluice finish` and `sluice status` do, as functions.
//
//   sluice::PlanConversion("photos/", "data/photos");               // once
//   sluice::ConvertPlanned("data/photos", {.number = 3, .of = 10}); // each part, anywhere
//   sluice::FinishConversion("data/photos");                        // once
//
// The dataset has the bytes that Convert() gives it, whatever the number of parts. A planned shard
// that is there is not made again. So a part may be repeated, several processes may do the same
// part at the same time, and `of` may change from call to call. All must see the sources and the
// dataset's folder at the paths that PlanConversion() was given (as absolute paths), and run the
// same versions of Sluice and its libraries.
//
// The dataset may be the URL of a folder in an object store ("s3://bucket/dataset"): a worker makes
// its shards in a temporary folder of its own, at most three at a time, and uploads them.
#pragma once

#include <chrono>

#include <sluice/convert.h>

namespace sluice {

// A part of a plan: the planned shards whose number modulo `of` is `number`.
struct PlanPart {
  std::uint64_t number = 0;  // 0 to of - 1
  std::uint64_t of = 1;      // parts
};

// The options of ConvertPlanned().
struct PartOptions {
  unsigned threads = 0;  // 0: one for each CPU this process may use
  bool direct = false;   // ConvertOptions::run.direct
};

// The result of ConvertPlanned().
struct PartSummary {
  std::uint64_t shards = 0;       // planned shards of the part
  std::uint64_t found = 0;        // of these, made before this call
  std::uint64_t samples = 0;      // planned for the part, including samples that are left out
  std::uint64_t left_out = 0;     // broken or unsupported images of the part
  std::uint64_t shrunk = 0;       // images that this call stored with fewer pixels than they had
  std::uint64_t reencoded = 0;    // JPEGs that this call stored with other coefficients
  std::uint64_t bytes_out = 0;    // of the part's shards
  bool dataset_finished = false;  // the manifest is there: nothing is left to do
  bool direct_refused = false;    // the file system refused `direct`
  double seconds = 0;             // that the call took
};

// Finds the sources, and writes the plan and the list of sources: plan.json, and plan-sources.bin
// (about as large as the keys, compressed), which FinishConversion() removes. Converts the first
// samples to learn their sizes, as Convert() does, but stores none. The summary is that of a dry
// run. If the folder has the same plan already, only the list of sources is written again, or
// nothing if the dataset is finished. Errors: as of Convert(), and kUnsupported for a source whose
// URL has a password or a query.
ConvertSummary PlanConversion(const ConvertSource& source, const std::filesystem::path& dataset,
                              const ConvertOptions& options = {}, const ConvertHooks& hooks = {});

// Makes the part's missing shards. Waits for no other process, and removes only what it has begun
// itself. Any number of processes may be at work in the folder. Errors: kInvalidArgument (the
// part), kNotFound (no plan), kExists (a dataset of another plan, or another version of Sluice or
// of a library), kState (stopped, or another command has locked the folder for itself), kCorrupt
// (the plan is damaged, or with OnError::kFail a source), kIo, kLimit.
PartSummary ConvertPlanned(const std::filesystem::path& dataset, const PlanPart& part,
                           const PartOptions& options = {}, const ConvertHooks& hooks = {});

// The result of FinishConversion().
struct FinishedConversion {
  ConvertSummary summary;     // of the whole conversion
  ConvertOptions options;     // those that the dataset's bytes depend on, as planned
  bool was_finished = false;  // an earlier call had finished it
};

// Writes skipped.tsv, duplicates.tsv if that was planned, and the manifest, once all shards are
// there. Reads the shards' tables, but not their samples (VerifyDataset() reads those). Throws
// Error(kUnfinished), which names the shards, if planned shards are missing, damaged or of another
// plan. Several processes may call it at the same time. A finished dataset is left as it is: its
// summary has only counts. `threads`: how many search for duplicates. Errors: as of
// ConvertPlanned().
FinishedConversion FinishConversion(const std::filesystem::path& dataset, unsigned threads = 0,
                                    const ConvertHooks& hooks = {});

// How far a conversion has come, by the names of the files in its folder: no file but the plan is
// opened.
struct ConversionStatus {
  bool finished = false;           // the manifest is there
  std::uint64_t samples = 0;       // planned
  std::uint64_t shards = 0;        // planned
  std::uint64_t done = 0;          // planned shards that are there
  std::uint64_t done_samples = 0;  // samples planned for these shards
  std::uint64_t bytes = 0;         // of the shards' files
  std::uint64_t writing = 0;       // files that grew in the last minute
  std::uint64_t abandoned = 0;     // unfinished files that did not: their process is gone, or stuck
  std::vector<std::uint64_t> missing;  // planned shards that are not there
  // The samples of the shards that are there, without the oldest one's, divided by the time between
  // the oldest and the newest shard; nullopt before there are two.
  std::optional<double> samples_per_second;
};

// Errors: kNotFound (no plan), kCorrupt, kIo, kState (stopped).
ConversionStatus StatusOfConversion(const std::filesystem::path& dataset,
                                    const std::stop_token& stop = {});

// "0-4, 7, 9-12": sorted numbers as runs. After `most` runs, " and N more" stands for the rest.
std::string NumberRuns(const std::vector<std::uint64_t>& numbers, std::size_t most = 16);

}  // namespace sluice
