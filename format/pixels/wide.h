// Wide images (IsWide): any pixel type, 1 to 64 channels. A path of its own beside that of 8-bit
// pictures, one channel at a time.
//
// A region that copies pixels one to one gives the stored bits, whatever they mean. Any other
// region, and every step after it, works on planes of float32, which hold each value of the five
// pixel types exactly. Sums are in double, so that a resized value is within one unit in the last
// place of the greatest value.
//
// A field may have a number that stands for no data (NaN counts as that number, too). Such pixels
// have no weight. A result is the mean of the others if they have at least half of the weight;
// otherwise it has no data, too. In planes, NaN stands for no data.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "format/pixels/axis.h"
#include "format/pixels/decode.h"
#include "format/pixels/steps/steps.h"
#include "format/pixels/tiled/tiled.h"

namespace sluice {

inline constexpr float kNoData = std::numeric_limits<float>::quiet_NaN();

// The bits of a number as a value of the type, with ties to even, and clamped to the range of an
// integer type. NaN becomes 0 in an integer type.
std::uint32_t BitsOf(PixelType type, double number) noexcept;
// The number that a value's bits stand for.
float ValueOf(PixelType type, std::uint32_t bits) noexcept;

// Each thread has one.
class WideDecoder {
 public:
  explicit WideDecoder(const kernels::Kernels& set) : tiled_(set) {}

  // Prepares to read a payload. Its bytes must stay until the last call for it. Null, or a sentence
  // that says why the payload cannot be decoded. Call it before the functions below, which need a
  // region that lies inside the image.
  Defect Open(const ImagePayload& payload);

  // Whether the region copies pixels one to one.
  static bool Copies(const Region& region) noexcept;
  // Copies the bits of some channels into a target, where pixels have only these channels. Borders
  // of one colour get the bits `border`.
  Defect Copy(const Region& region, std::span<const std::uint32_t> channels, std::uint32_t border,
              PixelOrder order, std::uint8_t* target);

  // Makes a plane of each of some channels, and gives it to `take`, with the index of the channel
  // in `channels`. `take` may use the plane until its next call. Borders of one colour become NaN,
  // or 0 if the field has no number for no data.
  using Take = std::function<void(std::size_t channel, std::vector<float>& plane)>;
  Defect MakePlanes(const Region& region, std::span<const std::uint32_t> channels,
                    std::optional<double> no_data, const Take& take);

  // Bytes of memory that it takes at most for one image of that many pixels, in addition to the
  // content of a zstd frame.
  static std::uint64_t MemoryBytes(PixelType type, std::uint64_t pixels) noexcept;

 private:
  // The samples and weights of each output of an axis, as kernels/weights.inc.h makes them, but in
  // double precision.
  struct Weights {
    explicit Weights(const ComponentAxis& axis);
    std::uint32_t taps = 0;
    std::vector<std::uint32_t> first;
    std::vector<double> values;
  };

  Defect Read(const tiled::Rect& rect, std::span<const std::uint32_t> channels,
              const tiled::ValueGrid& to);
  template <bool kLacking, class Value>
  void Resample(const Value* window, std::uint32_t width, const Weights& x, const Weights& y,
                Value no_data, const tiled::ValueGrid& to);

  tiled::Decoder tiled_;
  ImagePayload payload_;
  Bytes pixels_;  // of raw and zstd payloads
  std::vector<std::byte> inflated_;
  std::vector<std::uint8_t> window_, upright_;
  std::vector<float> floats_, plane_;
  std::vector<double> rows_, row_weights_;
};

// A plane of values.
struct PlaneSize {
  std::uint32_t width = 0, height = 0;
};
// Warps a plane: the bilinear mean of the four pixels around the place that `to_source` maps a
// pixel to, and in the half pixel at the edge, the edge pixel itself (as WarpBilinear() does).
// Outside, and where `has_no_data` leaves too little: see above.
void WarpPlane(const std::vector<float>& in, const PlaneSize& in_size, const Projection& to_source,
               bool has_no_data, const PlaneSize& out_size, std::vector<float>& out);

}  // namespace sluice
