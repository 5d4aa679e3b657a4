// The steps of a pipeline, with the parameters, names and defaults of the C++ structs.
#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

using Pair = std::pair<double, double>;
using Colour = std::array<std::uint8_t, 3>;
using Size = std::uint32_t;

// Width and height; without a height, a square.
template <class Step>
void SetSize(Step& step, Size width, std::optional<Size> height) {
  step.width = width;
  step.height = height.value_or(width);
}

void Set(double& low, double& high, const Pair& range) {
  low = range.first;
  high = range.second;
}

// Steps that have a chance as their only parameter.
template <class Step>
void BindChance(nb::module_& module, const char* name, const char* doc) {
  nb::class_<Step>(module, name, doc)
      .def(nb::init<double>(), "probability"_a = Step().probability)
      .def_rw("probability", &Step::probability);
}

void BindCrops(nb::module_& module) {
  nb::enum_<Filter>(module, "Filter", "How pixels are computed from others when resizing")
      .value("TRIANGLE", Filter::kTriangle, "Pillow's BILINEAR")
      .value("AREA", Filter::kArea, "the mean of the covered area");
  nb::enum_<Border>(module, "Border", "The pixels beyond a picture's edge")
      .value("CONSTANT", Border::kConstant)
      .value("REFLECT", Border::kReflect);
  nb::class_<RandomResizedCrop>(
      module, "RandomResizedCrop",
      "A crop of random area (scale: share of the image's) and aspect ratio, resized to width x "
      "height pixels; torchvision's rule.")
      .def(
          "__init__",
          [](RandomResizedCrop* self, Size width, std::optional<Size> height, Pair scale,
             Pair ratio, Filter filter) {
            new (self) RandomResizedCrop();
            SetSize(*self, width, height);
            Set(self->min_scale, self->max_scale, scale);
            Set(self->min_ratio, self->max_ratio, ratio);
            self->filter = filter;
          },
          "width"_a = 224, "height"_a = nb::none(), "scale"_a = Pair(0.08, 1),
          "ratio"_a = Pair(3.0 / 4, 4.0 / 3), "filter"_a.noconvert() = Filter::kTriangle);
  nb::class_<Resize>(module, "Resize", "Resizes to exactly width x height pixels.")
      .def(
          "__init__",
          [](Resize* self, Size width, std::optional<Size> height, Filter filter) {
            new (self) Resize();
            SetSize(*self, width, height);
            self->filter = filter;
          },
          "width"_a = 224, "height"_a = nb::none(), "filter"_a.noconvert() = Filter::kTriangle);
  nb::class_<ResizeShortSide>(
      module, "ResizeShortSide",
      "Resizes so that the shorter side has that many pixels; a crop must follow.")
      .def(
          "__init__",
          [](ResizeShortSide* self, Size side, Filter filter) {
            new (self) ResizeShortSide(side);
            self->filter = filter;
          },
          "side"_a = 256, "filter"_a.noconvert() = Filter::kTriangle);
  nb::class_<CenterCrop>(module, "CenterCrop",
                         "The central width x height; what the image lacks is filled with zeros.")
      .def(
          "__init__",
          [](CenterCrop* self, Size width, std::optional<Size> height) {
            new (self) CenterCrop();
            SetSize(*self, width, height);
          },
          "width"_a = 224, "height"_a = nb::none());
  nb::class_<CenterResizedCrop>(
      module, "CenterResizedCrop",
      "The largest centred rectangle of that shape, shrunk by ratio, resized: FFCV's "
      "CenterCropRGBImageDecoder.")
      .def(
          "__init__",
          [](CenterResizedCrop* self, Size width, std::optional<Size> height, double ratio,
             Filter filter) {
            new (self) CenterResizedCrop();
            SetSize(*self, width, height);
            self->ratio = ratio;
            self->filter = filter;
          },
          "width"_a = 224, "height"_a = nb::none(), "ratio"_a = 224.0 / 256,
          "filter"_a.noconvert() = Filter::kTriangle);
  nb::class_<RandomCrop>(
      module, "RandomCrop",
      "width x height at a random place of the image with a border of `padding` pixels.")
      .def(
          "__init__",
          [](RandomCrop* self, Size width, std::optional<Size> height, Size padding, Border border,
             Colour fill) {
            new (self) RandomCrop();
            SetSize(*self, width, height);
            self->padding = padding;
            self->border = border;
            self->fill = fill;
          },
          "width"_a = 32, "height"_a = nb::none(), "padding"_a = 0,
          "border"_a.noconvert() = Border::kConstant, "fill"_a = Colour{});
  nb::class_<RandomTranslate>(
      module, "RandomTranslate",
      "Moves the image by -padding to padding whole pixels along each axis: FFCV's.")
      .def(
          "__init__",
          [](RandomTranslate* self, Size padding, Border border, Colour fill) {
            new (self) RandomTranslate(padding, border);
            self->fill = fill;
          },
          "padding"_a = 4, "border"_a.noconvert() = Border::kConstant, "fill"_a = Colour{});
  BindChance<HorizontalFlip>(module, "HorizontalFlip", "Mirrors left to right.");
  BindChance<VerticalFlip>(module, "VerticalFlip", "Mirrors top to bottom.");
  BindChance<RandomQuarterTurns>(
      module, "RandomQuarterTurns",
      "Turns by one, two or three quarter turns; images must be square.");
  nb::class_<RandomAffine>(
      module, "RandomAffine",
      "Rotates (degrees, clockwise), moves (at most that share of width and height), scales and "
      "shears about the centre; torchvision's. Given one number, degrees are -x to x.")
      .def(
          "__init__",
          [](RandomAffine* self, std::variant<double, Pair> degrees, Pair translate, Pair scale,
             Pair shear_x, Pair shear_y, Colour fill, double probability) {
            new (self) RandomAffine();
            if (const double* const most = std::get_if<double>(&degrees)) {
              degrees = Pair(-*most, *most);
            }
            Set(self->min_degrees, self->max_degrees, std::get<Pair>(degrees));
            Set(self->translate_x, self->translate_y, translate);
            Set(self->min_scale, self->max_scale, scale);
            Set(self->min_shear_x, self->max_shear_x, shear_x);
            Set(self->min_shear_y, self->max_shear_y, shear_y);
            self->fill = fill;
            self->probability = probability;
          },
          "degrees"_a = 0.0, "translate"_a = Pair(0, 0), "scale"_a = Pair(1, 1),
          "shear_x"_a = Pair(0, 0), "shear_y"_a = Pair(0, 0), "fill"_a = Colour{},
          "probability"_a = 1.0);
}

void BindColours(nb::module_& module) {
  nb::class_<ColorJitter>(module, "ColorJitter",
                          "Brightness, contrast, saturation (factors from max(0, 1 - x) to 1 + x) "
                          "and hue (-x to x turns), in random order.")
      .def(nb::init<double, double, double, double, double>(), "brightness"_a = 0.0,
           "contrast"_a = 0.0, "saturation"_a = 0.0, "hue"_a = 0.0, "probability"_a = 1.0);
  BindChance<RandomGrayscale>(module, "RandomGrayscale", "Sets all channels to the lightness.");
  nb::class_<GaussianBlur>(module, "GaussianBlur",
                           "A blur of kernel x kernel pixels (odd) with sigma drawn uniformly.")
      .def(
          "__init__",
          [](GaussianBlur* self, Size kernel, Pair sigma, double probability) {
            new (self) GaussianBlur(kernel, sigma.first, sigma.second, probability);
          },
          "kernel"_a = 23, "sigma"_a = Pair(0.1, 2), "probability"_a = 1.0);
  nb::class_<Solarize>(module, "Solarize", "Inverts values at or above the threshold (0 to 256).")
      .def(nb::init<unsigned, double>(), "threshold"_a = 128, "probability"_a = 1.0);
  nb::class_<Posterize>(module, "Posterize", "Keeps the upper bits (1 to 8) of each value.")
      .def(nb::init<unsigned, double>(), "bits"_a = 4, "probability"_a = 1.0);
  BindChance<Equalize>(module, "Equalize", "Makes all values of a channel about equally frequent.");
  BindChance<AutoContrast>(module, "AutoContrast", "Stretches each channel to 0 to 255.");
  BindChance<Invert>(module, "Invert", "255 - x.");
  nb::class_<AdjustSharpness>(module, "AdjustSharpness",
                              "0 gives the smoothed picture, 1 the original, 2 sharpens.")
      .def(nb::init<double, double>(), "factor"_a = 2.0, "probability"_a = 1.0);
  nb::class_<RandomErasing>(
      module, "RandomErasing",
      "Replaces a rectangle of random area (share) and ratio; before Normalize.")
      .def(
          "__init__",
          [](RandomErasing* self, double probability, Pair scale, Pair ratio, Colour value,
             bool noise) {
            new (self) RandomErasing(probability);
            Set(self->min_scale, self->max_scale, scale);
            Set(self->min_ratio, self->max_ratio, ratio);
            self->value = value;
            self->noise = noise;
          },
          "probability"_a = 0.5, "scale"_a = Pair(0.02, 0.33), "ratio"_a = Pair(0.3, 3.3),
          "value"_a = Colour{}, "noise"_a = false);
  nb::class_<RandAugment>(module, "RandAugment",
                          "Applies that many operations of fourteen, of one magnitude.")
      .def(
          "__init__",
          [](RandAugment* self, unsigned operations, unsigned magnitude, unsigned bins,
             bool bilinear, Colour fill, double probability) {
            new (self) RandAugment(operations, magnitude, bins);
            self->bilinear = bilinear;
            self->fill = fill;
            self->probability = probability;
          },
          "operations"_a = 2, "magnitude"_a = 9, "bins"_a = 31, "bilinear"_a = false,
          "fill"_a = Colour{}, "probability"_a = 1.0);
  nb::class_<TrivialAugmentWide>(module, "TrivialAugmentWide",
                                 "Applies one of RandAugment's operations, of any magnitude.")
      .def(
          "__init__",
          [](TrivialAugmentWide* self, unsigned bins, bool bilinear, Colour fill,
             double probability) {
            new (self) TrivialAugmentWide(bins);
            self->bilinear = bilinear;
            self->fill = fill;
            self->probability = probability;
          },
          "bins"_a = 31, "bilinear"_a = false, "fill"_a = Colour{}, "probability"_a = 1.0);
}

void BindLast(nb::module_& module) {
  nb::enum_<FloatType>(module, "FloatType", "The numbers that Normalize makes")
      .value("FLOAT32", FloatType::kFloat32)
      .value("FLOAT16", FloatType::kFloat16)
      .value("BFLOAT16", FloatType::kBFloat16);
  nb::class_<Normalize>(
      module, "Normalize",
      "(value / 255 - mean) / deviation, as floating-point numbers; mean and deviation are for "
      "pixels from 0 to 1, as torchvision's, one or one for each channel.")
      .def(nb::init<std::vector<float>, std::vector<float>, FloatType>(),
           "mean"_a = std::vector<float>{0}, "deviation"_a = std::vector<float>{1},
           "type"_a.noconvert() = FloatType::kFloat32);
  nb::class_<OneHot>(module, "OneHot",
                     "Adds a float32 field with one number for each class (0: as many as the label "
                     "has names), smoothed.")
      .def(nb::init<std::size_t, double, std::string, std::string>(), "classes"_a = 0,
           "smoothing"_a = 0.0, "label"_a = "", "field"_a = "target");
  nb::class_<MixUp>(module, "MixUp", "Mixes each sample with its neighbour; needs OneHot before.")
      .def(nb::init<double, double>(), "alpha"_a = 0.2, "probability"_a = 1.0);
  nb::class_<CutMix>(module, "CutMix",
                     "Replaces a rectangle by the neighbour's; needs OneHot before.")
      .def(nb::init<double, double>(), "alpha"_a = 1.0, "probability"_a = 1.0);
  module.def("progressive_sizes", &ProgressiveSizes, "low"_a, "high"_a, "begin"_a, "end"_a,
             "multiple"_a = 32,
             "Output sizes for Loader(sizes=...): the side is low up to epoch begin, then grows to "
             "high at epoch end, in multiples.");
  nb::class_<OutputSize>(module, "OutputSize", "From that epoch on, images have that size.")
      .def(nb::init<std::uint64_t, Size, Size>(), "epoch"_a, "width"_a, "height"_a)
      .def_ro("epoch", &OutputSize::epoch)
      .def_ro("width", &OutputSize::width)
      .def_ro("height", &OutputSize::height);
  module.def("pipeline_steps", &PipelineSteps, "The text forms of all steps.");
}

}  // namespace

Pipeline PipelineOf(nb::handle steps) {
  if (steps.is_none()) return {};
  if (nb::isinstance<nb::str>(steps)) return ParsePipeline(nb::cast<std::string>(steps));
  Pipeline pipeline;
  for (const nb::handle step : nb::iter(steps)) {
    if (!nb::try_cast(step, pipeline.emplace_back())) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a transform is a list of steps such as sluice.RandomResizedCrop(224), or their "
                  "text form; this is no step: " +
                      nb::cast<std::string>(nb::repr(step)));
    }
  }
  return pipeline;
}

std::vector<ScheduledTransform> ScheduleOf(nb::handle schedule) {
  if (schedule.is_none()) return {};
  if (nb::isinstance<nb::str>(schedule)) return ParseSchedule(nb::cast<std::string>(schedule));
  std::vector<ScheduledTransform> later;
  const auto refuse = [](nb::handle given) {
    throw nb::type_error(("schedule is a list of (epoch, steps), such as "
                          "[(1, \"rrc:32\")], and this is no such pair: " +
                          nb::cast<std::string>(nb::repr(given)))
                             .c_str());
  };
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
