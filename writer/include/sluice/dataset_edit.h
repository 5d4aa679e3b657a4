// Datasets made from datasets: merging, taking a part, changing the form of the images, repairing,
// appending, and repacking. Stored payloads are copied as they are; only TranscodeDataset() decodes
// images. Each payload is compared with its checksum on the way, and so is every other byte of a
// shard that is linked. The new dataset has the metadata of its inputs, and the members of their
// manifests that this version does not know; where inputs differ, the first input that has a value
// counts.
//
// An input may be a folder, a URL, or an older manifest (manifest-ID.json) in either.
//
// Every function writes a new folder, which may exist if it is empty, and leaves its inputs as they
// are. The exceptions are AppendToDataset(), RepackDataset(), and RepairDataset() without `out`. A
// call that fails (a full disk, say) or is stopped removes what it has written, and can be
// repeated. A call that is killed leaves a folder without a manifest, which readers refuse; the
// next call of any of these functions with that folder empties it and starts from the beginning.
// MergeDatasets(), SubsetDataset(), TranscodeDataset() and RepackDataset() check the size and
// header of each input shard before they begin. Errors: kExists (the folder holds something else),
// kNotFound, kIo, kCorrupt (an input that is damaged, with the place), kInvalidArgument, kState
// (stopped).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>

namespace sluice {

// How a caller follows an edit, and stops it; and options that every edit has.
struct EditHooks {
  // Gets the numbers of samples done and in all; called on the thread that called the edit.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
  std::stop_token stop;  // ends the work with Error(kState)
  bool direct = false;   // as ConvertOptions::run.direct, of shards that are not linked
  // Changes to the metadata that the new dataset gets from its inputs (Dataset::meta()): names with
  // their new values. An empty value removes the name.
  std::map<std::string, std::string> meta = {};
};

// The dataset that an edit made.
struct EditSummary {
  std::uint64_t samples = 0;          // of the new dataset
  std::uint64_t shards = 0;           // of the new dataset
  std::uint64_t bytes = 0;            // of its shards
  std::uint64_t shards_linked = 0;    // taken over unchanged, by a link (or by a copy, on another
                                      // file system)
  std::vector<std::string> classes;   // by label number; empty without labels
  std::vector<std::string> warnings;  // sentences for people
};

// How to treat samples that an input shares with an earlier one: the same key and the same content
// (stored bytes; labels by the names of their classes).
enum class Duplicates {
  kRefuse,  // Error(kInvalidArgument) that says how many there are, before anything is written
  kKeep,    // keep them
  kDrop,    // leave them out
};

// The options of MergeDatasets().
struct MergeOptions {
  Duplicates duplicates = Duplicates::kRefuse;  // samples that an input shares with an earlier one
};

// The result of MergeDatasets().
struct MergeSummary {
  EditSummary made;              // the new dataset
  std::uint64_t duplicates = 0;  // samples that an earlier input also has
  std::uint64_t same_keys = 0;  // samples with an earlier sample's key but other content; all taken
};

// Makes a dataset of all samples of `inputs` (at least one), in that order. Fields must agree in
// everything but the classes of labels. Classes are matched by name: the first dataset's keep their
// numbers, and new ones follow. A shard is hard-linked if possible, unless its dataset lacks merged
// classes or numbers them otherwise, or some of its samples are left out.
MergeSummary MergeDatasets(const std::vector<std::filesystem::path>& inputs,
                           const std::filesystem::path& out, const MergeOptions& options = {},
                           const EditHooks& hooks = {});

// Which samples to take: those that meet all conditions that are set.
struct Selection {
  std::vector<std::string> classes = {};        // names of classes; empty: any
  std::vector<std::uint64_t> samples = {};      // numbers; empty: any
  std::optional<std::uint64_t> count = {};      // this many of them, at random
  std::optional<std::uint64_t> per_class = {};  // this many of each class, at random
  std::uint64_t seed = 0;                       // of `count` and `per_class`
};

// Copies the selected samples in their order. All classes keep their numbers, even those without
// samples.
EditSummary SubsetDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                          const Selection& selection, const EditHooks& hooks = {});

// The options of TranscodeDataset().
struct TranscodeOptions {
  ImageCodec image = ImageCodec::kPacked;  // the form that images are brought into
  // Of JPEGs that are made from pixels.
  int quality = 90;                             // 1..100
  bool restart_markers = true;                  // as FormOptions::restart_markers
  Subsampling subsampling = Subsampling::k420;  // how they store colours
  // If an image that must be decoded has more pixels: Error(kLimit), before memory is taken.
  std::uint64_t max_pixels = 178'000'000;
  unsigned threads = 0;  // 0: one for each CPU this process may use
};

// The result of TranscodeDataset().
struct TranscodeSummary {
  EditSummary made;                     // the new dataset
  std::uint64_t images = 0;             // masks do not count
  std::uint64_t left_as_they_were = 0;  // of these, because the form cannot store them
};

// Makes a dataset of the same samples in the same order, with their images in another form, and
// with blocks of the size that suits the form. Between JPEG and packed, nothing is lost. If JPEG or
// packed images become pixels, the pixels that a reader decodes from the whole image are stored. If
// pixels become JPEGs, they are encoded with the given quality. Images that the form cannot store
// (JPEGs with unusual sampling have no packed form, 16-bit pixels no JPEG) stay as they are, and so
// do masks and all other fields. Error(kCorrupt), with the place, for an image that cannot be
// decoded.
TranscodeSummary TranscodeDataset(const std::filesystem::path& dataset,
                                  const std::filesystem::path& out,
                                  const TranscodeOptions& options = {},
                                  const EditHooks& hooks = {});

// A lost sample, or a run of lost samples. Samples are listed one by one, with their keys, until
// the list takes as much memory as the shard; further samples, and samples without a readable key,
// are listed as runs.
struct LostSample {
  std::string shard;          // file name
  std::int64_t sample = -1;   // number of the first within the shard; -1: the whole shard
  std::uint64_t samples = 1;  // how many; 0: unknown, or none
  std::string key;            // of a single one; empty if it cannot be read
  std::string reason;         // a sentence for people
};

// The result of RepairDataset().
struct RepairReport {
  EditSummary made;                 // the new dataset
  bool manifest_rebuilt = false;    // the manifest was lost, and is made from the shards
  std::uint64_t shards_mended = 0;  // shards with faults, whose whole samples were written again
  std::vector<LostSample> lost;     // what could not be saved
};

// Makes a whole dataset from a damaged one: shards without faults are linked; from the others,
// every sample whose values are all whole is written again. A lost manifest is rebuilt from the
// shards. With an empty `out` only a lost manifest is rebuilt, in `dataset` itself; damaged shards
// are then an error.
RepairReport RepairDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                           const EditHooks& hooks = {});

// The result of AppendToDataset().
struct AppendSummary {
  ConvertSummary converted;  // of what was added
  EditSummary made;          // of the dataset as it is now
  // The dataset held all of these samples, because an earlier call with this source was finished:
  // nothing was added. False if that call was killed after it had added them; this one completes
  // it.
  bool already_there = false;
};

// Converts `source` with the options that the dataset was converted with (or the datasets it was
// made from), and adds the new shards to the dataset: the manifest is replaced by one that names
// all of them, the old one stays as manifest-ID.json, and programs that have the dataset open are
// not disturbed. Classes must be among the dataset's, and fields the same: Error(kInvalidArgument)
// before anything is converted. The conversion is made in `dataset` + ".append", which is removed
// at the end; Error(kExists) if that name belongs to something that Sluice did not make. Call it
// again to resume after an interruption; a finished call, repeated, adds nothing. `threads`,
// `on_error`, `direct`, `check` and `meta` (as EditHooks::meta) are taken from `options`; if the
// dataset does not say how it was converted, all are taken from `options`, with a warning.
AppendSummary AppendToDataset(const std::filesystem::path& dataset, const ConvertSource& source,
                              const ConvertOptions& options = {}, const ConvertHooks& hooks = {});

// Puts all samples of a dataset, those that were added included, in a new random order (which
// depends on the dataset and the seed alone): into new shards, which a new manifest names. The old
// manifest stays as manifest-ID.json and so do its shards; programs that have the dataset open are
// not disturbed. Nothing is decoded. The shards are made in `dataset` + ".repack", which is treated
// like ".append" above; an interrupted call leaves the dataset as it was.
EditSummary RepackDataset(const std::filesystem::path& dataset, std::uint64_t seed = 0,
                          const EditHooks& hooks = {});

}  // namespace sluice
