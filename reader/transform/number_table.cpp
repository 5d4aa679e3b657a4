// Numbers are made by a kernel that calculates, or looked up in the table; finite numbers are the
// same either way. The table serves 16-bit types if this CPU rounds slowly, or if a number
// overflowed. A device gets the table, too (bits()). Kernels keep the order of pixels, so planar
// numbers are made from runs of pixels that are split into planes first.
//
// Other loaders take means and deviations for pixels from 0 to 255. RefuseScale() recognises these,
// and its message has the numbers to use instead.
#include "reader/transform/number_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <sluice/error.h>

namespace sluice {

namespace {

bool AllUpTo(float most, const std::vector<float>& numbers) {
  return std::ranges::all_of(numbers,
                             [most](float number) { return number >= 0 && number <= most; });
}

// The numbers divided by `by`: "{0.485, 0.456, 0.406}".
std::string ListText(const std::vector<float>& numbers, double by = 1) {
  std::string text;
  for (const float number : numbers) {
    char one[32];
    std::snprintf(one, sizeof one, "%.6g", double(number) / by);
    text += (text.empty() ? "" : ", ") + std::string(one);
  }
  return "{" + text + "}";
}

// Refuses means or deviations that do not fit pixels from 0 to 1. If they fit pixels from 0 to 255,
// as other loaders take them, says which numbers to write instead.
[[noreturn]] void RefuseScale(const Normalize& op) {
  std::string what =
      "transform: Normalize takes numbers for pixels from 0 to 1: means from 0 to 1, and "
      "deviations above 0 and up to 1; yours are mean " +
      ListText(op.mean) + " and deviation " + ListText(op.deviation);
  if (AllUpTo(255, op.mean) && AllUpTo(255, op.deviation)) {
    what += ". If yours are for pixels from 0 to 255, divide them by 255: ";
    const auto above = [](const std::vector<float>& numbers) { return !AllUpTo(1, numbers); };
    // Only the numbers that are too large are repeated: next to means of up to 255, a deviation of
    // 1 is probably the default.
    if (above(op.mean)) what += "mean " + ListText(op.mean, 255);
    if (above(op.deviation)) {
      what +=
          std::string(above(op.mean) ? " and " : "") + "deviation " + ListText(op.deviation, 255);
    }
  }
  throw Error(ErrorCode::kInvalidArgument, what);
}

[[noreturn]] void RefuseNumbers(const char* what) {
  throw Error(ErrorCode::kInvalidArgument, std::string("transform: Normalize needs ") + what);
}

void Check(const Normalize& op) {
  const auto fits = [](const std::vector<float>& v) { return v.size() == 1 || v.size() == 3; };
  if (!fits(op.mean) || !fits(op.deviation))
    RefuseNumbers("one mean and deviation, or three of them, one for each channel");
  CheckNumbers(op);
  if (!AllUpTo(1, op.mean) || !AllUpTo(1, op.deviation)) RefuseScale(op);
}

bool Finite(const std::vector<float>& numbers) {
  return std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); });
}

}  // namespace

void CheckNumbers(const Normalize& op) {
  for (const float mean : op.mean)
    if (!std::isfinite(mean)) RefuseNumbers("finite means");
  for (const float deviation : op.deviation)
    if (!(deviation > 0 && std::isfinite(deviation))) RefuseNumbers("deviations above 0");
}

NumberTable::NumberTable(const Normalize& op) : type_(op.type) {
  Check(op);
  channels_ = static_cast<std::uint32_t>(std::max(op.mean.size(), op.deviation.size()));
  // Repeated for as many values as a kernel takes at once, beginning with the first channel each
  // time.
  for (std::size_t i = 0; i < kernels::kFloatRun; ++i) {
    const double mean = op.mean[op.mean.size() == 1 ? 0 : i % 3];
    const double deviation = op.deviation[op.deviation.size() == 1 ? 0 : i % 3];
    // (v / 255 - mean) / deviation as one product and one sum.
    scales_[i] = static_cast<float>(1 / (255 * deviation));
    offsets_[i] = static_cast<float>(-mean / deviation);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    for (int v = 0; v < 256; ++v) {
      floats_.push_back(static_cast<float>(v) * scales_[c] + offsets_[c]);
      halves_.push_back(type_ == FloatType::kBFloat16 ? BFloatOf(floats_.back())
                                                      : HalfOf(floats_.back()));
    }
  }
  finite_ = Finite(floats_);
}

std::span<const std::byte> NumberTable::bits() const noexcept {
  if (type_ == FloatType::kFloat32) return std::as_bytes(std::span(floats_));
  return std::as_bytes(std::span(halves_));
}

// Converts pixels by `make`, one of the kernels.
template <class Number, class Make>
void NumberTable::WriteBy(Make make, const Pixels& pixels, PixelOrder order, Number* target) const {
  if (order == PixelOrder::kInterleaved || pixels.channels == 1) {
    // A picture of one channel has one mean and deviation, repeated.
    return make(pixels.data, pixels.bytes(), scales_.data(), offsets_.data(), target);
  }
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  std::array<float, kernels::kFloatRun> scales{}, offsets{};
  EachPlaneRun(pixels,
               [&](std::size_t c, const std::uint8_t* values, std::size_t now, std::size_t begin) {
                 scales.fill(scales_[c]);
                 offsets.fill(offsets_[c]);
                 make(values, now, scales.data(), offsets.data(), target + c * count + begin);
               });
}

void NumberTable::WriteFromTable(const Pixels& pixels, PixelOrder order,
                                 std::uint16_t* target) const {
  const std::size_t count = std::size_t{pixels.width} * pixels.height;
  const std::uint32_t channels = pixels.channels;
  if (order == PixelOrder::kPlanar || channels == 1) {
    for (std::uint32_t c = 0; c < channels; ++c) {
      const std::uint16_t* const numbers = halves_.data() + c * 256;
      for (std::size_t i = 0; i < count; ++i)
        *target++ = numbers[pixels.data[i * channels + c]];
    }
    return;
  }
  const std::uint16_t* const table = halves_.data();
  for (std::size_t i = 0; i < count * 3; i += 3) {
    target[i] = table[pixels.data[i]];
    target[i + 1] = table[256 + pixels.data[i + 1]];
    target[i + 2] = table[512 + pixels.data[i + 2]];
  }
}

void NumberTable::Write(const Pixels& pixels, PixelOrder order, std::uint8_t* target) const {
  const kernels::Kernels& set = kernels::Chosen();
  auto* const halves = reinterpret_cast<std::uint16_t*>(target);
  if (type_ == FloatType::kFloat32) {
    WriteBy(set.to_floats, pixels, order, reinterpret_cast<float*>(target));
  } else if (!finite_ || !set.rounds_fast) {
    WriteFromTable(pixels, order, halves);
  } else {
    WriteBy(type_ == FloatType::kBFloat16 ? set.to_bfloats : set.to_halves, pixels, order, halves);
  }
}

}  // namespace sluice
