// Datasets made from datasets: merging, selecting samples, changing the form of the images,
// repairing, appending, and repacking.
//
// Stored payloads are copied as they are; only TranscodeDataset() decodes images. Each copied
// payload, and each byte of a linked shard, is compared with its checksum. The new dataset has the
// metadata of its inputs, and the members of their manifests that this version does not know. Where
// inputs differ, the first input that has a value counts.
//
// MergeDatasets(), SubsetDataset(), TranscodeDataset() and RepairDataset() write a new folder and
// leave their inputs as they are. The folder may exist if it is empty. AppendToDataset(),
// RepackDataset(), and RepairDataset() without `out` change the dataset in its own folder.
//
// An input may be a folder, a URL, or the path of an older manifest (manifest-ID.json) in one of
// these, with two exceptions. RepairDataset(), AppendToDataset() and RepackDataset() throw
// Error(kInvalidArgument) for a URL. AppendToDataset() and RepackDataset() also throw it for an
// older manifest.
//
// A call that writes a new folder, and fails (a full disk, say) or is stopped, removes what it has
// written, and can be repeated. A call that is killed leaves a folder without a manifest, which
// readers refuse. The next call of any of these functions with that folder empties the folder and
// starts from the beginning. (AppendToDataset() resumes instead.)
//
// MergeDatasets(), SubsetDataset(), TranscodeDataset() and RepackDataset() check the size and
// header of each input shard before they begin.
//
// Errors:
//
//   kExists    the folder holds something else
//   kCorrupt   an input is damaged; the Error says where
//   kState     stopped
//   kNotFound, kIo, kInvalidArgument
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>

namespace sluice {

// The hooks and options of all edits: how to follow an edit, how to stop it, and how it writes.
struct EditHooks {
  // Gets the number of samples done and the number in all. Called on the thread that called the
  // edit.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
  std::stop_token stop;  // a stop request ends the work with Error(kState)
  bool direct = false;   // as ConvertOptions::run.direct, for shards that are written, not linked
  // Changes to the metadata (Dataset::meta()) that the new dataset gets from its inputs: names with
  // their new values. An empty value removes the name.
  std::map<std::string, std::string> meta = {};
};

// The dataset that an edit made.
struct EditSummary {
  std::uint64_t samples = 0;          // in the new dataset
  std::uint64_t shards = 0;           // in the new dataset
  std::uint64_t bytes = 0;            // of its shards
  std::uint64_t shards_linked = 0;    // shards taken over unchanged: by a hard link, or by a copy
                                      // if the new folder is on another file system
  std::vector<std::string> classes;   // by label number; empty without labels
  std::vector<std::string> warnings;  // sentences for people
};

// How to treat duplicates: samples that an earlier input also has, with the same key and the same
// content. The content is the stored bytes, and for labels the names of their classes.
enum class Duplicates {
  kRefuse,  // throw Error(kInvalidArgument), which gives their number, before anything is written
  kKeep,    // keep them
  kDrop,    // leave them out
};

// The options of MergeDatasets().
struct MergeOptions {
  Duplicates duplicates = Duplicates::kRefuse;  // how to treat duplicates
};

// The result of MergeDatasets().
struct MergeSummary {
  EditSummary made;              // the new dataset
  std::uint64_t duplicates = 0;  // samples that an earlier input also has
  std::uint64_t same_keys = 0;   // samples that have the key of an earlier input's sample, but
                                 // other content; all are taken
};

// Makes a dataset of all samples of `inputs` (at least one), in that order. The inputs' fields must
// agree in everything except the classes of labels. Classes are matched by name: the first input's
// classes keep their numbers, and new classes follow. The ids of COCO's categories (category_ids)
// stay if all inputs give the same class the same id; otherwise a warning says that they are lost.
// Shards are hard-linked if possible. A shard is written again if
//
//   its dataset lacks some of the merged classes, or numbers them differently;
//   some of its samples are left out;
//   an earlier input has the same shard.
MergeSummary MergeDatasets(const std::vector<std::filesystem::path>& inputs,
                           const std::filesystem::path& out, const MergeOptions& options = {},
                           const EditHooks& hooks = {});

// Columns: fields that lie in shards of their own, with a row for each sample of the dataset. No
// image shard is read or written. These functions make a new version of the dataset in its folder,
// by one new manifest. The manifest of the version before it stays, as manifest-ID.json.

// The options of AddColumns() and ReplaceColumns().
struct ColumnOptions {
  std::vector<std::string> fields = {};  // their names in the source; at least one
  // If set, a row belongs to the sample that has its key. For a table, this is the name of the
  // column of keys; for a dataset, the text does not matter. If not set, row n belongs to sample n.
  std::optional<std::string> by_key = {};
  // The value of arrays for samples without a row, and for empty cells of a table. Fields that are
  // not arrays are absent there. Deleted samples need no row.
  std::optional<double> missing = {};
  // For a table: by field, how it is stored, such as "int64", "float16[768]", "text", "json",
  // "class". A field that is not listed is stored as the field that it replaces. If it replaces
  // none, its cells decide.
  std::map<std::string, std::string> types = {};
  std::string note = {};  // kept in the manifest, for people
};

// The version of a dataset that an edit made.
struct VersionSummary {
  std::string id;             // of the new version
  std::string before;         // of the version before it
  std::uint64_t samples = 0;  // of the dataset
  std::uint64_t missing = 0;  // samples without a row in the source, or with an array left empty
  std::uint64_t shards = 0;   // that were written
  std::uint64_t bytes = 0;    // of these
};

// Adds fields from a dataset, or from a table (.csv, .tsv, .jsonl or .parquet).
VersionSummary AddColumns(const std::filesystem::path& dataset, const std::filesystem::path& from,
                          const ColumnOptions& options, const EditHooks& hooks = {});
// Replaces fields of the dataset by fields of the same names, from the same kinds of sources.
VersionSummary ReplaceColumns(const std::filesystem::path& dataset,
                              const std::filesystem::path& from, const ColumnOptions& options,
                              const EditHooks& hooks = {});

// A column's values in memory.
struct ColumnValues {
  Field field;                             // an array field
  std::span<const std::byte> values = {};  // the elements of one row after another
  // The sample of each row. If not set, row n belongs to sample n.
  std::optional<std::span<const std::uint64_t>> samples = {};
};
// Adds one field from memory. Of `options`, only `missing` and `note` have an effect.
VersionSummary AddColumn(const std::filesystem::path& dataset, const ColumnValues& column,
                         const ColumnOptions& options = {}, const EditHooks& hooks = {});
// Replaces the field of the same name by one from memory. `options` as for AddColumn().
VersionSummary ReplaceColumn(const std::filesystem::path& dataset, const ColumnValues& column,
                             const ColumnOptions& options = {}, const EditHooks& hooks = {});

// Hides fields from readers. Their bytes stay.
VersionSummary DropFields(const std::filesystem::path& dataset,
                          const std::vector<std::string>& fields, const std::string& note = {});

// Versions of a dataset. Each change of a dataset in its own folder (appending, repacking, columns,
// deletion) writes one new manifest; the one before it stays as manifest-ID.json. A tag is a copy
// of a manifest under a name of its own, manifest-NAME.json, which can be opened like the folder.

// One version: ListVersions().
struct DatasetVersion {
  std::string id;                      // of the manifest
  std::string file;                    // the name of its manifest in the folder
  std::vector<std::string> tags = {};  // names that it has
  bool current = false;                // whether opening the folder opens this version
  std::string parent;                  // the id of the version before it; empty: not known
  bool parent_is_kept = false;         // whether the manifest of that version is in the folder
  std::string by;                      // the command that made it
  std::string note;                    // the user's, for people
  std::uint64_t samples = 0;           // deleted ones included
  std::uint64_t deleted = 0;           // of the samples
  // The differences from the parent, such as "added the field caption"; empty if the parent is not
  // kept.
  std::vector<std::string> changes = {};
};
// The current version first, then those before it, then others.
std::vector<DatasetVersion> ListVersions(const std::filesystem::path& dataset);

// Gives a version a name: letters, digits, '.', '_' and '-'. `version`: an id or another name;
// empty: the current version. Throws Error(kExists) if another version has the name.
void TagVersion(const std::filesystem::path& dataset, const std::string& name,
                const std::string& version = {});

// Makes a new version that equals an older one, unless the current version does. The shards of the
// older one must be there.
VersionSummary RestoreVersion(const std::filesystem::path& dataset, const std::string& version,
                              const std::string& note = {});

// The versions and shards that RemoveOldVersions() removes, or would remove.
struct OldVersions {
  std::vector<std::string> versions = {};  // ids
  std::vector<std::string> files = {};     // shards that none of the remaining versions uses
  std::uint64_t bytes = 0;                 // of these shards
};
// Removes versions without a tag that were replaced more than `keep_days` days ago, and the shards
// that only they name. `remove` = false: only says what it would remove.
OldVersions RemoveOldVersions(const std::filesystem::path& dataset, double keep_days, bool remove,
                              const std::stop_token& stop = {});

// The samples to delete, by number or by key.
struct Deletion {
  std::vector<std::uint64_t> samples = {};  // their numbers
  std::vector<std::string> keys = {};       // their keys
  std::string note = {};                    // kept in the manifest, for people
};
// The result of DeleteSamples().
struct DeletionSummary {
  VersionSummary made;        // the new version
  std::uint64_t deleted = 0;  // samples that this call has deleted; 0: no new version was made
  // The places that may still hold bytes of these samples: sentences for people.
  std::vector<std::string> remains = {};
};
// Makes a version in which no reader yields these samples. All other samples keep their numbers and
// their places in each epoch. The bytes stay in the shards; SubsetDataset() makes a dataset without
// them.
DeletionSummary DeleteSamples(const std::filesystem::path& dataset, const Deletion& deletion);

// Selects samples: those that meet all conditions that are set. A sample's class is that of its
// label. In a dataset without a label, a sample has all classes of its boxes (or of another field
// with any number of classes).
struct Selection {
  std::vector<std::string> classes = {};    // names of classes; empty: any class
  std::vector<std::uint64_t> samples = {};  // numbers of samples; empty: any sample
  std::optional<std::uint64_t> count = {};  // take this many of them, at random
  // Take this many of each class, at random. A sample of several classes is drawn for each of them,
  // and taken once.
  std::optional<std::uint64_t> per_class = {};
  std::uint64_t seed = 0;  // of the random choices
};

// Copies the selected samples in their order. All classes keep their numbers, even those without
// samples.
EditSummary SubsetDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                          const Selection& selection, const EditHooks& hooks = {});

// The options of TranscodeDataset().
struct TranscodeOptions {
  ImageCodec image = ImageCodec::kPacked;  // the new form of the images
  // These three are for JPEGs that are made from pixels.
  int quality = 90;                             // 1..100
  bool restart_markers = true;                  // as FormOptions::restart_markers
  Subsampling subsampling = Subsampling::k420;  // how they store colours
  // The limit for images that must be decoded. A larger one throws Error(kLimit) before memory is
  // allocated for it.
  std::uint64_t max_pixels = 178'000'000;
  unsigned threads = 0;  // 0: one for each CPU this process may use
};

// The result of TranscodeDataset().
struct TranscodeSummary {
  EditSummary made;                     // the new dataset
  std::uint64_t images = 0;             // images of the dataset, without masks
  std::uint64_t left_as_they_were = 0;  // of these, images that the form cannot store
};

// Makes a dataset of the same samples in the same order, with their images in another form, and
// with blocks of the size that suits the form:
//
//   JPEG to packed, or back      nothing is lost
//   JPEG or packed to pixels     stores the pixels that a reader decodes from the whole image
//   pixels to JPEG or packed     encodes them with the given quality
//
// Images that the form cannot store stay as they are: JPEGs with unusual sampling have no packed
// form. Images that are not 8-bit pictures of up to four channels have no JPEG; they become tiled
// (FORMAT.md, "Tiled"), which loses nothing, or raw. Masks and all other fields also stay as they
// are. Throws Error(kCorrupt), which says where, if an image cannot be decoded.
TranscodeSummary TranscodeDataset(const std::filesystem::path& dataset,
                                  const std::filesystem::path& out,
                                  const TranscodeOptions& options = {},
                                  const EditHooks& hooks = {});

// A lost sample, or a run of lost samples. Samples are listed one by one, with their keys, until
// the list takes as much memory as the shard. After that, runs are listed. Samples whose keys
// cannot be read are always listed as runs.
struct LostSample {
  std::string shard;          // file name
  std::int64_t sample = -1;   // number of the first sample within the shard; -1: the whole shard
  std::uint64_t samples = 1;  // how many are lost; 0: unknown, or only keys are damaged
  std::string key;            // of a sample listed alone; empty if the key cannot be read
  std::string reason;         // a sentence for people
};

// The result of RepairDataset().
struct RepairReport {
  EditSummary made;                 // the new dataset
  bool manifest_rebuilt = false;    // the manifest was lost, and was made again from the shards
  std::uint64_t shards_mended = 0;  // damaged shards, whose sound samples were written again
  std::vector<LostSample> lost;     // what could not be saved
};

// Makes a sound dataset from a damaged one. Shards without damage are linked. From a damaged shard,
// each sample whose values are all sound is written again. If the manifest is lost, it is rebuilt
// from the shards.
//
// With an empty `out`, this only rebuilds a lost manifest, in `dataset` itself. Then a manifest
// that can be read is Error(kInvalidArgument), and a damaged shard is Error(kCorrupt). With or
// without `out`, an unfinished conversion is Error(kUnfinished).
RepairReport RepairDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                           const EditHooks& hooks = {});

// The result of AppendToDataset().
struct AppendSummary {
  ConvertSummary converted;  // of what was added
  EditSummary made;          // of the whole dataset, with what was added
  // Whether an earlier call had added all of these samples, so that this call added nothing. False
  // if the earlier call was killed before its end, and this call completed it.
  bool already_there = false;
};

// Converts `source` and adds the new shards to the dataset. The conversion has the options that the
// dataset, or the datasets that it was made from, were converted with. Only `threads`, `on_error`,
// `direct`, `check` and `meta` come from `options` (`meta` acts as EditHooks::meta). If the dataset
// does not say how it was converted, all options come from `options`, with a warning.
//
// Columns get rows for the new samples. If a column replaces a field of the image shards, its rows
// come from the source. Otherwise, arrays get the value that earlier samples without a row have
// (ColumnOptions::missing); if there is no such value, they get `missing`. Fields that are not
// arrays are then absent.
//
// Throws Error(kInvalidArgument), and adds nothing, if
//
//   the source has other fields than the dataset, or a class that the dataset lacks (this is
//     found before anything is converted);
//   the dataset already has some of the samples: sources of the same names and sizes, or samples
//     of the same key and content;
//   a column has an array, and no value is known for it.
//
// A new manifest, which names the old and the new shards, replaces the manifest. The old manifest
// stays as manifest-ID.json. Programs that have the dataset open are not disturbed.
//
// The new shards are made in the folder `dataset` + ".append", which is removed at the end. Throws
// Error(kExists) if something that Sluice did not make has that name, or if the folder holds an
// unfinished append of another source. After an interruption, call it again to resume. A repeated
// call that had finished adds nothing.
AppendSummary AppendToDataset(const std::filesystem::path& dataset, const ConvertSource& source,
                              const ConvertOptions& options = {}, const ConvertHooks& hooks = {},
                              const std::optional<double>& missing = {});

// Puts all samples of a dataset, including those that were added, in a new random order, which
// depends only on the dataset and the seed. It writes them to new shards without decoding anything,
// and replaces the manifest by one that names the new shards. The old manifest stays as
// manifest-ID.json, and its shards stay, too. Programs that have the dataset open are not
// disturbed.
//
// The shards are made in the folder `dataset` + ".repack", which is removed at the end. Throws
// Error(kExists) if something that Sluice did not make has that name. An interrupted call leaves
// the dataset as it was, and the next call starts from the beginning.
EditSummary RepackDataset(const std::filesystem::path& dataset, std::uint64_t seed = 0,
                          const EditHooks& hooks = {});

}  // namespace sluice
