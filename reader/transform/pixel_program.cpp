#include "reader/transform/pixel_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include <sluice/error.h>

#include "format/random.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

// Kinds of step, part of every draw's counter: never changed.
enum class Kind : std::uint8_t {
  kColorJitter = 1,
  kRandomGrayscale = 2,
  kGaussianBlur = 3,
  kSolarize = 4,
  kPosterize = 5,
  kEqualize = 6,
  kAutoContrast = 7,
  kInvert = 8,
  kAdjustSharpness = 9,
  kRandomErasing = 10,
};

Kind KindOf(const ColorJitter&) {
  return Kind::kColorJitter;
}
Kind KindOf(const RandomGrayscale&) {
  return Kind::kRandomGrayscale;
}
Kind KindOf(const GaussianBlur&) {
  return Kind::kGaussianBlur;
}
Kind KindOf(const Solarize&) {
  return Kind::kSolarize;
}
Kind KindOf(const Posterize&) {
  return Kind::kPosterize;
}
Kind KindOf(const Equalize&) {
  return Kind::kEqualize;
}
Kind KindOf(const AutoContrast&) {
  return Kind::kAutoContrast;
}
Kind KindOf(const Invert&) {
  return Kind::kInvert;
}
Kind KindOf(const AdjustSharpness&) {
  return Kind::kAdjustSharpness;
}
Kind KindOf(const RandomErasing&) {
  return Kind::kRandomErasing;
}

template <class T>
concept ChangesPixels = requires(const T& op) {
  KindOf(op);
};

template <class T>
constexpr bool kForBatch =
    std::is_same_v<T, OneHot> || std::is_same_v<T, MixUp> || std::is_same_v<T, CutMix>;

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "transform: " + what);
}

void CheckProbability(double probability) {
  if (!(probability >= 0 && probability <= 1)) Refuse("a probability is 0 to 1");
}

void Check(const ColorJitter& op) {
  const auto factor = [](double x) { return x >= 0 && x <= 1e6; };
  if (!factor(op.brightness) || !factor(op.contrast) || !factor(op.saturation) ||
      !(op.hue >= 0 && op.hue <= 0.5)) {
    Refuse("ColorJitter needs brightness, contrast and saturation from 0 on, and hue 0 to 0.5");
  }
}
void Check(const GaussianBlur& op) {
  if (op.kernel % 2 == 0 || op.kernel < 3 || op.kernel > 255) {
    Refuse("GaussianBlur needs an odd kernel of 3 to 255 pixels");
  }
  if (!(op.min_sigma > 0 && op.min_sigma <= op.max_sigma && op.max_sigma <= 1000)) {
    Refuse("GaussianBlur needs 0 < min_sigma <= max_sigma <= 1000");
  }
}
void Check(const Solarize& op) {
  if (op.threshold > 256) Refuse("Solarize needs a threshold of 0 to 256");
}
void Check(const Posterize& op) {
  if (op.bits < 1 || op.bits > 8) Refuse("Posterize keeps 1 to 8 bits");
}
void Check(const AdjustSharpness& op) {
  if (!(op.factor >= 0 && op.factor <= 1e6)) Refuse("AdjustSharpness needs a factor from 0 on");
}
void Check(const RandomErasing& op) {
  if (!(op.min_scale > 0 && op.min_scale <= op.max_scale && op.max_scale <= 1)) {
    Refuse("RandomErasing needs 0 < min_scale <= max_scale <= 1");
  }
  if (!(op.min_ratio > 1.0 / 256 && op.min_ratio <= op.max_ratio && op.max_ratio < 256)) {
    Refuse("RandomErasing needs 1/256 < min_ratio <= max_ratio < 256");
  }
}
template <class T>
void Check(const T&) {}

double Between(double low, double high, RandomStream& draws) {
  return low + draws.Uniform() * (high - low);
}

// What a run has at hand.
struct Run {
  Pixels pixels;
  PixelProgram::Scratch& scratch;
};

void Apply(const ColorJitter& op, const Run& run, RandomStream& draws) {
  const auto factor = [&draws](double x) {
    return static_cast<float>(Between(std::max(0.0, 1 - x), 1 + x, draws));
  };
  // All four are drawn, whichever are used, so that one does not depend on the others.
  const float brightness = factor(op.brightness);
  const float contrast = factor(op.contrast);
  const float saturation = factor(op.saturation);
  const auto hue = static_cast<float>(Between(-op.hue, op.hue, draws));
  int order[4] = {0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i)
    std::swap(order[i], order[draws.Below(i + 1)]);
  for (const int which : order) {
    if (which == 0 && op.brightness > 0) AdjustBrightness(run.pixels, brightness);
    if (which == 1 && op.contrast > 0) AdjustContrast(run.pixels, contrast);
    if (which == 2 && op.saturation > 0) AdjustSaturation(run.pixels, saturation);
    if (which == 3 && op.hue > 0) AdjustHue(run.pixels, hue);
  }
}
void Apply(const RandomGrayscale&, const Run& run, RandomStream&) {
  MakeGrey(run.pixels);
}
void Apply(const GaussianBlur& op, const Run& run, RandomStream& draws) {
  const double sigma = Between(op.min_sigma, op.max_sigma, draws);
  std::vector<std::uint32_t>& weights = run.scratch.weights;
  weights.resize(op.kernel);
  const auto at = [&](std::uint32_t i) {
    const double x = (double(i) - (op.kernel - 1) / 2.0) / sigma;
    return PortableExp(std::max(-0.5 * x * x, -600.0));
  };
  double sum = 0;
  for (std::uint32_t i = 0; i < op.kernel; ++i)
    sum += at(i);
  std::uint32_t rest = 65536;
  for (std::uint32_t i = 0; i < op.kernel; ++i) {
    weights[i] = static_cast<std::uint32_t>(at(i) / sum * 65536 + 0.5);
    rest -= weights[i];
  }
  weights[op.kernel / 2] += rest;  // modulo 2^32: it may be a little less
  run.scratch.blur.Run(run.pixels, weights);
}
void Apply(const Solarize& op, const Run& run, RandomStream&) {
  SolarizePixels(run.pixels, op.threshold);
}
void Apply(const Posterize& op, const Run& run, RandomStream&) {
  PosterizePixels(run.pixels, op.bits);
}
void Apply(const Equalize&, const Run& run, RandomStream&) {
  EqualizePixels(run.pixels);
}
void Apply(const AutoContrast&, const Run& run, RandomStream&) {
  StretchContrast(run.pixels);
}
void Apply(const Invert&, const Run& run, RandomStream&) {
  InvertPixels(run.pixels);
}
void Apply(const AdjustSharpness& op, const Run& run, RandomStream&) {
  run.scratch.sharpness.Run(run.pixels, static_cast<float>(op.factor));
}

void Apply(const RandomErasing& op, const Run& run, RandomStream& draws) {
  const Pixels& pixels = run.pixels;
  const double area = double(pixels.width) * pixels.height;
  const double log_min = PortableLog(op.min_ratio);
  const double log_max = PortableLog(op.max_ratio);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * Between(op.min_scale, op.max_scale, draws);
    const double ratio = PortableExp(Between(log_min, log_max, draws));
    const auto height = static_cast<std::uint64_t>(std::sqrt(target * ratio) + 0.5);
    const auto width = static_cast<std::uint64_t>(std::sqrt(target / ratio) + 0.5);
    if (height >= pixels.height || width >= pixels.width) continue;
    const std::uint64_t top = draws.Below(pixels.height - height + 1);
    const std::uint64_t left = draws.Below(pixels.width - width + 1);
    for (std::uint64_t y = top; y < top + height; ++y) {
      std::uint8_t* at = pixels.data + (y * pixels.width + left) * pixels.channels;
      for (std::uint64_t i = 0; i < width * pixels.channels; ++i) {
        *at++ = op.noise ? static_cast<std::uint8_t>(draws.Word() >> 24)
                         : op.value[i % pixels.channels];
      }
    }
    return;
  }
}

}  // namespace

bool ConcernsBatch(const Transform& transform) noexcept {
  return std::visit([]<class T>(const T&) { return kForBatch<T>; }, transform);
}

bool IsGeometric(const Transform& transform) noexcept {
  return std::visit(
      []<class T>(const T&) {
        return !ChangesPixels<T> && !std::is_same_v<T, Normalize> && !kForBatch<T>;
      },
      transform);
}

PixelProgram::PixelProgram(const Pipeline& pipeline, bool numbers_later)
    : numbers_later_(numbers_later) {
  std::uint16_t uses[256] = {};
  bool begun = false;
  bool batch_steps = false;
  for (const Transform& transform : pipeline) {
    if (ConcernsBatch(transform)) {
      batch_steps = true;
      continue;
    }
    if (batch_steps) Refuse("OneHot, MixUp and CutMix come last, behind all others");
    if (normalize_)
      Refuse(
          "Normalize is the last step but for OneHot, MixUp and CutMix; put it behind the "
          "others");
    if (IsGeometric(transform)) {
      if (begun) {
        Refuse(
            "steps that change pixels (ColorJitter, Normalize and so on) come behind those that "
            "move them (crops, resizes, flips); put these first");
      }
      continue;
    }
    begun = true;
    std::visit(
        [&]<class T>(const T& op) {
          if constexpr (ChangesPixels<T>) {
            Check(op);
            CheckProbability(op.probability);
            const auto kind = static_cast<std::uint8_t>(KindOf(op));
            steps_.push_back({transform, static_cast<std::uint16_t>(uses[kind]++ << 8 | kind)});
          } else if constexpr (std::is_same_v<T, Normalize>) {
            Add(op);
          }
        },
        transform);
  }
}

void PixelProgram::Add(const Normalize& op) {
  const auto fits = [](const std::vector<float>& v) { return v.size() == 1 || v.size() == 3; };
  if (!fits(op.mean) || !fits(op.deviation)) {
    Refuse("Normalize needs one mean and deviation, or three of them, one for each channel");
  }
  for (const float mean : op.mean)
    if (!std::isfinite(mean)) Refuse("Normalize needs finite means");
  for (const float deviation : op.deviation)
    if (!(deviation > 0 && std::isfinite(deviation))) Refuse("Normalize needs deviations above 0");
  normalize_.emplace(Numbers{op.type, op.mean, op.deviation, {}, {}});
  for (std::size_t c = 0; c < 3; ++c) {
    const double mean = op.mean[op.mean.size() == 1 ? 0 : c];
    const double deviation = op.deviation[op.deviation.size() == 1 ? 0 : c];
    for (int v = 0; v < 256; ++v) {
      const auto number = static_cast<float>((v / 255.0 - mean) / deviation);
      normalize_->values.push_back(number);
      normalize_->halves.push_back(op.type == FloatType::kBFloat16 ? BFloatOf(number)
                                                                   : HalfOf(number));
    }
  }
}

void PixelProgram::CheckSize(std::uint32_t width, std::uint32_t height,
                             std::uint32_t channels) const {
  if (empty()) return;
  if (channels != 1 && channels != 3) {
    Refuse(
        "steps that change pixels need images of one or three channels; set "
        "LoaderOptions::channels to 1 or 3");
  }
  if (normalize_ && channels == 1 &&
      (normalize_->mean.size() != 1 || normalize_->deviation.size() != 1)) {
    Refuse("Normalize has three means or deviations, and the images one channel");
  }
  for (const Step& step : steps_) {
    const auto* const blur = std::get_if<GaussianBlur>(&step.transform);
    if (blur != nullptr && blur->kernel / 2 >= std::min(width, height)) {
      Refuse("GaussianBlur's kernel of " + std::to_string(blur->kernel) +
             " pixels is too large for images of " + std::to_string(width) + "x" +
             std::to_string(height));
    }
  }
}

std::span<const std::byte> PixelProgram::numbers() const noexcept {
  if (normalize_->type == FloatType::kFloat32) return std::as_bytes(std::span(normalize_->values));
  return std::as_bytes(std::span(normalize_->halves));
}

void PixelProgram::Run(const Pixels& pixels, std::uint64_t draw_seed, std::uint64_t position,
                       Scratch& scratch) const {
  for (const Step& step : steps_) {
    std::visit(
        [&]<class T>(const T& op) {
          if constexpr (ChangesPixels<T>) {
            RandomStream draws(draw_seed, Purpose::kPixelTransform, position, step.stream);
            if (draws.Uniform() < op.probability) Apply(op, {pixels, scratch}, draws);
          }
        },
        step.transform);
  }
}

namespace {

template <class Number>
void WriteNumbers(const Pixels& pixels, PixelOrder order, const Number* table, Number* out) {
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  const std::uint32_t channels = pixels.channels;
  if (order == PixelOrder::kPlanar || channels == 1) {
    for (std::uint32_t c = 0; c < channels; ++c) {
      const Number* const numbers = table + c * 256;
      for (std::size_t i = 0; i < count; ++i)
        *out++ = numbers[pixels.data[i * channels + c]];
    }
    return;
  }
  for (std::size_t i = 0; i < count * 3; i += 3) {
    out[i] = table[pixels.data[i]];
    out[i + 1] = table[256 + pixels.data[i + 1]];
    out[i + 2] = table[512 + pixels.data[i + 2]];
  }
}

}  // namespace

void PixelProgram::Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const {
  if (output() == FloatType::kFloat32) {
    WriteNumbers(pixels, order, normalize_->values.data(), reinterpret_cast<float*>(target));
    return;
  }
  if (output()) {
    WriteNumbers(pixels, order, normalize_->halves.data(),
                 reinterpret_cast<std::uint16_t*>(target));
    return;
  }
  if (order == PixelOrder::kInterleaved || pixels.channels == 1) {
    std::memcpy(target, pixels.data, pixels.bytes());
    return;
  }
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  for (std::uint32_t c = 0; c < pixels.channels; ++c) {
    for (std::size_t i = 0; i < count; ++i)
      *target++ = pixels.data[i * pixels.channels + c];
  }
}

std::uint16_t HalfOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x7F800000U) {  // infinity, or no number
    return static_cast<std::uint16_t>(sign | (magnitude > 0x7F800000U ? 0x7E00U : 0x7C00U));
  }
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // >= 65520
  std::uint32_t mantissa = magnitude & 0x7FFFFFU;
  const auto exponent = static_cast<int>(magnitude >> 23) - 127 + 15;
  int drop = 13;  // bits of the mantissa that go
  if (exponent <= 0) {
    if (exponent < -10) return sign;
    mantissa |= 0x800000U;
    drop += 1 - exponent;
  } else {
    mantissa |= static_cast<std::uint32_t>(exponent) << 23;
  }
  const std::uint32_t half = 1U << (drop - 1);
  const std::uint32_t rest = mantissa & ((1U << drop) - 1);
  std::uint32_t kept = mantissa >> drop;
  if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;  // may carry into the exponent
  return static_cast<std::uint16_t>(sign | kept);
}

std::uint16_t BFloatOf(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

float OfBFloat(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace sluice
