// Outlines and run lengths as pixels, as pycocotools has them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <sluice/instances.h>

namespace sluice {

// Pixels that begin at one position and end before another, both counted down the columns of a
// picture from its left.
struct PixelRun {
  std::uint64_t begin = 0, end = 0;
  friend bool operator==(const PixelRun&, const PixelRun&) = default;
};

// Appends the runs of pixels of a picture of that size which a closed outline (corners x, y, x, y,
// ... of finite numbers) covers, in their order. Returns false, and leaves out the rest, if the
// outline is longer than any real one of a picture of that size.
bool AppendRuns(std::span<const double> outline, std::uint32_t width, std::uint32_t height,
                std::vector<PixelRun>& runs);

// Sorts runs and joins those that overlap or touch, so that each pixel is in one.
void JoinRuns(std::vector<PixelRun>& runs);

// The parts of joined runs that lie in the other joined runs or, if not `inside`, outside of them.
std::vector<PixelRun> PartsOf(std::span<const PixelRun> runs, std::span<const PixelRun> others,
                              bool inside);

// The joined runs of the pixels that an object covers in its image, which has that size. Throws
// Error(kCorrupt) if an outline is far longer than any real one.
std::vector<PixelRun> RunsOf(const Instances& instances, std::size_t object, std::uint32_t width,
                             std::uint32_t height);

// COCO's run lengths of these joined runs: pixels outside and inside in turns, of all `pixels`.
std::vector<std::uint32_t> RunLengths(std::span<const PixelRun> runs, std::uint64_t pixels);

// The runs of COCO's compressed RLE. Throws Error(kCorrupt).
std::vector<std::uint32_t> DecodeRuns(std::string_view text);

}  // namespace sluice
