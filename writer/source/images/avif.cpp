// AVIF, by libavif. From an image sequence, the first image is used.
//
// The file's own properties say how to crop, rotate and mirror the picture, and the orientation is
// taken from them. Exif and XMP repeat it for programs that do not read these properties, and are
// ignored (ISO/IEC 23008-12, 6.5.10 and Annex A).
//
// The file is parsed twice. libavif refuses to decode more pixels than a limit that must be set
// before it parses the header. So the first pass, with libavif's default limit, finds the size; the
// second has a limit in proportion to that size.
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
  // Parses the file; libavif then refuses to decode more than `most_pixels`.
  void Parse(std::uint32_t most_pixels);
  void FindCrop();
  [[noreturn]] void ThrowFor(int result) const;

  Bytes file_;
  std::unique_ptr<avifDecoder, void (*)(avifDecoder*)> decoder_;
  std::uint32_t left_ = 0, top_ = 0;  // the crop's top left corner in the decoded image
};

constexpr const char* kBrokenAvif = "broken AVIF";

// libavif may have to decode more pixels than the picture has: the stream may be padded, or be a
// grid of tiles that extend beyond the picture's edges.
constexpr std::uint64_t kMaxExtraPixels = 1 << 20;
constexpr std::uint64_t kMaxPixelFactor = 4;

// libavif before 1.0 ends the process if an allocation fails, so RoomToDecode looks for the memory
// first. The bytes are a generous bound, not a measurement. Planes of the picture and its opacity
// (4 values per pixel without subsampling), the decoder's own copies of them, and the RGBA that
// they are converted to take 12 to 16 bytes per pixel, and kAvifBytesBesides is for what does not
// depend on the size. Pictures of more than 8 bits take double.
constexpr std::size_t kAvifBytesEach = 24;
constexpr std::size_t kAvifBytesBesides = 8 << 20;

// The file's rotation and mirroring as one Orientation: rotate first, then mirror.
Orientation TurnOf(const avifImage& image) noexcept {
  // The numbers are values of Exif's tag. Rotated anti-clockwise by 0, 1, 2 or 3 quarter turns: 1,
  // 8, 3, 6. Then mirrored from top to bottom: 4, 5, 2, 7; or from left to right: 2, 7, 4, 5.
  constexpr unsigned kTurned[4] = {1, 8, 3, 6};
  constexpr unsigned kTopToBottom[4] = {4, 5, 2, 7};
  constexpr unsigned kLeftToRight[4] = {2, 7, 4, 5};
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
  return OrientationOf(left_to_right ? kLeftToRight[turns] : kTopToBottom[turns]);
}

// Whether the file's colour numbers (CICP) describe other colours than sRGB.
bool HasOtherColours(const avifImage& image) noexcept {
  // 0: unknown, 1: BT.709 (as sRGB), 2: unspecified.
  const bool usual_primaries = image.colorPrimaries <= AVIF_COLOR_PRIMARIES_UNSPECIFIED;
  switch (image.transferCharacteristics) {
    case AVIF_TRANSFER_CHARACTERISTICS_UNKNOWN:
    case AVIF_TRANSFER_CHARACTERISTICS_BT709:
    case AVIF_TRANSFER_CHARACTERISTICS_UNSPECIFIED:
    case AVIF_TRANSFER_CHARACTERISTICS_BT601:
    case AVIF_TRANSFER_CHARACTERISTICS_SRGB: return !usual_primaries;
    default: return true;
  }
}

AvifSource::AvifSource(Bytes file)
    : file_(WithoutManyZeros(file)), decoder_(nullptr, &avifDecoderDestroy) {
  RequireFewItems(file_, "AVIF");
  const RoomToDecode room(file_.size() + kAvifBytesBesides);
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
  // Not strict: other programs also read files that lack a 'pixi' box or whose crop does not fit.
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
    return;  // the standard says to ignore such a crop
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
  // The limit of a decoder cannot be changed, so the file is parsed by a new one.
  const std::uint64_t pixels = std::uint64_t{decoder_->image->width} * decoder_->image->height;
  const RoomToDecode room(file_.size() + kAvifBytesBesides +
                          pixels * (decoder_->image->depth > 8 ? 2 : 1) * kAvifBytesEach);
  Parse(static_cast<std::uint32_t>(std::min<std::uint64_t>(
      pixels * kMaxPixelFactor + kMaxExtraPixels, AVIF_DEFAULT_IMAGE_SIZE_LIMIT)));
  // libavif decodes the picture completely or not at all, so a file that ends early is always
  // refused, whatever ConvertOptions::form.truncated says.
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
  rgb.avoidLibYUV = AVIF_TRUE;  // libyuv rounds differently on different processors
  const std::size_t value_bytes = rgb.depth / 8;
  // 4 values for each pixel, of `value_bytes` each; as uint16_t so that they are aligned.
  std::vector<std::uint16_t> pixels_read(std::size_t{image.width} * image.height * 4 * value_bytes /
                                         sizeof(std::uint16_t));
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
    std::uint8_t* const out = picture.Line(y);
    if (value_bytes == 1) {
      StoreRgbaLine(row, width_, picture.channels, rules, out);
    } else {
      StoreRgbaLine(reinterpret_cast<const std::uint16_t*>(row), width_, picture.channels, rules,
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
