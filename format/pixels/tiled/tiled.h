// Tiled images: lossless, of any pixel type, with 1 to 64 channels (format/FORMAT.md, "Tiled").
//
// An image is cut into tiles of one channel, each with a checksum of its own. So a crop of some
// channels decodes and checks only the tiles that it shows, and damage to one tile disturbs no crop
// beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sluice/image.h>

#include "format/disk/block.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::tiled {

// The payload for an image whose `bytes` are its pixels, as codec raw stores them. The same image
// gives the same bytes for the same libzstd. Takes about three times the image's memory.
// Throws Error(kInvalidArgument) if `bytes` are not as many as the image has.
std::vector<std::byte> Encode(const ImagePayload& pixels);

// A rectangle of an image, in pixels.
struct Rect {
  std::uint32_t left = 0, top = 0, width = 0, height = 0;
};

// Where the values of a rectangle go: that of plane p at (x, y) in the rectangle lies p * plane +
// y * line + x * pixel values from `data`. Steps may be negative, to mirror.
struct ValueGrid {
  std::uint8_t* data = nullptr;
  std::ptrdiff_t pixel = 1, line = 0, plane = 0;
};

// Each thread has one. Keeps its memory: three tiles, and a table of values.
class Decoder {
 public:
  explicit Decoder(const kernels::Kernels& set);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // Checks the header, the table and the directory of a payload. Its bytes must stay until the last
  // Read(). Null, or what is wrong.
  Defect Open(const ImagePayload& payload);
  // Writes the values of a rectangle of the image last opened, of each of `channels` as one plane,
  // as they are stored: their bits.
  Defect Read(const Rect& rect, std::span<const std::uint32_t> channels, const ValueGrid& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::tiled
