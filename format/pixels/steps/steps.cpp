// Colour steps run one after another on a tile of pixels that stays in the first cache, split into
// planes: ColourSteps. A step that needs a finding about the whole picture (its mean, or how often
// each value occurs) begins a further pass, and the pass before collects the finding:
//
//   steps    brightness | contrast  hue | equalize        pass 1 sums the lightness,
//   passes   1          | 2             | 3               pass 2 counts the values
//
// Kernels do the arithmetic. The warps are loops here.
// Devices must give the same bytes. So the arithmetic that both have is in shared.inc.h, which is
// included inside this file's namespace: change a formula there, not here.
#include "format/pixels/steps/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "format/pixels/kernels/kernels.h"

namespace sluice {

namespace {

#define SLUICE_INLINE inline
#include "format/pixels/steps/shared.inc.h"
#undef SLUICE_INLINE

using Kind = ColourStep::Kind;
using Table = std::array<std::uint8_t, 256>;
using Histogram = std::array<std::uint64_t, 256>;

// Steps that need a finding about the picture as earlier steps have left it.
bool NeedsFinding(const ColourStep& step) noexcept {
  return step.kind == Kind::kContrast || step.kind == Kind::kStretch ||
         step.kind == Kind::kEqualize;
}
// Steps that do nothing to a picture of one channel.
bool NeedsColours(const ColourStep& step) noexcept {
  return step.kind == Kind::kSaturation || step.kind == Kind::kHue || step.kind == Kind::kGrey;
}

// How often a channel has each value. Neighbours are often alike, and a count would have to wait
// for the one before it. So values go in turn to separate sets of counts.
class ValueCounts {
 public:
  void Clear() noexcept { std::memset(counts_, 0, sizeof(counts_)); }
  // Not inlined: GCC then keeps the addresses in registers.
  __attribute__((noinline)) void Add(const std::uint8_t* values, std::size_t count) noexcept {
    for (; count >= 2 * kTurns; count -= 2 * kTurns, values += 2 * kTurns)
      for (std::size_t i = 0; i < 2 * kTurns; ++i)
        ++counts_[i % kTurns][values[i]];
    for (; count > 0; --count, ++values)
      ++counts_[0][*values];
  }
  Histogram Sum() const noexcept {
    Histogram sum{};
    for (const auto& counts : counts_)
      for (std::size_t v = 0; v < 256; ++v)
        sum[v] += counts[v];
    return sum;
  }

 private:
  static constexpr std::size_t kTurns = 4;
  std::uint32_t counts_[kTurns][256];
};

Table OwnValues() noexcept {
  Table table;
  std::iota(table.begin(), table.end(), std::uint8_t{0});
  return table;
}

Table EqualizingTable(const Histogram& histogram) noexcept {
  std::uint64_t sum = 0;
  std::uint64_t last = 0;  // how many pixels have the greatest value that occurs
  for (const std::uint64_t n : histogram) {
    sum += n;
    if (n > 0) last = n;
  }
  const std::uint64_t step = EqualStep(sum, last);
  if (step == 0) return OwnValues();
  Table table;
  std::uint64_t below = 0;
  for (unsigned v = 0; v < 256; ++v) {
    table[v] = EqualValue(below, step);
    below += histogram[v];
  }
  return table;
}

Table StretchingTable(int low, int high) noexcept {
  if (high <= low) return OwnValues();
  const double scale = StretchScale(low, high);
  Table table;
  for (int v = 0; v < 256; ++v)
    table[static_cast<std::size_t>(v)] = StretchedValue(v, low, scale);
  return table;
}

// The pixels that a pass works on at a time, as planes of `count` values: those of one channel, or
// of all channels together, or three.
struct Tile {
  std::uint8_t* at[3];
  std::size_t planes, count;
  kernels::Planes colours() const noexcept { return {at[0], at[1], at[2]}; }
};

// A finding about the whole picture, for the first step of a pass. The pass before it collects it.
class Finding {
 public:
  void Begin(Kind kind) noexcept {
    sum_ = 0;
    for (std::size_t p = 0; p < 3; ++p) {
      low_[p] = 255;
      high_[p] = 0;
      if (kind == Kind::kEqualize) counts_[p].Clear();
    }
  }
  void Add(Kind kind, const Tile& tile) noexcept {
    if (kind == Kind::kContrast) {
      sum_ += tile.planes == 3
                  ? kernels::Chosen().sum_grey(tile.colours(), tile.count)
                  : std::accumulate(tile.at[0], tile.at[0] + tile.count, std::uint32_t{0});
      return;
    }
    for (std::size_t p = 0; p < tile.planes; ++p)
      kind == Kind::kStretch ? AddRange(tile, p) : counts_[p].Add(tile.at[p], tile.count);
  }
  // `pixels`: how many were added.
  void End(Kind kind, std::size_t planes, std::size_t pixels) noexcept {
    if (kind == Kind::kContrast)
      mean = static_cast<std::uint8_t>((2 * sum_ + pixels) / (2 * pixels));
    for (std::size_t p = 0; p < planes; ++p) {
      if (kind == Kind::kStretch) tables[p] = StretchingTable(low_[p], high_[p]);
      if (kind == Kind::kEqualize) tables[p] = EqualizingTable(counts_[p].Sum());
    }
  }

  std::uint8_t mean = 0;
  Table tables[3];

 private:
  void AddRange(const Tile& tile, std::size_t plane) noexcept {
    std::uint8_t low = low_[plane], high = high_[plane];
    const std::uint8_t* const values = tile.at[plane];
    for (std::size_t i = 0; i < tile.count; ++i) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    low_[plane] = low;
    high_[plane] = high;
  }

  std::uint64_t sum_;
  std::uint8_t low_[3], high_[3];
  ValueCounts counts_[3];
};

void RunStep(const ColourStep& step, const Finding& found, const Tile& tile) noexcept {
  const kernels::Kernels& set = kernels::Chosen();
  const auto each = [&tile](const auto& change) {
    for (std::size_t p = 0; p < tile.planes; ++p)
      change(tile.at[p], p);
  };
  switch (step.kind) {
    case Kind::kBrightness:
    case Kind::kContrast: {
      const std::uint8_t base = step.kind == Kind::kContrast ? found.mean : 0;
      return each([&](std::uint8_t* values, std::size_t) {
        set.blend_with(values, tile.count, base, step.factor);
      });
    }
    case Kind::kSaturation: return set.saturate(tile.colours(), tile.count, step.factor);
    case Kind::kHue: return set.turn_hues(tile.colours(), tile.count, step.factor * 6);
    case Kind::kGrey: return set.make_grey(tile.colours(), tile.count);
    case Kind::kSolarize:
      if (step.number > 255) return;
      return each([&](std::uint8_t* values, std::size_t) {
        set.invert_from(values, tile.count, static_cast<std::uint8_t>(step.number));
      });
    case Kind::kPosterize:
      return each([&](std::uint8_t* values, std::size_t) {
        set.mask_bits(values, tile.count, static_cast<std::uint8_t>(0xFF00U >> step.number));
      });
    case Kind::kStretch:
    case Kind::kEqualize:
      return each([&](std::uint8_t* values, std::size_t plane) {
        set.look_up(values, tile.count, found.tables[plane].data());
      });
  }
}

}  // namespace

void ColourSteps::Run(const Pixels& pixels, std::span<const ColourStep> steps) {
  const kernels::Kernels& set = kernels::Chosen();
  const std::size_t area = std::size_t{pixels.width} * pixels.height;
  if (area == 0) return;
  const bool grey = pixels.channels == 1;
  const bool single_pass = std::ranges::none_of(steps, NeedsFinding);
  // Interleaved values are changed where they lie if no step looks at channels.
  const bool split = !grey && (!single_pass || std::ranges::any_of(steps, NeedsColours));
  const std::size_t count = split ? area : pixels.bytes();
  const std::size_t together = split ? 1024 : 8192;  // of the first cache
  // A single pass keeps the planes of one tile, in the first cache; several passes keep all planes.
  const std::size_t stride = (single_pass ? together : area) + kernels::kSlack;
  if (split) planes_.resize(3 * stride);
  Finding found;
  std::size_t begin = 0;
  for (bool first = true;; first = false) {
    // The pass ends before the next step that needs a finding, and collects it. Its own first step
    // has its finding already, unless no pass was before.
    const auto next = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(begin + !first),
                                   steps.end(), NeedsFinding);
    const auto end = static_cast<std::size_t>(next - steps.begin());
    if (next != steps.end()) found.Begin(next->kind);
    for (std::size_t at = 0; at < count; at += together) {
      Tile tile{{pixels.data + at}, 1, std::min(together, count - at)};
      if (split) {
        std::uint8_t* const plane = planes_.data() + (single_pass ? 0 : at);
        tile = {{plane, plane + stride, plane + 2 * stride}, 3, tile.count};
      }
      const auto& [r, g, b] = tile.at;
      if (split && first) set.split_rgb(pixels.data + 3 * at, tile.count, r, g, b);
      for (const ColourStep& step : steps.subspan(begin, end - begin))
        if (!grey || !NeedsColours(step)) RunStep(step, found, tile);
      if (next != steps.end()) {
        found.Add(next->kind, tile);
      } else if (split) {
        set.join_rgb(r, g, b, tile.count, pixels.data + 3 * at);
      }
    }
    if (next == steps.end()) return;
    found.End(next->kind, split ? 3 : 1, area);
    begin = end;
  }
}

namespace {

template <std::uint32_t kChannels>
void Bilinear(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
              const Pixels& out) noexcept {
  std::uint8_t* to = out.data;
  const std::int64_t xx = FinePlace(to_source.xx), yx = FinePlace(to_source.yx);
  for (std::uint32_t line = 0; line < out.height; ++line) {
    std::int64_t at_x = FinePlace(RowX(to_source, line + 0.5));
    std::int64_t at_y = FinePlace(RowY(to_source, line + 0.5));
    for (std::uint32_t column = 0; column < out.width;
         ++column, at_x += xx, at_y += yx, to += kChannels) {
      if (!LiesInside<kFine>(at_x, at_y, in.width, in.height)) {
        std::memcpy(to, fill, kChannels);
        continue;
      }
      const Pair x = PairAt(at_x, in.width);
      const Pair y = PairAt(at_y, in.height);
      const std::uint8_t* const above = in.data + std::size_t{y.first} * in.width * kChannels;
      const std::uint8_t* const below = in.data + std::size_t{y.second} * in.width * kChannels;
      for (std::uint32_t c = 0; c < kChannels; ++c) {
        to[c] = MixedValue(above, below, x.first * kChannels + c, x.second * kChannels + c, x.share,
                           y.share);
      }
    }
  }
}

// Pixels have kBytes bytes, or in.channels bytes if kBytes is 0. The pictures are passed by value:
// otherwise the compiler must assume that each pixel written may change their sizes.
template <std::size_t kBytes>
void Nearest(Pixels in, const AffineMap& to_source, const std::uint8_t* fill, Pixels out) noexcept {
  const std::size_t pixel = kBytes != 0 ? kBytes : in.channels;
  std::uint8_t* to = out.data;
  const std::int64_t first_x = CoarsePlace(RowX(to_source, 0.5));
  const std::int64_t first_y = CoarsePlace(RowY(to_source, 0.5));
  const std::int64_t xx = CoarsePlace(to_source.xx), xy = CoarsePlace(to_source.xy);
  const std::int64_t yx = CoarsePlace(to_source.yx), yy = CoarsePlace(to_source.yy);
  for (std::uint32_t line = 0; line < out.height; ++line) {
    std::int64_t x = first_x + line * xy;
    std::int64_t y = first_y + line * yy;
    for (std::uint32_t column = 0; column < out.width; ++column, x += xx, y += yx, to += pixel) {
      const bool inside = LiesInside<kCoarse>(x, y, in.width, in.height);
      const std::size_t at = static_cast<std::size_t>(y >> kCoarse) * in.width +
                             static_cast<std::size_t>(x >> kCoarse);
      std::memcpy(to, inside ? in.data + at * pixel : fill, pixel);
    }
  }
}

}  // namespace

AffineMap AffineMap::Inverse() const noexcept {
  const double d = Determinant();
  AffineMap map{yy / d, -xy / d, 0, -yx / d, xx / d, 0};
  map.x0 = -(map.xx * x0 + map.xy * y0);
  map.y0 = -(map.yx * x0 + map.yy * y0);
  return map;
}

AffineMap operator*(const AffineMap& a, const AffineMap& b) noexcept {
  return {a.xx * b.xx + a.xy * b.yx, a.xx * b.xy + a.xy * b.yy, a.X(b.x0, b.y0),
          a.yx * b.xx + a.yy * b.yx, a.yx * b.xy + a.yy * b.yy, a.Y(b.x0, b.y0)};
}

void WarpBilinear(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
                  const Pixels& out) noexcept {
  in.channels == 3 ? Bilinear<3>(in, to_source, fill, out) : Bilinear<1>(in, to_source, fill, out);
}

void WarpNearest(const Pixels& in, const AffineMap& to_source, const std::uint8_t* fill,
                 const Pixels& out) noexcept {
  switch (in.channels) {
    case 1: return Nearest<1>(in, to_source, fill, out);
    case 3: return Nearest<3>(in, to_source, fill, out);
    default: return Nearest<0>(in, to_source, fill, out);
  }
}

namespace {

// Writes `end` values before and after a row: its pixels mirrored at the outermost ones.
template <std::size_t kChannels>
void MirrorEnds(std::int16_t* row, std::size_t stride, std::size_t end) noexcept {
  std::int16_t* const last = row + stride - kChannels;
  for (std::size_t away = kChannels; away <= end; away += kChannels) {
    std::memcpy(row - away, row + away, kChannels * sizeof(*row));
    std::memcpy(last + away, last - away, kChannels * sizeof(*row));
  }
}

}  // namespace

void Blur::Run(const Pixels& pixels, std::span<const std::uint32_t> weights) {
  const kernels::Kernels& set = kernels::Chosen();
  // Outer weights are often zeros, as a kernel has to be large enough for the largest deviation.
  while (weights.size() > 1 && weights.front() == 0)
    weights = weights.subspan(1);
  if (weights.size() == 1) return;  // each pixel stays itself
  const std::size_t reach = weights.size() - 1;
  const auto taps = static_cast<std::uint32_t>(2 * reach + 1);
  weights_.assign((weights.size() + 1) / 2 * 2, 0);
  for (std::size_t t = 0; t <= reach; ++t) {
    const std::uint32_t weight = t < reach ? weights[t] : weights[t] / 2;  // see BlurSum
    weights_[t] = static_cast<std::int16_t>(-static_cast<std::int32_t>(weight));
  }
  const std::size_t channels = pixels.channels, height = pixels.height;
  const std::size_t stride = pixels.width * channels, end = reach * channels;
  wide_.resize(stride * (height + 2 * reach) + kernels::kSlack);
  for (std::size_t y = 0; y < height; ++y)
    set.widen(pixels.data + y * stride, stride, &wide_[(reach + y) * stride]);
  for (std::size_t y = 1; y <= reach; ++y) {
    std::copy_n(&wide_[(reach + y) * stride], stride, &wide_[(reach - y) * stride]);
    const std::size_t last = reach + height - 1;
    std::copy_n(&wide_[(last - y) * stride], stride, &wide_[(last + y) * stride]);
  }
  const auto sum_of = [&](const std::int16_t* values, std::size_t step) {
    return kernels::BlurSum{values, step, taps, weights_.data(),
                            static_cast<std::uint32_t>(weights_.size())};
  };
  // Each row is blurred along columns, mirrored at its ends, and blurred along the line.
  line_.resize(stride + 2 * end + kernels::kSlack);
  std::int16_t* const row = line_.data() + end;
  for (std::size_t y = 0; y < height; ++y) {
    set.blur_columns(sum_of(&wide_[y * stride], stride), stride, row);
    channels == 3 ? MirrorEnds<3>(row, stride, end) : MirrorEnds<1>(row, stride, end);
    set.blur_line(sum_of(line_.data(), channels), stride, pixels.data + y * stride);
  }
}

void Sharpness::Run(const Pixels& pixels, float factor) {
  if (pixels.width < 3 || pixels.height < 3) return;
  const std::size_t channels = pixels.channels;
  const std::size_t stride = pixels.width * channels;
  smooth_.assign(pixels.data, pixels.data + pixels.bytes());
  const kernels::Kernels& set = kernels::Chosen();
  for (std::uint32_t y = 1; y + 1 < pixels.height; ++y) {
    const std::uint8_t* const line = pixels.data + y * stride;
    set.smooth_line(line - stride, line, line + stride, channels, stride - 2 * channels,
                    &smooth_[y * stride + channels]);
  }
  set.blend_lines(smooth_.data(), pixels.data, pixels.bytes(), factor);
}

}  // namespace sluice
