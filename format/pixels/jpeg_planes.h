// A JPEG's components through libjpeg-turbo, each at its own resolution. For the files that the
// decoder in baseline/ does not decode (progressive, arithmetic coding, odd sampling).
#pragma once

#include <memory>

#include "format/disk/bytes.h"
#include "format/pixels/decode.h"
#include "format/pixels/planar.h"

namespace sluice {

// Keeps libjpeg's object and the planes from picture to picture. One thread at a time.
class JpegPlanes {
 public:
  explicit JpegPlanes(const kernels::Kernels& set);
  ~JpegPlanes();
  JpegPlanes(JpegPlanes&&) noexcept;
  JpegPlanes& operator=(JpegPlanes&&) noexcept;

  enum class Outcome {
    kDecoded,
    kOtherColours,  // not grey or Y Cb Cr, or its sampling factors are not whole
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
