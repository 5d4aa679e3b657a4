// Writes a picture into its row of a batch: decodes it through its frame, warps it, changes its
// pixels and stores its numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/decode.h"
#include "reader/transform/frame.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

// Each worker thread has one.
class RowWriter {
 public:
  // The steps' draws depend on this.
  struct Place {
    std::uint64_t draw_seed = 0;
    std::uint64_t position = 0;
    std::size_t stage = 0;  // of the program, by epoch
  };

  // `decode(region, target)` writes 8-bit pixels, and returns a Defect if it cannot.
  template <class Decode>
  Defect Write(const Decode& decode, const Frame& frame, const PixelProgram& program,
               const Place& place, const PixelTarget& row) {
    if (!frame.warped && program.idle(place.stage)) return decode(frame.region, row);
    const Pixels pixels = PixelsFor(frame, program, row);
    const Pixels first = frame.warped ? Unwarped(pixels) : pixels;
    if (const Defect defect =
            decode(frame.region, PixelTarget{first.data, row.channels, PixelOrder::kInterleaved})) {
      return defect;
    }
    Finish(first, pixels, frame, program, place, row);
    return nullptr;
  }

  // Warps a mask made by `sample(region, data)`, in the row's layout, by nearest pixels. Pixels
  // outside get `fill`.
  template <class Sample>
  void WriteMask(const Sample& sample, const Frame& frame, std::uint32_t value_bytes,
                 std::uint16_t fill, const PixelTarget& row) {
    if (!frame.warped) return sample(frame.region, row.data);
    unwarped_.resize(std::size_t{frame.region.width()} * frame.region.height() * row.channels *
                     value_bytes);
    sample(frame.region, unwarped_.data());
    WarpMask(frame, value_bytes, fill, row);
  }

 private:
  // The memory that steps work in: the row itself, if it has the layout they need.
  Pixels PixelsFor(const Frame& frame, const PixelProgram& program, const PixelTarget& row);
  Pixels Unwarped(const Pixels& pixels);
  void Finish(const Pixels& first, const Pixels& pixels, const Frame& frame,
              const PixelProgram& program, const Place& place, const PixelTarget& row);
  void WarpMask(const Frame& frame, std::uint32_t value_bytes, std::uint16_t fill,
                const PixelTarget& row);

  std::vector<std::uint8_t> pixels_, unwarped_;
  StepScratch scratch_;
};

}  // namespace sluice
