// JPEG payloads through libjpeg-turbo, for the files that the decoder in baseline/ does not decode
// (progressive, arithmetic coding, odd sampling, other colours): as components, each at its own
// resolution (JpegPlanes), or as pixels of a part of the picture (JpegDecoder).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/disk/block.h"
#include "format/disk/bytes.h"
#include "format/pixels/decode.h"
#include "format/pixels/planar.h"

namespace sluice {

// Decoded 8-bit pixels of a part of a JPEG picture, at 1/1, 1/2, 1/4 or 1/8 of its size.
struct JpegPart {
  const std::uint8_t* pixels = nullptr;  // interleaved; lives until the decoder's next call
  std::size_t stride = 0;
  std::uint32_t reduction = 1;  // one pixel here stands for reduction x reduction of the full size
  std::uint32_t left = 0, top = 0;  // of the part, in reduced pixels
  std::uint32_t width = 0, height = 0;
};

// The wanted rectangle, in pixels of the full size, and the wanted reduction (1, 2, 4 or 8). The
// part that is returned covers the rectangle as far as the picture does.
struct JpegWindow {
  std::uint32_t left = 0, top = 0, width = 0, height = 0;
  std::uint32_t reduction = 1;
  std::uint32_t channels = 3;  // 1 or 3
};

// Keeps libjpeg's object and its row buffer from picture to picture. One thread at a time.
class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;

  // Decodes the window of a picture whose header must say width x height. Returns null, or a
  // sentence that lives until the next call.
  Defect Decode(Bytes file, std::uint32_t width, std::uint32_t height, const JpegWindow& window,
                JpegPart& part);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Keeps libjpeg's object and the planes from picture to picture. One thread at a time.
class JpegPlanes {
 public:
  explicit JpegPlanes(const kernels::Kernels& set);
  ~JpegPlanes();
  JpegPlanes(JpegPlanes&&) noexcept;
  JpegPlanes& operator=(JpegPlanes&&) noexcept;

  enum class Outcome {
    kDecoded,
    kOtherColours,  // not grey or Y Cb Cr, or sampled at ratios that are not whole numbers
    kBroken,        // defect() says why
  };
  Outcome Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
                 const DecodePolicy& policy = {});

  Defect defect() const noexcept;
  const ColumnPlane* planes() const noexcept;
  std::uint32_t components() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
