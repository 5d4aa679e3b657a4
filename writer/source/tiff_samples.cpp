#include "writer/source/tiff_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include <tiffio.h>

#include <sluice/error.h>

namespace sluice {

namespace {

// What a resampling filter's ringing may add to values from 0 to 1.
constexpr double kOvershoot = 0.25;

std::uint16_t TagOf(TIFF* file, std::uint32_t tag) noexcept {
  std::uint16_t value = 0;
  TIFFGetFieldDefaulted(file, tag, &value);
  return value;
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

// IEEE 754's binary16.
double HalfOf(std::uint16_t bits) noexcept {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double value = exponent == 0    ? std::ldexp(fraction, -24)
                 : exponent == 31 ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                   : std::numeric_limits<double>::quiet_NaN())
                                  : std::ldexp(1024 + fraction, exponent - 25);
  return (bits >> 15) != 0 ? -value : value;
}

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
      if (planes_ && plane >= colours_ && plane != opacity_) continue;
      const auto number = static_cast<std::uint32_t>(i);
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
    return bits_ == 16   ? HalfOf(Loaded<std::uint16_t>(at))
           : bits_ == 32 ? static_cast<double>(Loaded<float>(at))
                         : Loaded<double>(at);
  }

  std::uint16_t ValueAt(const std::uint8_t* at) noexcept {
    if (format_ == SAMPLEFORMAT_IEEEFP) {
      const double value = Float(at);
      if (std::isnan(value)) {
        numbers_ = false;
        return 0;
      }
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
      return static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0, 1.0) * 65'535));
    }
    switch (bits_) {
      case 8: return static_cast<std::uint16_t>(*at * 257);
      case 16: return Loaded<std::uint16_t>(at);
      default: {
        const std::uint64_t value = Loaded<std::uint32_t>(at);
        return static_cast<std::uint16_t>((value * 65'535 + UINT32_MAX / 2) / UINT32_MAX);
      }
    }
  }

  // Puts the piece at that place of the picture.
  void Spread(std::uint32_t plane, std::uint32_t left, std::uint32_t top,
              std::vector<std::uint16_t>& values) {
    const std::size_t bytes = bits_ / 8;
    const std::size_t step = bytes * (planes_ ? 1 : samples_);
    const std::uint32_t columns = std::min(piece_width_, width_ - left);
    const std::uint32_t rows = std::min(piece_height_, height_ - top);
    for (std::uint32_t y = 0; y < rows; ++y) {
      for (std::uint32_t x = 0; x < columns; ++x) {
        const std::size_t at = (std::size_t{y} * piece_width_ + x) * step;
        if (at + step > piece_.size()) return;
        std::uint16_t* const pixel = &values[((std::size_t{top} + y) * width_ + left + x) * 4];
        for (std::uint32_t c = planes_ ? plane : 0; c < (planes_ ? plane + 1 : colours_); ++c)
          Put(c, ValueAt(&piece_[at + (planes_ ? 0 : c * bytes)]), pixel);
        if (!planes_ && opacity_ != 0)
          Put(opacity_, ValueAt(&piece_[at + opacity_ * bytes]), pixel);
      }
    }
  }

  void Put(std::uint32_t sample, std::uint16_t value, std::uint16_t* pixel) const noexcept {
    if (opacity_ != 0 && sample == opacity_) {
      pixel[3] = value;
    } else if (colours_ == 1) {
      std::fill_n(pixel, 3, inverted_ ? static_cast<std::uint16_t>(65'535 - value) : value);
    } else {
      pixel[sample] = value;
    }
  }

  // Numbers of another range are no brightness that is known here.
  void CheckRange() const {
    if (!numbers_) ThrowUnsupportedTiff("some of its values are no numbers (NaN)");
    if (least_ >= -kOvershoot && most_ <= 1 + kOvershoot) return;
    std::array<char, 100> text{};
    std::snprintf(text.data(), text.size(), "its values go from %.4g to %.4g, and not from 0 to 1",
                  least_, most_);
    ThrowUnsupportedTiff(text.data());
  }

  TIFF* file_;
  std::uint32_t width_ = 0, height_ = 0;
  std::uint32_t bits_ = 0, samples_ = 0, colours_ = 0, format_ = 0;
  std::uint32_t opacity_ = 0;  // the sample; 0: there is none
  bool premultiplied_ = false;
  bool planes_ = false;
  bool inks_ = false;
  bool inverted_ = false;
  std::uint32_t piece_width_ = 0, piece_height_ = 0;
  std::vector<std::uint8_t> piece_;
  double least_ = 0, most_ = 0;  // of floating-point values
  bool numbers_ = true;
};

}  // namespace

bool HasInks(tiff* file) noexcept {
  return TagOf(file, TIFFTAG_PHOTOMETRIC) == PHOTOMETRIC_SEPARATED &&
         TagOf(file, TIFFTAG_INKSET) == INKSET_CMYK && TagOf(file, TIFFTAG_SAMPLESPERPIXEL) >= 4;
}

bool IsForSamples(tiff* file) noexcept {
  const std::uint16_t bits = TagOf(file, TIFFTAG_BITSPERSAMPLE);
  const bool floats = TagOf(file, TIFFTAG_SAMPLEFORMAT) == SAMPLEFORMAT_IEEEFP;
  if (HasInks(file) && bits == 8) return true;
  // libtiff gives grey without its opacity multiplied in, and colours with it.
  const std::uint16_t photometric = TagOf(file, TIFFTAG_PHOTOMETRIC);
  const bool grey = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
  if (grey && bits == 8 && TagOf(file, TIFFTAG_SAMPLESPERPIXEL) == 2) return true;
  if (bits != 16 && bits != 32 && !(floats && bits == 64)) return false;
  return grey || photometric == PHOTOMETRIC_RGB || HasInks(file);
}

TiffSamples ReadTiffSamples(tiff* file) {
  return TiffSampleReader(file).Read();
}

}  // namespace sluice
