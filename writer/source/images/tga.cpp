// Truevision TGA: colours of 15 to 32 bits, grey, and palettes; uncompressed or with run lengths.
//
// A file may store its rows from any corner, and opacity values that have no meaning: see
// HasOpacity().
// The file is decoded by one walk over its rows (ForEachRow()), which knows run lengths, palettes
// and the corner at which rows begin. HasOpacity() walks once more than Decode(): whether opacity
// counts is known only after all pixels were seen.
#include <algorithm>
#include <array>
#include <vector>

#include <sluice/error.h>

#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

class TgaSource : public PixelSource {
 public:
  explicit TgaSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;

 private:
  using Rgba = std::array<std::uint8_t, 4>;

  void ReadPalette(std::size_t size, std::size_t bits);
  // The colour of one stored pixel, or palette entry, of that many bits.
  Rgba ColourOf(const std::uint8_t* pixel, unsigned bits) const noexcept;
  Rgba PixelAt(std::size_t at) const noexcept;
  // Calls `store` for each row, in stored order; returns false if the file ends before the last row
  // does.
  template <class Store>
  bool ForEachRow(Store store) const;
  // Whether the opacity values have a meaning. They have none if they are 0 for every pixel, as
  // some programs write them.
  bool HasOpacity() const;

  Bytes file_;
  unsigned depth_ = 0;         // bits per pixel
  unsigned opacity_bits_ = 0;  // of a pixel, or of a colour in the palette
  bool runs_ = false;          // pixels are stored as run lengths
  bool top_down_ = false;
  bool right_to_left_ = false;
  bool indexed_ = false;
  std::size_t first_index_ = 0;  // the index that means palette_[0]
  std::vector<Rgba> palette_;
  std::size_t pixels_at_ = 0;
};

// Offsets in the header (Truevision TGA File Format Specification 2.0).
constexpr std::size_t kTgaHeaderBytes = 18;
constexpr std::size_t kIdBytes = 0;
constexpr std::size_t kTgaType = 2;  // 1: palette, 2: colours, 3: grey; plus 8: with run lengths
constexpr std::size_t kFirstIndex = 3;
constexpr std::size_t kPaletteSize = 5;
constexpr std::size_t kPaletteBits = 7;
constexpr std::size_t kTgaWidth = 12;
constexpr std::size_t kTgaHeight = 14;
constexpr std::size_t kTgaDepth = 16;
// The low four bits: bits of opacity. 16: right to left; 32: top to bottom.
constexpr std::size_t kDescriptor = 17;

constexpr const char* kBrokenTga = "broken TGA";

constexpr std::uint8_t FiveBits(unsigned value) noexcept {
  return static_cast<std::uint8_t>((value * 255 + 15) / 31);
}

constexpr std::size_t TgaBytes(std::size_t bits) noexcept {
  return (bits + 7) / 8;
}

TgaSource::TgaSource(Bytes file) : file_(file) {
  if (file.size() < kTgaHeaderBytes) throw CutShort(kBrokenTga, "it ends in its header");
  const auto byte = [&file](std::size_t at) { return std::to_integer<unsigned>(file[at]); };
  const auto number = [&file](std::size_t at) { return LoadAt<std::uint16_t>(file, at); };
  runs_ = (byte(kTgaType) & 8) != 0;
  indexed_ = (byte(kTgaType) & 7) == 1;
  grey_ = (byte(kTgaType) & 7) == 3;
  width_ = number(kTgaWidth);
  height_ = number(kTgaHeight);
  depth_ = byte(kTgaDepth);
  opacity_bits_ = byte(kDescriptor) & 15;
  if (grey_ && depth_ == 16) opacity_bits_ = 8;
  right_to_left_ = (byte(kDescriptor) & 16) != 0;
  top_down_ = (byte(kDescriptor) & 32) != 0;
  first_index_ = number(kFirstIndex);
  pixels_at_ = kTgaHeaderBytes + byte(kIdBytes);
  if (byte(1) == 1) ReadPalette(number(kPaletteSize), byte(kPaletteBits));
}

void TgaSource::ReadPalette(std::size_t size, std::size_t bits) {
  const std::size_t bytes = size * TgaBytes(bits);
  if (!Inside(pixels_at_, bytes, file_.size()))
    throw CutShort(kBrokenTga, "it ends in its palette");
  const auto* const colours = reinterpret_cast<const std::uint8_t*>(&file_[pixels_at_]);
  if (indexed_) {
    for (std::size_t i = 0; i < size; ++i)
      palette_.push_back(ColourOf(colours + i * TgaBytes(bits), static_cast<unsigned>(bits)));
  }
  pixels_at_ += bytes;
}

TgaSource::Rgba TgaSource::ColourOf(const std::uint8_t* pixel, unsigned bits) const noexcept {
  if (bits <= 16) {
    const unsigned colour = pixel[0] | unsigned{pixel[1]} << 8;
    const bool opaque = opacity_bits_ == 0 || colour >> 15 != 0;
    return {FiveBits(colour >> 10 & 31), FiveBits(colour >> 5 & 31), FiveBits(colour & 31),
            static_cast<std::uint8_t>(opaque ? 255 : 0)};
  }
  return {pixel[2], pixel[1], pixel[0],
          bits == 32 && opacity_bits_ > 0 ? pixel[3] : std::uint8_t{255}};
}

TgaSource::Rgba TgaSource::PixelAt(std::size_t at) const noexcept {
  const auto* const pixel = reinterpret_cast<const std::uint8_t*>(&file_[at]);
  if (grey_) {
    return {pixel[0], pixel[0], pixel[0], depth_ == 16 ? pixel[1] : std::uint8_t{255}};
  }
  if (!indexed_) return ColourOf(pixel, depth_);
  const std::size_t index = pixel[0] | (depth_ == 16 ? std::size_t{pixel[1]} << 8 : 0);
  // An index outside the palette gives black.
  // If the index is too small, the difference wraps around and lies outside as well.
  const std::size_t entry = index - first_index_;
  return entry < palette_.size() ? palette_[entry] : Rgba{0, 0, 0, 255};
}

template <class Store>
bool TgaSource::ForEachRow(Store store) const {
  const std::size_t bytes = TgaBytes(depth_);
  std::vector<Rgba> row(width_);
  std::size_t at = pixels_at_;
  std::size_t same = 0;   // how many more pixels repeat this one
  std::size_t plain = 0;  // how many more pixels follow without repeats
  Rgba pixel{};
  for (std::uint32_t y = 0; y < height_; ++y) {
    for (std::uint32_t x = 0; x < width_; ++x) {
      if (same > 0) {
        --same;
      } else {
        std::size_t repeats = 0;
        if (plain > 0) {
          --plain;
        } else if (runs_) {
          if (at >= file_.size()) return false;
          const auto head = std::to_integer<std::size_t>(file_[at++]);
          // The count is one less than the pixels: the first of them is read right here.
          (head >= 128 ? repeats : plain) = head & 127;
        }
        if (!Inside(at, bytes, file_.size())) return false;
        pixel = PixelAt(at);
        at += bytes;
        same = repeats;
      }
      row[right_to_left_ ? width_ - 1 - x : x] = pixel;
    }
    store(top_down_ ? y : height_ - 1 - y, row);
  }
  return true;
}

bool TgaSource::HasOpacity() const {
  if (opacity_bits_ == 0) return false;
  bool seen = false;
  ForEachRow([&seen](std::uint32_t, const std::vector<Rgba>& row) {
    seen = seen || std::any_of(row.begin(), row.end(), [](const Rgba& p) { return p[3] != 0; });
  });
  return seen;
}

Picture TgaSource::Decode(const ColorRules& rules) {
  const bool opaque = !HasOpacity();
  Picture picture = MakePicture(PictureChannels(grey_, opaque, rules));
  std::vector<std::uint8_t> values(std::size_t{width_} * 4);
  const bool whole = ForEachRow([&](std::uint32_t y, const std::vector<Rgba>& row) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = i % 4 == 3 && opaque ? 255 : row[i / 4][i % 4];
    StoreRgbaLine(values.data(), width_, picture.channels, rules, picture.Line(y));
  });
  if (!whole) EndsEarly(kBrokenTga, "its pixels end early");
  return picture;
}

}  // namespace

std::unique_ptr<PixelSource> OpenTga(Bytes file, bool) {
  return std::make_unique<TgaSource>(file);
}

}  // namespace sluice
