// The steps of a pipeline, with the parameters and defaults of the C++ structs. Where torchvision
// has the same step, a keyword has torchvision's name and order, which may differ from the C++
// member's: p, kernel_size, padding_mode, and (height, width). Members that belong together are one
// keyword, such as scale=(low, high). Enumerations are bound before the steps that have their
// values as defaults. PipelineOf() takes steps as text or as a list; a step without a list, and a
// class without a call, are common mistakes, so each has a message that says what to write.
#include <array>
#include <tuple>
#include <variant>

#include "reader/python/binding/keywords.h"

namespace sluice::python {

namespace {

using Side = std::uint32_t;

template <class Step, class... K>
void BindStep(nb::module_& module, const char* name, const char* doc, const K&... keywords) {
  ByKeywords(nb::class_<Step>(module, name, doc), Step(), keywords...);
}

// One number for a square, or the height and the width, in torchvision's order.
template <class Step>
auto SizeBy(const char* name, Side Step::*height, Side Step::*width) {
  using Given = std::variant<Side, std::pair<Side, Side>>;
  return Keyword{name,
                 [=](const Step& step) -> Given {
                   if (step.*height == step.*width) return step.*width;
                   return std::pair(step.*height, step.*width);
                 },
                 [=](Step& step, const Given& size) {
                   const auto* const side = std::get_if<Side>(&size);
                   std::tie(step.*height, step.*width) =
                       side != nullptr ? std::pair(*side, *side) : std::get<1>(size);
                 }};
}
template <class Step>
auto SizeOf() {
  return SizeBy("size", &Step::height, &Step::width);
}

template <class Step>
auto Chance() {
  return Member("p", &Step::probability);
}

// Steps that have a chance as their only parameter.
template <class Step>
void BindChance(nb::module_& module, const char* name, const char* doc) {
  BindStep<Step>(module, name, doc, Chance<Step>());
}

// A colour: one number for all channels, or three.
template <class Step>
auto Fill() {
  using Colour = std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>;
  using Given = std::variant<std::uint8_t, Colour>;
  return Keyword{"fill",
                 [](const Step& step) -> Given {
                   const auto& [red, green, blue] = step.fill;
                   if (red == green && green == blue) return red;
                   return Colour(red, green, blue);
                 },
                 [](Step& step, const Given& fill) {
                   const auto* const grey = std::get_if<std::uint8_t>(&fill);
                   auto& [red, green, blue] = step.fill;
                   std::tie(red, green, blue) =
                       grey != nullptr ? Colour(*grey, *grey, *grey) : std::get<1>(fill);
                 }};
}

// In degrees: one number for -x to x or both ends, along x; or both ends along x and along y.
auto Shear() {
  using Pair = std::pair<double, double>;
  using Four = std::tuple<double, double, double, double>;
  using Ranges = std::variant<double, Pair, Four>;
  return Keyword{"shear",
                 [](const RandomAffine& step) -> Ranges {
                   const Pair x(step.min_shear_x, step.max_shear_x);
                   const Pair y(step.min_shear_y, step.max_shear_y);
                   if (y != Pair(0, 0)) return std::tuple_cat(x, y);
                   if (x.first == -x.second) return x.second;
                   return x;
                 },
                 [](RandomAffine& step, const Ranges& shear) {
                   Four all(0, 0, 0, 0);
                   if (const auto* const most = std::get_if<double>(&shear))
                     all = {-*most, *most, 0, 0};
                   else if (const auto* const x = std::get_if<Pair>(&shear))
                     all = {x->first, x->second, 0, 0};
                   else
                     all = std::get<Four>(shear);
                   std::tie(step.min_shear_x, step.max_shear_x, step.min_shear_y,
                            step.max_shear_y) = all;
                 }};
}

// One number for -x to x, or both ends.
auto Degrees() {
  using Range = std::variant<double, std::pair<double, double>>;
  return Keyword{"degrees",
                 [](const RandomAffine& step) -> Range {
                   if (step.min_degrees == -step.max_degrees) return step.max_degrees;
                   return std::pair(step.min_degrees, step.max_degrees);
                 },
                 [](RandomAffine& step, const Range& degrees) {
                   const auto* const most = std::get_if<double>(&degrees);
                   std::tie(step.min_degrees, step.max_degrees) =
                       most != nullptr ? std::pair(-*most, *most) : std::get<1>(degrees);
                 }};
}

void BindCrops(nb::module_& module) {
  Words<Filter>(module, "Filter", "How pixels are computed from others when resizing")
      .value("TRIANGLE", Filter::kTriangle, "Pillow's BILINEAR")
      .value("AREA", Filter::kArea, "the mean of the covered area");
  Words<Border>(module, "Border", "The pixels beyond a picture's edge")
      .value("CONSTANT", Border::kConstant)
      .value("REFLECT", Border::kReflect);
  using Crop = RandomResizedCrop;
  BindStep<Crop>(
      module, "RandomResizedCrop",
      "A crop of random area (scale: its share of the image's area) and aspect ratio, resized to "
      "size; torchvision's rule.",
      SizeOf<Crop>(), Range("scale", &Crop::min_scale, &Crop::max_scale),
      Range("ratio", &Crop::min_ratio, &Crop::max_ratio), Member("filter", &Crop::filter));
  BindStep<Resize>(module, "Resize", "Resizes to exactly this size: a side, or (height, width).",
                   SizeOf<Resize>(), Member("filter", &Resize::filter));
  BindStep<ResizeShortSide>(
      module, "ResizeShortSide",
      "Resizes so that the shorter side has `size` pixels; a crop must follow.",
      Member("size", &ResizeShortSide::side), Member("filter", &ResizeShortSide::filter));
  BindStep<CenterCrop>(
      module, "CenterCrop",
      "The centre of the image, of this size; if the image is smaller, the rest is zeros.",
      SizeOf<CenterCrop>());
  using Centre = CenterResizedCrop;
  BindStep<Centre>(
      module, "CenterResizedCrop",
      "The largest centred rectangle with the aspect ratio of size, its sides multiplied by ratio, "
      "resized to size; FFCV's CenterCropRGBImageDecoder.",
      SizeOf<Centre>(), Member("ratio", &Centre::ratio), Member("filter", &Centre::filter));
  BindStep<RandomCrop>(
      module, "RandomCrop",
      "A crop of this size at a random place of the image with a border of `padding` pixels.",
      SizeOf<RandomCrop>(), Member("padding", &RandomCrop::padding),
      Member("padding_mode", &RandomCrop::border), Fill<RandomCrop>());
  BindStep<RandomTranslate>(module, "RandomTranslate",
                            "Moves the image by -padding to padding whole pixels along each axis, "
                            "like FFCV's RandomTranslate.",
                            Member("padding", &RandomTranslate::padding),
                            Member("padding_mode", &RandomTranslate::border),
                            Fill<RandomTranslate>());
  BindStep<Letterbox>(
      module, "Letterbox",
      "Resizes so that all of the image fits into size, a side or (height, width), and fills the "
      "rest with fill (0 to 255: one number, or one for each channel): Ultralytics' LetterBox. "
      "scaleup=False keeps small images as they are, center=False puts images at the upper left.",
      SizeOf<Letterbox>(), Fill<Letterbox>(), Member("scaleup", &Letterbox::scale_up),
      Member("center", &Letterbox::center), Member("filter", &Letterbox::filter));
  using ZoomOut = RandomZoomOut;
  BindStep<ZoomOut>(
      module, "RandomZoomOut",
      "Puts the image at a random place of a canvas whose sides are larger by a random factor of "
      "side_range (1 to 16); torchvision's rule. The size is drawn: a step that fixes it follows, "
      "or output.image_sizes allows different sizes.",
      Fill<ZoomOut>(), Range("side_range", &ZoomOut::min_side, &ZoomOut::max_side),
      Chance<ZoomOut>());
  BindStep<Mosaic>(
      module, "Mosaic",
      "Shows four samples in each row: Ultralytics' Mosaic. Each image's longer side gets cell "
      "pixels, and the four meet at a drawn centre, center (a range) times cell, of a canvas of 2 "
      "x "
      "cell; fill is the rest. Boxes, key points and masks follow. batch.parts() has the four "
      "samples. Steps before it are drawn for each image, steps after it for the row. A step that "
      "fixes the size usually follows: RandomAffine with a size, or RandomCrop.",
      Member("cell", &Mosaic::cell), Range("center", &Mosaic::min_center, &Mosaic::max_center),
      Fill<Mosaic>());
  BindStep<RandomIoUCrop>(
      module, "RandomIoUCrop",
      "A crop that overlaps with a box by at least a drawn option (intersection over union), and "
      "drops boxes whose centre lies outside; torchvision's rule. Sides are min_scale to max_scale "
      "of the image's, and width / height min_aspect_ratio to max_aspect_ratio. An option of 1 "
      "leaves the image as it is. Needs a field of boxes. The size is drawn.",
      Member("min_scale", &RandomIoUCrop::min_scale),
      Member("max_scale", &RandomIoUCrop::max_scale),
      Member("min_aspect_ratio", &RandomIoUCrop::min_aspect_ratio),
      Member("max_aspect_ratio", &RandomIoUCrop::max_aspect_ratio),
      Member("sampler_options", &RandomIoUCrop::sampler_options),
      Member("trials", &RandomIoUCrop::trials));
  BindStep<ScaleJitter>(
      module, "ScaleJitter",
      "Resizes to the size at which the image fits into target_size, a side or (height, width), "
      "times a random factor of scale_range; torchvision's rule. The size is drawn.",
      SizeBy("target_size", &ScaleJitter::target_height, &ScaleJitter::target_width),
      Range("scale_range", &ScaleJitter::min_scale, &ScaleJitter::max_scale),
      Member("filter", &ScaleJitter::filter));
  BindStep<FixedSizeCrop>(
      module, "FixedSizeCrop",
      "Cuts this size out of a larger image at a random place, and fills a smaller one up at its "
      "right and bottom with fill; the rule of torchvision's references and of Detectron2.",
      SizeOf<FixedSizeCrop>(), Fill<FixedSizeCrop>());
  using Shortest = RandomShortestSize;
  using Sides = std::variant<Side, std::vector<Side>>;
  BindStep<Shortest>(
      module, "RandomShortestSize",
      "Resizes so that the shorter side has one of the sizes min_size (pixels), and the longer one "
      "at most max_size (0: no limit); torchvision's rule. The size is drawn.",
      Keyword{"min_size",
              [](const Shortest& step) -> Sides {
                if (step.min_size.size() == 1) return step.min_size[0];
                return step.min_size;
              },
              [](Shortest& step, const Sides& sizes) {
                const auto* const side = std::get_if<Side>(&sizes);
                step.min_size = side != nullptr ? std::vector{*side} : std::get<1>(sizes);
              }},
      Member("max_size", &Shortest::max_size), Member("filter", &Shortest::filter));
  BindChance<HorizontalFlip>(module, "HorizontalFlip", "Mirrors left to right.");
  BindChance<VerticalFlip>(module, "VerticalFlip", "Mirrors top to bottom.");
  BindChance<RandomQuarterTurns>(
      module, "RandomQuarterTurns",
      "Turns by one, two or three quarter turns; images must be square.");
  using Affine = RandomAffine;
  BindStep<Affine>(
      module, "RandomAffine",
      "Rotates (degrees, clockwise), moves (translate: the largest share of width and height), "
      "scales and shears about the centre, as torchvision's does. degrees=x and shear=x mean -x to "
      "x; a shear of four numbers has a range along y, too. With a "
      "size, a side or (height, width), the centre goes to the centre of a grid of that size, of "
      "which translate is a share; 0 keeps the image's size.",
      Degrees(), Range("translate", &Affine::translate_x, &Affine::translate_y),
      Range("scale", &Affine::min_scale, &Affine::max_scale), Shear(), Fill<Affine>(),
      Chance<Affine>(), SizeOf<Affine>());
  BindStep<RandomPerspective>(
      module, "RandomPerspective",
      "Moves each corner towards the centre by random numbers of pixels, at most distortion_scale "
      "times half of the side; torchvision's rule, bilinear.",
      Member("distortion_scale", &RandomPerspective::distortion_scale), Chance<RandomPerspective>(),
      Fill<RandomPerspective>());
}

void BindColours(nb::module_& module) {
  BindStep<ColorJitter>(module, "ColorJitter",
                        "Brightness, contrast, saturation (factors from max(0, 1 - x) to 1 + x) "
                        "and hue (-x to x turns), in random order.",
                        Member("brightness", &ColorJitter::brightness),
                        Member("contrast", &ColorJitter::contrast),
                        Member("saturation", &ColorJitter::saturation),
                        Member("hue", &ColorJitter::hue), Chance<ColorJitter>());
  BindStep<RandomHSV>(module, "RandomHSV",
                      "Hue (-x to x turns), saturation and value (factors from 1 - x to 1 + x), as "
                      "Ultralytics trains detectors.",
                      Member("hue", &RandomHSV::hue), Member("saturation", &RandomHSV::saturation),
                      Member("value", &RandomHSV::value), Chance<RandomHSV>());
  using Distort = RandomPhotometricDistort;
  BindStep<Distort>(
      module, "RandomPhotometricDistort",
      "Brightness, contrast, saturation and hue by factors of these ranges, and an exchange of "
      "channels, each with probability p; torchvision's rule.",
      Range("brightness", &Distort::min_brightness, &Distort::max_brightness),
      Range("contrast", &Distort::min_contrast, &Distort::max_contrast),
      Range("saturation", &Distort::min_saturation, &Distort::max_saturation),
      Range("hue", &Distort::min_hue, &Distort::max_hue), Chance<Distort>());
  BindChance<RandomGrayscale>(module, "RandomGrayscale", "Sets all channels to the lightness.");
  BindStep<GaussianBlur>(
      module, "GaussianBlur",
      "A Gaussian blur of kernel_size x kernel_size pixels (odd), with sigma drawn uniformly.",
      Member("kernel_size", &GaussianBlur::kernel),
      Range("sigma", &GaussianBlur::min_sigma, &GaussianBlur::max_sigma), Chance<GaussianBlur>());
  BindStep<Solarize>(module, "Solarize", "Inverts values at or above the threshold (0 to 256).",
                     Member("threshold", &Solarize::threshold), Chance<Solarize>());
  BindStep<Posterize>(module, "Posterize", "Keeps the upper bits (1 to 8) of each value.",
                      Member("bits", &Posterize::bits), Chance<Posterize>());
  BindChance<Equalize>(module, "Equalize", "Makes all values of a channel about equally frequent.");
  BindChance<AutoContrast>(module, "AutoContrast", "Stretches each channel to 0 to 255.");
  BindChance<Invert>(module, "Invert", "Replaces each value by 255 minus it.");
  BindStep<AdjustSharpness>(module, "AdjustSharpness",
                            "Blends with a smoothed picture: factor 0 gives the smoothed picture, "
                            "1 the original, 2 sharpens.",
                            Member("sharpness_factor", &AdjustSharpness::factor),
                            Chance<AdjustSharpness>());
  using Erasing = RandomErasing;
  BindStep<Erasing>(
      module, "RandomErasing",
      "Replaces a rectangle of random area (scale: its share of the image's area) and "
      "aspect ratio; put it before Normalize.",
      Chance<Erasing>(), Range("scale", &Erasing::min_scale, &Erasing::max_scale),
      Range("ratio", &Erasing::min_ratio, &Erasing::max_ratio), Member("value", &Erasing::value),
      Member("noise", &Erasing::noise));
  BindStep<RandAugment>(
      module, "RandAugment",
      "Applies num_ops operations, drawn from fourteen, all of one magnitude.",
      Member("num_ops", &RandAugment::operations), Member("magnitude", &RandAugment::magnitude),
      Member("num_magnitude_bins", &RandAugment::bins), Member("bilinear", &RandAugment::bilinear),
      Fill<RandAugment>(), Chance<RandAugment>());
  using Trivial = TrivialAugmentWide;
  BindStep<Trivial>(module, "TrivialAugmentWide",
                    "Applies one of RandAugment's operations, of any magnitude.",
                    Member("num_magnitude_bins", &Trivial::bins),
                    Member("bilinear", &Trivial::bilinear), Fill<Trivial>(), Chance<Trivial>());
}

using StatedLists = Stated<"_Transforms">;

std::vector<Pipeline> ListsOf(nb::handle given) {
  if (nb::isinstance<nb::str>(given) || !nb::isinstance<nb::iterable>(given)) {
    throw Error(ErrorCode::kInvalidArgument,
                "RandomChoice: transforms is a list of steps or of lists of steps, not " +
                    Utf8Of(nb::repr(given)));
  }
  std::vector<Pipeline> lists;
  for (const nb::handle one : nb::iter(given)) {
    Transform step;
    lists.push_back(nb::try_cast(one, step) ? Pipeline{std::move(step)} : PipelineOf(one));
  }
  return lists;
}

void BindLast(nb::module_& module) {
  Words<FloatType>(module, "FloatType", "The numbers that Normalize makes")
      .value("FLOAT32", FloatType::kFloat32)
      .value("FLOAT16", FloatType::kFloat16)
      .value("BFLOAT16", FloatType::kBFloat16);
  BindStep<Normalize>(
      module, "Normalize",
      "(value / 255 - mean) / std, as floating-point numbers; mean and std are for pixels from 0 "
      "to 1, as torchvision's are: one number, or one for each channel.",
      Floats("mean", &Normalize::mean), Floats("std", &Normalize::deviation),
      Member("type", &Normalize::type));
  BindStep<OneHot>(
      module, "OneHot",
      "Adds a float32 field with one number for each class, smoothed. classes: how many; 0: as "
      "many as the label has names.",
      Member("classes", &OneHot::classes), Member("smoothing", &OneHot::smoothing),
      Member("label", &OneHot::label), Member("field", &OneHot::field));
  BindStep<MixUp>(module, "MixUp",
                  "Mixes each sample, and its boxes, with the one before it in the batch; needs "
                  "OneHot before it, or boxes.",
                  Member("alpha", &MixUp::alpha), Chance<MixUp>());
  BindStep<CutMix>(
      module, "CutMix",
      "Replaces a rectangle of each sample by that of the one before it in the batch, in masks and "
      "boxes, too; needs OneHot before it, or boxes or a mask.",
      Member("alpha", &CutMix::alpha), Chance<CutMix>());
  BindStep<CopyPaste>(
      module, "CopyPaste",
      "Pastes objects of the sample before it in the batch into each row, with their masks, boxes "
      "and classes, as torchvision's reference script does; needs a field of instances. p: that a "
      "row is pasted into. flip: Ultralytics' rule: pastes the row's own objects, mirrored, where "
      "they hide little of others, and p is the share of these objects.",
      Chance<CopyPaste>(), Member("flip", &CopyPaste::flip));
  BindStep<RandomChoice>(
      module, "RandomChoice",
      "Applies one of several lists of steps, drawn for each row: torchvision's RandomChoice. Each "
      "of transforms is a step, a list of steps, or their text form; an empty list changes "
      "nothing. "
      "p: the lists' weights; None: all equal.",
      Required(Keyword{"transforms",
                       [](const RandomChoice& choice) {
                         return nb::borrow<StatedLists>(nb::cast(choice.transforms));
                       },
                       [](RandomChoice& choice, const StatedLists& given) {
                         choice.transforms = ListsOf(given);
                       }}),
      Keyword{"p",
              [](const RandomChoice& choice) {
                return choice.p.empty() ? std::nullopt : std::optional(choice.p);
              },
              [](RandomChoice& choice, const std::optional<std::vector<double>>& p) {
                choice.p = p.value_or(std::vector<double>());
              }});
  module.def("progressive_sizes", &ProgressiveSizes, "low"_a, "high"_a, "begin"_a, "end"_a,
             "multiple"_a = 32,
             "Output sizes for Loader(sizes=...): the side is low up to epoch begin, then grows to "
             "high at epoch end; each side is a multiple of `multiple`.");
  module.def(
      "sizes_by_batch", &SizesByBatch, "sides"_a, "every"_a = 10, "epoch"_a = 0,
      "Output sizes for Loader(sizes=...): from that epoch on, one of the sides is drawn for "
      "each `every` batches, the same for all ranks. ValueError: no sides, or every=0.");
  BindStep<OutputSize>(
      module, "OutputSize",
      "From this epoch on, images have this size. Sizes of the same epoch are "
      "choices: one is drawn for each `every` batches.",
      Required(Member("epoch", &OutputSize::epoch)), Required(Member("width", &OutputSize::width)),
      Required(Member("height", &OutputSize::height)), Member("every", &OutputSize::every));
  module.def("pipeline_steps", &PipelineSteps, "The text forms of all steps.");
}

}  // namespace

Pipeline PipelineOf(nb::handle steps) {
  if (steps.is_none()) return {};
  if (nb::isinstance<nb::str>(steps)) return ParsePipeline(Utf8Of(steps));
  Pipeline pipeline;
  const auto refuse = [](const char* what, nb::handle given) {
    throw Error(ErrorCode::kInvalidArgument,
                "a transform is a list of steps such as sluice.RandomResizedCrop(224), or their "
                "text form; this is not " +
                    (what + Utf8Of(nb::repr(given))));
  };
  if (nb::try_cast(steps, pipeline.emplace_back()))
    refuse("such a list (put it into [ ]): ", steps);
  if (!nb::isinstance<nb::iterable>(steps)) refuse("such a list: ", steps);
  pipeline.clear();
  for (const nb::handle step : nb::iter(steps)) {
    if (nb::try_cast(step, pipeline.emplace_back())) continue;
    refuse(nb::isinstance<nb::str>(step)           ? "a step (write all steps as one text, such as "
                                                     "\"rrc:224,flip\"): "
           : nb::isinstance<nb::type_object>(step) ? "a step (call the class, such as "
                                                     "sluice.HorizontalFlip()): "
                                                   : "a step: ",
           step);
  }
  return pipeline;
}

std::vector<ScheduledTransform> ScheduleOf(nb::handle schedule) {
  if (schedule.is_none()) return {};
  if (nb::isinstance<nb::str>(schedule)) return ParseSchedule(Utf8Of(schedule));
  std::vector<ScheduledTransform> later;
  const auto refuse = [](nb::handle given) {
    throw nb::type_error(("schedule is a list of (epoch, steps), such as "
                          "[(1, \"rrc:32\")], and this is not such a pair: " +
                          Utf8Of(nb::repr(given)))
                             .c_str());
  };
  // A dict could be iterated, but would give epochs without their steps.
  if (PyDict_Check(schedule.ptr()) || PySequence_Check(schedule.ptr()) == 0) refuse(schedule);
  for (const nb::handle entry : nb::iter(schedule)) {
    std::pair<std::uint64_t, nb::object> pair;
    if (!nb::try_cast(entry, pair)) refuse(entry);
    later.push_back({pair.first, PipelineOf(pair.second)});
  }
  return later;
}

void BindSteps(nb::module_& module) {
  BindCrops(module);
  BindColours(module);
  BindLast(module);
}

}  // namespace sluice::python
