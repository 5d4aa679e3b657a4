// PixelSource, which decodes an image file of one kind; the Picture that it decodes; and the error
// of a file that is cut short.
//
// Every kind has a subclass in a source file of its own, except JPEG: JPEG can be decoded at a
// reduced size and has its own class (jpeg.h). Code outside this folder opens files by
// image_kinds.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "writer/source/images/color_lines.h"
#include "writer/source/images/icc.h"
#include "writer/source/images/orientation.h"

namespace sluice {

// A decoded picture: 8-bit values, rows without padding.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;  // 1: grey, 3: RGB, interleaved
  std::vector<std::uint8_t> pixels;
  bool ycc420 = false;  // if true, `pixels` has three planes instead: see Ycc420Values()

  std::uint8_t* Line(std::size_t y) noexcept { return pixels.data() + y * width * channels; }
};

// A picture of zeros.
inline Picture NewPicture(std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
  return {width, height, channels,
          std::vector<std::uint8_t>(std::size_t{width} * height * channels)};
}

// The error of a file whose data ends before its picture does, as after a broken download. It is a
// class of its own because callers may accept the part of the picture that exists
// (ConvertOptions::form.truncated).
class CutShort : public Error {
 public:
  // `what` is, for example, "broken PNG".
  CutShort(const std::string& what, const std::string& how)
      : Error(ErrorCode::kCorrupt, what + ": it is cut short: " + how) {}
};

// The file without the zeros at its end, which a broken download leaves. For formats that never end
// in a zero byte.
inline Bytes WithoutZeros(Bytes file) noexcept {
  std::size_t size = file.size();
  while (size > 0 && file[size - 1] == std::byte{0})
    --size;
  return file.first(size);
}

// The same, but only if there are so many zeros that a broken download is the likely cause. For
// formats that may end with a few.
inline Bytes WithoutManyZeros(Bytes file) noexcept {
  constexpr std::size_t kMany = 512;
  const Bytes data = WithoutZeros(file);
  return file.size() - data.size() < kMany ? file : data;
}

// The constructor reads the file's header and allocates no memory for pixels. Decodes one picture;
// not thread-safe. The file must outlive the source. Every function throws an Error whose
// sentence() says what is wrong with the file, without naming it.
class PixelSource {
 public:
  virtual ~PixelSource() = default;
  PixelSource(const PixelSource&) = delete;
  PixelSource& operator=(const PixelSource&) = delete;

  std::uint32_t width() const noexcept { return width_; }
  std::uint32_t height() const noexcept { return height_; }
  // Whether the file has only grey values.
  bool grey() const noexcept { return grey_; }
  // Which values of a pixel an embedded profile describes.
  virtual ProfileColors colors() const noexcept {
    return grey_ ? ProfileColors::kGrey : ProfileColors::kRgb;
  }

  // Whether the file embeds an ICC profile for its colours.
  bool has_profile() const noexcept { return has_profile_; }
  // That profile; empty if it is broken, or if it was not requested when the file was opened.
  virtual Bytes Profile() { return {}; }
  // Call it before Decode() to accept a picture that ends early: Decode() then returns the part
  // that exists instead of throwing CutShort. Missing pixels are black, or transparent if the kind
  // allows it.
  void TakeCutShort() noexcept { takes_cut_short_ = true; }
  // Says what is missing; empty if nothing is. Valid after Decode().
  const std::string& cut_short() const noexcept { return cut_short_; }

  // The pixels as stored, with PictureChannels() channels. Call it once.
  virtual Picture Decode(const ColorRules& rules) = 0;
  // Valid after Decode(); of all kinds but PNG, also before.
  Orientation orientation() const noexcept { return orientation_; }
  // Whether the file's values have more than 8 bits. Valid after Decode().
  bool deep() const noexcept { return deep_; }
  // Whether the file has channels that are neither colours nor opacity. Valid after Decode().
  bool drops_channels() const noexcept { return drops_channels_; }

 protected:
  PixelSource() = default;

  // Throws CutShort, unless TakeCutShort() was called.
  void EndsEarly(const char* what, const std::string& how) {
    if (!takes_cut_short_) throw CutShort(what, how);
    cut_short_ = how;
  }
  Picture MakePicture(std::uint32_t channels) const {
    return NewPicture(width_, height_, channels);
  }

  std::uint32_t width_ = 0;
  std::uint32_t height_ = 0;
  bool grey_ = false;
  bool deep_ = false;
  bool drops_channels_ = false;
  bool has_profile_ = false;
  Orientation orientation_;

 private:
  bool takes_cut_short_ = false;
  std::string cut_short_;
};

// Checks that the memory for decoding a picture can be allocated. Some libraries end the process,
// or wait forever, if an allocation fails while they decode.
//
// Create one before decoding, with the most memory that it may take, and keep it until the picture
// is decoded. The memory of all such objects is added up, although some pictures may already have
// allocated theirs: the estimate may be too high, but must not be too low.
class RoomToDecode {
 public:
  // Throws std::bad_alloc if the memory is not there.
  explicit RoomToDecode(std::size_t bytes);
  ~RoomToDecode();
  RoomToDecode(const RoomToDecode&) = delete;
  RoomToDecode& operator=(const RoomToDecode&) = delete;

 private:
  const std::size_t bytes_;
};

// Each kind's source file defines a function that opens a file, and, if a library decodes it, one
// that gives the library's version. image_kinds.cpp lists them all. A build may lack the kinds that
// need a library.
std::unique_ptr<PixelSource> OpenAvif(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenBmp(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenGif(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenHeif(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenJp2(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenJxl(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenPng(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenPnm(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenTga(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenTiff(Bytes file, bool with_profile);
std::unique_ptr<PixelSource> OpenWebp(Bytes file, bool with_profile);
std::string AvifVersion();
std::string GifVersion();
std::string HeifVersion();
std::string Jp2Version();
std::string JxlVersion();
std::string TiffVersion();
std::string WebpVersion();

}  // namespace sluice
