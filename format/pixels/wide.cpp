// A window of the stored values is read first: what the region's filter needs, of as many channels
// at a time as fit into kWindowBytes, since tiles of neighbouring channels may have one base. Then
// each channel is resampled down the columns and along the lines, straight to where mirroring and
// turning put its values. Only a reflected border of a turned region needs an upright copy.
#include "format/pixels/wide.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "format/disk/zstd.h"
#include "format/half.h"
#include "format/pixels/lines.h"

namespace sluice {

namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{8} << 20;

// Calls `f` with a zero of the unsigned type that has a value's bits.
template <class F>
decltype(auto) WithBits(PixelType type, const F& f) {
  switch (SizeOf(type)) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    default: return f(std::uint32_t{});
  }
}

// Where a region's pixels go: that of output (0, 0) first.
tiled::ValueGrid GridOf(const Region& region, std::uint8_t* target, std::size_t value_bytes,
                        std::ptrdiff_t pixel, std::ptrdiff_t plane) noexcept {
  // Values are written straight to their final place, so a turn or a mirror is only another stride.
  const std::ptrdiff_t across = region.transpose ? region.y.target : 1;
  const std::ptrdiff_t down = region.transpose ? 1 : region.x.target;
  const std::ptrdiff_t x = region.flip ? region.x.target - 1 - region.x.at : region.x.at;
  const std::ptrdiff_t y = region.flip_y ? region.y.target - 1 - region.y.at : region.y.at;
  return {target + (x * across + y * down) * pixel * static_cast<std::ptrdiff_t>(value_bytes),
          (region.flip ? -across : across) * pixel, (region.flip_y ? -down : down) * pixel, plane};
}

void FillValues(std::uint8_t* target, std::size_t count, PixelType type, std::uint32_t bits) {
  WithBits(type, [&]<class Value>(Value) {
    std::fill_n(reinterpret_cast<Value*>(target), count, static_cast<Value>(bits));
  });
}

std::size_t PixelsIn(const Region& region) noexcept {
  return std::size_t{region.x.target} * region.y.target;
}

// Whether a border is mirrored that can only be mirrored before the region is turned.
bool NeedsUpright(const Region& region) noexcept {
  return region.transpose && region.reflect && region.bordered();
}

}  // namespace

std::uint32_t BitsOf(PixelType type, double number) noexcept {
  const auto whole = [number](double least, double most) {
    return std::isnan(number) ? 0.0 : std::clamp(std::nearbyint(number), least, most);
  };
  switch (type) {
    case PixelType::kUint8: return static_cast<std::uint8_t>(whole(0, 255));
    case PixelType::kUint16: return static_cast<std::uint16_t>(whole(0, 65535));
    case PixelType::kInt16:
      return static_cast<std::uint16_t>(static_cast<std::int16_t>(whole(-32768, 32767)));
    case PixelType::kFloat16: return HalfOf(static_cast<float>(number));
    case PixelType::kFloat32: break;
  }
  return std::bit_cast<std::uint32_t>(static_cast<float>(number));
}

float ValueOf(PixelType type, std::uint32_t bits) noexcept {
  switch (type) {
    case PixelType::kUint8:
    case PixelType::kUint16: return static_cast<float>(bits);
    case PixelType::kInt16: return static_cast<float>(static_cast<std::int16_t>(bits));
    case PixelType::kFloat16: return OfHalf(static_cast<std::uint16_t>(bits));
    case PixelType::kFloat32: break;
  }
  return std::bit_cast<float>(bits);
}

WideDecoder::Weights::Weights(const ComponentAxis& axis) {
  const kernels::WeightRule rule = WeightRuleOf(axis, false);
  taps = rule.taps;
  first.resize(rule.out);
  values.resize(std::size_t{rule.out} * taps);
  for (std::uint32_t i = 0; i < rule.out; ++i) {
    const double centre = rule.start + (i + 0.5) * rule.scale;
    const auto nearest = static_cast<std::int64_t>(centre - rule.reach + 0.5);
    const std::int64_t begin =
        std::min<std::int64_t>(std::clamp<std::int64_t>(nearest, rule.bound, rule.bound_end - 1),
                               std::int64_t{rule.first} + rule.extent - taps);
    first[i] = static_cast<std::uint32_t>(begin - rule.first);
    double* const weights = &values[std::size_t{i} * taps];
    double sum = 0;
    for (std::uint32_t t = 0; t < taps; ++t) {
      const double distance = std::abs(double(begin + t) + 0.5 - centre);
      sum += weights[t] = std::clamp((rule.reach - distance) * rule.slope, 0.0, 1.0);
    }
    // If rounding pushed an output off the edge of its samples, the nearest gets everything.
    if (sum <= 0) weights[double(begin) + 0.5 < centre ? taps - 1 : 0] = sum = 1;
    for (std::uint32_t t = 0; t < taps; ++t)
      weights[t] /= sum;
  }
}

Defect WideDecoder::Open(const ImagePayload& payload) {
  if (payload.codec == Codec::kAbsent) return "the sample has no image";
  if (const Defect defect = CheckStored(payload)) return defect;
  payload_ = payload;
  if (payload.codec == Codec::kTiled) return tiled_.Open(payload);
  pixels_ = payload.bytes;
  if (payload.codec != Codec::kZstd) return nullptr;
  inflated_.resize(std::size_t{payload.width} * payload.height * payload.channels *
                   SizeOf(payload.pixel_type));
  if (!ZstdDecompress(payload.bytes, inflated_)) return "the zstd frame cannot be decompressed";
  pixels_ = inflated_;
  return nullptr;
}

Defect WideDecoder::Read(const tiled::Rect& rect, std::span<const std::uint32_t> channels,
                         const tiled::ValueGrid& to) {
  if (payload_.codec == Codec::kTiled) return tiled_.Read(rect, channels, to);
  const std::size_t of_pixel = payload_.channels;
  // All channels in their order: whole lines can be copied.
  bool as_stored = channels.size() == of_pixel && (of_pixel == 1 || to.plane == 1) &&
                   to.pixel == static_cast<std::ptrdiff_t>(of_pixel);
  for (std::size_t p = 0; p < channels.size(); ++p)
    as_stored = as_stored && channels[p] == p;
  WithBits(payload_.pixel_type, [&]<class Value>(Value) {
    for (std::uint32_t y = 0; y < rect.height; ++y) {
      const std::size_t pixel = (std::size_t{rect.top} + y) * payload_.width + rect.left;
      const std::byte* const line = pixels_.data() + pixel * of_pixel * sizeof(Value);
      auto* const to_line = reinterpret_cast<Value*>(to.data) + std::ptrdiff_t{y} * to.line;
      if (as_stored) {
        std::memcpy(to_line, line, rect.width * of_pixel * sizeof(Value));
        continue;
      }
      for (std::size_t p = 0; p < channels.size(); ++p) {
        Value* out = to_line + static_cast<std::ptrdiff_t>(p) * to.plane;
        const std::byte* from = line + channels[p] * sizeof(Value);
        for (std::uint32_t x = 0; x < rect.width; ++x) {
          std::memcpy(out, from, sizeof(Value));
          from += of_pixel * sizeof(Value);
          out += to.pixel;
        }
      }
    }
  });
  return nullptr;
}

bool WideDecoder::Copies(const Region& region) noexcept {
  return CopiesPixels(region.x) && CopiesPixels(region.y);
}

Defect WideDecoder::Copy(const Region& region, std::span<const std::uint32_t> channels,
                         std::uint32_t border, PixelOrder order, std::uint8_t* target) {
  const std::size_t bytes = SizeOf(payload_.pixel_type);
  const auto count = static_cast<std::uint32_t>(channels.size());
  const std::size_t pixels = PixelsIn(region);
  if (NeedsUpright(region)) {
    Region first = region;
    first.transpose = false;
    // The picture is made unturned, with its border, and turned as a whole.
    upright_.resize(pixels * count * bytes);
    if (const Defect defect = Copy(first, channels, border, order, upright_.data())) return defect;
    TransposePixels(upright_.data(), region.x.target, region.y.target, {target, count, order},
                    bytes);
    return nullptr;
  }
  // Everything is filled and the picture copied over it. A mirrored border replaces the filling.
  if (region.bordered()) FillValues(target, pixels * count, payload_.pixel_type, border);
  if (region.x.out == 0 || region.y.out == 0) return nullptr;
  const bool planar = order == PixelOrder::kPlanar;
  const tiled::ValueGrid grid = GridOf(region, target, bytes, planar ? 1 : count,
                                       planar ? static_cast<std::ptrdiff_t>(pixels) : 1);
  const Defect defect =
      Read({static_cast<std::uint32_t>(region.x.start), static_cast<std::uint32_t>(region.y.start),
            region.x.out, region.y.out},
           channels, grid);
  if (defect == nullptr && region.reflect) FillBorder(region, {target, count, order}, bytes);
  return defect;
}

// Down the columns first, then along the lines. `no_data` counts only with kLacking; then the sums
// are divided by their weights.
template <bool kLacking, class Value>
void WideDecoder::Resample(const Value* window, std::uint32_t width, const Weights& x,
                           const Weights& y, Value no_data, const tiled::ValueGrid& to) {
  // First the sum down each column of the window, which all outputs of this line share.
  rows_.resize(width);
  row_weights_.resize(width);
  for (std::size_t i = 0; i < y.first.size(); ++i) {
    std::fill(rows_.begin(), rows_.end(), 0.0);
    std::fill(row_weights_.begin(), row_weights_.end(), 0.0);
    for (std::uint32_t t = 0; t < y.taps; ++t) {
      const double weight = y.values[i * y.taps + t];
      if (weight == 0) continue;  // a pixel without weight may be infinite
      const Value* const line = window + (std::size_t{y.first[i]} + t) * width;
      for (std::uint32_t c = 0; c < width; ++c) {
        const Value value = line[c];
        const bool has = !kLacking || (value == value && value != no_data);
        rows_[c] += has ? weight * static_cast<double>(value) : 0;
        if constexpr (kLacking) row_weights_[c] += has ? weight : 0;
      }
    }
    float* out = reinterpret_cast<float*>(to.data) + static_cast<std::ptrdiff_t>(i) * to.line;
    for (std::size_t k = 0; k < x.first.size(); ++k, out += to.pixel) {
      const double* const weights = &x.values[k * x.taps];
      const std::size_t first = x.first[k];
      double sum = 0, has = 0;
      for (std::uint32_t t = 0; t < x.taps; ++t) {
        if (weights[t] == 0) continue;
        sum += weights[t] * rows_[first + t];
        if constexpr (kLacking) has += weights[t] * row_weights_[first + t];
      }
      // Half of the weight, except for rounding.
      *out = !kLacking           ? static_cast<float>(sum)
             : has < 0.5 - 1e-12 ? kNoData
                                 : static_cast<float>(sum / has);
    }
  }
}

Defect WideDecoder::MakePlanes(const Region& region, std::span<const std::uint32_t> channels,
                               std::optional<double> no_data, const Take& take) {
  const PixelType type = payload_.pixel_type;
  const std::size_t pixels = PixelsIn(region);
  const bool shows = region.x.out > 0 && region.y.out > 0;
  const bool copies = Copies(region);
  const bool upright_first = NeedsUpright(region);
  Region made = region;
  if (upright_first) made.transpose = false;
  tiled::Rect rect;
  std::optional<Weights> x, y;
  if (shows) {
    const auto axis_x = MakeComponentAxis(region.x, 1, payload_.width, region.filter);
    const auto axis_y = MakeComponentAxis(region.y, 1, payload_.height, region.filter);
    rect = {axis_x.first, axis_y.first, axis_x.last - axis_x.first, axis_y.last - axis_y.first};
    if (copies) {
      rect = {static_cast<std::uint32_t>(region.x.start),
              static_cast<std::uint32_t>(region.y.start), region.x.out, region.y.out};
    } else {
      x.emplace(axis_x);
      y.emplace(axis_y);
    }
  }
  const std::size_t area = std::size_t{rect.width} * rect.height, bytes = SizeOf(type);
  const std::uint64_t channel_bytes = std::max<std::uint64_t>(1, area * bytes);
  const auto together =
      static_cast<std::size_t>(std::max<std::uint64_t>(1, kWindowBytes / channel_bytes));
  for (std::size_t begin = 0; begin < channels.size(); begin += together) {
    const auto group = channels.subspan(begin, std::min(together, channels.size() - begin));
    // Planar, one channel after another, whatever the payload's order is.
    window_.resize(area * bytes * group.size());
    if (shows) {
      const Defect defect =
          Read(rect, group,
               {window_.data(), 1, std::ptrdiff_t{rect.width}, static_cast<std::ptrdiff_t>(area)});
      if (defect != nullptr) return defect;
    }
    for (std::size_t c = 0; c < group.size(); ++c) {
      plane_.resize(pixels);
      std::vector<float>* out = &plane_;
      if (region.bordered()) std::fill(plane_.begin(), plane_.end(), no_data ? kNoData : 0.0F);
      if (shows) {
        const tiled::ValueGrid grid =
            GridOf(made, reinterpret_cast<std::uint8_t*>(plane_.data()), sizeof(float), 1, 0);
        const std::uint8_t* const window = window_.data() + c * area * bytes;
        const auto of_type = [&]<class Value>(const Value* values) {
          // The number is compared as the type stores it; a number of more digits would match no
          // value.
          const bool lacks = no_data.has_value();
          const auto lacking =
              static_cast<Value>(lacks ? ValueOf(type, BitsOf(type, *no_data)) : 0);
          // A stored NaN becomes NaN in the plane without a comparison.
          if (!copies) {
            return lacks ? Resample<true>(values, rect.width, *x, *y, lacking, grid)
                         : Resample<false>(values, rect.width, *x, *y, lacking, grid);
          }
          float* line = reinterpret_cast<float*>(grid.data);
          for (std::uint32_t row = 0; row < rect.height; ++row, line += grid.line) {
            float* at = line;
            for (std::uint32_t k = 0; k < rect.width; ++k, at += grid.pixel) {
              const Value value = *values++;
              *at = lacks && value == lacking ? kNoData : static_cast<float>(value);
            }
          }
        };
        switch (type) {
          case PixelType::kUint8: of_type(window); break;
          case PixelType::kUint16: of_type(reinterpret_cast<const std::uint16_t*>(window)); break;
          case PixelType::kInt16: of_type(reinterpret_cast<const std::int16_t*>(window)); break;
          case PixelType::kFloat16:
            floats_.resize(area);
            for (std::size_t i = 0; i < area; ++i)
              floats_[i] = OfHalf(reinterpret_cast<const std::uint16_t*>(window)[i]);
            of_type(static_cast<const float*>(floats_.data()));
            break;
          case PixelType::kFloat32: of_type(reinterpret_cast<const float*>(window)); break;
        }
        const PixelTarget whole{reinterpret_cast<std::uint8_t*>(plane_.data()), 1,
                                PixelOrder::kPlanar};
        if (region.reflect) FillBorder(made, whole, sizeof(float));
      }
      if (upright_first) {
        floats_.resize(pixels);
        TransposePixels(reinterpret_cast<const std::uint8_t*>(plane_.data()), region.x.target,
                        region.y.target,
                        {reinterpret_cast<std::uint8_t*>(floats_.data()), 1, PixelOrder::kPlanar},
                        sizeof(float));
        out = &floats_;
      }
      take(begin + c, *out);
    }
  }
  return nullptr;
}

std::uint64_t WideDecoder::MemoryBytes(PixelType type, std::uint64_t pixels) noexcept {
  // A window, and the same as float32 (of float16). Then three tiles, a table, the weights of both
  // axes and the sums of a row.
  constexpr std::uint64_t kRest = std::uint64_t{8} << 20;
  return std::max(kWindowBytes, pixels * SizeOf(type)) + sizeof(float) * pixels + kRest;
}

namespace wide_warp {  // steps.cpp has the same functions

#define SLUICE_INLINE inline
#include "format/pixels/steps/shared.inc.h"
#undef SLUICE_INLINE

}  // namespace wide_warp

void WarpPlane(const std::vector<float>& in, const PlaneSize& in_size, const Projection& to_source,
               bool has_no_data, const PlaneSize& out_size, std::vector<float>& out) {
  using namespace wide_warp;
  const std::uint32_t width = in_size.width, height = in_size.height;
  out.resize(std::size_t{out_size.width} * out_size.height);
  for (std::uint32_t y = 0; y < out_size.height; ++y) {
    const double row_x = RowX(to_source, y + 0.5), row_y = RowY(to_source, y + 0.5);
    for (std::uint32_t x = 0; x < out_size.width; ++x) {
      double place_x = row_x + to_source.xx * x, place_y = row_y + to_source.yx * x;
      bool shown = true;
      if (!to_source.affine()) {
        const double w = to_source.W(x + 0.5, y + 0.5);
        place_x /= w;
        place_y /= w;
        shown = w > 0 && place_x >= 0 && place_x < width && place_y >= 0 && place_y < height;
      }
      const std::int64_t at_x = shown ? FinePlace(place_x) : 0;
      const std::int64_t at_y = shown ? FinePlace(place_y) : 0;
      float& to = out[std::size_t{y} * out_size.width + x];
      if (!shown || !LiesInside<kFine>(at_x, at_y, width, height)) {
        to = has_no_data ? kNoData : 0;
        continue;
      }
      const Pair across = PairAt(at_x, width), down = PairAt(at_y, height);
      // The fraction of the way from the centre of one pixel to that of the next, in 32 bits.
      const auto share = [](std::int64_t place) {
        const std::int64_t half = std::int64_t{1} << (kFine - 1);
        return double((place - half) & 0xFFFFFFFF) * 0x1p-32;
      };
      const double right = share(at_x), below = share(at_y);
      double sum = 0, has = 0;
      const auto add = [&](std::uint32_t line, std::uint32_t column, double weight) {
        const float value = in[std::size_t{line} * width + column];
        if (weight == 0 || (has_no_data && std::isnan(value))) return;
        sum += weight * double(value);
        has += weight;
      };
      add(down.first, across.first, (1 - below) * (1 - right));
      add(down.first, across.second, (1 - below) * right);
      add(down.second, across.first, below * (1 - right));
      add(down.second, across.second, below * right);
      to = !has_no_data        ? static_cast<float>(sum)
           : has < 0.5 - 1e-12 ? kNoData
                               : static_cast<float>(sum / has);
    }
  }
}

}  // namespace sluice
