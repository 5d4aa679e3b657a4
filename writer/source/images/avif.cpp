// AVIF, by libavif; of a sequence, the first picture.
//
// The file says how its picture is to be cropped, rotated and mirrored. That is the orientation;
// Exif's and XMP's are copies for other programs and are passed over (ISO/IEC 23008-12, 6.5.10 and
// Annex A). libavif bounds the pixels that it decodes by a number set before it reads the header,
// so the file is parsed twice: once for its size, and once with a limit in proportion to that size.
#include <algorithm>
#include <memory>

#include <avif/avif.h>

#include <sluice/error.h>

#include "writer/source/images/iso_boxes.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

class AvifSource : public PixelSource {
 public:
  explicit AvifSource(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  // `most_pixels`: of what is decoded.
  void Parse(std::uint32_t most_pixels);
  void FindCrop();
  [[noreturn]] void ThrowFor(int result) const;

  Bytes file_;
  std::unique_ptr<avifDecoder, void (*)(avifDecoder*)> decoder_;
  std::uint32_t left_ = 0, top_ = 0;  // of the picture in what is decoded
};

constexpr const char* kBrokenAvif = "broken AVIF";

// A stream may be larger than its picture: padded, or a grid of tiles that reach over its edges.
constexpr std::uint64_t kMaxPixelsBesides = 1 << 20;
constexpr std::uint64_t kMaxTimesThePixels = 4;

// The orientation that turns as much as the file says: first its rotation, then its mirroring.
Orientation TurnOf(const avifImage& image) noexcept {
  // Anti-clockwise quarter turns, as Exif's 1, 8, 3, 6; mirrored from top to bottom: 4, 5, 2, 7;
  // from left to right: 2, 7, 4, 5.
  constexpr unsigned kTurned[4] = {1, 8, 3, 6};
  constexpr unsigned kTopToBottom[4] = {4, 5, 2, 7};
  const unsigned turns =
      (image.transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image.irot.angle & 3U : 0;
  if ((image.transformFlags & AVIF_TRANSFORM_IMIR) == 0) {
    return OrientationOf(kTurned[turns]);
  }
#if AVIF_VERSION >= 1000000
  const bool left_to_right = image.imir.axis == 1;
#else
  const bool left_to_right = image.imir.mode == 1;
#endif
  return OrientationOf(kTopToBottom[left_to_right ? turns ^ 2 : turns]);
}

// Colours that are not sRGB's, and are not described by an ICC profile.
bool HasOtherColours(const avifImage& image) noexcept {
  const bool primaries = image.colorPrimaries <= AVIF_COLOR_PRIMARIES_UNSPECIFIED;
  switch (image.transferCharacteristics) {
    case AVIF_TRANSFER_CHARACTERISTICS_UNKNOWN:
    case AVIF_TRANSFER_CHARACTERISTICS_BT709:
    case AVIF_TRANSFER_CHARACTERISTICS_UNSPECIFIED:
    case AVIF_TRANSFER_CHARACTERISTICS_BT601:
    case AVIF_TRANSFER_CHARACTERISTICS_SRGB: return !primaries;
    default: return true;
  }
}

AvifSource::AvifSource(Bytes file)
    : file_(WithoutManyZeros(file)), decoder_(nullptr, &avifDecoderDestroy) {
  RequireFewItems(file_, "AVIF");
  Parse(AVIF_DEFAULT_IMAGE_SIZE_LIMIT);
  const avifImage& image = *decoder_->image;
  width_ = image.width;
  height_ = image.height;
  grey_ = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
  has_profile_ = image.icc.size > 0 || HasOtherColours(image);
  orientation_ = TurnOf(image);
  FindCrop();
}

void AvifSource::ThrowFor(int result) const {
  switch (result) {
    case AVIF_RESULT_OUT_OF_MEMORY: throw std::bad_alloc();
    case AVIF_RESULT_TRUNCATED_DATA: throw CutShort(kBrokenAvif, "its pixels end early");
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
      throw Error(ErrorCode::kUnsupported, std::string("unsupported AVIF: ") +
                                               avifResultToString(static_cast<avifResult>(result)));
    default:
      if (std::string_view(decoder_->diag.error).find("truncated") != std::string_view::npos) {
        throw CutShort(kBrokenAvif, "its pixels end early");
      }
      throw Error(
          ErrorCode::kCorrupt,
          std::string(kBrokenAvif) + ": " +
              (decoder_->diag.error[0] != 0 ? decoder_->diag.error
                                            : avifResultToString(static_cast<avifResult>(result))));
  }
}

void AvifSource::Parse(std::uint32_t most_pixels) {
  decoder_.reset(avifDecoderCreate());
  if (!decoder_) throw std::bad_alloc();
  decoder_->ignoreExif = decoder_->ignoreXMP = AVIF_TRUE;
  decoder_->imageSizeLimit = most_pixels;
  // Files without a 'pixi', and croppings that do not fit, are read by everything else, too.
  decoder_->strictFlags = AVIF_STRICT_DISABLED;
  avifResult result = avifDecoderSetIOMemory(
      decoder_.get(), reinterpret_cast<const std::uint8_t*>(file_.data()), file_.size());
  if (result == AVIF_RESULT_OK) result = avifDecoderParse(decoder_.get());
  if (result != AVIF_RESULT_OK) ThrowFor(result);
}

void AvifSource::FindCrop() {
  const avifImage& image = *decoder_->image;
  if ((image.transformFlags & AVIF_TRANSFORM_CLAP) == 0) return;
  avifCropRect crop{};
  avifDiagnostics trouble{};
  if (avifCropRectConvertCleanApertureBox(&crop, &image.clap, image.width, image.height,
                                          image.yuvFormat, &trouble) == AVIF_FALSE) {
    return;  // to be passed over, says the standard
  }
  left_ = crop.x;
  top_ = crop.y;
  width_ = crop.width;
  height_ = crop.height;
}

Bytes AvifSource::Profile() {
  const avifRWData& icc = decoder_->image->icc;
  return {reinterpret_cast<const std::byte*>(icc.data), icc.size};
}

Picture AvifSource::Decode(const ColorRules& rules) {
  // A decoder's limit is the one that it was made with.
  const std::uint64_t pixels = std::uint64_t{decoder_->image->width} * decoder_->image->height;
  Parse(static_cast<std::uint32_t>(std::min<std::uint64_t>(
      pixels * kMaxTimesThePixels + kMaxPixelsBesides, AVIF_DEFAULT_IMAGE_SIZE_LIMIT)));
  // Nothing comes of a part of a picture, so one that ends early is refused in any case.
  const avifResult result = avifDecoderNextImage(decoder_.get());
  if (result != AVIF_RESULT_OK) ThrowFor(result);
  const avifImage& image = *decoder_->image;
  if (std::uint64_t{image.width} * image.height != pixels) {
    throw Error(ErrorCode::kCorrupt, std::string(kBrokenAvif) + ": its pictures differ in size");
  }
  avifRGBImage rgb{};
  avifRGBImageSetDefaults(&rgb, &image);
  rgb.format = AVIF_RGB_FORMAT_RGBA;
  deep_ = image.depth > 8;
  rgb.depth = deep_ ? 16 : 8;
  rgb.avoidLibYUV = AVIF_TRUE;  // which rounds differently on different processors
  const std::size_t value_bytes = rgb.depth / 8;
  std::vector<std::uint16_t> pixels_read(std::size_t{image.width} * image.height * 2 * value_bytes);
  rgb.pixels = reinterpret_cast<std::uint8_t*>(pixels_read.data());
  rgb.rowBytes = static_cast<std::uint32_t>(image.width * 4 * value_bytes);
  if (const avifResult made = avifImageYUVToRGB(&image, &rgb); made != AVIF_RESULT_OK) {
    ThrowFor(made);
  }
  const bool opaque = decoder_->alphaPresent == AVIF_FALSE;
  Picture picture = MakePicture(PictureChannels(grey_, opaque, rules));
  for (std::size_t y = 0; y < height_; ++y) {
    const std::uint8_t* const row =
        rgb.pixels + (y + top_) * rgb.rowBytes + left_ * 4 * value_bytes;
    std::uint8_t* const out = picture.Row(y);
    if (value_bytes == 1) {
      StoreRgbaRow(row, width_, picture.channels, rules, out);
    } else {
      StoreRgbaRow(reinterpret_cast<const std::uint16_t*>(row), width_, picture.channels, rules,
                   out);
    }
  }
  return picture;
}

}  // namespace

std::unique_ptr<PixelSource> OpenAvif(Bytes file, bool) {
  return std::make_unique<AvifSource>(file);
}

std::string AvifVersion() {
  return avifVersion();
}

}  // namespace sluice
