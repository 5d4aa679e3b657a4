// What happens to an image on its way into a batch.
//
// A pipeline is a list of these values, applied in order. Geometric steps (geometric_transform.h)
// are fused with decoding: only what the crop needs is decoded, and resampled once, however many
// steps there are. Every random choice is a pure function of (seed, epoch, position in the epoch,
// operation): the same for any number of threads, and adding a flip does not move the crops. Steps
// that change pixels (pixel_transform.h) come behind the geometric ones, and those for labels and
// whole batches (batch_transform.h) last.
//
// A step's constructor takes what one always says. The rest are members, and can be set in the same
// expression: a range by its name, another member behind with_.
//
//   RandomResizedCrop(224).scale(0.35, 1).with_filter(Filter::kArea)
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <sluice/batch_transform.h>
#include <sluice/geometric_transform.h>
#include <sluice/pixel_transform.h>

namespace sluice {

// What becomes of boxes when their image is transformed. They are moved with it and cut off where
// what it shows ends; then one is dropped of which less than this is left, and with it the entry of
// every other variable-length field that follows the same image (its class, say). Of a fixed-shape
// field, those that are dropped become zeros.
struct BoxRule {
  double min_side = 1;     // pixels of what comes out, of width and of height
  double min_visible = 0;  // share of the box's whole area, 0 to 1
};

using Transform =
    std::variant<RandomResizedCrop, Resize, ResizeShortSide, CenterCrop, RandomCrop, HorizontalFlip,
                 VerticalFlip, RandomQuarterTurns, CenterResizedCrop, RandomTranslate, RandomAffine,
                 ColorJitter, RandomGrayscale, GaussianBlur, Solarize, Posterize, Equalize,
                 AutoContrast, Invert, AdjustSharpness, RandomErasing, RandAugment,
                 TrivialAugmentWide, Normalize, OneHot, MixUp, CutMix>;
using Pipeline = std::vector<Transform>;

// One more picture of each sample's image: Batch::image(name). Its random choices are its own.
struct View {
  std::string name;
  Pipeline transform;             // as LoaderOptions::transform, without OneHot, MixUp and CutMix
  std::vector<OutputSize> sizes;  // as LoaderOptions::sizes
};

}  // namespace sluice
