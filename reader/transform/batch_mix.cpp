// Samples are mixed in place, from the last to the first, so that each sample's partner is still
// unmixed. Only the last sample has to be saved: it is the partner of the first.
//
// DrawBeta() has two methods, because rejection needs a density with its peak inside the range
// (alpha above 1). Logarithms and exponentials are the portable ones, so that every machine draws
// the same. CutMix returns the share of the rectangle after it was cut off at the edges, not the
// share that was drawn.
#include "reader/transform/batch_mix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "reader/transform/all_steps.h"
#include "reader/transform/number_table.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

// e^x, or 0 if that is too small.
double Exp(double x) noexcept {
  return x < -600 ? 0 : PortableExp(x);
}

// A draw from (0, 1].
double Positive(RandomStream& draws) noexcept {
  return 1 - draws.Uniform();
}

// Calls `mix(own, partner)` to change each row's bytes; the partner's bytes are those from before
// mixing.
template <class Mix>
void WithPartners(std::uint8_t* data, std::size_t rows, std::size_t row_bytes,
                  std::vector<std::uint8_t>& saved, Mix mix) {
  if (rows < 2) return;
  saved.assign(data + (rows - 1) * row_bytes, data + rows * row_bytes);
  for (std::size_t row = rows - 1; row > 0; --row)
    mix(data + row * row_bytes, data + (row - 1) * row_bytes);
  mix(data, saved.data());
}

template <class Number, class ToFloat, class FromFloat>
void MixValues(std::uint8_t* own, const std::uint8_t* partner, std::size_t count, float lambda,
               ToFloat to_float, FromFloat from_float) {
  auto* const a = reinterpret_cast<Number*>(own);
  const auto* const b = reinterpret_cast<const Number*>(partner);
  for (std::size_t i = 0; i < count; ++i)
    a[i] = from_float(lambda * to_float(a[i]) + (1 - lambda) * to_float(b[i]));
}

}  // namespace

double DrawBeta(double alpha, RandomStream& draws) noexcept {
  if (alpha > 1) {  // rejection: x is uniform; the density is greatest at 1/2
    for (;;) {
      const double x = draws.Uniform();
      const double density = 4 * x * (1 - x);
      if (density > 0 && Positive(draws) <= Exp((alpha - 1) * PortableLog(density))) return x;
    }
  }
  for (;;) {  // Joehnk 1964, in logarithms, because the powers may underflow
    const double log_x = PortableLog(Positive(draws)), log_y = PortableLog(Positive(draws));
    const double x = log_x / alpha, y = log_y / alpha;
    if (Exp(x) + Exp(y) > 1) continue;
    const double most = std::max(x, y);
    if (std::isinf(most)) return log_x > log_y ? 1 : 0;  // alpha so small that only 0 and 1 occur
    return Exp(x - most) / (Exp(x - most) + Exp(y - most));
  }
}

CutRectangle DrawCut(double lambda, std::size_t width, std::size_t height,
                     RandomStream& draws) noexcept {
  const auto x = static_cast<std::int64_t>(draws.Below(width));
  const auto y = static_cast<std::int64_t>(draws.Below(height));
  // Half of the rectangle's sides, as shares of the picture's: its area is the partner's share.
  const double half = 0.5 * std::sqrt(1 - lambda);
  const auto reach_x = static_cast<std::int64_t>(half * double(width));
  const auto reach_y = static_cast<std::int64_t>(half * double(height));
  const auto inside = [](std::int64_t at, std::size_t extent) {
    return static_cast<std::size_t>(
        std::clamp<std::int64_t>(at, 0, static_cast<std::int64_t>(extent)));
  };
  CutRectangle cut{inside(x - reach_x, width), inside(y - reach_y, height), 0, 0};
  cut.width = inside(x + reach_x, width) - cut.left;
  cut.height = inside(y + reach_y, height) - cut.top;
  return cut;
}

namespace {

void BlendImage(std::uint8_t* own, const std::uint8_t* partner, const ImageBatch& shape,
                float share) {
  const std::size_t count = shape.height * shape.width * shape.channels;
  const auto rounded = [](float v) { return static_cast<std::uint8_t>(v + 0.5F); };
  const auto rounded_signed = [](float v) {
    return static_cast<std::int16_t>(std::floor(v + 0.5F));
  };
  const auto rounded16 = [](float v) { return static_cast<std::uint16_t>(v + 0.5F); };
  const auto same = [](float v) { return v; };
  switch (shape.type) {
    case ElementType::kUint8:
      return MixValues<std::uint8_t>(own, partner, count, share, same, rounded);
    case ElementType::kUint16:
      return MixValues<std::uint16_t>(own, partner, count, share, same, rounded16);
    case ElementType::kInt16:
      return MixValues<std::int16_t>(own, partner, count, share, same, rounded_signed);
    case ElementType::kFloat32: return MixValues<float>(own, partner, count, share, same, same);
    case ElementType::kFloat16:
      return MixValues<std::uint16_t>(
          own, partner, count, share, [](std::uint16_t v) { return OfHalf(v); },
          [](float v) { return HalfOf(v); });
    case ElementType::kBFloat16:
      return MixValues<std::uint16_t>(
          own, partner, count, share, [](std::uint16_t v) { return OfBFloat(v); },
          [](float v) { return BFloatOf(v); });
  }
}

// A planar image has a plane for each channel, another one has a single plane of whole pixels.
struct Planes {
  explicit Planes(const ImageBatch& shape)
      : count(shape.layout == Layout::kNCHW ? shape.channels : 1),
        pixel(SizeOf(shape.type) * (shape.layout == Layout::kNCHW ? 1 : shape.channels)),
        line(shape.width * pixel) {}
  std::size_t count, pixel, line;  // planes, and bytes of a pixel and of a line
};

void CutImage(std::uint8_t* own, const std::uint8_t* partner, const ImageBatch& shape,
              const CutRectangle& cut) {
  const Planes planes(shape);
  for (std::size_t row = 0; row < planes.count * cut.height; ++row) {
    const std::size_t y = row / cut.height * shape.height + cut.top + row % cut.height;
    const std::size_t at = y * planes.line + cut.left * planes.pixel;
    std::memcpy(own + at, partner + at, cut.width * planes.pixel);
  }
}

}  // namespace

void PasteImage(std::uint8_t* own, const std::uint8_t* partner, const ImageBatch& shape,
                std::span<const std::uint8_t> covered) {
  const Planes planes(shape);
  for (std::size_t plane = 0; plane < planes.count; ++plane) {
    for (std::size_t at = 0; at < covered.size();) {
      const std::size_t begin = at;
      while (at < covered.size() && covered[at] == covered[begin])
        ++at;
      if (covered[begin] == 0) continue;
      const std::size_t from = (plane * covered.size() + begin) * planes.pixel;
      std::memcpy(own + from, partner + from, (at - begin) * planes.pixel);
    }
  }
}

void MirrorImage(std::uint8_t* image, const ImageBatch& shape) {
  const Planes planes(shape);
  for (std::size_t y = 0; y < planes.count * shape.height; ++y, image += planes.line) {
    for (std::size_t left = 0, right = planes.line; left + planes.pixel < right;
         left += planes.pixel) {
      right -= planes.pixel;
      std::swap_ranges(image + left, image + left + planes.pixel, image + right);
    }
  }
}

void MixImage(std::uint8_t* own, const std::uint8_t* partner, const ImageBatch& shape,
              const MixDraw& draw) {
  if (draw.cut)
    CutImage(own, partner, shape, *draw.cut);
  else
    BlendImage(own, partner, shape, static_cast<float>(draw.share));
}

void MixImages(std::uint8_t* data, const ImageBatch& shape, const MixDraw& draw,
               std::vector<std::uint8_t>& saved) {
  WithPartners(
      data, shape.samples, shape.sample_bytes(), saved,
      [&](std::uint8_t* own, const std::uint8_t* partner) { MixImage(own, partner, shape, draw); });
}

void MixNumbers(float* own, const float* partner, std::size_t count, double share) {
  const auto same = [](float v) { return v; };
  MixValues<float>(reinterpret_cast<std::uint8_t*>(own),
                   reinterpret_cast<const std::uint8_t*>(partner), count, static_cast<float>(share),
                   same, same);
}

void MixNumbers(float* numbers, std::size_t rows, std::size_t count, double share,
                std::vector<std::uint8_t>& saved) {
  WithPartners(reinterpret_cast<std::uint8_t*>(numbers), rows, count * sizeof(float), saved,
               [&](std::uint8_t* own, const std::uint8_t* partner) {
                 MixNumbers(reinterpret_cast<float*>(own), reinterpret_cast<const float*>(partner),
                            count, share);
               });
}

std::optional<MixStep> MixStepOf(const Transform& step) noexcept {
  return std::visit(
      []<class Step>(const Step& op) -> std::optional<MixStep> {
        if constexpr (requires { StepOf<Step>::Mix(op); }) return StepOf<Step>::Mix(op);
        return std::nullopt;
      },
      step);
}

RandomStream DrawsOf(const MixStep& step, std::uint64_t draw_seed,
                     std::uint64_t position) noexcept {
  return {draw_seed, Purpose::kMix, position, step.stream};
}

std::vector<std::size_t> DrawObjects(std::size_t objects, RandomStream& draws) {
  std::vector<std::size_t> chosen(objects);
  for (std::size_t& object : chosen)
    object = draws.Below(objects);
  std::ranges::sort(chosen);
  const auto repeated = std::ranges::unique(chosen);
  chosen.erase(repeated.begin(), repeated.end());
  return chosen;
}

MixDraw DrawMix(const MixStep& step, std::size_t width, std::size_t height,
                RandomStream& draws) noexcept {
  const double lambda = DrawBeta(step.alpha, draws);
  if (step.kind != MixKind::kCut) return {lambda, {}};
  const CutRectangle cut = DrawCut(lambda, width, height, draws);
  return {1 - double(cut.width * cut.height) / double(width * height), cut};
}

}  // namespace sluice
