// The operations that steps do on the colours of one pixel. Included inside a namespace with
// SLUICE_INLINE defined as the functions' specifiers: once for each instruction set, whose loops
// (steps.inc.h) the compiler vectorises, and once for devices (reader/device/pixel_ops.h). IEEE 754
// arithmetic in a fixed order, without fused multiply-adds, so that all of them give the same
// bytes.

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

// A pixel's hue after turning it by `sixths`, in sixths of a turn from 0 to 6. `high` is the
// pixel's greatest value, `range` the difference to its least.
SLUICE_INLINE float TurnedHue(int r, int g, int b, int high, int range, float sixths) {
  // Starts from the corner of the greatest channel and adds the difference of the other two. Masks,
  // not branches: the compiler would not vectorise branches.
  const int red = -(high == r), green = -(high == g) & ~red, blue = ~(red | green);
  const int others = (red & (g - b)) | (green & (b - r)) | (blue & (r - g));
  const int corner = (green & 2) | (blue & 4);
  const float part = static_cast<float>(others) / static_cast<float>(range + (range == 0));
  const float hue = static_cast<float>(corner) + part + sixths;
  const float up = hue + (hue < 0.0F ? 6.0F : 0.0F);
  return up - (up >= 6.0F ? 6.0F : 0.0F);
}

// A channel of a colour with the given hue, in sixths of a turn: it lies below the greatest channel
// by a share of `range`. The share is zero within one sixth of the channel's own hue, and one
// beyond two sixths.
SLUICE_INLINE std::uint8_t ChannelAt(float hue, float own, float high, float range) {
  const float sum = hue + own;
  const float k = sum - (sum >= 6.0F ? 6.0F : 0.0F);
  const float back = 4.0F - k;
  const float near = k < back ? k : back;
  const float above = near > 0.0F ? near : 0.0F;
  const float share = above < 1.0F ? above : 1.0F;
  return static_cast<std::uint8_t>(static_cast<int>(high - range * share + 0.5F));
}

// ChannelAt()'s parameter `own` for each channel.
constexpr float kRedAt = 5.0F, kGreenAt = 3.0F, kBlueAt = 1.0F;

// The mean of nine values, of which the middle one counts five times: a thirteenth of `sum`, which
// is their sum plus 6 for rounding. 5042 / 65536 is slightly more than 1/13, but gives the same
// result for sums below 3322.
SLUICE_INLINE std::uint8_t SmoothValue(std::uint16_t sum) {
  return static_cast<std::uint8_t>(std::uint32_t{sum} * 5042U >> 16);
}

// The shifts of a blur's weighted sums, with weights in 1/65536: first the sums along columns, to
// 1/128, then those along lines, to whole values. Half of the part that is shifted out is added
// first.
constexpr std::uint32_t kColumnsShift = 9, kLinesShift = 23;
