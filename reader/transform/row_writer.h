// From a picture to a row of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/pixels/decode.h"
#include "reader/transform/frame.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

// Writes a picture into its row of a batch: decodes it through its frame, warps it, changes its
// pixels and stores its numbers. Each worker thread has one.
class RowWriter {
 public:
  // Where the row is in the epoch. The steps' draws depend on it.
  struct Place {
    std::uint64_t draw_seed = 0;
    std::uint64_t position = 0;
    std::size_t stage = 0;  // which of the program's lists of steps applies in this epoch
  };

  // `decode(region, target)` writes 8-bit pixels, and returns a Defect if it cannot.
  template <class Decode>
  Defect Write(const Decode& decode, const Frame& frame, const PixelProgram& program,
               const Place& place, const PixelTarget& row) {
    if (!frame.warped && program.idle(place.stage)) return decode(frame.region, row);
    const Pixels after_warp = PixelsFor(frame, program, row);
    const Pixels before_warp = frame.warped ? Unwarped(after_warp) : after_warp;
    if (const Defect defect = decode(
            frame.region, PixelTarget{before_warp.data, row.channels, PixelOrder::kInterleaved})) {
      return defect;
    }
    Finish(before_warp, after_warp, frame, program, place, row);
    return nullptr;
  }

  // Writes a mask into its row, in the row's layout. `pick_nearest(region, data)` makes the mask as
  // it is before the warp, if the frame has one. The warp takes nearest pixels; pixels from outside
  // the mask get `fill`.
  template <class PickNearest>
  void WriteMask(const PickNearest& pick_nearest, const Frame& frame, std::uint32_t value_bytes,
                 std::uint16_t fill, const PixelTarget& row) {
    if (!frame.warped) return pick_nearest(frame.region, row.data);
    unwarped_.resize(std::size_t{frame.region.width()} * frame.region.height() * row.channels *
                     value_bytes);
    pick_nearest(frame.region, unwarped_.data());
    WarpMask(frame, value_bytes, fill, row);
  }

 private:
  // The memory that steps work in: the row itself, if it has the layout and the type that they
  // need.
  Pixels PixelsFor(const Frame& frame, const PixelProgram& program, const PixelTarget& row);
  // Memory for the picture before its warp, of the same size.
  Pixels Unwarped(const Pixels& pixels);
  // Warps the picture if the frame has a warp, runs the steps, and writes the row's numbers.
  void Finish(const Pixels& before_warp, const Pixels& after_warp, const Frame& frame,
              const PixelProgram& program, const Place& place, const PixelTarget& row);
  void WarpMask(const Frame& frame, std::uint32_t value_bytes, std::uint16_t fill,
                const PixelTarget& row);

  std::vector<std::uint8_t> pixels_, unwarped_;
  StepScratch scratch_;
};

}  // namespace sluice
