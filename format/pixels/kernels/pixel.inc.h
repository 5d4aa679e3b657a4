// The operations that steps do on the colours of one pixel, and the mean of four pixels. Included
// inside a namespace with SLUICE_INLINE defined as the functions' specifiers: once for each
// instruction set, whose loops (steps.inc.h, steps_*.h) the compiler vectorises, and once for
// devices (reader/device/pixel_ops.h). IEEE 754 arithmetic in a fixed order, without fused
// multiply-adds, so that all of them give the same bytes.

SLUICE_INLINE std::uint8_t BlendValue(float a, float b, float factor) {
  const float value = a + factor * (b - a);
  const float above = value < 0.0F ? 0.0F : value;
  return static_cast<std::uint8_t>(static_cast<int>(above > 255.0F ? 255.0F : above));
}

// As GreyOf() in format/pixels/grey.h.
SLUICE_INLINE std::uint32_t GreyValue(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return (r * 19595U + g * 38470U + b * 7471U + 32768U) >> 16;
}

SLUICE_INLINE int Greatest(int r, int g, int b) {
  const int more = r > g ? r : g;
  return more > b ? more : b;
}
SLUICE_INLINE int Least(int r, int g, int b) {
  const int less = r > g ? g : r;
  return less < b ? less : b;
}

// A turn of the hue: whole thirds of the colour circle, by which channels only change places, and
// the rest in 1/32768 of a sixth, -32768 to 32767.
struct HueTurn {
  int thirds = 0, rest = 0;  // thirds: 0 to 2
};
// `sixths`: -3 to 3 sixths of the circle.
SLUICE_INLINE HueTurn HueTurnOf(float sixths) {
  const int all = static_cast<int>(sixths * 32768.0F + (sixths < 0.0F ? -0.5F : 0.5F));
  const int thirds = (all + 7 * 32768) / 65536 - 3;
  return {(thirds + 3) % 3, all - thirds * 65536};
}

// The second, third and first of three channels if `thirds` is 1; if it is 2, that twice.
template <class Three>
SLUICE_INLINE Three Exchanged(const Three& of, int thirds) {
  return thirds == 0 ? of : thirds == 1 ? Three{of.g, of.b, of.r} : Three{of.b, of.r, of.g};
}

struct Colour {
  int r = 0, g = 0, b = 0;
};

// How far the channels of a colour lie below its greatest one, `high`, in 1/32 of a level, once its
// hue is turned by `rest`, of HueTurnOf(). No division: the hue is not a number from 0 to 6, but a
// place on a circle of 6 * range, in 1/32 of a level; `range` is the difference of the greatest and
// the least channel. The place is counted from red, green comes after a third. A channel lies below
// the greatest one by nothing within range of its own place, and by range from 2 * range on.
SLUICE_INLINE Colour TurnedDepths(int r, int g, int b, int high, int range, int rest) {
  // Masks, not branches: the compiler would not vectorise branches.
  const int red = -(high == r), green = -(high == g) & ~red, blue = ~(red | green);
  const int place = (red & (g - b)) | (green & (b - r + 2 * range)) | (blue & (r - g - 2 * range));
  const int unit = 32 * range;
  const int turned = 32 * place + ((unit * rest + 16384) >> 15);
  const int away = turned < 0 ? -turned : turned;
  const int distance = away < 6 * unit - away ? away : 6 * unit - away;  // from red
  const int left = -((turned < 0) != (away > 3 * unit));  // whether the place is nearer to blue
  const int near = unit > distance ? unit - distance : 0;
  const int far = unit < 3 * unit - distance ? unit : 3 * unit - distance;
  const int beyond = distance > unit ? distance - unit : 0;
  const int own = beyond < unit ? beyond : unit;
  return {own, (near & ~left) + (far & left), (far & ~left) + (near & left)};
}

SLUICE_INLINE Colour TurnedColour(int r, int g, int b, int rest) {
  const int high = Greatest(r, g, b), range = high - Least(r, g, b);
  const Colour depths = TurnedDepths(r, g, b, high, range, rest);
  return {high - ((depths.r + 16) >> 5), high - ((depths.g + 16) >> 5),
          high - ((depths.b + 16) >> 5)};
}

// Turns the hue, and multiplies HSV's saturation (range / high) and value (high), each cut off at
// its greatest.
SLUICE_INLINE Colour HsvColour(int r, int g, int b, int rest, float saturation, float value) {
  const int high = Greatest(r, g, b), range = high - Least(r, g, b);
  const Colour depths = TurnedDepths(r, g, b, high, range, rest);
  const float raised = value * static_cast<float>(high);
  const float top = raised < 255.0F ? raised : 255.0F;
  const float wide =
      top * saturation * static_cast<float>(range) / static_cast<float>(high > 1 ? high : 1);
  const float scale = (wide < top ? wide : top) / static_cast<float>(32 * (range > 1 ? range : 1));
  const float rounding = top + 0.5F;
  return {static_cast<int>(rounding - scale * static_cast<float>(depths.r)),
          static_cast<int>(rounding - scale * static_cast<float>(depths.g)),
          static_cast<int>(rounding - scale * static_cast<float>(depths.b))};
}

// The mean of nine values, of which the middle one counts five times: a thirteenth of `sum`, which
// is their sum plus 6 for rounding. 5042 / 65536 is slightly more than 1/13, but gives the same
// result for sums below 3322.
SLUICE_INLINE std::uint8_t SmoothValue(std::uint16_t sum) {
  return static_cast<std::uint8_t>(std::uint32_t{sum} * 5042U >> 16);
}

// The shifts of a blur's weighted sums, with weights in 1/65536: first the sums along columns, to
// 1/64, so that two of them fit into 16 bits with a sign, then those along lines, to whole values.
// Half of the part that is shifted out is added first.
constexpr std::uint32_t kColumnsShift = 10, kLinesShift = 22;

// Mixes four values, two of the row `above` and two of the row `below`: those at `first` and at
// `second`. The shares are those of `second` and of `below`, in 1/32768. Each of the three means is
// rounded to 1/128, so that it fits into 16 bits with a sign, and the last one then to a whole
// value.
SLUICE_INLINE std::uint8_t MixedValue(const std::uint8_t* above, const std::uint8_t* below,
                                      std::size_t first, std::size_t second, int x_share,
                                      int y_share) noexcept {
  const auto mean = [](int a, int b, int share) { return a + (((b - a) * share + 16384) >> 15); };
  const int upper = mean(above[first] * 128, above[second] * 128, x_share);
  const int lower = mean(below[first] * 128, below[second] * 128, x_share);
  return static_cast<std::uint8_t>((mean(upper, lower, y_share) + 64) >> 7);
}
