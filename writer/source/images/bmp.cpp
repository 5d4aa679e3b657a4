// BMP: headers of all versions, 1 to 32 bits per pixel, palettes, run lengths and bit masks. Colour
// profiles are ignored.
//
// No library is used: those that exist do not report that a file is cut short. The numbers in the
// header are checked against the file's size before memory is allocated.
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <sluice/error.h>

#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

class BmpSource : public PixelSource {
 public:
  explicit BmpSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;

 private:
  // The bits of a pixel that hold one of its values (red, green, blue or opacity).
  struct BitField {
    std::uint32_t mask = 0;
    unsigned shift = 0;

    BitField() = default;
    explicit BitField(std::uint32_t bits);
    std::uint8_t Of(std::uint32_t pixel) const noexcept;
  };
  enum Coding : std::uint32_t { kPlain, kRunLength8, kRunLength4, kBitFields, kAlphaBitFields = 6 };

  void ReadHeader(std::uint32_t header_bytes);
  void CheckCoding(std::uint32_t header_bytes) const;
  void ReadBitFields(std::uint32_t header_bytes);
  // The number of colours in the palette, according to the header.
  std::size_t Colours() const noexcept;
  // Corrects the offset of the pixels if the header gives one that lies inside the palette.
  void PlacePixels(std::size_t palette_at, std::size_t palette_end);
  void ReadPalette(std::size_t offset, std::size_t entry_bytes);
  bool HasRuns() const noexcept;
  std::uint64_t PixelBytes() const noexcept;
  void CompletePixels();
  // The bytes of row y; row 0 is the top one.
  const std::uint8_t* LineAt(std::uint32_t y) const noexcept;
  // Whether the opacity values have a meaning. They have none if they are 0 for every pixel, as
  // some programs write them.
  bool HasOpacity() const noexcept;
  std::vector<std::uint8_t> DecodeRuns();
  void DecodeLine(std::uint32_t y, std::uint8_t* rgba) const noexcept;

  Bytes file_;
  std::vector<std::byte> completed_;  // the pixels, if some are missing
  std::uint32_t bits_ = 0;            // of each pixel
  std::uint32_t coding_ = kPlain;
  bool top_down_ = false;
  std::uint32_t palette_used_ = 0;  // colours in the palette; 0: as many as bits_ can number
  std::uint32_t image_bytes_ = 0;   // bytes of all pixels; 0 if the header does not say
  std::size_t pixels_at_ = 0;
  std::array<BitField, 4> fields_;  // red, green, blue, opacity
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
};

// Offsets and sizes of the headers: Microsoft's BITMAPFILEHEADER, BITMAPCOREHEADER,
// BITMAPINFOHEADER, BITMAPV4HEADER and BITMAPV5HEADER, and those of OS/2.
constexpr std::size_t kFileHeaderBytes = 14;
constexpr std::uint32_t kCoreHeader = 12;
constexpr std::uint32_t kInfoHeader = 40;
constexpr std::uint32_t kHeaderWithMasks = 52;
constexpr std::uint32_t kHeaderWithOpacity = 56;
constexpr std::uint32_t kOs2Header = 64;

constexpr const char* kBroken = "broken BMP";

[[noreturn]] void ThrowBrokenBmp(const char* what) {
  throw Error(ErrorCode::kCorrupt, std::string(kBroken) + ": " + what);
}

[[noreturn]] void ThrowUnsupportedBmp(const std::string& what) {
  throw Error(ErrorCode::kUnsupported, "unsupported BMP: " + what);
}

constexpr std::size_t LineBytes(std::uint32_t width, std::uint32_t bits) noexcept {
  return (std::size_t{width} * bits + 31) / 32 * 4;
}

// Decodes run lengths (8 or 4 bits per pixel) to palette indices, one byte each, from the bottom
// row up. Pixels that the runs skip get index 0.
class RunDecoder {
 public:
  RunDecoder(Bytes data, std::uint32_t width, std::uint32_t height, bool nibbles)
      : data_(data), width_(width), height_(height), nibbles_(nibbles) {
    indices_.resize(std::size_t{width} * height);
  }

  // Whether the data reaches the end of the picture.
  bool Run() {
    try {
      Decode();
      return true;
    } catch (const EndOfData&) {
      return false;
    }
  }

  std::vector<std::uint8_t> TakeIndices() { return std::move(indices_); }

 private:
  struct EndOfData {};

  void Decode() {
    // Some files lack the end mark; it is not needed if all rows are done.
    while (y_ < height_ && !(at_ >= data_.size() && y_ + 1 == height_ && x_ >= width_)) {
      const std::uint8_t count = Next();
      const std::uint8_t value = Next();
      if (count > 0) {
        for (unsigned i = 0; i < count; ++i)
          Put(nibbles_ ? (i % 2 == 0 ? value >> 4 : value & 15) : value);
      } else if (value == 0) {
        x_ = 0;
        ++y_;
      } else if (value == 1) {
        break;
      } else if (value == 2) {
        x_ += Next();
        y_ += Next();
      } else {
        Literal(value);
      }
    }
  }

  std::uint8_t Next() {
    if (at_ >= data_.size()) throw EndOfData();
    return static_cast<std::uint8_t>(data_[at_++]);
  }

  void Literal(unsigned count) {
    std::uint8_t pair = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (!nibbles_ || i % 2 == 0) pair = Next();
      Put(nibbles_ ? (i % 2 == 0 ? pair >> 4 : pair & 15) : pair);
    }
    const unsigned bytes = nibbles_ ? (count + 1) / 2 : count;
    if (bytes % 2 == 1 && at_ < data_.size()) ++at_;  // runs begin at even positions
  }

  // Stores a pixel, unless it lies beyond the end of the row or picture.
  void Put(unsigned index) {
    if (x_ < width_ && y_ < height_) {
      indices_[std::size_t{y_} * width_ + x_] = static_cast<std::uint8_t>(index);
    }
    ++x_;
  }

  Bytes data_;
  std::uint32_t width_, height_;
  bool nibbles_;
  std::size_t at_ = 0;
  std::uint64_t x_ = 0, y_ = 0;
  std::vector<std::uint8_t> indices_;
};

BmpSource::BitField::BitField(std::uint32_t bits) : mask(bits) {
  if (mask == 0) return;
  shift = static_cast<unsigned>(std::countr_zero(mask));
  if (!std::has_single_bit(std::uint64_t{mask >> shift} + 1)) {
    ThrowUnsupportedBmp("bit masks with gaps");
  }
}

std::uint8_t BmpSource::BitField::Of(std::uint32_t pixel) const noexcept {
  const std::uint64_t full = mask >> shift;
  if (full == 0) return 0;
  return static_cast<std::uint8_t>((std::uint64_t{(pixel & mask) >> shift} * 255 + full / 2) /
                                   full);
}

BmpSource::BmpSource(Bytes file) : file_(file) {
  if (file.size() < kFileHeaderBytes + kCoreHeader) EndsEarly(kBroken, "it ends in its header");
  pixels_at_ = LoadAt<std::uint32_t>(file, 10);
  const auto header_bytes = LoadAt<std::uint32_t>(file, kFileHeaderBytes);
  ReadHeader(header_bytes);
  CheckCoding(header_bytes);
  if (pixels_at_ < kFileHeaderBytes + header_bytes) ThrowBrokenBmp("its pixels lie in its header");
  if (pixels_at_ > file.size()) EndsEarly(kBroken, "it ends before its pixels");
  const bool core = header_bytes == kCoreHeader;
  std::size_t palette_at = kFileHeaderBytes + header_bytes;
  if (coding_ == kBitFields || coding_ == kAlphaBitFields || bits_ == 16 || bits_ == 32) {
    ReadBitFields(header_bytes);
    if (header_bytes == kInfoHeader && coding_ != kPlain)
      palette_at += coding_ == kBitFields ? 12 : 16;
  }
  if (bits_ <= 8) {
    const std::size_t entry_bytes = core ? 3 : 4;
    PlacePixels(palette_at, palette_at + Colours() * entry_bytes);
    ReadPalette(palette_at, entry_bytes);
  }
}

// Some programs forget the palette when they compute where the pixels begin. Other readers then
// decode the palette as pixels (Pillow, ImageMagick) or refuse the file (browsers). Here, if the
// file is exactly as long as the palette followed by the pixels, the pixels are read after the
// palette. Otherwise the palette is taken to be shorter than the header says, as some programs
// write it, unless the offset leaves no room for even one colour.
void BmpSource::PlacePixels(std::size_t palette_at, std::size_t palette_end) {
  if (pixels_at_ >= palette_end) return;
  const bool none = pixels_at_ < palette_at + 3;  // there is not even one colour before the pixels
  const std::uint64_t behind = file_.size() - std::min(palette_end, file_.size());
  const std::uint64_t full =
      HasRuns() ? image_bytes_ : std::uint64_t{LineBytes(width_, bits_)} * height_;
  const bool fits = HasRuns() ? behind > 0 : behind >= PixelBytes();
  if (fits && (none || behind == full)) {
    pixels_at_ = palette_end;
  } else if (none) {
    ThrowBrokenBmp("its pixels lie where its palette should be");
  }
}

bool BmpSource::HasRuns() const noexcept {
  return coding_ == kRunLength8 || coding_ == kRunLength4;
}

// The size of pixels without run lengths. The padding of the last row may be missing.
std::uint64_t BmpSource::PixelBytes() const noexcept {
  if (height_ == 0) return 0;
  return std::uint64_t{LineBytes(width_, bits_)} * (height_ - 1) +
         (std::uint64_t{width_} * bits_ + 7) / 8;
}

void BmpSource::ReadHeader(std::uint32_t header_bytes) {
  if (file_.size() < kFileHeaderBytes + std::uint64_t{header_bytes}) {
    EndsEarly(kBroken, "it ends in its header");
  }
  if (header_bytes == kCoreHeader) {
    width_ = LoadAt<std::uint16_t>(file_, 18);
    height_ = LoadAt<std::uint16_t>(file_, 20);
    bits_ = LoadAt<std::uint16_t>(file_, 24);
    return;
  }
  if (header_bytes < kInfoHeader) ThrowUnsupportedBmp("a header of another size");
  const std::int64_t width = LoadAt<std::int32_t>(file_, 18);
  const std::int64_t height = LoadAt<std::int32_t>(file_, 22);
  if (width < 0) ThrowBrokenBmp("it says that it is less than 0 pixels wide");
  width_ = static_cast<std::uint32_t>(width);
  top_down_ = height < 0;
  height_ = static_cast<std::uint32_t>(top_down_ ? -height : height);
  bits_ = LoadAt<std::uint16_t>(file_, 28);
  coding_ = LoadAt<std::uint32_t>(file_, 30);
  image_bytes_ = LoadAt<std::uint32_t>(file_, 34);
  palette_used_ = LoadAt<std::uint32_t>(file_, 46);
}

void BmpSource::CheckCoding(std::uint32_t header_bytes) const {
  constexpr std::array<std::uint32_t, 7> kBits = {1, 2, 4, 8, 16, 24, 32};
  if (std::find(kBits.begin(), kBits.end(), bits_) == kBits.end()) {
    ThrowUnsupportedBmp(std::to_string(bits_) + " bits a pixel");
  }
  bool known = false;
  switch (coding_) {
    case kPlain: known = true; break;
    case kRunLength8: known = bits_ == 8 && !top_down_; break;
    case kRunLength4: known = bits_ == 4 && !top_down_; break;
    case kBitFields:
    case kAlphaBitFields:  // OS/2 gives these numbers another meaning
      known = (bits_ == 16 || bits_ == 32) && header_bytes != kOs2Header;
      break;
    default: break;
  }
  if (!known) ThrowUnsupportedBmp("coding " + std::to_string(coding_));
}

void BmpSource::ReadBitFields(std::uint32_t header_bytes) {
  if (coding_ == kPlain) {
    const bool wide = bits_ == 32;
    fields_ = {BitField(wide ? 0xFF0000 : 0x7C00), BitField(wide ? 0xFF00 : 0x3E0),
               BitField(wide ? 0xFF : 0x1F), BitField()};
    return;
  }
  // The masks follow the shortest header, and are part of longer ones: the offset is the same.
  const bool opacity = header_bytes >= kHeaderWithOpacity ||
                       (header_bytes < kHeaderWithMasks && coding_ == kAlphaBitFields);
  const std::size_t count = opacity ? 4 : 3;
  const std::size_t at = kFileHeaderBytes + kInfoHeader;
  if (file_.size() < at + count * 4) EndsEarly(kBroken, "it ends in its header");
  for (std::size_t i = 0; i < count; ++i)
    fields_[i] = BitField(LoadAt<std::uint32_t>(file_, at + i * 4));
}

std::size_t BmpSource::Colours() const noexcept {
  const std::size_t most = std::size_t{1} << bits_;
  return palette_used_ == 0 ? most : std::min<std::size_t>(palette_used_, most);
}

// Colours that are missing in the file are black.
void BmpSource::ReadPalette(std::size_t offset, std::size_t entry_bytes) {
  for (std::size_t i = 0; i < Colours(); ++i) {
    const std::size_t at = offset + i * entry_bytes;
    if (at + 3 > pixels_at_) return;
    for (std::size_t c = 0; c < 3; ++c)
      palette_[i][c] = LoadAt<std::uint8_t>(file_, at + 2 - c);
  }
}

const std::uint8_t* BmpSource::LineAt(std::uint32_t y) const noexcept {
  const std::uint32_t row = top_down_ ? y : height_ - 1 - y;
  return reinterpret_cast<const std::uint8_t*>(file_.data()) + pixels_at_ +
         row * LineBytes(width_, bits_);
}

bool BmpSource::HasOpacity() const noexcept {
  const BitField& opacity = fields_[3];
  if (opacity.mask == 0) return false;
  for (std::uint32_t y = 0; y < height_; ++y) {
    const Bytes row(reinterpret_cast<const std::byte*>(LineAt(y)), std::size_t{width_} * bits_ / 8);
    for (std::size_t at = 0; at < row.size(); at += bits_ / 8) {
      const std::uint32_t pixel =
          bits_ == 16 ? LoadAt<std::uint16_t>(row, at) : LoadAt<std::uint32_t>(row, at);
      if ((pixel & opacity.mask) != 0) return true;
    }
  }
  return false;
}

void BmpSource::DecodeLine(std::uint32_t y, std::uint8_t* rgba) const noexcept {
  const std::uint8_t* const row = LineAt(y);
  for (std::size_t x = 0; x < width_; ++x, rgba += 4) {
    rgba[3] = 255;
    if (bits_ <= 8) {
      const std::size_t bit = x * bits_;
      const unsigned index = row[bit / 8] >> (8 - bits_ - bit % 8) & ((1U << bits_) - 1);
      std::copy_n(palette_[index].data(), 3, rgba);
    } else if (bits_ == 24) {
      std::reverse_copy(row + x * 3, row + x * 3 + 3, rgba);
    } else {
      const Bytes pixel(reinterpret_cast<const std::byte*>(row) + x * bits_ / 8, bits_ / 8);
      const std::uint32_t value =
          bits_ == 16 ? LoadAt<std::uint16_t>(pixel, 0) : LoadAt<std::uint32_t>(pixel, 0);
      for (std::size_t c = 0; c < 4; ++c) {
        if (fields_[c].mask != 0 || c < 3) rgba[c] = fields_[c].Of(value);
      }
    }
  }
}

Picture BmpSource::Decode(const ColorRules& rules) {
  const bool runs = HasRuns();
  if (!runs) CompletePixels();
  if (!runs && !HasOpacity()) fields_[3] = BitField();
  Picture picture = MakePicture(rules.channels);
  const std::vector<std::uint8_t> indices = runs ? DecodeRuns() : std::vector<std::uint8_t>();
  std::vector<std::uint8_t> rgba(std::size_t{width_} * 4, 255);
  for (std::uint32_t y = 0; y < height_; ++y) {
    if (runs) {
      const std::uint8_t* const row = &indices[std::size_t{height_ - 1 - y} * width_];
      for (std::size_t x = 0; x < width_; ++x)
        std::copy_n(palette_[row[x]].data(), 3, &rgba[x * 4]);
    } else {
      DecodeLine(y, rgba.data());
    }
    StoreRgbaLine(rgba.data(), width_, picture.channels, rules, picture.Line(y));
  }
  return picture;
}

std::vector<std::uint8_t> BmpSource::DecodeRuns() {
  RunDecoder decoder(file_.subspan(pixels_at_), width_, height_, coding_ == kRunLength4);
  if (!decoder.Run()) EndsEarly(kBroken, "its pixels end early");
  return decoder.TakeIndices();
}

// Replaces missing pixels by zeros, if pictures that end early are accepted.
void BmpSource::CompletePixels() {
  const Bytes pixels = file_.subspan(pixels_at_);
  if (PixelBytes() <= pixels.size()) return;
  EndsEarly(kBroken, "its pixels end early");
  completed_.assign(pixels.begin(), pixels.end());
  completed_.resize(PixelBytes());
  file_ = completed_;
  pixels_at_ = 0;
}

}  // namespace

std::unique_ptr<PixelSource> OpenBmp(Bytes file, bool) {
  return std::make_unique<BmpSource>(file);
}

}  // namespace sluice
