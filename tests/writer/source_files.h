// Source files as users have them: JPEGs and PNGs of many kinds, and truncated ones.
// libjpeg makes the JPEGs, libpng the PNGs; Exif data is made by hand.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/pictures.h"

namespace sluice::test {

using FileBytes = std::vector<std::byte>;

// These also create the parent folders.
void WriteSource(const std::filesystem::path& path, const FileBytes& bytes);
void WriteSource(const std::filesystem::path& path, const std::string& text);

// A JPEG of a picture with 1 (grey), 3 (RGB) or 4 (CMYK, with these values) channels. `configure`
// may change any of libjpeg's settings before the pixels are written.
FileBytes EncodeWith(const Picture& picture,
                     const std::function<void(jpeg_compress_struct&)>& configure);

// The file with an Exif segment that holds only this orientation.
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
// The JPEG with an XMP packet before its other segments.
FileBytes WithXmp(const FileBytes& jpeg, const std::string& packet);
// `rows`: the rows as PNG packs them, big-endian, one after another.
FileBytes MakePng(std::uint32_t width, std::uint32_t height, const std::vector<std::uint8_t>& rows,
                  const PngOptions& options = {});
// An opaque RGB or grey PNG.
FileBytes MakePng(const Picture& picture);

// The first `count` bytes of the file.
FileBytes Truncated(const FileBytes& file, std::size_t count);

// Mean of the absolute differences; a large number if the shapes differ.
double Difference(const Picture& a, const Picture& b);

// Writes `per_class` JPEGs, all different, in each of "ant", "bee" and "cow"; about 100x80.
void WriteClasses(const std::filesystem::path& folder, int per_class);

}  // namespace sluice::test
