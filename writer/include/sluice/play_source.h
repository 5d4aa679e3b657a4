// Plays images without a conversion, from whatever Convert() takes: a folder, a table, a list,
// label files, archives, a bucket.
//
//   #include <sluice/loader.h>
//   #include <sluice/play_source.h>
//   sluice::Loader loader(sluice::Dataset::Open(sluice::PlaySource("photos/")), options);
//
// The loader plays the samples that Convert() with the same options would store, with the same keys
// and in the same order: see PlayOptions. It takes the same options as for a dataset, except those
// about shards (LoaderOptions::storage = Direct or Locked, stage, on_device.images).
//
// Each epoch repeats the work that a conversion does once: it opens a file for each sample, decodes
// whole images where a reader decodes only a part of a stored JPEG, and encodes every image that is
// not a JPEG before it decodes it. With PlayOptions::compile_to, the work is done once, while the
// source is played.
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
  FormOptions form = {.keep = true};            // what an image is
  ShardOptions shards = {};                     // the order. `shard_bytes` and `block_samples` only
                                                // decide how an epoch is shuffled
  std::uint64_t max_pixels = 178'000'000;       // a larger image is a fault
  unsigned threads = 0;                         // threads that list the source; 0: one for each CPU

  // A file that keeps the list of samples. If it does not exist, PlaySource() writes it. If it
  // exists, the source is not searched: files that were added are not seen, and playing a file that
  // was changed or removed is an error that names the file. To list the source again, remove the
  // index. Empty: no index.
  std::filesystem::path index = {};

  // A folder to compile the source into while it is played. It becomes the dataset that Convert()
  // makes of the same source and options, byte for byte. One thread compiles, and one for every
  // eight CPUs (at least one) encodes, all at the lowest priority (nice 19). Each shard is played
  // from the folder as soon as it is finished; the batches stay the same.
  //
  // If the dataset is unfinished, the next call with the same source, options and folder resumes
  // it, or Convert() does. If it is finished, it is played. Several processes may name the same
  // folder: one of them compiles. See "Compile while you train" in
  // samples/guides/without-conversion.md. Empty: do not compile.
  std::filesystem::path compile_to = {};

  // Gets what a user should know: sources that are left out, and the warnings of Convert(). Later,
  // another thread calls it if the source cannot be compiled any further.
  std::function<void(const std::string&)> on_warning = {};
  // Gets, while the source is listed, how many images were looked at and how many there are.
  std::function<void(std::uint64_t, std::uint64_t)> on_look = {};
};

// Lists the source and returns its samples for Dataset::Open(). Reads the beginning of every image
// for its size, and makes the first 64 samples to learn how large samples are. Memory: about 100
// bytes and the key for each sample, and the samples' values.
//
// An image that cannot be read, or that Convert() would leave out, still has a number, because
// numbers are given before images are read. It is a fault of its sample
// (LoaderOptions::integrity.on_fault). So is a file that has changed since it was listed: its size
// or modification time differs (in an object store: its size).
//
// The dataset's id depends on names, sizes, labels, other values and options, so a ResumePoint fits
// only the same list. After a request on `stop`, calls that wait for an object store end soon.
//
// Errors: as of Convert(), and kExists if the index is of another source or of other options, or if
// the folder of `compile_to` holds anything other than this dataset, finished or begun.
std::shared_ptr<SampleSupply> PlaySource(const ConvertSource& source,
                                         const PlayOptions& options = {},
                                         const std::stop_token& stop = {});
// The same for the source that a path means: a folder, a table, an archive (SourceAt()).
std::shared_ptr<SampleSupply> PlaySource(const std::filesystem::path& place,
                                         const PlayOptions& options = {},
                                         const std::stop_token& stop = {});

}  // namespace sluice
