#include "reader/batch/sized_rows.h"

#include <algorithm>
#include <cstring>

#include "format/pixels/nearest.h"

namespace sluice {

namespace {

void Fill(std::uint8_t* at, std::size_t bytes, std::size_t value_bytes, std::uint16_t fill) {
  if (fill == 0) {
    std::memset(at, 0, bytes);
  } else {
    SetValues(at, bytes / value_bytes, static_cast<std::uint32_t>(value_bytes), fill);
  }
}

}  // namespace

void PadRows(std::uint8_t* first, std::size_t count, std::uint16_t fill, ImageBatch& image,
             SizedRows& rows) {
  image.height = image.width = 0;
  for (std::size_t row = 0; row < count; ++row) {
    image.height = std::max<std::size_t>(image.height, rows.sizes[row].height);
    image.width = std::max<std::size_t>(image.width, rows.sizes[row].width);
  }
  const std::size_t value = SizeOf(image.type);
  const bool planar = image.layout == Layout::kNCHW;
  const std::size_t planes = planar ? image.channels : 1;
  const std::size_t pixel = value * (planar ? 1 : image.channels);
  const std::size_t line = image.width * pixel;
  // A line moves to the front, and everything behind it lies behind its new place: an image ends at
  // or behind the end of its padded room, and has no more left to move than the room has left.
  for (std::size_t row = 0; row < count; ++row) {
    const ImageSize size = rows.sizes[row];
    const std::uint8_t* from = first + rows.offsets[row] * value;
    std::uint8_t* to = first + row * image.sample_bytes();
    for (std::size_t plane = 0; plane < planes; ++plane) {
      for (std::size_t y = 0; y < size.height; ++y, from += size.width * pixel, to += line) {
        std::memmove(to, from, size.width * pixel);
        Fill(to + size.width * pixel, line - size.width * pixel, value, fill);
      }
      const std::size_t below = (image.height - size.height) * line;
      Fill(to, below, value, fill);
      to += below;
    }
    rows.offsets[row] = row * image.sample_bytes() / value;
  }
}

}  // namespace sluice
