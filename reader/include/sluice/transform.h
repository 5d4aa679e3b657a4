// The steps that an image goes through on its way into a batch.
//
// A pipeline is a list of steps, applied in order:
//
//   geometric steps           geometric_transform.h
//   steps that change pixels  pixel_transform.h; after the geometric steps
//   labels, whole batches     batch_transform.h; last
//
// Geometric steps are fused with decoding: only the part that the crop needs is decoded, and that
// part is resampled once, however many steps there are. Every random choice is a pure function of
// (seed, epoch, position in the epoch, operation). So it is the same for any number of threads, and
// adding a flip does not move the crops.
//
// A step's constructor takes its usual parameters. Its other parameters are members, which can be
// set in the same expression: a range by a function of its name, any other member by with_ and its
// name.
//
//   RandomResizedCrop(224).scale(0.35, 1).with_filter(Filter::kArea)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sluice/batch_transform.h>
#include <sluice/geometric_transform.h>
#include <sluice/pixel_transform.h>

namespace sluice {

// Which boxes are dropped when an image is transformed. Boxes move with their image and are cut off
// at its edges. A box is dropped if what is left of it is beyond one of these limits; a box that
// just reaches a limit is kept. Its entries in all other variable-length fields that follow the
// same image (its class, its instance) are dropped with it. In a fixed-shape field, a dropped box
// becomes zeros.
//
// min_mask and from_masks look at the objects' masks, and need a field of instances that belongs to
// the boxes (Role::kInstances); of several such fields, the first. Without geometric steps, the
// rule applies only if min_mask, from_masks or `most` is set.
struct BoxRule {
  double min_side = 1;     // of width and of height, in pixels after the transform
  double min_visible = 0;  // share of the whole box's area, 0 to 1
  // The longer side divided by the shorter one, at least 1. Empty: no limit. Ultralytics: 100.
  std::optional<double> max_aspect = {};
  // The pixels of the object's mask that the row shows. An object without an outline or runs has 0.
  std::uint64_t min_mask = 0;
  // Boxes are made anew from what the row shows of the object's mask: a box begins with the mask's
  // first column and line, and ends where the last ones end, on whole pixels. The limits above then
  // look at the new box. A box of which no pixel shows is dropped; an object without an outline or
  // runs keeps the box that it has. Not for oriented boxes.
  bool from_masks = false;
  // Keeps at most this many boxes in a row, those with the largest area in the row (of equal ones,
  // the earlier). They stay in their order. LoaderStats::left_out_objects counts the others. Empty:
  // no limit. A mosaic is one row; MixUp and CutMix later join the boxes of two rows.
  std::optional<std::uint64_t> most = {};
};

struct RandomChoice;

// One step of a pipeline.
using Transform =
    std::variant<RandomResizedCrop, Resize, ResizeShortSide, CenterCrop, RandomCrop, HorizontalFlip,
                 VerticalFlip, RandomQuarterTurns, CenterResizedCrop, RandomTranslate, RandomAffine,
                 Letterbox, RandomZoomOut, ScaleJitter, FixedSizeCrop, RandomShortestSize,
                 RandomIoUCrop, Mosaic, RandomPerspective, ColorJitter, RandomHSV,
                 RandomPhotometricDistort, RandomGrayscale, GaussianBlur, Solarize, Posterize,
                 Equalize, AutoContrast, Invert, AdjustSharpness, RandomErasing, RandAugment,
                 TrivialAugmentWide, Normalize, OneHot, MixUp, CutMix, CopyPaste, RandomChoice>;
// Steps, applied in order.
using Pipeline = std::vector<Transform>;

// Applies one of several lists of steps, drawn for each row: torchvision's RandomChoice, and
// RandomApply with an empty list. A row is the one that a pipeline with the drawn list in this
// place would make. The lists may have any steps but Normalize and those of
// batch_transform.h, also further choices. They must make images of one size, unless
// OutputOptions::image_sizes allows different ones.
struct RandomChoice {
  std::vector<Pipeline> transforms;  // the lists, at least one; a list may be empty
  std::vector<double> p = {};        // the lists' weights, whatever their sum; empty: all equal
  RandomChoice() = default;
  explicit RandomChoice(std::vector<Pipeline> lists, std::vector<double> weights = {})
      : transforms(std::move(lists)), p(std::move(weights)) {}
};

// Steps that replace the earlier steps from `epoch` on: see LoaderOptions::schedule.
struct ScheduledTransform {
  std::uint64_t epoch = 0;  // the first epoch with these steps
  Pipeline transform;       // as LoaderOptions::transform
};

// For LoaderOptions::schedule: steps whose strength grows linearly from epoch `begin` to epoch
// `end`. Ramp() calls `steps` once for each epoch from begin + 1 to end, with a share that grows
// from above 0 to 1. From `end` on, the steps remain steps(1). Until `begin`, they should be
// steps(0): set LoaderOptions::transform to these yourself. Throws Error(kInvalidArgument) unless
// begin < end, and if end - begin is more than 65535.
std::vector<ScheduledTransform> Ramp(std::uint64_t begin, std::uint64_t end,
                                     const std::function<Pipeline(double share)>& steps);

// One more view of each sample's image, which Batch::image(name) returns. A view has random choices
// of its own.
struct View {
  std::string name;               // for Batch::image()
  Pipeline transform;             // as LoaderOptions::transform, without those of batch_transform.h
  std::vector<OutputSize> sizes;  // as LoaderOptions::sizes
  std::vector<ScheduledTransform> schedule = {};  // as LoaderOptions::schedule
};

}  // namespace sluice
