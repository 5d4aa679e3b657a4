// Facts about the training data, a folder of pictures or a dataset: the number of images, their
// kinds and sizes. They are estimated from a sample, so they take seconds for any amount of data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace sluice::bench {

struct SourceFacts {
  bool dataset = false;
  std::uint64_t images = 0;  // in a folder: files that seem to be images, estimated from the sample
  std::uint64_t files = 0;   // in a folder: files listed
  bool listed_all = true;    // false: there are more files than were listed
  // The size of all images. In a folder: of their files, estimated from the sample's mean. In a
  // dataset: of their payloads.
  std::uint64_t bytes = 0;
  std::uint64_t classes = 0;                   // 0: none
  std::uint64_t looked_at = 0;                 // size of the sample: images and other files
  std::map<std::string, std::uint64_t> kinds;  // "JPEG", "PNG", "packed", "no image", ...
  std::uint32_t least_width = 0, median_width = 0, most_width = 0;
  std::uint32_t least_height = 0, median_height = 0, most_height = 0;

  // The usable part of the sample, in random order: relative paths in a folder, or sample indices
  // of a dataset.
  std::vector<std::string> paths;
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> warnings;  // links that were not followed

  // Whether all images of the sample have the same size.
  bool uniform() const noexcept { return least_width == most_width && least_height == most_height; }
};

struct LookLimits {
  std::uint64_t files = 5'000'000;  // files to list, at most
  std::uint64_t look_at = 400;      // files or samples to examine, at most
  bool follow_links = false;        // as ConvertSource::follow_links
};

// Examines a sample, which `seed` chooses. Throws Error: kNotFound (no such folder, or no image in
// it), kUnsupported (a URL), kIo; for a dataset, also what Dataset::Open() throws; kState if a stop
// was requested.
SourceFacts LookAtSource(const std::filesystem::path& source, const LookLimits& limits,
                         std::uint64_t seed, const std::stop_token& stop);

}  // namespace sluice::bench
