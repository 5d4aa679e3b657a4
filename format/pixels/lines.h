// Moving finished pixels: borders around a picture, transposition, copies past the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/pixels/decode.h"
#include "format/pixels/steps/steps.h"

namespace sluice {

// The line of the target at which row `row` of the picture lies: below the upper border or, if the
// region is mirrored top to bottom, counted from the target's bottom. (A transposed region is first
// made as if it were not transposed; its lines become columns at the end.)
inline std::uint32_t LineOf(const Region& region, std::uint32_t row) noexcept {
  return region.flip_y ? region.y.target - 1 - (region.y.at + row) : region.y.at + row;
}

// Gives the pixels outside all of the rectangles the value.
void FillOutside(std::span<const PixelRect> shown, const Pixels& pixels,
                 const std::uint8_t* value) noexcept;

// Fills the border of a target that is not transposed yet. The border reflects the picture
// (repeatedly, if the border is wider than the picture), or gets the region's colour if values have
// 8 bits. Otherwise, and if no picture can be reflected, it stays as it is.
void FillBorder(const Region& region, const PixelTarget& target, std::size_t value_bytes) noexcept;

// Writes the transpose of a picture of width x height pixels. The picture has the target's layout;
// `value_bytes` is the size of a value.
void TransposePixels(const std::uint8_t* picture, std::uint32_t width, std::uint32_t height,
                     const PixelTarget& target, std::size_t value_bytes) noexcept;

// The region without its border: its target is what shows the picture.
Region WithoutBorder(const Region& region) noexcept;
// Writes a finished picture of WithoutBorder(region) to its place in the region's target, and
// leaves the rest as it is.
void PlacePixels(const std::uint8_t* picture, const Region& region, const PixelTarget& target,
                 std::size_t value_bytes) noexcept;

// Same result as `count` calls of memcpy, each of `bytes` bytes from `in` to `out`, which both
// advance by their strides. On x86 processors, the writes go to memory past the caches. This pays
// for targets that are read much later: memcpy loads each cache line before it overwrites it.
void StreamLines(const std::uint8_t* in, std::size_t in_stride, std::size_t bytes,
                 std::size_t count, std::uint8_t* out, std::size_t out_stride) noexcept;

}  // namespace sluice
