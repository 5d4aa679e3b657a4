#include "reader/transform/row_writer.h"

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
  program.Run(pixels, place.draw_seed, place.position, scratch_);
  if (pixels.data != row.data) program.Write(pixels, row.order, row.data);
}

void RowWriter::WarpMask(const Frame& frame, std::size_t value_bytes, const PixelTarget& row) {
  const std::uint32_t width = frame.region.width(), height = frame.region.height();
  const bool planar = row.order == PixelOrder::kPlanar;
  const std::size_t pixel = value_bytes * (planar ? 1 : row.channels);
  const std::size_t plane = std::size_t{width} * height * pixel;
  for (std::size_t part = 0; part < (planar ? row.channels : 1); ++part) {
    WarpRuns(unwarped_.data() + part * plane, width, height, pixel, frame.warp.Inverse(),
             row.data + part * plane);
  }
}

}  // namespace sluice
