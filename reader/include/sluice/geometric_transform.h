// Steps of a pipeline that move pixels: crops, resizes, flips and turns.
//
// All steps are merged into one map from the picture to the row, and one visible rectangle. If the
// map only scales, shifts, mirrors and turns by quarters, one region of the picture is decoded, and
// resampled once, with the filter of the last resize. RandomAffine and RandomPerspective resample
// the result once more, bilinearly.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
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

// Resizes the image so that all of it fits into width x height, keeping its aspect ratio, and fills
// the rest with a colour: Ultralytics' LetterBox. Sides are rounded to the nearest pixel, of two
// the even one.
struct Letterbox {
  std::uint32_t width = 640, height = 640;             // pixels
  std::array<std::uint8_t, 3> fill = {114, 114, 114};  // by channel; not for masks
  bool scale_up = true;                                // false: a small image keeps its size
  bool center = true;  // false: the image lies at the upper left corner
  Filter filter = Filter::kTriangle;
  Letterbox() = default;
  explicit Letterbox(std::uint32_t size) : width(size), height(size) {}
  Letterbox(std::uint32_t width_, std::uint32_t height_) : width(width_), height(height_) {}
  Letterbox& with_fill(const std::array<std::uint8_t, 3>& value) { return fill = value, *this; }
  Letterbox& with_scale_up(bool value) { return scale_up = value, *this; }
  Letterbox& with_center(bool value) { return center = value, *this; }
  Letterbox& with_filter(Filter value) { return filter = value, *this; }
};

// Puts the image at a random place of a larger canvas: torchvision's RandomZoomOut. The canvas has
// the image's sides multiplied by one number between min_side and max_side. The size of the result
// is drawn, so a step that fixes the size must follow unless LoaderOptions::output.image_sizes
// allows different sizes.
struct RandomZoomOut {
  double min_side = 1, max_side = 4;             // 1 to 16
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // by channel; not for masks
  double probability = 0.5;                      // of being applied, 0 to 1
  RandomZoomOut() = default;
  RandomZoomOut(double min_side_, double max_side_) : min_side(min_side_), max_side(max_side_) {}
  RandomZoomOut& side(double low, double high) { return min_side = low, max_side = high, *this; }
  RandomZoomOut& with_fill(const std::array<std::uint8_t, 3>& value) { return fill = value, *this; }
  RandomZoomOut& with_probability(double value) { return probability = value, *this; }
};

// Resizes the image, with its aspect ratio, to the size at which it fits into target_width x
// target_height, times a random number: torchvision's ScaleJitter. Sides are rounded down, to at
// least 1. The size of the result is drawn, so FixedSizeCrop or another step that fixes the size
// usually follows.
struct ScaleJitter {
  std::uint32_t target_width = 1024, target_height = 1024;  // pixels
  double min_scale = 0.1, max_scale = 2;                    // 0.01 to 100
  Filter filter = Filter::kTriangle;
  ScaleJitter() = default;
  explicit ScaleJitter(std::uint32_t size) : target_width(size), target_height(size) {}
  ScaleJitter(std::uint32_t width, std::uint32_t height)
      : target_width(width), target_height(height) {}
  ScaleJitter& scale(double low, double high) { return min_scale = low, max_scale = high, *this; }
  ScaleJitter& with_filter(Filter value) { return filter = value, *this; }
};

// Cuts width x height pixels at a random place of a larger image, and fills a smaller image up at
// its right and bottom: the FixedSizeCrop of torchvision's references and of Detectron2. One number
// places the crop along both axes.
struct FixedSizeCrop {
  std::uint32_t width = 1024, height = 1024;     // pixels
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // by channel; not for masks
  FixedSizeCrop() = default;
  explicit FixedSizeCrop(std::uint32_t size) : width(size), height(size) {}
  FixedSizeCrop(std::uint32_t width_, std::uint32_t height_) : width(width_), height(height_) {}
  FixedSizeCrop& with_fill(const std::array<std::uint8_t, 3>& value) { return fill = value, *this; }
};

// Resizes so that the shorter side has one of these lengths, all equally likely, and the longer one
// at most max_size pixels: torchvision's RandomShortestSize. Sides are rounded down, to at least 1.
// The size of the result is drawn: see ScaleJitter.
struct RandomShortestSize {
  std::vector<std::uint32_t> min_size = {800};  // pixels
  std::uint32_t max_size = 0;                   // pixels; 0: no limit
  Filter filter = Filter::kTriangle;
  RandomShortestSize() = default;
  explicit RandomShortestSize(std::vector<std::uint32_t> min_sizes, std::uint32_t max_size_ = 0)
      : min_size(std::move(min_sizes)), max_size(max_size_) {}
  RandomShortestSize& with_filter(Filter value) { return filter = value, *this; }
};

// Cuts a random rectangle that overlaps with a box as much as a drawn option asks for:
// torchvision's RandomIoUCrop (SSD). An option is drawn for each round, of at most 50. From 1 on,
// it leaves the image as it is. Otherwise `trials` rectangles are tried: sides between min_scale
// and max_scale of the image's, an aspect ratio between min_aspect_ratio and max_aspect_ratio, the
// centre of at least one box inside, and an intersection over union with one such box of at least
// the option. Boxes whose centre lies outside are dropped. An image without boxes stays as it is.
//
// The size of the result is drawn: see ScaleJitter. Batches must have a field of boxes that follows
// the image.
struct RandomIoUCrop {
  double min_scale = 0.3, max_scale = 1;                                  // 0 < min <= max <= 1
  double min_aspect_ratio = 0.5, max_aspect_ratio = 2;                    // width / height
  std::vector<double> sampler_options = {0, 0.1, 0.3, 0.5, 0.7, 0.9, 1};  // 1 or more: no crop
  std::uint32_t trials = 40;                                              // 1 to 1000
  RandomIoUCrop() = default;
  RandomIoUCrop& scale(double low, double high) { return min_scale = low, max_scale = high, *this; }
  RandomIoUCrop& aspect_ratio(double low, double high) {
    return min_aspect_ratio = low, max_aspect_ratio = high, *this;
  }
  RandomIoUCrop& with_sampler_options(std::vector<double> values) {
    return sampler_options = std::move(values), *this;
  }
  RandomIoUCrop& with_trials(std::uint32_t value) { return trials = value, *this; }
};

// Shows four samples in each row: Ultralytics' Mosaic. Each image is resized so that its longer
// side has `cell` pixels. A canvas of twice that side has a centre, drawn for each row; the images
// lie around it, each with one corner there, and are cut off at the canvas's edges. The row's own
// sample is at the upper left. The other three are those of three other positions of the epoch,
// which Batch::parts() gives (reader/ORDER.md): each sample is shown four times in an epoch.
//
// Steps before it are drawn for each image, and those after it for the row; steps that change
// pixels always for the row. Boxes, key points and masks follow. Batches take the variable-length
// fields of all four samples together, and every other field from the row's own sample. A step that
// fixes the size usually follows, such as RandomAffine with a size, or RandomCrop.
struct Mosaic {
  std::uint32_t cell = 640;                            // pixels, 1 to 32767
  double min_center = 0.5, max_center = 1.5;           // of the cell, 0 to 2
  std::array<std::uint8_t, 3> fill = {114, 114, 114};  // by channel; not for masks
  Mosaic() = default;
  explicit Mosaic(std::uint32_t cell_) : cell(cell_) {}
  Mosaic& center(double low, double high) { return min_center = low, max_center = high, *this; }
  Mosaic& with_fill(const std::array<std::uint8_t, 3>& value) { return fill = value, *this; }
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
// works on the result of the steps before it.
//
// Without a width and a height it keeps the size of that result. With them, the centre of that
// result goes to the centre of a grid of width x height, and `translate` is a share of the grid:
// the RandomPerspective of Ultralytics, without its perspective. If the drawn map then neither
// turns nor shears, no second pass is needed.
struct RandomAffine {
  double min_degrees = 0, max_degrees = 0;       // clockwise, -360 to 360
  double translate_x = 0, translate_y = 0;       // at most this share of width and height: 0 to 1
  double min_scale = 1, max_scale = 1;           // 0.01 to 100
  double min_shear_x = 0, max_shear_x = 0;       // degrees, -80 to 80
  double min_shear_y = 0, max_shear_y = 0;       // degrees along the other axis
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // the colour outside, by channel
  double probability = 1;                        // of being applied, 0 to 1
  std::uint32_t width = 0, height = 0;           // pixels of the result; 0: those of the image
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
  RandomAffine& with_size(std::uint32_t width_, std::uint32_t height_) {
    return width = width_, height = height_, *this;
  }
};

// Moves each corner of the image towards the centre by random numbers of pixels, and the image with
// them: torchvision's RandomPerspective. Bilinear; for masks, the nearest pixel.
struct RandomPerspective {
  double distortion_scale = 0.5;                 // the most, as a share of half of the side: 0 to 1
  double probability = 0.5;                      // of being applied, 0 to 1
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // the colour outside, by channel
  RandomPerspective() = default;
  explicit RandomPerspective(double distortion, double p = 0.5)
      : distortion_scale(distortion), probability(p) {}
  RandomPerspective& with_probability(double value) { return probability = value, *this; }
  RandomPerspective& with_fill(const std::array<std::uint8_t, 3>& value) {
    return fill = value, *this;
  }
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
