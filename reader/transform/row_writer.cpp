#include "reader/transform/row_writer.h"

#include <algorithm>
#include <cmath>

#include "format/pixels/nearest.h"

namespace sluice {

Pixels RowWriter::PixelsFor(const Frame& frame, const PixelProgram& program,
                            const PixelTarget& row) {
  Pixels pixels{row.data, frame.region.width(), frame.region.height(), row.channels};
  if (row.order == PixelOrder::kInterleaved && !program.output()) return pixels;
  pixels_.resize(pixels.bytes());
  pixels.data = pixels_.data();
  return pixels;
}

Pixels RowWriter::Unwarped(const Pixels& pixels) {
  unwarped_.resize(pixels.bytes());
  Pixels unwarped = pixels;
  unwarped.data = unwarped_.data();
  return unwarped;
}

void RowWriter::Finish(const Pixels& before_warp, const Pixels& after_warp, const Frame& frame,
                       const PixelProgram& program, const Place& place, const PixelTarget& row) {
  if (frame.warped)
    WarpBilinear(before_warp, frame.warp.Inverse(), frame.warp_fill.data(), after_warp);
  program.Run(after_warp, place.draw_seed, place.position, scratch_, place.stage);
  if (after_warp.data != row.data) program.Write(after_warp, row.order, row.data);
}

void RowWriter::WarpMask(const Frame& frame, std::uint32_t value_bytes, std::uint16_t fill,
                         const PixelTarget& row) {
  const std::uint32_t width = frame.region.width(), height = frame.region.height();
  const bool planar = row.order == PixelOrder::kPlanar;
  const std::uint32_t pixel = value_bytes * (planar ? 1 : row.channels);
  const std::size_t plane = std::size_t{width} * height * pixel;
  std::uint8_t outside[2 * 255];  // one pixel: at most 255 channels of two bytes
  SetValues(outside, pixel / value_bytes, value_bytes, fill);
  for (std::size_t part = 0; part < (planar ? row.channels : 1); ++part) {
    const Pixels in{unwarped_.data() + part * plane, width, height, pixel};
    WarpNearest(in, frame.warp.Inverse(), outside, {row.data + part * plane, width, height, pixel});
  }
}

}  // namespace sluice
