// Steps of a pipeline that move pixels: crops, resizes, flips and turns.
//
// All steps except RandomAffine are merged. Together they choose one region of the picture; this
// region is decoded, and resampled once, with the filter of the last resize. RandomAffine then
// resamples the result once more.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <sluice/image.h>

namespace sluice {

// How the area beyond a picture's edge is filled.
enum class Border : std::uint8_t {
  kConstant,  // one colour
  kReflect,   // the picture mirrored at its outermost pixels, without repeating them
};

// Crops a region of random area and aspect ratio, and resizes it to width x height (Szegedy et al.
// 2015). The rule is that of torchvision's RandomResizedCrop: ten tries, then the largest centred
// crop of an allowed ratio.
struct RandomResizedCrop {
  std::uint32_t width = 224, height = 224;   // pixels
  double min_scale = 0.08, max_scale = 1.0;  // share of the image's area, 0 < min <= max <= 1
  double min_ratio = 3.0 / 4, max_ratio = 4.0 / 3;  // width / height
  Filter filter = Filter::kTriangle;
  RandomResizedCrop() = default;
  explicit RandomResizedCrop(std::uint32_t size) : width(size), height(size) {}
  RandomResizedCrop(std::uint32_t width_, std::uint32_t height_) : width(width_), height(height_) {}
  RandomResizedCrop& scale(double low, double high) {
    return min_scale = low, max_scale = high, *this;
  }
  RandomResizedCrop& ratio(double low, double high) {
    return min_ratio = low, max_ratio = high, *this;
  }
  RandomResizedCrop& with_filter(Filter value) { return filter = value, *this; }
};

// Resizes to exactly width x height, whatever the aspect ratio.
struct Resize {
  std::uint32_t width = 224, height = 224;  // pixels
  Filter filter = Filter::kTriangle;
  Resize() = default;
  explicit Resize(std::uint32_t size) : width(size), height(size) {}
  Resize(std::uint32_t width_, std::uint32_t height_) : width(width_), height(height_) {}
  Resize& with_filter(Filter value) { return filter = value, *this; }
};

// Resizes so that the shorter side has `side` pixels, and keeps the aspect ratio. The longer side
// is rounded down, as in torchvision. Images of different aspect ratios still differ in size
// afterwards, so a crop must follow unless LoaderOptions::output.image_sizes allows that.
struct ResizeShortSide {
  std::uint32_t side = 256;  // pixels
  Filter filter = Filter::kTriangle;
  ResizeShortSide() = default;
  explicit ResizeShortSide(std::uint32_t size) : side(size) {}
  ResizeShortSide& with_filter(Filter value) { return filter = value, *this; }
};

// Takes the central width x height pixels of the image. If the image is smaller, the rest is zeros.
struct CenterCrop {
  std::uint32_t width = 224, height = 224;  // pixels
  CenterCrop() = default;
  explicit CenterCrop(std::uint32_t size) : width(size), height(size) {}
  CenterCrop(std::uint32_t width_, std::uint32_t height_) : width(width_), height(height_) {}
};

// Takes the largest centred rectangle with the aspect ratio of width x height, multiplies its sides
// by `ratio` (rounded down), and resizes this smaller rectangle to width x height: FFCV's
// CenterCropRGBImageDecoder. It rounds once and never leaves the image. (ResizeShortSide followed
// by CenterCrop rounds twice.)
struct CenterResizedCrop {
  std::uint32_t width = 224, height = 224;  // pixels
  double ratio = 224.0 / 256;               // 0 < ratio <= 1
  Filter filter = Filter::kTriangle;
  CenterResizedCrop() = default;
  explicit CenterResizedCrop(std::uint32_t size) : width(size), height(size) {}
  CenterResizedCrop(std::uint32_t width_, std::uint32_t height_) : width(width_), height(height_) {}
  CenterResizedCrop& with_ratio(double value) { return ratio = value, *this; }
  CenterResizedCrop& with_filter(Filter value) { return filter = value, *this; }
};

// Adds a border of `padding` pixels to the image, and cuts width x height pixels out of the result
// at a random place. If the image with its border is too small, the border is made wider: the
// pixels that are missing are split at random between both ends. With Border::kReflect, twice the
// padding must be less than `width` and `height`.
struct RandomCrop {
  std::uint32_t width = 32, height = 32;  // pixels
  std::uint32_t padding = 0;              // pixels
  Border border = Border::kConstant;
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // of kConstant, by channel; not for masks
  RandomCrop() = default;
  explicit RandomCrop(std::uint32_t size, std::uint32_t padding_ = 0,
                      Border padding_mode = Border::kConstant)
      : width(size), height(size), padding(padding_), border(padding_mode) {}
  RandomCrop& with_fill(const std::array<std::uint8_t, 3>& value) { return fill = value, *this; }
};

// Moves the image along each axis by a whole number of pixels from -padding to padding, all equally
// likely: FFCV's RandomTranslate. With Border::kReflect, an image moves by less than half of its
// own side, even if `padding` is more.
struct RandomTranslate {
  std::uint32_t padding = 4;  // pixels
  Border border = Border::kConstant;
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // of kConstant, by channel; not for masks
  RandomTranslate() = default;
  explicit RandomTranslate(std::uint32_t padding_, Border padding_mode = Border::kConstant)
      : padding(padding_), border(padding_mode) {}
  RandomTranslate& with_fill(const std::array<std::uint8_t, 3>& value) {
    return fill = value, *this;
  }
};

// Mirrors left to right.
struct HorizontalFlip {
  double probability = 0.5;  // of being applied, 0 to 1
  HorizontalFlip() = default;
  explicit HorizontalFlip(double p) : probability(p) {}
};

// Mirrors top to bottom.
struct VerticalFlip {
  double probability = 0.5;  // of being applied, 0 to 1
  VerticalFlip() = default;
  explicit VerticalFlip(double p) : probability(p) {}
};

// Turns the image by one, two or three quarter turns, all equally likely. The images of the batch
// must be square.
struct RandomQuarterTurns {
  double probability = 0.75;  // makes all four orientations equally likely
  RandomQuarterTurns() = default;
  explicit RandomQuarterTurns(double p) : probability(p) {}
};

// Rotates, scales, shears and moves the image about its centre; all amounts are drawn uniformly.
// This is torchvision's RandomAffine with bilinear interpolation (for masks, the nearest pixel). It
// works on the result of the steps before it, and keeps the size of that result. Of the geometric
// steps, only flips and quarter turns may follow.
struct RandomAffine {
  double min_degrees = 0, max_degrees = 0;       // clockwise, -360 to 360
  double translate_x = 0, translate_y = 0;       // at most this share of width and height: 0 to 1
  double min_scale = 1, max_scale = 1;           // 0.01 to 100
  double min_shear_x = 0, max_shear_x = 0;       // degrees, -80 to 80
  double min_shear_y = 0, max_shear_y = 0;       // degrees along the other axis
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // the colour outside, by channel
  double probability = 1;                        // of being applied, 0 to 1
  RandomAffine() = default;
  // Only rotates, by at most `degrees_` degrees either way.
  explicit RandomAffine(double degrees_) : min_degrees(-degrees_), max_degrees(degrees_) {}
  RandomAffine& degrees(double low, double high) {
    return min_degrees = low, max_degrees = high, *this;
  }
  RandomAffine& translate(double x, double y) { return translate_x = x, translate_y = y, *this; }
  RandomAffine& scale(double low, double high) { return min_scale = low, max_scale = high, *this; }
  RandomAffine& shear_x(double low, double high) {
    return min_shear_x = low, max_shear_x = high, *this;
  }
  RandomAffine& shear_y(double low, double high) {
    return min_shear_y = low, max_shear_y = high, *this;
  }
  RandomAffine& with_fill(const std::array<std::uint8_t, 3>& value) { return fill = value, *this; }
  RandomAffine& with_probability(double value) { return probability = value, *this; }
};

// An output size that holds from an epoch on: `width` and `height` replace those of the last step
// that has a width and a height.
//
// Entries of the same epoch are choices: one of them is drawn for each `every` batches, the same
// for all ranks. They have the same `every`, which is then not 0. See SizesByBatch().
struct OutputSize {
  std::uint64_t epoch = 0;              // the first epoch with this size
  std::uint32_t width = 0, height = 0;  // pixels
  std::uint32_t every = 0;              // batches
  friend bool operator==(const OutputSize&, const OutputSize&) = default;
};

// For LoaderOptions::sizes: square sizes, of which one is drawn for each `every` batches, from that
// epoch on. Throws Error(kInvalidArgument) for no sides, and for an `every` of 0.
std::vector<OutputSize> SizesByBatch(const std::vector<std::uint32_t>& sides,
                                     std::uint32_t every = 10, std::uint64_t epoch = 0);

// For LoaderOptions::sizes: square sizes whose side is `low` up to epoch `begin`, and then changes
// linearly, to `high` at epoch `end`. The side is rounded to the nearest multiple of `multiple`.
// Half-way between two multiples, the even one is taken. For example, FFCV's ImageNet recipe grows
// from 160 to 192 in steps of 32.
//
// Throws Error(kInvalidArgument) for begin >= end, for sides of 0 or more than 65535, for a
// multiple of 0, and for a side that would be rounded to 0.
std::vector<OutputSize> ProgressiveSizes(std::uint32_t low, std::uint32_t high, std::uint64_t begin,
                                         std::uint64_t end, std::uint32_t multiple = 32);

}  // namespace sluice
