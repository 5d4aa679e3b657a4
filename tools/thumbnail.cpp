#include "tools/thumbnail.h"

#include <algorithm>
#include <memory>

#include <turbojpeg.h>

#include <sluice/error.h>

namespace sluice {

namespace {

constexpr std::uint32_t kMargin = 2;
constexpr std::uint8_t kMarginValue = 24;
constexpr std::uint8_t kEmptyValue = 64;
constexpr int kQuality = 85;

// The colours of a pixel: of grey the same three times.
struct PixelReader {
  const Image& image;

  unsigned operator()(std::size_t x, std::size_t y, unsigned colour) const {
    const unsigned channel = image.channels >= 3 ? colour : 0;
    const std::size_t at = (y * image.width + x) * image.channels + channel;
    return image.pixel_type == PixelType::kUint8 ? image.pixels[at]
                                                 : image.pixels[at * 2 + 1];  // the higher byte
  }
};

Image Canvas(std::uint32_t width, std::uint32_t height) {
  Image canvas;
  canvas.width = width;
  canvas.height = height;
  canvas.channels = 3;
  canvas.pixels.resize(std::size_t{width} * height * 3);
  return canvas;
}

std::uint32_t Scaled(std::uint32_t side, std::uint32_t target, std::uint32_t longest) {
  return std::max<std::uint32_t>(
      1, static_cast<std::uint32_t>(std::uint64_t{side} * target / longest));
}

}  // namespace

Image Thumbnail(const Image& image, std::uint32_t side) {
  const std::uint32_t longest = std::max(image.width, image.height);
  const std::uint32_t factor = std::max<std::uint32_t>(1, side / longest);
  const std::uint32_t target = longest > side ? side : longest * factor;
  Image out = Canvas(Scaled(image.width, target, longest), Scaled(image.height, target, longest));
  const PixelReader pixel{image};
  std::uint8_t* value = out.pixels.data();
  for (std::uint32_t y = 0; y < out.height; ++y) {
    const auto top = static_cast<std::size_t>(std::uint64_t{y} * image.height / out.height);
    const std::size_t bottom =
        std::max<std::size_t>(top + 1, std::uint64_t{y + 1} * image.height / out.height);
    for (std::uint32_t x = 0; x < out.width; ++x) {
      const auto left = static_cast<std::size_t>(std::uint64_t{x} * image.width / out.width);
      const std::size_t right =
          std::max<std::size_t>(left + 1, std::uint64_t{x + 1} * image.width / out.width);
      const std::uint64_t count = (bottom - top) * (right - left);
      for (unsigned c = 0; c < 3; ++c) {
        std::uint64_t sum = 0;
        for (std::size_t v = top; v < bottom; ++v) {
          for (std::size_t u = left; u < right; ++u)
            sum += pixel(u, v, c);
        }
        *value++ = static_cast<std::uint8_t>((sum + count / 2) / count);
      }
    }
  }
  return out;
}

Image ContactSheet(const std::vector<Image>& pictures, std::uint32_t columns, std::uint32_t side) {
  const std::uint32_t cell = side + kMargin;
  const auto rows = static_cast<std::uint32_t>((pictures.size() + columns - 1) / columns);
  Image sheet = Canvas(columns * cell + kMargin, rows * cell + kMargin);
  std::fill(sheet.pixels.begin(), sheet.pixels.end(), kMarginValue);
  const std::size_t stride = std::size_t{sheet.width} * 3;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Image& picture = pictures[i];
    const std::size_t left = i % columns * cell + kMargin;
    const std::size_t top = i / columns * cell + kMargin;
    if (picture.pixels.empty()) {
      for (std::size_t y = top; y < top + side; ++y)
        std::fill_n(&sheet.pixels[y * stride + left * 3], side * 3, kEmptyValue);
      continue;
    }
    const std::size_t x = left + (side - picture.width) / 2;
    const std::size_t y = top + (side - picture.height) / 2;
    const std::size_t row = std::size_t{picture.width} * 3;
    for (std::size_t v = 0; v < picture.height; ++v) {
      std::copy_n(&picture.pixels[v * row], row, &sheet.pixels[(y + v) * stride + x * 3]);
    }
  }
  return sheet;
}

std::string JpegInBase64(const Image& picture) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), &tjDestroy);
  if (!handle) throw std::bad_alloc();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  const int result =
      tjCompress2(handle.get(), picture.pixels.data(), static_cast<int>(picture.width), 0,
                  static_cast<int>(picture.height), TJPF_RGB, &data, &size, TJSAMP_444, kQuality,
                  TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(data, &tjFree);
  if (result != 0) throw Error(ErrorCode::kIo, tjGetErrorStr2(handle.get()));
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((size + 2) / 3 * 4);
  for (unsigned long at = 0; at < size; at += 3) {
    const unsigned long left = size - at;
    const unsigned group = data[at] << 16U | (left > 1 ? data[at + 1] << 8U : 0U) |
                           (left > 2 ? unsigned{data[at + 2]} : 0U);
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += left > 1 ? kDigits[group >> 6 & 63] : '=';
    text += left > 2 ? kDigits[group & 63] : '=';
  }
  return text;
}

}  // namespace sluice
