// Source files as users have them: JPEGs of every kind, PNGs of every type, and broken ones. JPEGs
// are made by libjpeg, PNGs by libpng, Exif data by hand.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/pictures.h"

namespace sluice::test {

using FileBytes = std::vector<std::byte>;

// Makes the folders that the file lies in.
void WriteSource(const std::filesystem::path& path, const FileBytes& bytes);
void WriteSource(const std::filesystem::path& path, const std::string& text);

// A JPEG of a picture with 1 (grey), 3 (RGB) or 4 (CMYK, as the values are) channels; `settle` may
// change whatever it likes before the pixels go in.
FileBytes EncodeWith(const Picture& picture,
                     const std::function<void(jpeg_compress_struct&)>& settle);

// The file with an Exif segment that holds nothing but this orientation.
FileBytes WithOrientation(const FileBytes& jpeg, std::uint16_t orientation);

struct PngOptions {
  int color_type = 2;  // 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGBA
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<std::uint8_t> palette = {};  // RGB, RGB, ...
  std::vector<std::uint8_t> palette_opacity = {};
  std::uint16_t orientation = 0;  // of an eXIf chunk
  FileBytes profile = {};         // of an iCCP chunk
  std::string xmp = {};           // of an iTXt chunk
};
// The JPEG with an XMP packet before everything else.
FileBytes WithXmp(const FileBytes& jpeg, const std::string& packet);
// `rows`: the rows as PNG packs them, big-endian, one after another.
FileBytes MakePng(std::uint32_t width, std::uint32_t height, const std::vector<std::uint8_t>& rows,
                  const PngOptions& options = {});
// An opaque RGB or grey one.
FileBytes MakePng(const Picture& picture);

// The `count` first bytes.
FileBytes Truncated(const FileBytes& file, std::size_t count);

// Mean of the absolute differences; a large number if the shapes differ.
double Difference(const Picture& a, const Picture& b);

// `per_class` JPEGs, all different, in each of "ant", "bee" and "cow"; about 100x80.
void WriteClasses(const std::filesystem::path& folder, int per_class);

}  // namespace sluice::test
