// The first picture of a TIFF file, by libtiff: as colours of 8 bits, or as values (Values() at the
// end).
//
// libtiff can convert most files to 8-bit colours itself (TIFFRGBAImage): palettes, YCbCr, Lab and
// more. But it refuses or truncates some files, or converts them without their profile: grey and
// RGB of more than 8 bits per value, integer or floating-point, RGB of 2 and 4 bits, palettes of 16
// bits, and CMYK. TiffSampleReader reads the values of these files piece by piece, a piece being a
// strip or tile. TiffSource chooses between the two ways.
//
// libtiff reports much damage only as a warning and makes up the pixels. So warnings that tell of
// damage count as errors (TellsOfDamage()), and the pieces' places in the file are checked before
// anything is decoded (HowCutShort()). A header may claim pieces of any size, whatever the
// picture's size: CheckPieces() limits them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <tiffio.h>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/half.h"
#include "format/pixels/wide.h"
#include "writer/source/images/pixel_source.h"
#include "writer/source/images/values.h"
#include "writer/text.h"

namespace sluice {

namespace {

struct TiffSamples {
  // Four values per pixel, from 0 to 65535: red, green, blue (equal for grey) and opacity, or four
  // inks.
  std::vector<std::uint16_t> values;
  bool opaque = true;
  bool deep = false;  // the file's values have more than 8 bits
  bool premultiplied = false;
  bool whole = false;  // every piece was read; if not, the missing pixels are zero
};

// How far values in 0..1 may exceed that range: resampling filters overshoot at edges.
constexpr double kOvershoot = 0.25;

std::uint16_t TagOf(TIFF* file, std::uint32_t tag) noexcept {
  std::uint16_t value = 0;
  TIFFGetFieldDefaulted(file, tag, &value);
  return value;
}

// Whether the values are cyan, magenta, yellow and black.
bool HasInks(TIFF* file) noexcept {
  return TagOf(file, TIFFTAG_PHOTOMETRIC) == PHOTOMETRIC_SEPARATED &&
         TagOf(file, TIFFTAG_INKSET) == INKSET_CMYK && TagOf(file, TIFFTAG_SAMPLESPERPIXEL) >= 4;
}

[[noreturn]] void ThrowUnsupportedTiff(const std::string& what) {
  throw Error(ErrorCode::kUnsupported, "unsupported TIFF: " + what);
}

template <class T>
T Loaded(const std::uint8_t* at) noexcept {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Reads a file for which IsForSamples() is true, after its size and pieces have been checked.
// Floating-point values must lie in 0..1. Throws Error(kUnsupported) if they do not, or if integers
// are signed.
class TiffSampleReader {
 public:
  explicit TiffSampleReader(TIFF* file) : file_(file) {
    TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &width_);
    TIFFGetField(file, TIFFTAG_IMAGELENGTH, &height_);
    bits_ = TagOf(file, TIFFTAG_BITSPERSAMPLE);
    samples_ = TagOf(file, TIFFTAG_SAMPLESPERPIXEL);
    planes_ = TagOf(file, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
    format_ = TagOf(file, TIFFTAG_SAMPLEFORMAT);
    inks_ = HasInks(file);
    const std::uint16_t photometric = TagOf(file, TIFFTAG_PHOTOMETRIC);
    inverted_ = photometric == PHOTOMETRIC_MINISWHITE;
    palette_ = photometric == PHOTOMETRIC_PALETTE;
    line_bits_ = bits_ * (planes_ ? 1 : samples_);
    if (palette_ && TIFFGetField(file, TIFFTAG_COLORMAP, &map_[0], &map_[1], &map_[2]) != 1)
      ThrowUnsupportedTiff("it has no palette");
    colours_ = inks_ ? 4 : photometric == PHOTOMETRIC_RGB ? 3 : 1;
    if (samples_ < colours_) ThrowUnsupportedTiff("its pixels have too few values");
    if (format_ == SAMPLEFORMAT_INT) ThrowUnsupportedTiff("its values have signs");
    FindOpacity();
  }

  TiffSamples Read() {
    TiffSamples read;
    read.opaque = opacity_ == 0;
    read.premultiplied = premultiplied_;
    read.deep = bits_ > 8;
    read.values.assign(std::size_t{width_} * height_ * 4, read.opaque && !inks_ ? 65'535 : 0);
    const bool tiled = TIFFIsTiled(file_) != 0;
    TIFFGetFieldDefaulted(file_, TIFFTAG_ROWSPERSTRIP, &piece_height_);
    piece_width_ = width_;
    if (tiled) {
      TIFFGetField(file_, TIFFTAG_TILEWIDTH, &piece_width_);
      TIFFGetField(file_, TIFFTAG_TILELENGTH, &piece_height_);
    }
    if (piece_width_ == 0 || piece_height_ == 0) ThrowUnsupportedTiff("its pieces have no pixels");
    piece_height_ = std::min(piece_height_, tiled ? piece_height_ : height_);
    piece_.resize(static_cast<std::size_t>(tiled ? TIFFTileSize(file_) : TIFFStripSize(file_)));
    const std::uint64_t across = (std::uint64_t{width_} + piece_width_ - 1) / piece_width_;
    const std::uint64_t down = (std::uint64_t{height_} + piece_height_ - 1) / piece_height_;
    const std::uint64_t planes = planes_ ? samples_ : 1;
    read.whole = true;
    for (std::uint64_t i = 0; i < across * down * planes && read.whole; ++i) {
      const auto plane = static_cast<std::uint32_t>(i / (across * down));
      // Planes of other values (depth, say) are not even decoded.
      if (planes_ && plane >= colours_ && plane != opacity_) continue;
      const auto number = static_cast<std::uint32_t>(i);
      // A piece that is decoded in part must not show pixels of the one before.
      std::fill(piece_.begin(), piece_.end(), 0);
      const tmsize_t wanted = static_cast<tmsize_t>(piece_.size());
      const tmsize_t got = tiled ? TIFFReadEncodedTile(file_, number, piece_.data(), wanted)
                                 : TIFFReadEncodedStrip(file_, number, piece_.data(), wanted);
      read.whole = got >= 0;
      if (!read.whole) break;
      Spread(plane, static_cast<std::uint32_t>(i % across) * piece_width_,
             static_cast<std::uint32_t>(i / across % down) * piece_height_, read.values);
    }
    CheckRange();
    return read;
  }

 private:
  void FindOpacity() {
    std::uint16_t count = 0;
    const std::uint16_t* kinds = nullptr;
    if (TIFFGetField(file_, TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || inks_) return;
    for (std::uint16_t i = 0; i < count && opacity_ == 0; ++i) {
      if (kinds[i] == EXTRASAMPLE_UNSPECIFIED || colours_ + i >= samples_) continue;
      opacity_ = colours_ + i;
      premultiplied_ = kinds[i] == EXTRASAMPLE_ASSOCALPHA;
    }
  }

  double Float(const std::uint8_t* at) noexcept {
    return bits_ == 16   ? OfHalf(Loaded<std::uint16_t>(at))
           : bits_ == 32 ? static_cast<double>(Loaded<float>(at))
                         : Loaded<double>(at);
  }

  // The value of `bits_` bits that begins at that bit of the piece. libtiff has put whole bytes
  // into the machine's order; other values follow each other, the highest bit first.
  std::uint64_t Integer(std::size_t bit) const noexcept {
    const std::uint8_t* const at = &piece_[bit / 8];
    switch (bits_) {
      case 8: return *at;
      case 16: return Loaded<std::uint16_t>(at);
      case 24:
        return std::endian::native == std::endian::little
                   ? std::uint32_t{at[2]} << 16 | std::uint32_t{at[1]} << 8 | at[0]
                   : std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8 | at[2];
      case 32: return Loaded<std::uint32_t>(at);
      default: break;
    }
    std::uint64_t value = 0;
    for (std::size_t i = bit; i < bit + bits_; ++i)
      value = value << 1 | (piece_[i / 8] >> (7 - i % 8) & 1U);
    return value;
  }

  std::uint16_t ValueAt(std::size_t bit) noexcept {
    if (format_ == SAMPLEFORMAT_IEEEFP) {
      const double value = Float(&piece_[bit / 8]);
      if (std::isnan(value)) {
        numbers_ = false;
        return 0;
      }
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
      return static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0, 1.0) * 65'535));
    }
    // The usual case, and exactly what the rule below gives.
    if (bits_ == 16) return static_cast<std::uint16_t>(Integer(bit));
    const std::uint64_t most = (std::uint64_t{1} << bits_) - 1;
    return static_cast<std::uint16_t>((Integer(bit) * 65'535 + most / 2) / most);
  }

  // Copies a decoded piece to its place in the picture.
  void Spread(std::uint32_t plane, std::uint32_t left, std::uint32_t top,
              std::vector<std::uint16_t>& values) {
    const std::size_t line = (piece_width_ * line_bits_ + 7) / 8 * 8;  // a line begins with a byte
    const std::uint32_t columns = std::min(piece_width_, width_ - left);
    const std::uint32_t rows = std::min(piece_height_, height_ - top);
    for (std::uint32_t y = 0; y < rows; ++y) {
      for (std::uint32_t x = 0; x < columns; ++x) {
        const std::size_t at = y * line + x * line_bits_;
        // libtiff's sizes of lines and ours could differ for odd files; nothing beyond the piece is
        // read.
        if (at + line_bits_ > piece_.size() * 8) return;
        std::uint16_t* const pixel = &values[((std::size_t{top} + y) * width_ + left + x) * 4];
        for (std::uint32_t c = planes_ ? plane : 0; c < (planes_ ? plane + 1 : colours_); ++c)
          Put(c, ValueAt(at + (planes_ ? 0 : c * bits_)), pixel);
        if (!planes_ && opacity_ != 0) Put(opacity_, ValueAt(at + opacity_ * bits_), pixel);
      }
    }
  }

  void Put(std::uint32_t sample, std::uint16_t value, std::uint16_t* pixel) const noexcept {
    if (opacity_ != 0 && sample == opacity_) {
      pixel[3] = value;
    } else if (palette_) {
      for (std::size_t c = 0; c < 3; ++c)
        pixel[c] = map_[c][value];
    } else if (colours_ == 1) {
      std::fill_n(pixel, 3, inverted_ ? static_cast<std::uint16_t>(65'535 - value) : value);
    } else {
      pixel[sample] = value;
    }
  }

  // Values of another range are refused, because their white and black are not known.
  void CheckRange() const {
    if (!numbers_) ThrowUnsupportedTiff("some of its values are not numbers (NaN)");
    if (least_ >= -kOvershoot && most_ <= 1 + kOvershoot) return;
    std::array<char, 100> text{};
    std::snprintf(text.data(), text.size(), "its values go from %.4g to %.4g, and not from 0 to 1",
                  least_, most_);
    ThrowUnsupportedTiff(text.data());
  }

  TIFF* file_;
  std::uint32_t width_ = 0, height_ = 0;
  // Bits of a value; values of a pixel; how many of these, the first ones, are colours or inks; the
  // sample format.
  std::uint32_t bits_ = 0, samples_ = 0, colours_ = 0, format_ = 0;
  std::uint32_t opacity_ = 0;  // index of the opacity sample; 0: opaque
  bool premultiplied_ = false;
  bool planes_ = false;  // each value of a pixel lies in a plane of its own
  bool inks_ = false;
  bool inverted_ = false;                      // 0 is white
  bool palette_ = false;                       // values are indices of 16 bits into map_
  std::array<const std::uint16_t*, 3> map_{};  // the palette's reds, greens and blues
  std::size_t line_bits_ = 0;                  // of a pixel, or of its value in a plane
  std::uint32_t piece_width_ = 0, piece_height_ = 0;
  std::vector<std::uint8_t> piece_;
  double least_ = 0, most_ = 0;  // of floating-point values
  bool numbers_ = true;          // none of them was NaN
};

// Whether TiffSampleReader must read the file, because libtiff would refuse it or convert it
// wrongly.
bool IsForSamples(tiff* file) noexcept {
  const std::uint16_t bits = TagOf(file, TIFFTAG_BITSPERSAMPLE);
  const bool floats = TagOf(file, TIFFTAG_SAMPLEFORMAT) == SAMPLEFORMAT_IEEEFP;
  if (HasInks(file) && bits == 8) return true;
  // libtiff multiplies colours by their opacity, but not grey, and DecodeRgba() always divides by
  // it. So grey with opacity is read here.
  const std::uint16_t photometric = TagOf(file, TIFFTAG_PHOTOMETRIC);
  const bool grey = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
  if (grey && bits == 8 && TagOf(file, TIFFTAG_SAMPLESPERPIXEL) == 2) return true;
  const bool coloured = photometric == PHOTOMETRIC_RGB || HasInks(file);
  if (floats) return (bits == 16 || bits == 32 || bits == 64) && (grey || coloured);
  if (photometric == PHOTOMETRIC_PALETTE) return bits == 16;
  if (TagOf(file, TIFFTAG_COMPRESSION) == COMPRESSION_JPEG) return false;  // 12 bits: DecodeRgba()
  const bool packed = bits == 6 || (bits >= 9 && bits <= 15) || bits == 24;
  if (coloured && (bits == 2 || bits == 4)) return true;
  return (packed || bits == 16 || bits == 32) && (grey || coloured);
}

class TiffSource : public PixelSource {
 public:
  // `as_values`: for Values(), which takes pictures that are no colours.
  explicit TiffSource(Bytes file, bool as_values = false);

  Bytes Profile() override;
  ProfileColors colors() const noexcept override;
  Picture Decode(const ColorRules& rules) override;
  ValuePicture Values(std::uint64_t max_pixels);

 private:
  struct Stream {
    Bytes file;
    std::uint64_t at = 0;
    // libtiff's first error message; cleared before the pixels are read. A fixed array, because the
    // handler runs inside libtiff, through which no exception may pass.
    std::array<char, 200> trouble{};
  };

  struct RgbaImage;

  void Open();
  const char* HowCutShort() const;
  Picture DecodeRgba(const ColorRules& rules, bool cut_short);
  bool IsOpaque(const RgbaImage& rgba) const;
  void CheckPieces(std::uint64_t pixel_bytes) const;
  [[noreturn]] void ThrowBroken() const;

  Stream stream_;
  std::unique_ptr<tiff, void (*)(tiff*)> tiff_;
};

// The most memory for one decoded piece: this, plus, for colours, 16 bytes for each pixel of the
// picture (four 16-bit values, doubled for tiles that extend beyond the edges).
constexpr std::uint64_t kMaxPieceBytes = 64 << 20;
constexpr std::uint64_t kMaxPiecePixelBytes = 16;

// Divides the colours by the opacity; libtiff has multiplied them by it.
void Divide(std::uint8_t* rgba) noexcept {
  const unsigned opacity = rgba[3];
  if (opacity == 0 || opacity == 255) return;
  for (int c = 0; c < 3; ++c) {
    rgba[c] = static_cast<std::uint8_t>(std::min(255U, (rgba[c] * 255U + opacity / 2) / opacity));
  }
}

// Whether libtiff makes up pixels after this warning. Such warnings come from its fax codecs, and
// from libjpeg.
bool TellsOfDamage(std::string_view warning) noexcept {
  for (const char* const part :
       {"Premature EO", "Line length mismatch", "remature end of", "bad Huffman code"}) {
    if (warning.find(part) != std::string_view::npos) return true;
  }
  return false;
}

struct TiffSource::RgbaImage {
  TIFFRGBAImage image{};
  bool begun = false;
  ~RgbaImage() {
    if (begun) TIFFRGBAImageEnd(&image);
  }
};

TiffSource::TiffSource(Bytes file, bool as_values)
    : stream_{file, 0, {}}, tiff_(nullptr, &TIFFClose) {
  Open();
  TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width_);
  TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height_);
  // The raw files of cameras begin with a thumbnail, which is not the picture that the user means.
  std::uint32_t kind = 0;
  TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_SUBFILETYPE, &kind);
  if ((kind & FILETYPE_REDUCEDIMAGE) != 0) {
    throw Error(
        ErrorCode::kUnsupported,
        "unsupported TIFF: its first picture is the reduced form of another, as in cameras' "
        "raw files");
  }
  std::uint16_t photometric = 0;
  grey_ = TIFFGetField(tiff_.get(), TIFFTAG_PHOTOMETRIC, &photometric) == 1 &&
          (photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE);
  const std::uint16_t channels = TagOf(tiff_.get(), TIFFTAG_SAMPLESPERPIXEL);
  if (grey_ && channels > 2 && !as_values) {  // as in satellites' pictures
    throw Error(ErrorCode::kUnsupported, "unsupported TIFF: it says that it is grey and has " +
                                             std::to_string(channels) +
                                             " channels; save it with one grey channel or as RGB");
  }
  std::uint16_t orientation = 0;
  std::uint32_t xmp_bytes = 0;
  const void* xmp = nullptr;
  if (TIFFGetField(tiff_.get(), TIFFTAG_ORIENTATION, &orientation) == 1) {
    orientation_ = OrientationOf(orientation);
  } else if (TIFFGetField(tiff_.get(), TIFFTAG_XMLPACKET, &xmp_bytes, &xmp) == 1) {
    orientation_ = ReadOrientation({}, {static_cast<const std::byte*>(xmp), xmp_bytes});
  }
  has_profile_ = !TiffSource::Profile().empty();
}

void TiffSource::Open() {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             &TIFFOpenOptionsFree);
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(
      options.get(),
      [](TIFF*, void* self, const char*, const char* format, va_list values) {
        auto& trouble = static_cast<Stream*>(self)->trouble;
        if (trouble[0] == 0) std::vsnprintf(trouble.data(), trouble.size(), format, values);
        return 1;  // nothing is printed
      },
      &stream_);
  TIFFOpenOptionsSetWarningHandlerExtR(
      options.get(),
      [](TIFF*, void* self, const char*, const char* format, va_list values) {
        auto& trouble = static_cast<Stream*>(self)->trouble;
        if (trouble[0] != 0) return 1;
        std::vsnprintf(trouble.data(), trouble.size(), format, values);
        if (!TellsOfDamage(trouble.data())) trouble[0] = 0;
        return 1;
      },
      &stream_);
  tiff_.reset(TIFFClientOpenExt(
      "the file", "r", &stream_,
      [](thandle_t self, void* to, tmsize_t count) {
        auto& stream = *static_cast<Stream*>(self);
        const std::uint64_t at = std::min<std::uint64_t>(stream.at, stream.file.size());
        const Bytes got = stream.file.subspan(
            at,
            std::min<std::uint64_t>(static_cast<std::uint64_t>(count), stream.file.size() - at));
        std::copy(got.begin(), got.end(), static_cast<std::byte*>(to));
        stream.at = at + got.size();
        return static_cast<tmsize_t>(got.size());
      },
      [](thandle_t, void*, tmsize_t) { return tmsize_t{-1}; },
      [](thandle_t self, toff_t offset, int from) {
        auto& stream = *static_cast<Stream*>(self);
        if (from == SEEK_CUR) offset += stream.at;
        if (from == SEEK_END) offset += stream.file.size();
        return toff_t{stream.at = offset};
      },
      [](thandle_t) { return 0; },
      [](thandle_t self) { return toff_t{static_cast<Stream*>(self)->file.size()}; },
      [](thandle_t self, void** begin, toff_t* size) {
        const Bytes file = static_cast<Stream*>(self)->file;
        *begin = const_cast<std::byte*>(file.data());  // libtiff only reads: the mode is "r"
        *size = file.size();
        return 1;
      },
      [](thandle_t, void*, toff_t) {}, options.get()));
  if (!tiff_) ThrowBroken();
}

void TiffSource::ThrowBroken() const {
  throw Error(ErrorCode::kCorrupt,
              std::string("broken TIFF: ") +
                  (stream_.trouble[0] == 0 ? "it cannot be read" : stream_.trouble.data()));
}

Bytes TiffSource::Profile() {
  std::uint32_t count = 0;
  void* data = nullptr;
  if (TIFFGetField(tiff_.get(), TIFFTAG_ICCPROFILE, &count, &data) != 1) return {};
  return {static_cast<const std::byte*>(data), count};
}

ProfileColors TiffSource::colors() const noexcept {
  return HasInks(tiff_.get()) ? ProfileColors::kCmyk : PixelSource::colors();
}

// Whether the codec's data never ends in a row of zeros. Uncompressed data and PackBits may end so.
bool EndsInNoZeros(TIFF* tiff) noexcept {
  switch (TagOf(tiff, TIFFTAG_COMPRESSION)) {
    case COMPRESSION_CCITTRLE:
    case COMPRESSION_CCITTRLEW:
    case COMPRESSION_CCITTFAX3:
    case COMPRESSION_CCITTFAX4:
    case COMPRESSION_LZW:
    case COMPRESSION_JPEG:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
    case COMPRESSION_LZMA:
    case COMPRESSION_ZSTD:
    case COMPRESSION_WEBP: return true;
    default: return false;
  }
}

// Even if a picture is small, its tiles or strips may be as large as the header claims.
void TiffSource::CheckPieces(std::uint64_t pixel_bytes) const {
  const std::uint64_t piece =
      TIFFIsTiled(tiff_.get()) != 0 ? TIFFTileSize64(tiff_.get()) : TIFFStripSize64(tiff_.get());
  const std::uint64_t most = kMaxPieceBytes + std::uint64_t{width_} * height_ * pixel_bytes;
  if (piece > 0 && piece <= most) return;
  throw Error(ErrorCode::kUnsupported, "unsupported TIFF: its tiles or strips take " +
                                           std::to_string(piece) + " bytes each");
}

// How a strip or tile is cut short; null if none is. It may extend beyond the file's end, or end in
// zeros, which a broken download leaves. Most codecs read zeros as pixels or as the end of a page,
// and report no error.
const char* TiffSource::HowCutShort() const {
  constexpr std::uint64_t kZeros = 16;  // bytes; padding of a piece is shorter
  TIFF* const tiff = tiff_.get();
  const bool zeros_tell = EndsInNoZeros(tiff);
  const std::uint32_t pieces =
      TIFFIsTiled(tiff) != 0 ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (std::uint32_t i = 0; i < pieces; ++i) {
    const std::uint64_t bytes = TIFFGetStrileByteCount(tiff, i);
    const std::uint64_t offset = TIFFGetStrileOffset(tiff, i);
    if (!Inside(offset, bytes, stream_.file.size())) return "its pixels end early";
    const std::uint64_t end = std::min(bytes, kZeros);
    if (zeros_tell && end > 0 && AllZero(stream_.file.subspan(offset + bytes - end, end)))
      return "its pixels end in zeros";
  }
  return nullptr;
}

// libtiff takes the first extra sample for opacity, even if the file calls it unspecified
// (TIFF 6.0, ExtraSamples 0). Then the picture is opaque.
bool TiffSource::IsOpaque(const RgbaImage& rgba) const {
  if (rgba.image.alpha == 0) return true;
  std::uint16_t count = 0;
  std::uint16_t* kinds = nullptr;
  return TIFFGetField(tiff_.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) == 1 && count > 0 &&
         kinds[0] == EXTRASAMPLE_UNSPECIFIED;
}

Picture TiffSource::Decode(const ColorRules& rules) {
  CheckPieces(kMaxPiecePixelBytes);
  const char* const cut_short = HowCutShort();
  if (cut_short != nullptr) EndsEarly("broken TIFF", cut_short);
  stream_.trouble[0] = 0;
  if (!IsForSamples(tiff_.get())) return DecodeRgba(rules, cut_short != nullptr);
  TiffSamples samples = TiffSampleReader(tiff_.get()).Read();
  deep_ = samples.deep;
  if (cut_short == nullptr && (!samples.whole || stream_.trouble[0] != 0)) ThrowBroken();
  Picture picture = MakePicture(PictureChannels(grey_, samples.opaque, rules));
  std::vector<std::uint8_t> inks(colors() == ProfileColors::kCmyk ? std::size_t{width_} * 4 : 0);
  for (std::size_t y = 0; y < height_; ++y) {
    const std::span row =
        std::span(samples.values).subspan(y * width_ * 4, std::size_t{width_} * 4);
    std::uint8_t* const out = picture.Line(y);
    if (inks.empty()) {
      if (samples.premultiplied) DivideByOpacity(row);
      StoreRgbaLine(row.data(), width_, picture.channels, rules, out);
      continue;
    }
    std::transform(row.begin(), row.end(), inks.begin(), [](std::uint32_t value) {
      return static_cast<std::uint8_t>((value * 255 + 32'767) / 65'535);
    });
    StoreCmykLine(inks.data(), width_, false, picture.channels, rules, out);
  }
  return picture;
}

// Converts 8-bit L*a*b*, which is relative to ICC's white (D50), to sRGB, with Bradford's
// adaptation of the white point. Matrix: brucelindbloom.com, "RGB/XYZ Matrices".
std::uint32_t SrgbOfLab(std::uint8_t lightness, std::int8_t a, std::int8_t b) {
  const double fy = (lightness / 2.55 + 16) / 116;
  const auto cubed = [](double f) {
    constexpr double kLinear = 6.0 / 29;
    return f > kLinear ? f * f * f : 3 * kLinear * kLinear * (f - 4.0 / 29);
  };
  const double x = 0.96422 * cubed(fy + a / 500.0);
  const double y = cubed(fy);
  const double z = 0.82521 * cubed(fy - b / 200.0);
  const auto stored = [](double linear) {
    linear = std::clamp(linear, 0.0, 1.0);
    const double value =
        linear > 0.0031308 ? 1.055 * std::pow(linear, 1 / 2.4) - 0.055 : 12.92 * linear;
    return static_cast<std::uint32_t>(255 * value + 0.5);
  };
  return stored(3.1338561 * x - 1.6168667 * y - 0.4906146 * z) |
         stored(-0.9787684 * x + 1.9161415 * y + 0.0334540 * z) << 8U |
         stored(0.0719453 * x - 0.2289914 * y + 1.4052427 * z) << 16U | 0xFF000000U;
}

// Replaces libtiff's own conversion, which does not adapt the white point (greys come out
// yellowish) and uses a plain power instead of sRGB's curve.
void PutLab(TIFFRGBAImage* /*image*/, std::uint32_t* to, std::uint32_t /*x*/, std::uint32_t /*y*/,
            std::uint32_t width, std::uint32_t height, std::int32_t skip, std::int32_t skip_to,
            unsigned char* from) {
  for (; height > 0; --height, to += skip_to, from += std::ptrdiff_t{3} * skip) {
    for (std::uint32_t x = 0; x < width; ++x, from += 3) {
      *to++ =
          SrgbOfLab(from[0], static_cast<std::int8_t>(from[1]), static_cast<std::int8_t>(from[2]));
    }
  }
}

Picture TiffSource::DecodeRgba(const ColorRules& rules, bool cut_short) {
  RgbaImage rgba;
  std::array<char, 1024> sentence{};
  // libtiff stops at the first piece that it cannot decode; the pixels after it stay zero.
  rgba.begun = TIFFRGBAImageBegin(&rgba.image, tiff_.get(), 1, sentence.data()) != 0;
  if (!rgba.begun) {
    throw Error(ErrorCode::kUnsupported, std::string("unsupported TIFF: ") + sentence.data());
  }
  std::uint16_t photometric = 0;
  TIFFGetField(tiff_.get(), TIFFTAG_PHOTOMETRIC, &photometric);
  if (photometric == PHOTOMETRIC_CIELAB && rgba.image.bitspersample == 8 &&
      rgba.image.samplesperpixel == 3 && rgba.image.isContig != 0) {
    rgba.image.put.contig = PutLab;
  }
  rgba.image.req_orientation = rgba.image.orientation;  // rows in stored order
  std::vector<std::uint32_t> raster(std::size_t{width_} * height_);
  const bool whole = TIFFRGBAImageGet(&rgba.image, raster.data(), width_, height_) != 0;
  // Some codecs report damage and then continue as if nothing had happened.
  if (!cut_short && (!whole || stream_.trouble[0] != 0)) ThrowBroken();
  const bool opaque = IsOpaque(rgba);
  Picture picture = MakePicture(PictureChannels(grey_, opaque, rules));
  std::vector<std::uint8_t> row(std::size_t{width_} * 4);
  for (std::size_t y = 0; y < height_; ++y) {
    const std::uint32_t* const in = &raster[y * width_];
    std::uint8_t* const out = picture.Line(y);
    for (std::size_t x = 0; x < width_; ++x) {
      std::uint8_t* const pixel = &row[grey_ && opaque ? x : x * 4];
      *pixel = static_cast<std::uint8_t>(TIFFGetR(in[x]));
      if (grey_ && opaque) continue;
      pixel[1] = static_cast<std::uint8_t>(TIFFGetG(in[x]));
      pixel[2] = static_cast<std::uint8_t>(TIFFGetB(in[x]));
      pixel[3] = opaque ? 255 : static_cast<std::uint8_t>(TIFFGetA(in[x]));
      Divide(pixel);
    }
    if (grey_ && opaque) {
      StoreGreyLine(row.data(), width_, rules, out);
    } else {
      StoreRgbaLine(row.data(), width_, picture.channels, rules, out);
    }
  }
  return picture;
}

// How a file's values are stored, and the numbers that they become.
struct TiffNumbers {
  explicit TiffNumbers(TIFF* file)
      : bits(TagOf(file, TIFFTAG_BITSPERSAMPLE)),
        samples(TagOf(file, TIFFTAG_SAMPLESPERPIXEL)),
        planes(TagOf(file, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE) {
    const std::uint16_t format = TagOf(file, TIFFTAG_SAMPLEFORMAT);
    number.kind = format == SAMPLEFORMAT_IEEEFP                                ? 'f'
                  : format == SAMPLEFORMAT_INT                                 ? 'i'
                  : format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID ? 'u'
                                                                               : '?';
    packed = number.kind == 'u' && (bits < 8 || (bits > 8 && bits < 16) || bits == 24);
    number.bytes = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
    const std::optional<PixelType> known = PixelTypeFor(number);
    const bool whole = bits == 8 * number.bytes;
    if (!known || !(whole || packed)) {
      ThrowUnsupportedTiff("its values are " +
                           std::string(number.kind == 'f'   ? "floats"
                                       : number.kind == 'i' ? "signed integers"
                                       : number.kind == 'u' ? "integers"
                                                            : "complex numbers") +
                           " of " + std::to_string(bits) + " bits");
    }
    type = *known;
  }
  std::uint32_t in_piece() const noexcept { return planes ? 1 : samples; }  // of a pixel

  std::uint32_t bits, samples;
  bool planes;
  bool packed = false;  // not whole numbers of bytes that a machine has
  NumberType number;
  PixelType type = PixelType::kUint8;
};

// Values of fewer bits follow each other, the highest bit first; those of 24 bits have the
// machine's byte order. They become numbers of `to.size() / count` bytes.
void Widen(const std::uint8_t* line, std::size_t count, std::uint32_t bits,
           std::vector<std::byte>& to) {
  const std::size_t bytes = to.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t value = 0;
    if (bits == 24) {
      const std::uint8_t* const at = line + 3 * i;
      value = std::endian::native == std::endian::little
                  ? std::uint32_t{at[2]} << 16 | std::uint32_t{at[1]} << 8 | at[0]
                  : std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8 | at[2];
    } else {
      for (std::size_t bit = i * bits; bit < (i + 1) * bits; ++bit)
        value = value << 1 | (line[bit / 8] >> (7 - bit % 8) & 1U);
    }
    const auto one = static_cast<std::uint8_t>(value);
    const auto two = static_cast<std::uint16_t>(value);
    const void* const from = bytes == 1   ? static_cast<const void*>(&one)
                             : bytes == 2 ? static_cast<const void*>(&two)
                                          : &value;
    std::memcpy(&to[i * bytes], from, bytes);
  }
}

// The values of a tag that libtiff has no rules for, if the file has them in that type.
template <class T>
std::span<const T> TagValues(TIFF* file, std::uint32_t tag, TIFFDataType type) {
  const TIFFField* const field = TIFFFindField(file, tag, TIFF_ANY);
  if (field == nullptr || TIFFFieldDataType(field) != type || TIFFFieldPassCount(field) == 0 ||
      TIFFFieldReadCount(field) != TIFF_VARIABLE2) {
    return {};
  }
  std::uint32_t count = 0;
  const T* values = nullptr;
  if (TIFFGetField(file, tag, &count, &values) != 1 || values == nullptr) return {};
  return {values, count};
}

std::string TagText(TIFF* file, std::uint32_t tag) {
  const std::span<const char> text = TagValues<char>(file, tag, TIFF_ASCII);
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

// GDAL writes the number as a text.
std::optional<double> NoDataIn(TIFF* file, PixelType type) {
  constexpr std::uint32_t kTag = 42'113;
  const std::string text(Trimmed(TagText(file, kTag)));
  if (LowerCase(text) == "nan") return AsValue(std::numeric_limits<double>::quiet_NaN(), type);
  const std::optional<double> number = ParseNumber<double>(text);
  return number && std::isfinite(*number) ? AsValue(*number, type) : std::nullopt;
}

// The tags of GeoTIFF by the names that its standard gives them, and GDAL's metadata.
std::string GeoTags(TIFF* file) {
  nlohmann::ordered_json tags = nlohmann::ordered_json::object();
  const auto numbers = [&](const char* name, std::uint32_t tag, TIFFDataType type, auto zero) {
    const auto values = TagValues<decltype(zero)>(file, tag, type);
    if (!values.empty()) tags[name] = std::vector(values.begin(), values.end());
  };
  const auto text = [&](const char* name, std::uint32_t tag) {
    const std::string value = TagText(file, tag);
    if (!value.empty()) tags[name] = ToUtf8(value);
  };
  numbers("ModelPixelScale", 33'550, TIFF_DOUBLE, double{});
  numbers("ModelTiepoint", 33'922, TIFF_DOUBLE, double{});
  numbers("ModelTransformation", 34'264, TIFF_DOUBLE, double{});
  numbers("GeoKeyDirectory", 34'735, TIFF_SHORT, std::uint16_t{});
  numbers("GeoDoubleParams", 34'736, TIFF_DOUBLE, double{});
  text("GeoAsciiParams", 34'737);
  if (tags.empty()) return {};
  text("GDAL_METADATA", 42'112);
  text("GDAL_NODATA", 42'113);
  return tags.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ValuePicture TiffSource::Values(std::uint64_t max_pixels) {
  TIFF* const tiff = tiff_.get();
  const std::uint16_t photometric = TagOf(tiff, TIFFTAG_PHOTOMETRIC);
  const bool jpeg = TagOf(tiff, TIFFTAG_COMPRESSION) == COMPRESSION_JPEG;
  if (photometric == PHOTOMETRIC_LOGL || photometric == PHOTOMETRIC_LOGLUV ||
      (photometric == PHOTOMETRIC_YCBCR && !jpeg)) {
    ThrowUnsupportedTiff("its colours are coded as YCbCr or LogLuv; save it as RGB");
  }
  if (photometric == PHOTOMETRIC_YCBCR)
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  const TiffNumbers numbers(tiff);
  if (jpeg && numbers.bits != 8) ThrowUnsupportedTiff("it holds a JPEG of more than 8 bits");
  CheckValues(width_, height_, numbers.samples, numbers.type, max_pixels);
  // Doubled for tiles that extend beyond the edges.
  CheckPieces(std::uint64_t{2} * numbers.samples * numbers.number.bytes);
  if (const char* const cut_short = HowCutShort()) EndsEarly("broken TIFF", cut_short);
  stream_.trouble[0] = 0;

  const bool tiled = TIFFIsTiled(tiff) != 0;
  std::uint32_t piece_width = width_, piece_height = height_;
  if (tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &piece_width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &piece_height);
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &piece_height);
    piece_height = std::min(piece_height, height_);
  }
  if (piece_width == 0 || piece_height == 0) ThrowUnsupportedTiff("its pieces have no pixels");
  std::vector<std::uint8_t> piece(
      static_cast<std::size_t>(tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff)));
  const std::uint32_t across = (width_ - 1) / piece_width + 1;
  const std::uint32_t down = (height_ - 1) / piece_height + 1;
  const std::size_t in_piece = numbers.in_piece();
  const std::size_t line_bytes = (std::size_t{piece_width} * in_piece * numbers.bits + 7) / 8;
  if (line_bytes * piece_height > piece.size())
    ThrowUnsupportedTiff("its pieces are smaller than their pixels");
  std::vector<std::byte> widened(
      numbers.packed ? std::size_t{piece_width} * in_piece * numbers.number.bytes : 0);

  ValuePicture picture = NewValues(width_, height_, numbers.samples, numbers.type, max_pixels);
  picture.orientation = orientation_;
  picture.no_data = NoDataIn(tiff, numbers.type);
  picture.geo = GeoTags(tiff);
  if (picture.no_data) FillWith(BitsOf(numbers.type, *picture.no_data), picture);
  const std::uint64_t pieces =
      std::uint64_t{across} * down * (numbers.planes ? numbers.samples : 1);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    const std::size_t plane = i / (std::uint64_t{across} * down);
    const std::uint32_t left = static_cast<std::uint32_t>(i % across) * piece_width;
    const std::uint32_t top = static_cast<std::uint32_t>(i / across % down) * piece_height;
    if (TIFFGetStrileByteCount(tiff, number) == 0) {
      if (TIFFGetStrileOffset(tiff, number) != 0) ThrowBroken();
      continue;  // a sparse file: no data
    }
    const auto wanted = static_cast<tmsize_t>(piece.size());
    const tmsize_t got = tiled ? TIFFReadEncodedTile(tiff, number, piece.data(), wanted)
                               : TIFFReadEncodedStrip(tiff, number, piece.data(), wanted);
    if (got < 0 || stream_.trouble[0] != 0) ThrowBroken();
    const std::size_t columns = std::min(piece_width, width_ - left);
    const std::uint32_t rows = std::min(piece_height, height_ - top);
    for (std::uint32_t y = 0; y < rows; ++y) {
      const std::uint8_t* const line = &piece[y * line_bytes];
      const std::size_t pixel = (std::size_t{top} + y) * width_ + left;
      std::uint8_t* const out =
          &picture.pixels[(pixel * numbers.samples + plane) * picture.value_bytes];
      const auto* from = reinterpret_cast<const std::byte*>(line);
      if (numbers.packed) {
        Widen(line, std::size_t{piece_width} * in_piece, numbers.bits, widened);
        from = widened.data();
      }
      StoreNumbers(from, columns * in_piece, numbers.number, out,
                   numbers.planes ? numbers.samples : 1);
    }
  }
  return picture;
}

}  // namespace

ValuePicture TiffValues(Bytes file, std::uint64_t max_pixels) {
  return TiffSource(file, true).Values(max_pixels);
}

std::unique_ptr<PixelSource> OpenTiff(Bytes file, bool) {
  return std::make_unique<TiffSource>(file);
}

std::string TiffVersion() {
  const char* const text = TIFFGetVersion();  // "LIBTIFF, Version 4.5.0", then a copyright
  return std::string(text, std::strcspn(text, "\n"));
}

}  // namespace sluice
