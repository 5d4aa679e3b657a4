// Facts about the training data, a folder of pictures or a dataset: how much there is, and of which
// kinds and sizes. They are estimated from a sample, so that it takes seconds whatever the size.
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
  std::uint64_t images = 0;  // of a folder: files that seem to be images, estimated from the sample
  std::uint64_t files = 0;   // of a folder: files listed
  bool listed_all = true;    // false: there are more files than were listed
  std::uint64_t bytes = 0;   // of the images (of a dataset: their payloads), by the sample's mean
  std::uint64_t classes = 0;                   // 0: none
  std::uint64_t looked_at = 0;                 // the sample: images and other files
  std::map<std::string, std::uint64_t> kinds;  // of those: "JPEG", "PNG", "packed", "no image", ...
  std::uint32_t least_width = 0, median_width = 0, most_width = 0;
  std::uint32_t least_height = 0, median_height = 0, most_height = 0;

  // The usable part of the sample, in random order: paths relative to the folder, or numbers of
  // samples.
  std::vector<std::string> paths;
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> warnings;  // links that were not followed

  // Whether all of the sample have one size.
  bool uniform() const noexcept { return least_width == most_width && least_height == most_height; }
};

struct LookLimits {
  std::uint64_t files = 5'000'000;  // to list
  std::uint64_t look_at = 400;      // to read
  bool follow_links = false;        // as ConvertSource::follow_links
};

// `seed` chooses the sample. Throws Error: kNotFound (no such folder, or no image in it), kIo; for
// a dataset, what Dataset::Open() throws; kState if it was stopped.
SourceFacts LookAtSource(const std::filesystem::path& source, const LookLimits& limits,
                         std::uint64_t seed, const std::stop_token& stop);

}  // namespace sluice::bench
