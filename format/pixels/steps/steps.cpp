// Colour steps run one after another on a tile of pixels that stays in the first cache, split into
// planes: ColourSteps. A step that needs a finding about the whole picture (its mean, or how often
// each value occurs) begins a further pass, and the pass before collects the finding:
//
//   steps    brightness | contrast  hue | equalize        pass 1 sums the lightness,
//   passes   1          | 2             | 3               pass 2 counts the values
//
// Kernels do the arithmetic.
//
// A row of a warp is cut into parts: pixels outside the source, those at its edges, and the run
// between them, in which each place has all its pixels in the source. Devices must give the same
// bytes. So the arithmetic that both have is in shared.inc.h and kernels/pixel.inc.h, which are
// included inside this file's namespace: change a formula there, not here.
#include "format/pixels/steps/steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "format/pixels/kernels/kernels.h"

namespace sluice {

namespace {

#define SLUICE_INLINE inline
#include "format/pixels/kernels/pixel.inc.h"
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
  return step.kind >= Kind::kSaturation && step.kind <= Kind::kGrey;
}

bool Blends(const ColourStep& step) noexcept {
  return step.kind == Kind::kBrightness || step.kind == Kind::kContrast ||
         step.kind == Kind::kSaturation;
}

// How often a channel has each value. Neighbours are often alike, and a count would have to wait
// for the one before it. So values go in turn to separate sets of counts.
class ValueCounts {
 public:
  void Clear() noexcept { std::memset(counts_, 0, sizeof(counts_)); }
  // `count` values that lie kStep apart. Not inlined: GCC then keeps the addresses in registers.
  template <std::size_t kStep>
  __attribute__((noinline)) void Add(const std::uint8_t* values, std::size_t count) noexcept {
    for (; count >= 2 * kTurns; count -= 2 * kTurns, values += 2 * kTurns * kStep)
      for (std::size_t i = 0; i < 2 * kTurns; ++i)
        ++counts_[i % kTurns][values[i * kStep]];
    for (; count > 0; --count, values += kStep)
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

// Stretches values in whole numbers: how far each lies above `low`, times 1 + fraction / 65536.
struct WholeStretch {
  bool exact = false;  // whether this gives what the table has
  std::uint8_t low = 0;
  std::uint16_t fraction = 0;
};
WholeStretch WholeStretchOf(int low, int high, const Table& table) noexcept {
  if (high - low < 128) return {};  // a factor of 2 or more
  const auto below = static_cast<std::uint32_t>(65536 * (StretchScale(low, high) - 1));
  for (std::uint32_t fraction = below; fraction <= below + 1 && fraction < 65536; ++fraction) {
    std::uint32_t difference = 0;
    for (std::uint32_t v = 0; v < 256; ++v) {
      const std::uint32_t above = v > static_cast<std::uint32_t>(low) ? v - low : 0;
      difference |= std::min(above + (above * fraction >> 16), 255U) ^ table[v];
    }
    if (difference == 0)
      return {true, static_cast<std::uint8_t>(low), static_cast<std::uint16_t>(fraction)};
  }
  return {};
}

// The most pixels that a pass works on at a time: they fit into the first cache.
constexpr std::size_t kTilePixels = 2048;

// The pixels that a pass works on at a time: three planes of `count` values, or one run of `count`
// values, which are those of one channel or interleaved ones of three.
struct Tile {
  std::uint8_t* at[3];
  std::size_t planes, count, channels;
  kernels::Planes colours() const noexcept { return {at[0], at[1], at[2]}; }
  bool interleaved() const noexcept { return planes < channels; }
  std::size_t pixels() const noexcept { return interleaved() ? count / channels : count; }
};

// A finding about the whole picture, for the first step of a pass. The pass before it collects it.
class Finding {
 public:
  void Begin(Kind kind) noexcept {
    kind_ = kind;
    sum_ = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      low_[c] = 255;
      high_[c] = 0;
      if (kind == Kind::kEqualize) counts_[c].Clear();
    }
  }
  void Add(const Tile& tile) noexcept {
    if (kind_ == Kind::kContrast) {
      sum_ += SumOfLightness(tile);
      return;
    }
    for (std::size_t c = 0; c < tile.channels; ++c) {
      if (kind_ == Kind::kStretch) {
        tile.interleaved() ? AddRange<3>(tile.at[0] + c, tile.pixels(), c)
                           : AddRange<1>(tile.at[c], tile.count, c);
      } else {
        tile.interleaved() ? counts_[c].Add<3>(tile.at[0] + c, tile.pixels())
                           : counts_[c].Add<1>(tile.at[c], tile.count);
      }
    }
  }
  // `pixels`: how many were added.
  void End(std::size_t channels, std::size_t pixels) noexcept {
    if (kind_ == Kind::kContrast) {
      mean = static_cast<std::uint8_t>((2 * sum_ + pixels) / (2 * pixels));
      return;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      tables[c] = kind_ == Kind::kEqualize ? EqualizingTable(counts_[c].Sum())
                                           : StretchingTable(low_[c], high_[c]);
      changes[c] = tables[c] != OwnValues();
      if (kind_ == Kind::kStretch) stretches[c] = WholeStretchOf(low_[c], high_[c], tables[c]);
    }
  }

  std::uint8_t mean = 0;
  Table tables[3];
  bool changes[3] = {};  // by table: whether it changes any value
  WholeStretch stretches[3];

 private:
  static std::uint64_t SumOfLightness(const Tile& tile) noexcept {
    const kernels::Kernels& set = kernels::Chosen();
    if (tile.channels == 1)
      return std::accumulate(tile.at[0], tile.at[0] + tile.count, std::uint32_t{0});
    if (!tile.interleaved()) return set.sum_grey(tile.colours(), tile.count);
    std::uint8_t r[kTilePixels + kernels::kSlack], g[sizeof r], b[sizeof r];
    set.split_rgb(tile.at[0], tile.pixels(), r, g, b);
    return set.sum_grey({r, g, b}, tile.pixels());
  }
  // `count` values that lie kStep apart.
  template <std::size_t kStep>
  void AddRange(const std::uint8_t* values, std::size_t count, std::size_t channel) noexcept {
    std::uint8_t low = low_[channel], high = high_[channel];
    for (std::size_t i = 0; i < count * kStep; i += kStep) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    low_[channel] = low;
    high_[channel] = high;
  }

  Kind kind_ = Kind::kContrast;
  std::uint64_t sum_;
  std::uint8_t low_[3], high_[3];
  ValueCounts counts_[3];
};

void LookUpInterleaved(const Tile& tile, const Table* tables) noexcept {
  std::uint8_t* at = tile.at[0];
  for (std::size_t i = 0; i < tile.count; i += 3)
    for (std::size_t c = 0; c < 3; ++c, ++at)
      *at = tables[c][*at];
}

void ExchangeChannels(const Tile& tile, std::uint32_t order) noexcept {
  std::uint8_t before[3][kTilePixels];
  for (std::size_t c = 0; c < 3; ++c)
    std::memcpy(before[c], tile.at[c], tile.count);
  for (std::size_t c = 0; c < 3; ++c)
    std::memcpy(tile.at[c], before[order >> 2 * c & 3], tile.count);
}

void RunStep(const ColourStep& step, const kernels::BlendFactor& factor, const Finding& found,
             const Tile& tile) noexcept {
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
        set.blend_with(values, tile.count, base, factor);
      });
    }
    case Kind::kSaturation: return set.saturate(tile.colours(), tile.count, factor);
    case Kind::kHue: return set.turn_hues(tile.colours(), tile.count, step.factor * 6);
    case Kind::kHsv:
      return set.change_hsv(tile.colours(), tile.count,
                            {step.factor * 6, step.saturation, step.value});
    case Kind::kExchange: return ExchangeChannels(tile, step.number);
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
      if (tile.interleaved()) return LookUpInterleaved(tile, found.tables);
      return each([&](std::uint8_t* values, std::size_t plane) {
        if (!found.changes[plane]) return;
        const WholeStretch& stretch = found.stretches[plane];
        if (step.kind == Kind::kStretch && stretch.exact)
          return set.stretch(values, tile.count, stretch.low, stretch.fraction);
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
  // Interleaved values are changed where they lie if no step looks at channels, or only the
  // findings do and splitting costs more than it saves.
  const bool split =
      !grey && ((!single_pass && set.splits_fast) || std::ranges::any_of(steps, NeedsColours));
  const std::size_t count = split ? area : pixels.bytes();
  const std::size_t together = split ? kTilePixels : 3 * kTilePixels;
  // A single pass keeps the planes of one tile, in the first cache; several passes keep all planes.
  const std::size_t stride = (single_pass ? together : area) + kernels::kSlack;
  if (split) planes_.resize(3 * stride);
  factors_.clear();
  for (const ColourStep& step : steps)
    factors_.push_back(Blends(step) ? kernels::BlendFactorOf(step.factor) : kernels::BlendFactor());
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
      Tile tile{{pixels.data + at}, 1, std::min(together, count - at), pixels.channels};
      if (split) {
        std::uint8_t* const plane = planes_.data() + (single_pass ? 0 : at);
        tile = {{plane, plane + stride, plane + 2 * stride}, 3, tile.count, 3};
      }
      const auto& [r, g, b] = tile.at;
      if (split && first) set.split_rgb(pixels.data + 3 * at, tile.count, r, g, b);
      for (std::size_t s = begin; s < end; ++s)
        if (!grey || !NeedsColours(steps[s])) RunStep(steps[s], factors_[s], found, tile);
      if (next != steps.end()) {
        found.Add(tile);
      } else if (split) {
        set.join_rgb(r, g, b, tile.count, pixels.data + 3 * at);
      }
    }
    if (next == steps.end()) return;
    found.End(pixels.channels, area);
    begin = end;
  }
}

namespace {

// Columns of a target row.
struct Columns {
  std::int64_t begin = 0, end = 0;
};
Columns Both(const Columns& a, const Columns& b) noexcept {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// The columns of 0 .. count - 1 where first + column * step lies in low .. high - 1.
Columns ColumnsWithin(std::int64_t first, std::int64_t step, std::int64_t low, std::int64_t high,
                      std::int64_t count) noexcept {
  if (low >= high) return {};
  if (step < 0) return ColumnsWithin(-first, -step, 1 - high, 1 - low, count);
  if (step == 0) return {0, first >= low && first < high ? count : 0};
  // The first column from which on the places are not below `bound`.
  const auto column = [&](std::int64_t bound) {
    const std::int64_t way = bound - first;
    return std::clamp<std::int64_t>(way > 0 ? (way - 1) / step + 1 : 0, 0, count);
  };
  return {column(low), column(high)};
}

// `columns` without those at either end for which `holds` is false.
template <class Holds>
Columns Trimmed(Columns columns, const Holds& holds) noexcept {
  while (columns.begin < columns.end && !holds(columns.begin))
    ++columns.begin;
  while (columns.begin < columns.end && !holds(columns.end - 1))
    --columns.end;
  return columns;
}

// The places that a target row's pixels show, in 2^-32 pixels.
struct RowPlaces {
  std::int64_t x, y, x_step, y_step;
  std::int64_t count;

  // Where places lie in low .. high - 1 on both axes.
  Columns Within(std::int64_t x_low, std::int64_t x_high, std::int64_t y_low,
                 std::int64_t y_high) const noexcept {
    return Both(ColumnsWithin(x, x_step, x_low, x_high, count),
                ColumnsWithin(y, y_step, y_low, y_high, count));
  }
  // The same among `columns`, of which few fall out: without divisions.
  Columns Within(const Columns& columns, std::int64_t x_low, std::int64_t x_high,
                 std::int64_t y_low, std::int64_t y_high) const noexcept {
    return Trimmed(columns, [&](std::int64_t column) {
      const std::int64_t at_x = x + column * x_step, at_y = y + column * y_step;
      return at_x >= x_low && at_x < x_high && at_y >= y_low && at_y < y_high;
    });
  }
  kernels::PlaceLine LineFrom(std::int64_t column, std::int64_t left, const Pixels& in) const {
    return {static_cast<std::uint64_t>(x + column * x_step - left),
            static_cast<std::uint64_t>(y + column * y_step - left),
            static_cast<std::uint64_t>(x_step),
            static_cast<std::uint64_t>(y_step),
            in.width * in.channels,
            in.channels};
  }
};

constexpr std::int64_t kOne = std::int64_t{1} << kFine;
constexpr std::int64_t kTogether = 256;  // pixels whose places are found together

// Makes a target row: `fill` where places lie outside the source, edge(column, to) for single
// pixels, and run(begin, end, to) for those in `inner`, if there are any, which a kernel can make
// together.
template <class Edge, class Run>
void WarpRow(const Columns& inside, Columns inner, std::int64_t count,
             std::span<const std::uint8_t> fill, std::uint8_t* to, const Edge& edge,
             const Run& run) noexcept {
  inner = Both(inside, inner);
  if (inner.begin == inner.end) inner = {inside.begin, inside.begin};
  const auto at = [&](std::int64_t column) {
    return to + static_cast<std::size_t>(column) * fill.size();
  };
  const auto outside = [&](std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    std::uint8_t* const first = at(begin);
    const std::size_t bytes = static_cast<std::size_t>(end - begin) * fill.size();
    std::memcpy(first, fill.data(), fill.size());
    for (std::size_t done = fill.size(); done < bytes; done *= 2)
      std::memcpy(first + done, first, std::min(done, bytes - done));
  };
  outside(0, inside.begin);
  for (std::int64_t column = inside.begin; column < inner.begin; ++column)
    edge(column, at(column));
  for (std::int64_t begin = inner.begin; begin < inner.end; begin += kTogether)
    run(begin, std::min(begin + kTogether, inner.end), at(begin));
  for (std::int64_t column = inner.end; column < inside.end; ++column)
    edge(column, at(column));
  outside(inside.end, count);
}

// Offsets in a picture are numbers of 32 bits.
bool HasOffsets(const Pixels& pixels) noexcept {
  return pixels.bytes() <= std::numeric_limits<std::uint32_t>::max();
}

void BilinearPixel(const Pixels& in, std::int64_t at_x, std::int64_t at_y,
                   std::uint8_t* to) noexcept {
  const Pair x = PairAt(at_x, in.width);
  const Pair y = PairAt(at_y, in.height);
  const std::size_t channels = in.channels, stride = in.width * channels;
  for (std::size_t c = 0; c < channels; ++c)
    to[c] = MixedValue(in.data + y.first * stride, in.data + y.second * stride,
                       x.first * channels + c, x.second * channels + c, x.share, y.share);
}

// The kernel that mixes four pixels, or null.
auto* MixOf(const Pixels& in) noexcept {
  const kernels::Kernels& set = kernels::Chosen();
  auto* const mix = in.channels == 3 ? set.mix_rgb : set.mix_grey;
  return (in.channels == 3 || in.channels == 1) && HasOffsets(in) ? mix : nullptr;
}
// How many pixels must follow the first of two. For three channels, the kernel reads eight bytes.
std::int64_t After(const Pixels& in) noexcept {
  return in.channels == 3 ? 2 : 1;
}

// Copies `count` pixels from their offsets. Pixels have kBytes bytes, or `pixel` bytes if kBytes is
// 0. Of pixels of three bytes, all but the last are copied with the byte after them.
template <std::size_t kBytes>
void PickPixels(const std::uint8_t* in, const std::uint32_t* offsets, std::size_t count,
                std::size_t pixel, std::uint8_t* to) noexcept {
  if constexpr (kBytes == 3) {
#pragma GCC unroll 4
    for (; count > 1; --count, to += 3)
      std::memcpy(to, in + *offsets++, 4);
  }
  const std::size_t size = kBytes != 0 ? kBytes : pixel;
  for (; count > 0; --count, to += size)
    std::memcpy(to, in + *offsets++, size);
}

// The places that a target row's pixels show by a projective map. Columns are found by solving
// linear inequalities, because W is positive where a place is shown; the ends are then corrected by
// the places themselves, which kernels compute in the same way.
struct ProjectedRow {
  kernels::ProjectedLine line;
  std::int64_t count;

  ProjectedRow(const Projection& map, std::uint32_t row, std::int64_t columns) : count(columns) {
    const double y = row + 0.5;
    line.x = RowX(map, y);
    line.y = RowY(map, y);
    line.w = map.wx * 0.5 + map.wy * y + map.w0;
    line.x_step = map.xx;
    line.y_step = map.yx;
    line.w_step = map.wx;
  }
  double X(std::int64_t column) const noexcept {
    const auto c = static_cast<double>(column);
    return (line.x + c * line.x_step) / (line.w + c * line.w_step);
  }
  double Y(std::int64_t column) const noexcept {
    const auto c = static_cast<double>(column);
    return (line.y + c * line.y_step) / (line.w + c * line.w_step);
  }
  // Where places lie in [x_low, x_high) and [y_low, y_high), and W is positive.
  Columns Within(double x_low, double x_high, double y_low, double y_high) const noexcept {
    if (!(x_low < x_high && y_low < y_high)) return {};
    const auto holds = [&](std::int64_t column) {
      const double x = X(column), y = Y(column);
      return line.w + static_cast<double>(column) * line.w_step > 0 && x >= x_low && x < x_high &&
             y >= y_low && y < y_high;
    };
    double begin = 0, end = static_cast<double>(count);
    // Narrows the columns to those where first + column * step is not negative.
    const auto narrow = [&](double first, double step) {
      if (step > 0) {
        begin = std::max(begin, std::ceil(-first / step));
      } else if (step < 0) {
        end = std::min(end, std::floor(-first / step) + 1);
      } else if (!(first >= 0)) {
        end = 0;
      }
    };
    narrow(line.w, line.w_step);
    narrow(line.x - x_low * line.w, line.x_step - x_low * line.w_step);
    narrow(x_high * line.w - line.x, x_high * line.w_step - line.x_step);
    narrow(line.y - y_low * line.w, line.y_step - y_low * line.w_step);
    narrow(y_high * line.w - line.y, y_high * line.w_step - line.y_step);
    if (!(begin < end)) return {};
    Columns columns{static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)};
    return Trimmed(columns, holds);
  }
  // The line for a kernel, which clamps places to a picture's first `width` x `height` pixels, or
  // to the places between their centres if `mixed`.
  kernels::ProjectedLine LineFor(const Pixels& in, std::int64_t width, std::int64_t height,
                                 bool mixed) const noexcept {
    constexpr double kBelow = 1.0 / 65536;  // so that the share of the next pixel is less than 1
    kernels::ProjectedLine clamped = line;
    clamped.origin = mixed ? 0.5 : 0;
    const double less = kBelow + (mixed ? 1 : 0);
    clamped.x_most = static_cast<double>(width) - less;
    clamped.y_most = static_cast<double>(height) - less;
    clamped.stride = in.width * in.channels;
    clamped.pixel = in.channels;
    return clamped;
  }
};

void ProjectBilinear(const Pixels& in, const Projection& to_source, const std::uint8_t* fill,
                     const Pixels& out) noexcept {
  const std::size_t stride = std::size_t{in.width} * in.channels;
  auto* const mix = in.width > After(in) && in.height > 1 ? MixOf(in) : nullptr;
  for (std::uint32_t y = 0; y < out.height; ++y) {
    const ProjectedRow row(to_source, y, out.width);
    const kernels::ProjectedLine line =
        row.LineFor(in, std::int64_t{in.width} + 1 - After(in), in.height, true);
    WarpRow(
        row.Within(0, in.width, 0, in.height),
        mix != nullptr
            ? row.Within(0.5, in.width + 0.5 - static_cast<double>(After(in)), 0.5, in.height - 0.5)
            : Columns(),
        out.width, {fill, in.channels}, out.data + std::size_t{y} * out.width * out.channels,
        [&](std::int64_t column, std::uint8_t* to) {
          BilinearPixel(in, FinePlace(row.X(column)), FinePlace(row.Y(column)), to);
        },
        [&](std::int64_t begin, std::int64_t end, std::uint8_t* to) {
          std::uint32_t offsets[kTogether + 7], shares[kTogether + 7];
          const auto count = static_cast<std::size_t>(end - begin);
          kernels::Chosen().find_projected(line, static_cast<std::uint32_t>(begin), count, offsets,
                                           shares);
          mix(in.data, stride, offsets, shares, count, to);
        });
  }
}

void ProjectNearest(const Pixels& in, const Projection& to_source, const std::uint8_t* fill,
                    const Pixels& out) noexcept {
  const std::size_t pixel = in.channels, stride = in.width * pixel;
  const auto pick = pixel == 3 ? &PickPixels<3> : pixel == 1 ? &PickPixels<1> : &PickPixels<0>;
  // The last pixel of a source row has no byte after it.
  const std::uint32_t width = in.width - (pixel == 3 ? 1 : 0);
  for (std::uint32_t y = 0; y < out.height; ++y) {
    const ProjectedRow row(to_source, y, out.width);
    const kernels::ProjectedLine line = row.LineFor(in, width, in.height, false);
    WarpRow(
        row.Within(0, in.width, 0, in.height),
        HasOffsets(in) ? row.Within(0, width, 0, in.height) : Columns(), out.width, {fill, pixel},
        out.data + std::size_t{y} * out.width * pixel,
        [&](std::int64_t column, std::uint8_t* to) {
          std::memcpy(to,
                      in.data + static_cast<std::size_t>(row.Y(column)) * stride +
                          static_cast<std::size_t>(row.X(column)) * pixel,
                      pixel);
        },
        [&](std::int64_t begin, std::int64_t end, std::uint8_t* to) {
          std::uint32_t offsets[kTogether + 7], shares[kTogether + 7];
          const auto count = static_cast<std::size_t>(end - begin);
          kernels::Chosen().find_projected(line, static_cast<std::uint32_t>(begin), count, offsets,
                                           shares);
          pick(in.data, offsets, count, pixel, to);
        });
  }
}

}  // namespace

void WarpBilinear(const Pixels& in, const Projection& to_source, const std::uint8_t* fill,
                  const Pixels& out) noexcept {
  if (!to_source.affine()) return ProjectBilinear(in, to_source, fill, out);
  const std::size_t stride = std::size_t{in.width} * in.channels;
  auto* const mix = MixOf(in);
  for (std::uint32_t line = 0; line < out.height; ++line) {
    const RowPlaces row = {FinePlace(RowX(to_source, line + 0.5)),
                           FinePlace(RowY(to_source, line + 0.5)), FinePlace(to_source.xx),
                           FinePlace(to_source.yx), out.width};
    const Columns inside = row.Within(0, in.width * kOne, 0, in.height * kOne);
    WarpRow(
        inside,
        mix != nullptr ? row.Within(inside, kOne / 2, (in.width - After(in)) * kOne + kOne / 2,
                                    kOne / 2, (in.height - INT64_C(1)) * kOne + kOne / 2)
                       : Columns(),
        out.width, {fill, in.channels}, out.data + std::size_t{line} * out.width * out.channels,
        [&](std::int64_t column, std::uint8_t* to) {
          BilinearPixel(in, row.x + column * row.x_step, row.y + column * row.y_step, to);
        },
        [&](std::int64_t begin, std::int64_t end, std::uint8_t* to) {
          std::uint32_t offsets[kTogether + 7], shares[kTogether + 7];
          const auto count = static_cast<std::size_t>(end - begin);
          kernels::Chosen().find_places(row.LineFrom(begin, kOne / 2, in), count, offsets, shares);
          mix(in.data, stride, offsets, shares, count, to);
        });
  }
}

void WarpNearest(const Pixels& in, const Projection& to_source, const std::uint8_t* fill,
                 const Pixels& out) noexcept {
  if (!to_source.affine()) return ProjectNearest(in, to_source, fill, out);
  constexpr int kFiner = kFine - kCoarse;
  const std::int64_t first_x = CoarsePlace(RowX(to_source, 0.5));
  const std::int64_t first_y = CoarsePlace(RowY(to_source, 0.5));
  const std::int64_t xx = CoarsePlace(to_source.xx), xy = CoarsePlace(to_source.xy);
  const std::int64_t yx = CoarsePlace(to_source.yx), yy = CoarsePlace(to_source.yy);
  const std::size_t pixel = in.channels, stride = in.width * pixel;
  // Translations and horizontal shears copy runs of pixels.
  const bool copies = xx == INT64_C(1) << kCoarse && yx == 0;
  const auto pick = pixel == 3 ? &PickPixels<3> : pixel == 1 ? &PickPixels<1> : &PickPixels<0>;
  for (std::uint32_t line = 0; line < out.height; ++line) {
    const RowPlaces row = {(first_x + line * xy) << kFiner, (first_y + line * yy) << kFiner,
                           xx << kFiner, yx << kFiner, out.width};
    const auto source = [&](std::int64_t column) {
      const std::int64_t x = row.x + column * row.x_step, y = row.y + column * row.y_step;
      return in.data + static_cast<std::size_t>(y >> kFine) * stride +
             static_cast<std::size_t>(x >> kFine) * pixel;
    };
    // The last pixel of a source row has no byte after it.
    const std::int64_t width = std::int64_t{in.width} - (pixel == 3 && !copies ? 1 : 0);
    const Columns inside = row.Within(0, in.width * kOne, 0, in.height * kOne);
    const Columns inner = copies || HasOffsets(in)
                              ? row.Within(inside, 0, width * kOne, 0, in.height * kOne)
                              : Columns();
    WarpRow(
        inside, inner, out.width, {fill, pixel}, out.data + std::size_t{line} * out.width * pixel,
        [&](std::int64_t column, std::uint8_t* to) { std::memcpy(to, source(column), pixel); },
        [&](std::int64_t begin, std::int64_t end, std::uint8_t* to) {
          const auto count = static_cast<std::size_t>(end - begin);
          if (copies) {
            std::memcpy(to, source(begin), count * pixel);
            return;
          }
          std::uint32_t offsets[kTogether + 7], shares[kTogether + 7];
          kernels::Chosen().find_places(row.LineFrom(begin, 0, in), count, offsets, shares);
          pick(in.data, offsets, count, pixel, to);
        });
  }
}

double Projection::Determinant() const noexcept {
  if (affine()) return AffineMap::Determinant();
  return xx * (yy * w0 - y0 * wy) - xy * (yx * w0 - y0 * wx) + x0 * (yx * wy - yy * wx);
}

Projection Projection::Inverse() const noexcept {
  if (affine()) return AffineMap::Inverse();
  const double d = Determinant();
  Projection map;
  map.xx = (yy * w0 - y0 * wy) / d;
  map.xy = (x0 * wy - xy * w0) / d;
  map.x0 = (xy * y0 - x0 * yy) / d;
  map.yx = (y0 * wx - yx * w0) / d;
  map.yy = (xx * w0 - x0 * wx) / d;
  map.y0 = (x0 * yx - xx * y0) / d;
  map.wx = (yx * wy - yy * wx) / d;
  map.wy = (xy * wx - xx * wy) / d;
  map.w0 = (xx * yy - xy * yx) / d;
  return map;
}

Projection operator*(const Projection& a, const Projection& b) noexcept {
  const auto affine = [](const Projection& map) { return static_cast<const AffineMap&>(map); };
  if (a.affine() && b.affine()) return affine(a) * affine(b);
  Projection map;
  map.xx = a.xx * b.xx + a.xy * b.yx + a.x0 * b.wx;
  map.xy = a.xx * b.xy + a.xy * b.yy + a.x0 * b.wy;
  map.x0 = a.xx * b.x0 + a.xy * b.y0 + a.x0 * b.w0;
  map.yx = a.yx * b.xx + a.yy * b.yx + a.y0 * b.wx;
  map.yy = a.yx * b.xy + a.yy * b.yy + a.y0 * b.wy;
  map.y0 = a.yx * b.x0 + a.yy * b.y0 + a.y0 * b.w0;
  map.wx = a.wx * b.xx + a.wy * b.yx + a.w0 * b.wx;
  map.wy = a.wx * b.xy + a.wy * b.yy + a.w0 * b.wy;
  map.w0 = a.wx * b.x0 + a.wy * b.y0 + a.w0 * b.w0;
  return map;
}

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
  const kernels::Kernels& set = kernels::Chosen();
  const kernels::BlendFactor blend = kernels::BlendFactorOf(factor);
  const std::size_t channels = pixels.channels;
  const std::size_t stride = pixels.width * channels, inner = stride - 2 * channels;
  smooth_.resize(inner);
  above_.assign(pixels.data, pixels.data + stride);
  for (std::uint32_t y = 1; y + 1 < pixels.height; ++y) {
    std::uint8_t* const line = pixels.data + y * stride;
    before_.assign(line, line + stride);
    set.smooth_line(above_.data(), line, line + stride, channels, inner, smooth_.data());
    set.blend_lines(smooth_.data(), line + channels, inner, blend);
    above_.swap(before_);
  }
}

}  // namespace sluice
