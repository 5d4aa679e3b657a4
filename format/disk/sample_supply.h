// Samples that lie in no shard, and are made when they are asked for
// (writer/convert/played_source).
//
// To its readers they look like a dataset: there is a manifest, and each shard has a frame, which
// is the shard's file without its payloads: header, keys, directory and columns. So numbers, keys,
// scalar fields and the order of an epoch come from the same code as those of a dataset on disk. A
// sample's other values come as a block that has only this sample.
//
// The interface lies here because the writer makes the samples and the reader plays them, and
// neither may include the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include <sluice/duration_histogram.h>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/disk/manifest.h"

namespace sluice {

// Thread-safe.
class SampleSupply {
 public:
  virtual ~SampleSupply() = default;

  // Its widths and heights of images are bounds that every readable image keeps; they are usually
  // reached. Its sizes of shards and payloads are estimates, except the size of the largest
  // payload, which is a bound.
  virtual const Manifest& manifest() const noexcept = 0;
  virtual Id128 id() const noexcept = 0;
  // The source, for messages: a folder, file or URL.
  virtual const std::filesystem::path& place() const noexcept = 0;

  // A shard's frame. In the place of each block, it has zeros. Throws Error.
  virtual MappedFile Frame(std::uint32_t shard) const = 0;

  // The bytes of a block with one sample, number `sample` of the shard. Throws an Error that names
  // the source. If `give_up` (which may be null) becomes true, throws an Error soon.
  virtual std::vector<std::byte> Make(std::uint32_t shard, std::uint64_t sample,
                                      const std::atomic<bool>* give_up) = 0;
  // The same without the bytes of the first image, for a reader that has kept the decoded one.
  // Empty if that would save nothing: the image was not made before, or other values need its file.
  virtual std::optional<std::vector<std::byte>> MakeWithoutImage(std::uint32_t shard,
                                                                 std::uint64_t sample) = 0;
  // Begins to read what Make() will need for the samples of a block, and does not wait for it.
  virtual void Expect(std::uint32_t shard, std::uint32_t block) = 0;
  // The samples expected so far are not needed.
  virtual void ForgetExpected() = 0;

  // The most bytes of memory that a call of Make() takes, with what it returns.
  virtual std::uint64_t MakingBytes() const noexcept = 0;
  // The most bytes of memory that everything else takes: the list of samples, what Expect() reads
  // ahead, and compiling the source meanwhile.
  virtual std::uint64_t ListBytes() const noexcept = 0;

  // The work of Make() so far, summed over all threads, in seconds: reading a source's bytes, and
  // making a sample of them.
  struct Work {
    double reading = 0;
    double making = 0;
    std::uint64_t samples = 0;   // made from the source
    std::uint64_t bytes = 0;     // read, from the source or the dataset that it is compiled into
    std::uint64_t compiled = 0;  // further samples, read from that dataset; not in the times
    DurationHistogram reads;     // how long reading took, for each sample made
  };
  virtual Work work() const noexcept = 0;
};

}  // namespace sluice
