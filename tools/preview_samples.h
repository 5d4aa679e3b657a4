// The samples of a dataset that an overview shows, and its counts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sluice/dataset.h>

namespace sluice {

// The trouble of a sample that lacks a picture by right.
inline constexpr const char* kNoImage = "has no image";

struct PreviewPicture {
  std::uint64_t index = 0;
  std::string key;
  std::optional<std::int64_t> label;  // of the first label field, if that is one number
  std::string label_text;             // its class's name, or the numbers
  std::string caption;                // of the first text field, cut off
  std::uint32_t width = 0, height = 0;
  Image thumbnail;      // with its annotations; empty if the picture is damaged or absent
  std::string trouble;  // why it is, or why annotations are missing
};

struct Preview {
  std::vector<PreviewPicture> pictures;  // by label, then by number
  std::uint64_t probed = 0;              // samples that were looked at, spread evenly
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;  // width and height of theirs
};

struct PreviewOptions {
  std::uint64_t count = 100;  // of the pictures, at most
  std::uint32_t side = 128;   // of a thumbnail, in pixels
};

// Looks at 4096 samples, spread evenly over the dataset (at all of a smaller one), and takes as
// many of each class as there is room for. `on_progress`: pictures decoded, and in all.
Preview TakePreview(const Dataset& dataset, const PreviewOptions& options,
                    const std::function<void(std::uint64_t, std::uint64_t)>& on_progress);

}  // namespace sluice
