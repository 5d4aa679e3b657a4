// Playing images where they lie, without a conversion: a folder, a table, a list, label files,
// archives, a bucket; whatever Convert() takes.
//
//   #include <sluice/loader.h>
//   #include <sluice/play_source.h>
//   sluice::Loader loader(sluice::Dataset::Open(sluice::PlaySource("photos/")), options);
//
// The loader plays the samples that `Convert()` with the same options would store, under the same
// keys, in the same order: see PlayOptions. It takes the same options, except those about shards
// (LoaderOptions::storage = Direct or Locked, stage, on_device.images). What a conversion saves is
// done again in each epoch: a file is opened for each sample, images are decoded whole where a
// stored JPEG is decoded in part, and all that is not a JPEG is encoded first. With `compile_to`,
// it is done once, while the source is played.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include <sluice/convert.h>
#include <sluice/convert_source.h>

namespace sluice {

class SampleSupply;  // samples that are made when they are asked for: Dataset::Open() takes them

// The options of PlaySource(): those of ConvertOptions that say what samples are, in the same
// groups. By default images keep their sizes, and JPEGs their pixels.
struct PlayOptions {
  GeometryOptions geometry = {.max_side = {}};  // the size of the images
  FormOptions form = {.keep = true};            // what an image is
  ShardOptions shards = {};                     // the order; `shard_bytes` and `block_samples` only
                                                // decide how an epoch is shuffled
  std::uint64_t max_pixels = 178'000'000;       // a larger image is a fault
  unsigned threads = 0;                         // that list the source; 0: one for each CPU

  // A file that keeps the list of samples: it is written if it does not exist, else the source is
  // not searched. A file that changed or went away since is an error that names it, when it is
  // played; files that were added are not seen. Remove the index to list the source anew. Empty:
  // none.
  std::filesystem::path index = {};

  // A folder to compile the source into while it is played: the dataset that Convert() makes of the
  // same source and options, byte for byte. A thread makes it at the lowest priority (nice 19), one
  // more thread for every eight CPUs encodes, and each shard is played as soon as it is finished.
  // The batches stay the same. An unfinished dataset is resumed by the next call with the same
  // source, options and folder, or by Convert(); a finished one is played. Several processes may
  // have the same folder: one of them compiles. See "Compile while you train" in
  // samples/guides/without-conversion.md. Empty: none.
  std::filesystem::path compile_to = {};

  // Called with what a user should know: sources that are left out, and the warnings of Convert();
  // later, by another thread, if the source cannot be compiled any further.
  std::function<void(const std::string&)> on_warning = {};
  // Called while the source is listed: how many images were looked at, and how many there are.
  std::function<void(std::uint64_t, std::uint64_t)> on_look = {};
};

// Lists the source, and returns its samples for Dataset::Open(). Reads the beginning of every image
// for its size, and makes the first 64 samples to learn how large samples are. Memory: the list, of
// about 100 bytes and the key a sample, and its values.
//
// An image that cannot be read, or that Convert() would leave out, is a fault of that sample
// (LoaderOptions::integrity.on_fault), because its number is given before it is read. So is a file
// that has changed since it was listed: it has another size or modification time (an object in a
// store: another size).
//
// The dataset's id covers names, sizes, labels, other values and options, so a ResumePoint fits
// only the same list. After a request on `stop`, calls that wait for an object store end soon.
// Errors: as of Convert(); kExists if the index is of another source or of other options, or if the
// folder of `compile_to` has anything else than the beginning or the whole of this dataset.
std::shared_ptr<SampleSupply> PlaySource(const ConvertSource& source,
                                         const PlayOptions& options = {},
                                         const std::stop_token& stop = {});
// The same for the source that a path means: a folder, a table, an archive (SourceAt()).
std::shared_ptr<SampleSupply> PlaySource(const std::filesystem::path& place,
                                         const PlayOptions& options = {},
                                         const std::stop_token& stop = {});

}  // namespace sluice
