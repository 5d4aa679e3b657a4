// The steps that an image goes through on its way into a batch.
//
// A pipeline is a list of these values, applied in order. Geometric steps (geometric_transform.h)
// are fused with decoding: only the part that the crop needs is decoded, and it is resampled once,
// however many steps there are. Steps that change pixels (pixel_transform.h) come after the
// geometric ones, and those for labels and whole batches (batch_transform.h) last. Every random
// choice is a pure function of (seed, epoch, position in the epoch, operation): it is the same for
// any number of threads, and adding a flip does not move the crops.
//
// A step's constructor takes its usual parameters. The rest are members, which can be set in the
// same expression: a range by its name, any other member by with_ and its name.
//
//   RandomResizedCrop(224).scale(0.35, 1).with_filter(Filter::kArea)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <sluice/batch_transform.h>
#include <sluice/geometric_transform.h>
#include <sluice/pixel_transform.h>

namespace sluice {

// When an image is transformed, its boxes move with it and are cut off at its edges. A box is then
// dropped if less of it is left than one of the members asks for; the matching entry of every other
// variable-length field that follows the same image (its class, say) is dropped with it. In a
// fixed-shape field, dropped boxes become zeros.
struct BoxRule {
  double min_side = 1;     // width and height, in pixels of the transformed image
  double min_visible = 0;  // share of the box's whole area, 0 to 1
};

// One step of a pipeline.
using Transform =
    std::variant<RandomResizedCrop, Resize, ResizeShortSide, CenterCrop, RandomCrop, HorizontalFlip,
                 VerticalFlip, RandomQuarterTurns, CenterResizedCrop, RandomTranslate, RandomAffine,
                 ColorJitter, RandomGrayscale, GaussianBlur, Solarize, Posterize, Equalize,
                 AutoContrast, Invert, AdjustSharpness, RandomErasing, RandAugment,
                 TrivialAugmentWide, Normalize, OneHot, MixUp, CutMix>;
// Steps, applied in order.
using Pipeline = std::vector<Transform>;

// Steps that replace the earlier ones from `epoch` on: see LoaderOptions::schedule.
struct ScheduledTransform {
  std::uint64_t epoch = 0;  // the first with these steps
  Pipeline transform;       // as LoaderOptions::transform
};

// For LoaderOptions::schedule: steps whose strength grows linearly from epoch `begin` to epoch
// `end`. Until `begin`, the steps are steps(0); from `end` on, steps(1). Ramp() calls `steps` once
// for each epoch from begin + 1 to end, with a share above 0 and up to 1; set
// LoaderOptions::transform to steps(0) yourself.
// Throws Error(kInvalidArgument) unless begin < end, and if end - begin is more than 65535.
std::vector<ScheduledTransform> Ramp(std::uint64_t begin, std::uint64_t end,
                                     const std::function<Pipeline(double share)>& steps);

// One more view of each sample's image, in Batch::image(name). It has its own random choices.
struct View {
  std::string name;               // for Batch::image()
  Pipeline transform;             // as LoaderOptions::transform, without OneHot, MixUp and CutMix
  std::vector<OutputSize> sizes;  // as LoaderOptions::sizes
  std::vector<ScheduledTransform> schedule = {};  // as LoaderOptions::schedule
};

}  // namespace sluice
