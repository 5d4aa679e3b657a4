// Converts images into a dataset: what `sluice convert` does, as a function.
//
// The images lie in a folder, are named by a table, a list or label files, or lie inside of
// archives (tar, Parquet and others): see convert_source.h. The result is a folder with shards,
// skipped.tsv, plan.json and manifest.json, which is written last. The bytes of the shards and of
// the manifest depend only on the sources and the options: not on threads, times, host names or
// where the folders lie.
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
// How an image of another aspect ratio gets the size GeometryOptions::size.
enum class Fit {
  kCrop,     // scale until the image covers the size, keep the centre
  kStretch,  // scale each axis by its own factor
  kPad,      // scale until the image fits inside, fill the rest with black
};
// How a JPEG stores its colours.
enum class Subsampling {
  k420,  // at half the width and height, which takes fewer bytes
  k444,  // at the full width and height
};
// How to treat a colour profile that is embedded in an image.
enum class IccProfiles {
  kDrop,     // it is dropped, and the values are stored as they are
  kConvert,  // colours are converted to sRGB; needs a build with lcms2
};
// Which values of an image are stored.
enum class PixelValues {
  kUint8,  // colours or grey, rounded to 8 bits
  // The values of the file as they are, of any type and of 1 to 64 channels. The first source that
  // can be read decides both, and the number that stands for no data; others are left out.
  kKeep,
};
// How the files of a sample (FormOptions::stack) get one size.
enum class StackResize {
  kRefuse,   // a sample whose files have different sizes is left out
  kNearest,  // the nearest pixel is taken
  kLinear,   // pixels are mixed, except with no data
};
// How to treat a source that cannot be converted.
enum class OnError {
  kSkip,  // leave the source out, list it in skipped.tsv, continue
  kFail,  // throw at the first source (in the dataset's order) that cannot be converted
};

// How to treat an image whose data end early, as after a broken download.
enum class Truncated {
  kRefuse,  // the image counts as broken
  kWarn,    // the part that is there is taken, with a warning and a line in skipped.tsv
  kAccept,  // the part that is there is taken, without warning and line
};

// Which sources a conversion that resumes, or is repeated, converts again, to find those that
// changed after an earlier run. Changed names, sizes, labels, other values and options are always
// found.
enum class SourceCheck {
  kTimes,    // sources written, copied or moved after the conversion began
  kContent,  // all sources
};

// The size of an image.
struct Size {
  std::uint32_t width = 0;   // pixels
  std::uint32_t height = 0;  // pixels
};

// ConvertOptions::geometry: the size of the stored images. Set at most one of max_side, short_side
// and size; if none is set, every image keeps its size. Only `size` may enlarge an image.
struct GeometryOptions {
  std::optional<std::uint32_t> max_side = 500;   // the longer side has at most this many pixels
  std::optional<std::uint32_t> short_side = {};  // the shorter side has at most this many pixels
  std::optional<Size> size = {};                 // every image has this size
  Fit fit = Fit::kCrop;                          // how `size` treats another aspect ratio
};

// ConvertOptions::form: how an image is stored.
struct FormOptions {
  ImageCodec image = ImageCodec::kJpeg;  // the form of the stored images
  int quality = 90;                      // JPEG quality, 1 to 100
  // True: JPEGs keep their coefficients, and so their pixels. These are still encoded anew at
  // `quality`:
  //
  //   JPEGs that are resized;
  //   JPEGs whose colours change: CMYK, RGB-coded, any by IccProfiles::kConvert, and grey ones
  //     without channels = 1;
  //   JPEGs that Exif turns so that an incomplete block would come to the left or to the top;
  //   JPEGs of unusual sampling;
  //   JPEGs with quantisation steps or coefficients that baseline JPEG cannot code.
  //
  // ConvertSummary::kept counts the JPEGs that keep their coefficients, and
  // ConvertSummary::reencoded the others. Images that are not JPEGs are always encoded.
  bool keep = false;
  // True: a restart marker ends each line of MCUs. In images at least 512 pixels wide, further
  // markers cut each line into equal parts of at least 256 pixels, if its number of MCUs can be
  // divided so. False: no markers.
  bool restart_markers = true;
  Subsampling subsampling = Subsampling::k420;               // of JPEGs that are encoded
  unsigned channels = 3;                                     // 3: RGB, 1: grey
  std::array<std::uint8_t, 3> background = {255, 255, 255};  // RGB, behind transparent pixels
  IccProfiles icc = IccProfiles::kDrop;                      // what happens to colour profiles
  Truncated truncated = Truncated::kRefuse;  // what happens to images that end early
  // With kKeep, images keep their sizes: geometry.max_side and all members above are not used, and
  // geometry.short_side and geometry.size must not be set. PNG, PPM, PFM, NPY and TIFF are taken.
  // 8-bit images of 1 to 4 channels are stored as raw pixels, all others in tiles without loss.
  // Values of 32 and 64 bits become float32 if that holds each of them exactly.
  PixelValues pixels = PixelValues::kUint8;
  // With kKeep: the names of channels that lie in a file each. With {"B02", "B03"}, the files
  // NAME_B02.tif and NAME_B03.tif make the sample NAME, with two channels. For a folder and for a
  // list of paths.
  std::vector<std::string> stack = {};
  StackResize stack_resize = StackResize::kRefuse;  // files of other sizes than the sample's first
};

// ConvertOptions::shards: how samples are arranged in the dataset, and the dataset's metadata.
struct ShardOptions {
  // The planned size of a shard in bytes, kMinShardBytes to kMaxShardBytes.
  std::uint64_t shard_bytes = kDefaultShardBytes;
  std::uint32_t block_samples = 0;  // samples in a block; 0: chosen for blocks of about 512 KiB
  std::uint64_t seed = 0;           // of the permutation of the sources
  bool keep_order = false;  // true: sources in the order of their paths; false: permuted by `seed`
  // Metadata of the dataset, such as its license: names with values (Dataset::meta()). Edits keep
  // them.
  std::map<std::string, std::string> meta = {};
};

// ConvertOptions::run: how the conversion runs. Of these options, only max_pixels changes the
// dataset.
struct RunOptions {
  unsigned threads = 0;                    // 0: one for each CPU this process may use
  OnError on_error = OnError::kSkip;       // what happens when a source cannot be converted
  std::uint64_t max_pixels = 178'000'000;  // larger sources are refused before memory is allocated
  bool dry_run = false;                    // true: look, plan and count, but write nothing
  bool find_duplicates = false;  // list sources that have the same bytes; all are still converted
  // True: writes shards past the page cache (O_DIRECT), so that other programs' data stay in the
  // cache. The shards' bytes are the same. If the file system refuses this, shards are written
  // through the cache, with a warning.
  bool direct = false;
  SourceCheck check = SourceCheck::kTimes;  // how a repeated run finds sources that changed
};

// The options of Convert(), in groups by subject.
//
//   sluice::ConvertOptions options;
//   options.geometry.max_side = 256;
//   options.form.image = sluice::ImageCodec::kPacked;
struct ConvertOptions {
  GeometryOptions geometry = {};  // the size of the stored images
  FormOptions form = {};          // how an image is stored
  ShardOptions shards = {};       // how samples are arranged in the dataset, its metadata
  RunOptions run = {};            // how the conversion runs
};

// Checks `dataset` if it is a URL; does nothing for a path. Throws the Error of Convert() for a URL
// that it cannot open: kInvalidArgument, or kUnsupported in a build without object stores. Sends
// nothing. Call it, for example, before you read a pipe to its end.
void RequirePlace(const std::filesystem::path& dataset);
// Throws Error(kInvalidArgument) if `dataset` is a URL. AppendToDataset(), RepackDataset() and
// RepairDataset() refuse URLs in this way.
void RequireFolder(const std::filesystem::path& dataset);

// How far a conversion has come.
struct ConvertProgress {
  std::uint64_t samples_done = 0;   // converted or left out so far
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

// Images that have something in common: how many there are, and the first three as examples.
struct SomeImages {
  static constexpr std::size_t kExamples = 3;  // the most examples
  std::uint64_t count = 0;                     // all images, not only the examples
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
  std::uint64_t bytes_out = 0;              // of all files of the dataset in its folder
  double seconds = 0;                       // duration of the call
  std::vector<LeftOut> skipped;             // broken or unsupported images
  std::vector<LeftOut> passed_over;         // files that are not images, and hidden files
  std::vector<LeftOut> truncated;           // images that end early but were taken, and how
  std::uint64_t kept = 0;                   // with `keep`: images whose coefficients were kept
  std::uint64_t shrunk = 0;         // images that this call stored with fewer pixels than they had
  std::uint64_t reencoded = 0;      // JPEGs that this call stored with other coefficients
  std::uint64_t rounded = 0;        // images of more than 8 bits that this call stored with 8
  std::string pixels;               // with PixelValues::kKeep: channels and type, as "13 x uint16"
  std::uint64_t boxes_dropped = 0;  // boxes of which nothing is left in the stored image
  // Images whose embedded colour profile was not used: IccProfiles::kDrop is set, or the profile is
  // broken or made for another kind of colours.
  std::uint64_t profiles_dropped = 0;
  std::uint64_t profiles_converted = 0;  // images whose colours were converted to sRGB
  // JPEG 2000 images with channels that the file declares neither as colours nor as opacity.
  std::uint64_t channels_dropped = 0;
  // Images that were smaller than the target: below geometry.short_side (left as they are), or
  // below geometry.size (enlarged).
  std::uint64_t smaller = 0;
  // Images that are turned or mirrored by their orientation, and that have boxes, masks or key
  // points. If ConvertSource::upright is not set, a warning names some of them.
  SomeImages turned;
  // Images of more than 8 bits a value in which no value reaches a quarter of the range, such as
  // 16-bit files that hold 12 bits. The whole range is scaled to 8 bits, so these images keep
  // hardly any detail. A warning names some of them.
  SomeImages dim;
  // With `find_duplicates`: groups of sources that hold the same bytes, also listed in
  // duplicates.tsv.
  std::vector<std::vector<Duplicate>> duplicates;
  bool direct_refused = false;        // the file system refused `direct`; also a warning
  std::vector<std::string> warnings;  // sentences for people
  std::uint32_t block_samples = 0;    // samples in a block
  std::uint64_t shard_samples = 0;    // planned samples in a shard
};

// Functions that follow a conversion, and a way to stop it.
struct ConvertHooks {
  // Gets the progress. Called on the thread that called Convert(), several times a second and
  // whenever a shard is done.
  std::function<void(const ConvertProgress&)> on_progress;
  // Gets how many of the source's files have been looked into, and how many will be. Called several
  // times a second, by one thread at a time, before anything is converted: while sources are listed
  // and while changed ones are looked for.
  std::function<void(std::uint64_t looked_into, std::uint64_t found)> on_look = {};
  // A stop request ends the conversion with Error(kState), once the images that are being converted
  // are done. What was finished stays; call again to resume.
  std::stop_token stop;
};

// Converts `source` into `dataset`. This is a folder, whose parent folder must exist, or the URL of
// a folder in an object store (see convert_steps.h). What the folder already holds decides:
//
//   nothing                                        a new conversion begins
//   an unfinished conversion with the same plan    it is resumed
//   a finished dataset with the same plan          it is left as it is
//   anything else, such as another plan            Error(kExists), which says what differs
//
// Sources may have changed after an earlier run made samples from them: see
// ConvertOptions::run.check. A source that still gives the same sample counts as unchanged. In an
// unfinished conversion, shards with samples of changed sources are made again, with a warning. For
// a finished dataset, throws Error(kExists), which names some of the changed sources. A dataset at
// a URL is not compared with its sources.
//
// The classes of a folder are its sub-folders, numbered in the order of their names' bytes. Files
// deeper in a sub-folder belong to the same class. ConvertSource::label.folders changes these
// rules. Special cases:
//
//   all images lie deeper in one sub-folder     the folders in it are the classes
//   all images lie directly in the folder       the dataset has no labels
//   images lie directly in it and deeper        Error(kInvalidArgument)
//   sub-folders look like parts of a split      Error(kInvalidArgument); see FindSplitFolders()
//   images/ lies beside labels/ (detection)     Error(kInvalidArgument), which names the option
//
// A sample's key is its path relative to the source's root, as bytes. Bytes of a class name that
// are not UTF-8 are written as "\xNN". A dataset is named after its content ("images of cat, dog
// and 8 more classes"), not after its path, which would change when folders move.
//
// Boxes, masks and key points are taken as drawn on the upright image (ConvertSource::upright), and
// are moved and scaled with it. Boxes are cut off at the image's edges; a box that lies entirely
// outside is dropped, with its class. If a row or an archive's member lacks a value that its field
// needs, it is left out like a broken image; the reason names the line or the member.
//
// JPEG, PNG, BMP, PPM and TGA files are converted, and WebP, GIF, TIFF, AVIF, HEIF, JPEG XL and
// JPEG 2000 files if the build has their libraries. Files are recognised by their content. Of
// several frames or pages, the first is taken. A frame smaller than its canvas is placed on the
// canvas as browsers place it; the rest is transparent. Orientation is applied. Values of more than
// 8 bits are scaled to 8 bits by their whole range (see ConvertSummary::dim).
//
// A file with damaged pixels is left out, and so is a file that disappears during the conversion.
// If its whole folder or archive disappears, the conversion ends with Error(kIo); call again once
// the folder or archive is back.
//
// A file ends early if its decoder lacks data for a pixel. ConvertOptions::form.truncated says
// whether such a file is left out or taken. If it is taken, missing pixels are grey in a JPEG. In
// other images they are black, or the background if the image has transparency. AVIF, HEIF and
// masks that end early are never taken.
//
// Zeros at the end of a file count as missing data in two cases:
//
//   a JPEG, PNG or GIF without its end marker;
//   a WebP, AVIF, HEIF, JPEG XL or JPEG 2000 that ends in at least 512 zeros.
//
// Other zeros are not noticed.
//
// Memory is at most the sum of
//
//   four times the largest decoded source, for each thread;
//   128 MiB of finished samples;
//   two copies of one block;
//   about 100 bytes for each source;
//   the values of a table;
//   1 MiB with `direct`.
//
// Errors:
//
//   kInvalidArgument   an option; the folder's layout; a column that does not exist; `dataset`
//                      inside `source`
//   kNotFound          the source does not exist, or has no image; or `paths` is empty, and no
//                      earlier run left a list in `dataset`
//   kExists            see above
//   kState             stopped, or another conversion is at work in `dataset`
//   kCorrupt           no image could be converted; a table or an archive cannot be read; with
//                      OnError::kFail, the first image that could not be converted
//   kUnsupported       IccProfiles::kConvert in a build without lcms2;
//                      with OnError::kFail, an image of another kind;
//                      a `dataset` at a URL in a build without object stores;
//                      a `dataset` at a URL with SourceCheck::kContent;
//                      a `dataset` at a URL from a source whose URL has a password or a query
//   kLimit, kIo
ConvertSummary Convert(const ConvertSource& source, const std::filesystem::path& dataset,
                       const ConvertOptions& options = {}, const ConvertHooks& hooks = {});

// Returns the names of the source's classes, in the order of their numbers; empty for a source
// without classes. Use them to number the classes of several conversions in the same way: see
// ConvertSource::label. `form`: that of the conversion, which decides what images are. Errors: as
// of Convert().
std::vector<std::string> FindClasses(const ConvertSource& source, unsigned threads = 0,
                                     const std::stop_token& stop = {},
                                     const FormOptions& form = {});

// Which folders FindSplitFolders() takes as the parts of a split.
struct SplitFolderOptions {
  // True: folders of any name, not only "train", "val" and the like: the caller knows that they are
  // parts. A warning then counts the images that lie in none of the folders; for that, each file
  // directly in the root is opened.
  bool of_any_name = false;
  bool follow_links = false;  // as ConvertSource::follow_links
};

// The parts of a split that FindSplitFolders() found.
struct SplitFolders {
  std::vector<std::string> names;     // of the folders, sorted
  std::vector<std::string> warnings;  // links that were not followed, images outside of the folders
};

// Finds the folders directly below `root` that look like the parts of a split, not like classes:
// train/ and val/, say, with class folders or images inside. Each is then a source of its own. The
// result is empty if the folders do not look so, unless SplitFolderOptions::of_any_name is set.
// Opens few files.
//
// Errors: kNotFound if the folder does not exist, kIo if a folder cannot be read, kState if
// stopped.
SplitFolders FindSplitFolders(const std::filesystem::path& root,
                              const SplitFolderOptions& options = {},
                              const std::stop_token& stop = {});

// Returns the split that a file belongs to by a word in its name: "train" for
// train-00000-of-00004.parquet and for cifar-train.tar. If its name has no such word, the name of
// its folder decides. Empty if neither names a split.
std::string SplitOfFile(const std::filesystem::path& file);

// One of several conversions that belong together, such as those of training and of test images.
struct SourcePart {
  std::string name;      // such as "train"
  ConvertSource source;  // what is converted
  // Where it is converted to. Looked into only if `source` is a list of paths that is empty: the
  // list then comes from the plan there.
  std::filesystem::path dataset;
};

// A source that holds the same bytes as a source of another part.
struct SharedImage {
  std::string part;  // name of the source's own part
  Duplicate file;
};

// Finds groups of sources that hold the same bytes but belong to more than one part: images that
// would be used both for training and for testing. Also lists them in the file `list` (group, part,
// path, class, separated by tabs); an empty `list` writes no file. Reads a file only if a file of
// another part has the same size. Errors: as of Convert().
std::vector<std::vector<SharedImage>> FindSharedImages(const std::vector<SourcePart>& parts,
                                                       const std::filesystem::path& list = {},
                                                       unsigned threads = 0,
                                                       const std::stop_token& stop = {},
                                                       const FormOptions& form = {});

}  // namespace sluice
