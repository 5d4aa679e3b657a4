#include "reader/transform/row_writer.h"

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
  Pixels first = pixels;
  first.data = unwarped_.data();
  return first;
}

void RowWriter::Finish(const Pixels& first, const Pixels& pixels, const Frame& frame,
                       const PixelProgram& program, const Place& place, const PixelTarget& row) {
  if (frame.warped) WarpBilinear(first, frame.warp.Inverse(), frame.warp_fill, pixels);
  program.Run(pixels, place.draw_seed, place.position, scratch_, place.stage);
  if (pixels.data != row.data) program.Write(pixels, row.order, row.data);
}

void RowWriter::WarpMask(const Frame& frame, std::uint32_t value_bytes, std::uint16_t fill,
                         const PixelTarget& row) {
  const std::uint32_t width = frame.region.width(), height = frame.region.height();
  const bool planar = row.order == PixelOrder::kPlanar;
  const std::size_t pixel = value_bytes * (planar ? 1 : row.channels);
  const std::size_t plane = std::size_t{width} * height * pixel;
  std::uint8_t outside[2 * 255];  // one pixel: at most 255 channels of two bytes
  SetValues(outside, pixel / value_bytes, value_bytes, fill);
  for (std::size_t part = 0; part < (planar ? row.channels : 1); ++part) {
    WarpRuns(unwarped_.data() + part * plane, width, height, pixel, frame.warp.Inverse(), outside,
             row.data + part * plane);
  }
}

}  // namespace sluice
