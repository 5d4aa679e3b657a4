// Converting images into a dataset: what `sluice convert` does, as a function.
//
// The images lie in a folder, are named by a table, a list or label files, or lie inside of
// archives (tar, Parquet and others): see convert_source.h. The result is a folder with shards,
// skipped.tsv, plan.json and, written last, manifest.json. The bytes of the shards and of the
// manifest depend on the sources and the options alone: not on threads, times, host names or where
// the folders lie.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <sluice/convert_source.h>
#include <sluice/schema.h>

namespace sluice {

// The form in which images are stored.
enum class ImageCodec {
  kJpeg,    // JPEG files
  kRaw,     // pixels
  kPacked,  // the JPEG that kJpeg would store, laid out for fast decoding; 1.4 times its bytes
};
// How an image of another aspect ratio becomes one of GeometryOptions::size.
enum class Fit {
  kCrop,     // scale until the target is covered, keep the centre
  kStretch,  // scale each axis on its own
  kPad,      // scale until it fits inside, fill the rest with black
};
// How a JPEG stores its colours.
enum class Subsampling {
  k420,  // at half the width and height: fewer bytes
  k444,  // at full size
};
// How to treat a colour profile that is embedded in an image.
enum class IccProfiles {
  kDrop,     // values are taken as they are
  kConvert,  // colours are brought to sRGB; needs a build with lcms2
};
// How to treat a source that cannot be converted.
enum class OnError {
  kSkip,  // leave the source out, list it in skipped.tsv, continue
  kFail,  // throw at the first source (in the dataset's order) that cannot be converted
};

// How to treat an image whose data end early, as after a broken download.
enum class Truncated {
  kRefuse,  // it is broken
  kWarn,    // it is taken as far as it goes, with a warning and a line in skipped.tsv
  kAccept,  // the same without warning and line
};

// How a conversion that resumes, or is repeated, finds sources that changed since an earlier run
// made samples from them. Changes of names, sizes, labels, other values and options are always
// found.
enum class SourceCheck {
  kTimes,    // sources whose times are later than the conversion's are converted again and compared
  kContent,  // all sources are converted again and compared
};

// The size of an image.
struct Size {
  std::uint32_t width = 0;   // pixels
  std::uint32_t height = 0;  // pixels
};

// ConvertOptions::geometry: the size of the stored images. At most one of max_side, short_side and
// size is set; with none, every image keeps its size. `max_side` and `short_side` only ever shrink;
// `size` may enlarge.
struct GeometryOptions {
  std::optional<std::uint32_t> max_side = 500;   // pixels of the longer side, at most
  std::optional<std::uint32_t> short_side = {};  // pixels of the shorter side, at most
  std::optional<Size> size = {};                 // of every image
  Fit fit = Fit::kCrop;                          // how `size` treats another aspect ratio
};

// ConvertOptions::form: what a stored image is.
struct FormOptions {
  ImageCodec image = ImageCodec::kJpeg;  // the form that images get
  int quality = 90;                      // JPEG quality, 1 to 100
  // JPEGs keep their coefficients and so their pixels, except these, which are encoded anew at
  // `quality`: a JPEG that is resized; whose colours change (CMYK and RGB-coded ones, grey ones
  // without channels = 1, IccProfiles::kConvert); that Exif turns so that an incomplete block would
  // come to the left or to the top; of unusual sampling; whose quantisation steps or coefficients
  // baseline JPEG cannot code. ConvertSummary::kept and reencoded count both. Other kinds of images
  // are always encoded.
  bool keep = false;
  // A restart marker ends each line of MCUs. A line of 512 pixels and more also has markers in it,
  // at equal parts of 256 pixels or more, if its number of MCUs can be divided so. False: no
  // markers.
  bool restart_markers = true;
  Subsampling subsampling = Subsampling::k420;               // of JPEGs that are encoded
  unsigned channels = 3;                                     // 3: RGB, 1: grey
  std::array<std::uint8_t, 3> background = {255, 255, 255};  // RGB, under what is transparent
  IccProfiles icc = IccProfiles::kDrop;                      // how to treat colour profiles
  Truncated truncated = Truncated::kRefuse;                  // how to treat images that end early
};

// ConvertOptions::shards: how samples lie in the dataset, and what it says about itself.
struct ShardOptions {
  // The planned size of a shard, kMinShardBytes to kMaxShardBytes.
  std::uint64_t shard_bytes = kDefaultShardBytes;
  std::uint32_t block_samples = 0;  // samples in a block; 0 chooses for about 512 KiB
  std::uint64_t seed = 0;           // of the permutation of the sources
  bool keep_order = false;  // true: sources in the order of their paths, false: permuted by `seed`
  // Metadata of the dataset by name, such as its license: Dataset::meta(). Edits
  // keep it.
  std::map<std::string, std::string> meta = {};
};

// ConvertOptions::run: how the conversion runs. Of these, only max_pixels changes the dataset.
struct RunOptions {
  unsigned threads = 0;                    // 0: one for each CPU this process may use
  OnError on_error = OnError::kSkip;       // what happens to a source that cannot be converted
  std::uint64_t max_pixels = 178'000'000;  // a larger source is refused before memory is taken
  bool dry_run = false;                    // look, plan and count; write nothing
  bool find_duplicates = false;  // list sources with the same bytes; all are still converted
  // Writes shards past the page cache (O_DIRECT), so that other programs' data stay in the cache.
  // The shards' bytes are the same. If the file system refuses, shards go through the cache, with a
  // warning.
  bool direct = false;
  SourceCheck check = SourceCheck::kTimes;  // how a repeated run finds sources that changed
};

// The options of Convert(), in groups by concern.
//
//   sluice::ConvertOptions options;
//   options.geometry.max_side = 256;
//   options.form.image = sluice::ImageCodec::kPacked;
struct ConvertOptions {
  GeometryOptions geometry = {};  // the size of the stored images
  FormOptions form = {};          // what a stored image is
  ShardOptions shards = {};       // how samples lie in the dataset, its metadata
  RunOptions run = {};            // how the conversion runs
};

// Throws the Error with which Convert() refuses a dataset's URL that it cannot open
// (kInvalidArgument; in a build without object stores, kUnsupported). Sends nothing; no-op for a
// path. Call it, for example, before you read a pipe to its end.
void RequirePlace(const std::filesystem::path& dataset);
// Throws the Error(kInvalidArgument) with which edits such as AppendToDataset() refuse any URL.
void RequireFolder(const std::filesystem::path& dataset);

// How far a conversion has come.
struct ConvertProgress {
  std::uint64_t samples_done = 0;   // converted or left out
  std::uint64_t samples_total = 0;  // to convert in all
  std::uint64_t bytes_in = 0;       // of the sources read so far
  std::uint64_t bytes_out = 0;      // written so far
};

// A source that did not become a sample.
struct LeftOut {
  std::string path;    // relative to the source's root
  std::string reason;  // a sentence for people
};

// A source that holds the same bytes as another one.
struct Duplicate {
  std::string path;        // as LeftOut::path
  std::string class_name;  // empty without classes
};

// Images that have some property: how many there are, and the first three as examples.
struct SomeImages {
  static constexpr std::size_t kExamples = 3;  // at most this many
  std::uint64_t count = 0;                     // of all of them
  std::vector<std::string> examples;           // as LeftOut::path
};

// The result of Convert().
struct ConvertSummary {
  std::uint64_t samples = 0;                // in the dataset
  std::vector<std::string> fields;          // their names, in the schema's order
  std::vector<std::string> classes;         // by label number; empty for a flat folder
  std::vector<std::uint64_t> class_counts;  // samples of each class
  std::uint64_t shards = 0;                 // in the dataset
  std::uint64_t bytes_in = 0;               // of the sources that became samples
  std::uint64_t bytes_out = 0;       // of everything in the dataset's folder that belongs to it
  double seconds = 0;                // that the call took
  std::vector<LeftOut> skipped;      // broken or unsupported images
  std::vector<LeftOut> passed_over;  // files that are not images, hidden files
  std::vector<LeftOut> truncated;    // images that were taken though they end early, and how
  std::uint64_t kept = 0;            // `keep`: images whose coefficients were kept
  std::uint64_t shrunk = 0;          // images that this call stored with fewer pixels than they had
  std::uint64_t reencoded = 0;       // JPEGs that this call stored with other coefficients
  std::uint64_t boxes_dropped = 0;   // boxes of which nothing is left in the stored image
  // Images with an embedded colour profile that had no effect: because of the options, or because
  // the profile is broken or made for another kind of colours.
  std::uint64_t profiles_dropped = 0;
  std::uint64_t profiles_converted = 0;  // images whose colours were brought to sRGB
  // JPEG 2000 images with channels that the file declares neither as colours nor as opacity.
  std::uint64_t channels_dropped = 0;
  // Images that are smaller than ConvertOptions::geometry.short_side and stay so, and images that
  // were smaller than `size` and were enlarged.
  std::uint64_t smaller = 0;
  // Images that are turned or mirrored by their orientation and have boxes, masks or key points.
  // If ConvertSource::upright is not set, a warning names some of them.
  SomeImages turned;
  // Images of more than 8 bits a value whose greatest value is below a quarter of the range, as in
  // 16-bit files that hold 12 bits: 8 bits keep hardly any of it. Also a warning.
  SomeImages dim;
  // `find_duplicates`: groups of sources that hold the same bytes, also listed in duplicates.tsv.
  std::vector<std::vector<Duplicate>> duplicates;
  bool direct_refused = false;        // the file system refused `direct`; also a warning
  std::vector<std::string> warnings;  // sentences for people
  std::uint32_t block_samples = 0;    // samples in a block
  std::uint64_t shard_samples = 0;    // planned samples in a shard
};

// How a caller follows a conversion, and stops it.
struct ConvertHooks {
  // Called on the thread that called Convert(), several times a second and whenever a shard is
  // done.
  std::function<void(const ConvertProgress&)> on_progress;
  // Called several times a second while sources are looked into, before anything is converted, on
  // one thread at a time.
  std::function<void(std::uint64_t looked_into, std::uint64_t found)> on_look = {};
  // A stop request ends the conversion after the images that are being converted, with
  // Error(kState). What was finished stays; call again to resume.
  std::stop_token stop;
};

// Converts `source` into `dataset`, a folder that is created; its parent must exist. (It may also
// be the URL of a folder in an object store, as for convert_steps.h.) An unfinished conversion with
// the same plan in that folder is resumed, and a finished one with the same plan is left as it is.
// If the folder holds anything else, such as a dataset with another plan, it is refused with
// Error(kExists), which says what differs.
//
// Sources may have changed since an earlier run made samples from them (ConvertOptions::run.check):
// shards of an unfinished conversion that hold such samples are made again, with a warning; a
// finished dataset that holds any is refused with Error(kExists), which names some. By default, a
// source is compared if its file was written, copied or moved after the conversion began; a source
// that still gives the same sample counts as unchanged. A dataset at a URL is not compared with its
// sources.
//
// The classes of a folder are its sub-folders, numbered in the order of their names' bytes; files
// deeper in a sub-folder belong to the same class. If a single sub-folder holds all others, the
// folders in it are the classes. If all images lie directly in the folder, the dataset has no
// labels. It is an error if images lie directly in the folder and in sub-folders, or if sub-folders
// look like the parts of a split (FindSplitFolders()). ConvertSource::label.folders changes these
// rules. A sample's key is its path relative to the source's root, as bytes. Bytes of a class name
// that are not UTF-8 are written as "\xNN". The dataset's name says what it holds ("images of cat,
// dog and 8 more classes"), because unlike a path it stays the same when folders move.
//
// Boxes, masks and key points are taken as drawn on the upright image (ConvertSource::upright), and
// are moved and scaled with it. Boxes are cut off at the image's edges; a box that lies outside is
// dropped, with its class. Rows and members that lack a value that their field needs are left out
// like broken images; the reason names the line or the member.
//
// JPEG, PNG, BMP, PPM and TGA files are converted, and WebP, GIF, TIFF, AVIF, HEIF, JPEG XL and
// JPEG 2000 if the build has their libraries. They are recognised by their content. Of several
// frames or pages, the first is taken. Orientation is applied, and deeper values are rounded to 8
// bits by their whole range (see ConvertSummary::dim). A frame smaller than its canvas is placed on
// it as browsers do; the rest is transparent. A file with damaged pixels is left out, and so is one
// that disappears during the conversion. If its whole folder or archive disappears, the conversion
// ends with Error(kIo); call again once it is back.
//
// A file ends early if its decoder lacks data for a pixel. Such a file is left out, or taken as
// ConvertOptions::form.truncated says; missing pixels are then grey in a JPEG, and otherwise black,
// or the background if the image has transparency. Zeros at the end of a file do not count as data
// in a JPEG, PNG or GIF without its end marker, nor in a WebP, AVIF, HEIF, JPEG XL or JPEG 2000 if
// there are at least 512. Zeros at the end of a BMP, PPM or TGA, or within a file, are not noticed.
// An AVIF or HEIF that ends early is never taken in part, and a mask that ends early is always
// refused.
//
// Memory, at most the sum of: four times the largest decoded source for each thread; 128 MiB of
// finished samples; two copies of one block; about 100 bytes for each source; the values of a
// table; with `direct`, 1 MiB.
//
// Errors: kInvalidArgument (an option, the folder's layout, a column that is not there, `dataset`
// inside `source`), kNotFound (no such source, no image in it), kExists, kState (stopped, or
// another conversion is at work in `dataset`), kLimit, kIo, kCorrupt (no image at all could be
// converted, or with OnError::kFail the first that could not; a table or an archive that cannot be
// read), kUnsupported (with OnError::kFail, an image of another kind; profiles that are to be
// converted in a build without lcms2; a dataset at a URL with SourceCheck::kContent, or of a source
// whose URL has a password or a query).
ConvertSummary Convert(const ConvertSource& source, const std::filesystem::path& dataset,
                       const ConvertOptions& options = {}, const ConvertHooks& hooks = {});

// The names of the source's classes in the order of their numbers; empty for a source without
// classes. With them, several conversions can number classes alike: see ConvertSource::label.
// Errors: as of Convert().
std::vector<std::string> FindClasses(const ConvertSource& source, unsigned threads = 0,
                                     const std::stop_token& stop = {});

// The folders that FindSplitFolders() takes for the folders of splits.
struct SplitFolderOptions {
  // True: folders of any name count, not only "train", "val" and the like, because the caller has
  // said that the folders are parts. Images that lie in none of them are then counted in
  // `warnings`; that opens each file in the root.
  bool of_any_name = false;
  bool follow_links = false;  // as ConvertSource::follow_links
};

// The splits that FindSplitFolders() found.
struct SplitFolders {
  std::vector<std::string> names;     // sorted
  std::vector<std::string> warnings;  // links that were not followed, images outside of the folders
};

// The folders directly below `root` that hold images, if they look like the parts of a split and
// not like classes: train/ and val/, with class folders or images inside. If they do not, the
// result is empty, unless `of_any_name` is set. Each of the folders is then a source of its own.
// Opens few files. Errors: kNotFound (no such folder), kIo (a folder cannot be read), kState
// (stopped).
SplitFolders FindSplitFolders(const std::filesystem::path& root,
                              const SplitFolderOptions& options = {},
                              const std::stop_token& stop = {});

// The split that a word in a file's name stands for: "train" for train-00000-of-00004.parquet and
// for cifar-train.tar; otherwise the split that its folder's name stands for. Empty if neither
// does.
std::string SplitOfFile(const std::filesystem::path& file);

// One of several conversions that belong together, such as of training and of test images.
struct SourcePart {
  std::string name;               // such as "train"
  ConvertSource source;           // what is converted
  std::filesystem::path dataset;  // its target; only the list of paths in a plan there is read
};

// A source that holds the same bytes as one of another part.
struct SharedImage {
  std::string part;  // its name
  Duplicate file;
};

// Groups of sources that hold the same bytes and are not all of one part: images that would be both
// trained and tested on. They are also listed in the file `list` (group, part, path, class,
// separated by tabs), unless `list` is empty. Reads a file only if a file of another part has the
// same size. Errors as of Convert().
std::vector<std::vector<SharedImage>> FindSharedImages(const std::vector<SourcePart>& parts,
                                                       const std::filesystem::path& list = {},
                                                       unsigned threads = 0,
                                                       const std::stop_token& stop = {});

}  // namespace sluice
