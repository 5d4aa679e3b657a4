// Paints a wide image (IsWide) into its row: a view of a picture, or another image field.
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/wide.h"
#include "reader/batch/slot_layout.h"
#include "reader/transform/frame.h"
#include "reader/transform/geometry.h"
#include "reader/transform/pixel_program.h"
#include "reader/transform/wide_steps.h"

namespace sluice {

class WidePainter {
 public:
  // The steps that change values, and where the row is in the epoch. No program: no steps.
  struct Steps {
    const PixelProgram* program = nullptr;
    std::uint64_t draw_seed = 0;
    std::uint64_t position = 0;
    std::size_t stage = 0;
  };

  // Bytes of memory that it and its decoder take at most, for pictures of that many pixels; `image`
  // is an index into SlotLayout::images.
  static std::uint64_t MemoryBytes(const SlotLayout& layout, std::uint64_t pixels,
                                   std::size_t image, const Geometry& geometry);

  // Opens a payload of the field. Call it before Paint(), once for all views of the picture.
  static Defect Open(const ImagePayload& payload, WideDecoder& decoder,
                     const SlotLayout::ImageField& field);
  // If nothing mixes or changes pixels, the row gets the stored bits.
  Defect Paint(const ImagePayload& payload, WideDecoder& decoder, const Frame& frame,
               const SlotLayout::ImageField& field, const Steps& steps, PixelOrder order,
               std::uint8_t* row);

 private:
  void Store(const std::vector<float>& plane, std::size_t channel,
             const SlotLayout::ImageField& field, const Normalize* numbers, PixelOrder order,
             std::uint8_t* row) const;

  std::vector<PixelOp> ops_;
  std::vector<float> warped_;
  WideSteps steps_;
};

}  // namespace sluice
