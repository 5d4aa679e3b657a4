// Image files as values and not as colours: what convert stores with PixelValues::kKeep, and what a
// column of images in a table holds.
//
// Nothing is scaled, rounded or mixed. All channels of the file are taken, opacity too; of a
// palette, the indices; of TIFF's "min is white", the values as they are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sluice/error.h>
#include <sluice/image.h>

#include "format/disk/bytes.h"
#include "writer/source/images/orientation.h"
#include "writer/source/images/png.h"

namespace sluice {

// A picture of values of one type, in the machine's byte order. `value_bytes` is that of the type.
struct ValuePicture : MaskPicture {
  PixelType type = PixelType::kUint8;
  Orientation orientation;
  // The number that stands for no data according to the file, as a value of the type. NaN is one.
  std::optional<double> no_data;
  std::string geo;  // where on earth the picture lies: the file's tags as JSON; empty without any
};

// The type of numbers in a file.
struct NumberType {
  char kind = 'u';          // 'u': unsigned, 'i': signed, 'f': floating point
  std::uint32_t bytes = 1;  // 1, 2, 4 or 8
  bool swapped = false;     // not in the machine's byte order
};

// The pixel type that holds such numbers: the same one or, of those that images do not have, the
// next larger (signed bytes become int16), or float32 for numbers of 32 and 64 bits. nullopt if
// there are no such numbers.
std::optional<PixelType> PixelTypeFor(NumberType number) noexcept;

// Converts `count` numbers that lie one after another, and writes them every `step` values from
// `out`. Throws Error(kUnsupported) if one of them is not exactly a value of PixelTypeFor().
void StoreNumbers(const std::byte* from, std::size_t count, NumberType number, std::uint8_t* out,
                  std::size_t step);

// Throws Error(kCorrupt) if there are no pixels, kLimit if there are too many.
void CheckValues(std::uint64_t width, std::uint64_t height, std::uint64_t channels, PixelType type,
                 std::uint64_t max_pixels);
// A picture of zeros, after the same checks.
ValuePicture NewValues(std::uint64_t width, std::uint64_t height, std::uint64_t channels,
                       PixelType type, std::uint64_t max_pixels);

// Gives every value of the picture these bits.
void FillWith(std::uint32_t bits, MaskPicture& picture) noexcept;

// The number as a value of the type; nullopt if no value is equal to it, or, for floats, near it.
std::optional<double> AsValue(double number, PixelType type) noexcept;

// "3 x float32": channels and type, for messages and plans.
std::string FormText(std::uint32_t channels, PixelType type);

// Each kind has a function that decodes a whole file. They throw an Error whose sentence() says
// what is wrong with the file, without naming it; kLimit before memory is allocated.
ValuePicture NpyValues(Bytes file, std::uint64_t max_pixels);
ValuePicture PfmValues(Bytes file, std::uint64_t max_pixels);
ValuePicture PngValues(Bytes file, std::uint64_t max_pixels);
ValuePicture PnmValues(Bytes file, std::uint64_t max_pixels);
ValuePicture TiffValues(Bytes file, std::uint64_t max_pixels);

}  // namespace sluice
