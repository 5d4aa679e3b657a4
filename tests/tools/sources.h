// Folders of pictures, as users have them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "tests/file_content.h"
#include "tests/pictures.h"

namespace sluice::test {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

// A picture whose colour at each pixel is a function of the pixel's place.
Picture Paint(std::uint32_t width, std::uint32_t height,
              const std::function<Colour(std::uint32_t x, std::uint32_t y)>& colour);

// A picture of random colours: its JPEG is large.
Picture Noise(std::uint32_t width, std::uint32_t height);

// These also create the parent folders.
void WriteBytes(const std::filesystem::path& path, const std::string& bytes);
void WriteJpeg(const std::filesystem::path& path, const Picture& picture,
               const JpegOptions& options = {});

// `count` pictures of this size in each of the classes "cat", "dog" and "owl".
void WriteClasses(const std::filesystem::path& folder, int count, std::uint32_t width = 40,
                  std::uint32_t height = 30);

// A JPEG whose header is complete and whose pixels are cut off.
std::string TruncatedJpeg();

}  // namespace sluice::test
