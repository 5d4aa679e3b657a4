// What happens to an image on its way into a batch.
//
// A pipeline is a list of these values, applied in order. Geometric steps are fused with decoding:
// only what the crop needs is decoded, and resampled once, however many steps there are (with the
// last resize's filter). Every
// random choice is a pure function of (seed, epoch, position in the epoch, operation): the same for
// any number of threads, and adding a flip does not move the crops. Steps that change pixels
// (pixel_transform.h) come behind the geometric ones, and those for labels and whole batches
// (batch_transform.h) last.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <sluice/batch_transform.h>
#include <sluice/image.h>
#include <sluice/pixel_transform.h>

namespace sluice {

// A crop of random area and aspect ratio, resized to width x height (Szegedy et al. 2015; the rule
// of torchvision's RandomResizedCrop: ten tries, then the largest centred crop of an allowed
// ratio).
struct RandomResizedCrop {
  std::uint32_t width = 224, height = 224;   // pixels
  double min_scale = 0.08, max_scale = 1.0;  // share of the image's area, 0 < min <= max <= 1
  double min_ratio = 3.0 / 4, max_ratio = 4.0 / 3;  // width / height
  Filter filter = Filter::kTriangle;
  RandomResizedCrop() = default;
  explicit RandomResizedCrop(std::uint32_t side) : width(side), height(side) {}
  RandomResizedCrop(std::uint32_t w, std::uint32_t h) : width(w), height(h) {}
};

// Resizes to exactly width x height, whatever the aspect ratio.
struct Resize {
  std::uint32_t width = 224, height = 224;
  Filter filter = Filter::kTriangle;
  Resize() = default;
  explicit Resize(std::uint32_t side) : width(side), height(side) {}
  Resize(std::uint32_t w, std::uint32_t h) : width(w), height(h) {}
};

// Resizes so that the shorter side has `side` pixels, keeping the aspect ratio (the longer one is
// rounded down, as torchvision does). Images of different shapes stay of different sizes: a crop
// must follow.
struct ResizeShortSide {
  std::uint32_t side = 256;
  Filter filter = Filter::kTriangle;
};

// The central width x height of what comes in. Where that is smaller, the rest is filled with
// zeros.
struct CenterCrop {
  std::uint32_t width = 224, height = 224;
  CenterCrop() = default;
  explicit CenterCrop(std::uint32_t side) : width(side), height(side) {}
  CenterCrop(std::uint32_t w, std::uint32_t h) : width(w), height(h) {}
};

// width x height cut at a random place out of the image with `padding` zero pixels around it. Where
// even that is smaller, the missing part is shared out at random between both ends.
struct RandomCrop {
  std::uint32_t width = 32, height = 32;
  std::uint32_t padding = 0;
  RandomCrop() = default;
  explicit RandomCrop(std::uint32_t side, std::uint32_t pad = 0)
      : width(side), height(side), padding(pad) {}
};

// Mirrored left to right with this probability.
struct HorizontalFlip {
  double probability = 0.5;
};

// What becomes of boxes when their image is transformed. They are moved with it and cut off where
// what it shows ends; then one is dropped of which less than this is left, and with it the entry of
// every other variable-length field that follows the same image (its class, say).
struct BoxRule {
  double min_side = 1;     // pixels of what comes out, of width and of height
  double min_visible = 0;  // share of the box's whole area, 0 to 1
};

using Transform = std::variant<RandomResizedCrop, Resize, ResizeShortSide, CenterCrop, RandomCrop,
                               HorizontalFlip, ColorJitter, RandomGrayscale, GaussianBlur, Solarize,
                               Posterize, Equalize, AutoContrast, Invert, AdjustSharpness,
                               RandomErasing, Normalize, OneHot, MixUp, CutMix>;
using Pipeline = std::vector<Transform>;

}  // namespace sluice
