#include "tests/tools/sources.h"

#include <fstream>

namespace sluice::test {

Picture Paint(std::uint32_t width, std::uint32_t height,
              const std::function<Colour(std::uint32_t, std::uint32_t)>& colour) {
  Picture picture{width, height, 3, {}};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const Colour at = colour(x, y);
      picture.pixels.insert(picture.pixels.end(), {at.red, at.green, at.blue});
    }
  }
  return picture;
}

Picture Noise(std::uint32_t width, std::uint32_t height) {
  std::uint32_t state = width * 2654435761U + height;
  return Paint(width, height, [&state](std::uint32_t, std::uint32_t) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator: any would do
    return Colour{static_cast<std::uint8_t>(state >> 24), static_cast<std::uint8_t>(state >> 16),
                  static_cast<std::uint8_t>(state >> 20)};
  });
}

void WriteBytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void WriteJpeg(const std::filesystem::path& path, const Picture& picture,
               const JpegOptions& options) {
  const std::vector<std::byte> file = MakeJpeg(picture, options);
  WriteBytes(path, std::string(reinterpret_cast<const char*>(file.data()), file.size()));
}

void WriteClasses(const std::filesystem::path& folder, int count, std::uint32_t width,
                  std::uint32_t height) {
  std::uint64_t seed = 0;
  for (const char* name : {"cat", "dog", "owl"}) {
    for (int i = 0; i < count; ++i) {
      WriteJpeg(folder / name / (std::to_string(i) + ".jpg"),
                MakePicture(width, height, 3, ++seed));
    }
  }
}

std::string TruncatedJpeg() {
  const std::vector<std::byte> file = MakeJpeg(MakePicture(64, 64));
  return {reinterpret_cast<const char*>(file.data()), file.size() / 2};
}

}  // namespace sluice::test
