// Plays images without a conversion, from whatever Convert() takes: a folder, a table, a list,
// label files, archives, a bucket.
//
//   #include <sluice/loader.h>
//   #include <sluice/play_source.h>
//   sluice::Loader loader(sluice::Dataset::Open(sluice::PlaySource("photos/")), options);
//
// The loader plays the samples that Convert() with the same options would store, with the same keys
// and in the same order: see PlayOptions. But images that Convert() would leave out while it
// converts are played as faults: see PlaySource(). The loader takes the same options as for a
// dataset, except those about shards (LoaderOptions::storage = Direct or Locked, stage,
// on_device.images).
//
// Each epoch repeats work that a conversion does once:
//
//   opening a file for each sample;
//   decoding whole images, where only a part of a stored JPEG would be decoded;
//   encoding every image that is not a JPEG, before decoding it.
//
// With PlayOptions::compile_to, this work is done once, while the source is played.
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

class SampleSupply;  // makes samples when a loader needs them; Dataset::Open() takes one

// The options of PlaySource(): those of ConvertOptions that decide what the samples are, in the
// same groups. By default, images keep their sizes, and JPEGs keep their pixels.
struct PlayOptions {
  GeometryOptions geometry = {.max_side = {}};  // the size of the images
  FormOptions form = {.keep = true};            // how images are encoded
  // The order of the samples. `shard_bytes` and `block_samples` only decide how an epoch is
  // shuffled.
  ShardOptions shards = {};
  std::uint64_t max_pixels = 178'000'000;  // a larger image is a fault
  unsigned threads = 0;                    // threads that list the source; 0: one for each CPU

  // A file that keeps the list of samples. If it does not exist, PlaySource() writes it. If it
  // exists, PlaySource() reads it and does not search the source. Then added files are not seen,
  // and playing a file that was changed or removed is an error that names the file. To list the
  // source again, remove the index. Empty: no index.
  std::filesystem::path index = {};

  // A folder to compile the source into while it is played. It becomes the dataset that Convert()
  // makes of the same source and options, byte for byte. Each shard is played from the folder as
  // soon as it is finished; the batches stay the same. Empty: do not compile.
  //
  // One thread compiles. Further threads encode: one for every eight CPUs, at least one. All run at
  // the lowest priority (nice 19).
  //
  // A finished dataset in the folder is played. An unfinished one is resumed by the next call with
  // the same source, options and folder, or by Convert(). Several processes may name the same
  // folder: one of them compiles. See "Compile while you train" in
  // samples/guides/without-conversion.md.
  std::filesystem::path compile_to = {};

  // Gets warnings for the user: sources that are left out, and what Convert() would warn of. If
  // compiling fails later, another thread calls it.
  std::function<void(const std::string&)> on_warning = {};
  // Progress of listing the source. Called with the number of files that have been looked into, and
  // the number of all files.
  std::function<void(std::uint64_t, std::uint64_t)> on_look = {};
};

// Lists the source and returns its samples for Dataset::Open(). Reads the beginning of every image
// for its size, and makes the first 64 samples to learn how large samples are. Memory: about 100
// bytes and the key for each sample, and the samples' values.
//
// Files that cannot be opened, and images of unsupported kinds, are left out, with a warning. Any
// other image that cannot be read, or that Convert() would leave out, still has a number, because
// numbers are given before images are read. Such an image is a fault of its sample
// (LoaderOptions::integrity.on_fault). A file that has changed since it was listed is a fault, too:
// its size or modification time differs (in an object store: its size).
//
// The dataset's id depends on names, sizes, labels, other values and options, so a ResumePoint fits
// only the same list. After a request on `stop`, calls that wait for an object store end soon.
//
// Throws the Errors that Convert() throws. Also throws Error(kExists) if the index is of another
// source or of other options, or if the folder of `compile_to` holds anything other than this
// dataset, finished or begun.
std::shared_ptr<SampleSupply> PlaySource(const ConvertSource& source,
                                         const PlayOptions& options = {},
                                         const std::stop_token& stop = {});
// The same for the source that a path means: a folder, a table, an archive (SourceAt()).
std::shared_ptr<SampleSupply> PlaySource(const std::filesystem::path& place,
                                         const PlayOptions& options = {},
                                         const std::stop_token& stop = {});

}  // namespace sluice
