// JPEG XL, bare or in a container, by libjxl. From an animation, the first frame is used.
//
// libjxl itself converts the colours of lossy pictures to sRGB; lossless pictures come with a
// profile. Versions before 0.11 end the process when they run out of memory, so this source checks
// first whether there is enough.
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#include <jxl/decode.h>

#include <sluice/error.h>

#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

class JxlSource : public PixelSource {
 public:
  explicit JxlSource(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  void ReadColours();
  [[noreturn]] static void ThrowBroken();

  std::unique_ptr<JxlDecoderStruct, void (*)(JxlDecoderStruct*)> decoder_;
  std::vector<std::byte> profile_;
  std::uint32_t extra_channels_ = 0;  // opacity, and others that are ignored
  bool opaque_ = true;
};

constexpr const char* kBrokenJxl = "broken JPEG XL";
// libjxl keeps a whole plane for each extra channel. Four are allowed: opacity, depth, and two
// more.
constexpr std::uint32_t kMaxExtraChannels = 4;

JxlColorEncoding Srgb(bool grey) noexcept {
  JxlColorEncoding srgb{};
  srgb.color_space = grey ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB;
  srgb.white_point = JXL_WHITE_POINT_D65;
  srgb.primaries = JXL_PRIMARIES_SRGB;
  srgb.transfer_function = JXL_TRANSFER_FUNCTION_SRGB;
  srgb.rendering_intent = JXL_RENDERING_INTENT_PERCEPTUAL;
  return srgb;
}

// Calls a function of libjxl that asks for the colours of the pixels. libjxl 0.9 removed one of its
// parameters, which was not used.
template <class Function, class... Rest>
bool Ask(Function function, JxlDecoder* decoder, Rest... rest) {
  constexpr auto kPixels = JXL_COLOR_PROFILE_TARGET_DATA;
  if constexpr (std::is_invocable_v<Function, JxlDecoder*, decltype(kPixels), Rest...>) {
    return function(decoder, kPixels, rest...) == JXL_DEC_SUCCESS;
  } else {
    return function(decoder, nullptr, kPixels, rest...) == JXL_DEC_SUCCESS;
  }
}

// Before version 0.11, libjxl ends the process (JXL_CHECK, JXL_ASSERT) if it cannot allocate a
// plane of pixels or what it needs for headers. So RoomToDecode looks for the memory first.
// Measured with version 0.7, in bytes per pixel: lossy pictures took 3 to 7, lossless and squeezed
// ones 12 to 19, with opacity 26 to 41. Small pictures took up to 8 MB more. Frames that are
// blended over others take more, which is not counted.
constexpr std::size_t kBytesEach = 20;
constexpr std::size_t kBytesEachExtra = 22;
constexpr std::size_t kBytesBesides = 16 << 20;

std::optional<RoomToDecode> RoomFor(std::size_t bytes) {
  if (JxlDecoderVersion() >= 11'000) return std::nullopt;
  return std::optional<RoomToDecode>(std::in_place, bytes + kBytesBesides);
}

JxlSource::JxlSource(Bytes file) : decoder_(nullptr, &JxlDecoderDestroy) {
  const auto room = RoomFor(0);  // also for the decoder itself
  decoder_.reset(JxlDecoderCreate(nullptr));
  if (!decoder_) throw std::bad_alloc();
  JxlDecoder* const decoder = decoder_.get();
  file = WithoutManyZeros(file);
  JxlDecoderSubscribeEvents(decoder,
                            JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE);
  JxlDecoderSetKeepOrientation(decoder, JXL_TRUE);
  JxlDecoderSetUnpremultiplyAlpha(decoder, JXL_TRUE);
  JxlDecoderSetInput(decoder, reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  for (const JxlDecoderStatus awaited : {JXL_DEC_BASIC_INFO, JXL_DEC_COLOR_ENCODING}) {
    const JxlDecoderStatus status = JxlDecoderProcessInput(decoder);
    if (status == JXL_DEC_NEED_MORE_INPUT) throw CutShort(kBrokenJxl, "it ends in its header");
    if (status != awaited) ThrowBroken();
    if (status == JXL_DEC_COLOR_ENCODING) break;
    JxlBasicInfo info{};
    if (JxlDecoderGetBasicInfo(decoder, &info) != JXL_DEC_SUCCESS) ThrowBroken();
    width_ = info.xsize;
    height_ = info.ysize;
    grey_ = info.num_color_channels == 1;
    opaque_ = info.alpha_bits == 0;
    deep_ = info.bits_per_sample > 8;
    orientation_ = OrientationOf(static_cast<unsigned>(info.orientation));
    if (info.num_extra_channels > kMaxExtraChannels) {
      throw Error(ErrorCode::kUnsupported, "unsupported JPEG XL: it has " +
                                               std::to_string(info.num_extra_channels) +
                                               " channels besides its colours");
    }
    extra_channels_ = info.num_extra_channels;
    for (std::uint32_t i = 0; i < extra_channels_; ++i) {
      JxlExtraChannelInfo extra{};
      if (JxlDecoderGetExtraChannelInfo(decoder, i, &extra) == JXL_DEC_SUCCESS &&
          extra.type == JXL_CHANNEL_BLACK) {
        throw Error(ErrorCode::kUnsupported, "unsupported JPEG XL: its colours are inks (CMYK)");
      }
    }
  }
  ReadColours();
}

void JxlSource::ThrowBroken() {
  throw Error(ErrorCode::kCorrupt, std::string(kBrokenJxl) + ": libjxl cannot decode it");
}

// libjxl itself converts the colours of a lossy picture to sRGB.
void JxlSource::ReadColours() {
  const JxlColorEncoding srgb = Srgb(grey_);
  JxlDecoderSetPreferredColorProfile(decoder_.get(), &srgb);
  JxlColorEncoding colours{};
  if (Ask(JxlDecoderGetColorAsEncodedProfile, decoder_.get(), &colours)) {
    has_profile_ = colours.color_space != srgb.color_space ||
                   colours.white_point != srgb.white_point ||
                   (!grey_ && colours.primaries != srgb.primaries) ||
                   colours.transfer_function != srgb.transfer_function;
    if (!has_profile_) return;
  }
  has_profile_ = true;
  std::size_t size = 0;
  if (!Ask(JxlDecoderGetICCProfileSize, decoder_.get(), &size)) return;
  profile_.resize(size);
  if (!Ask(JxlDecoderGetColorAsICCProfile, decoder_.get(),
           reinterpret_cast<std::uint8_t*>(profile_.data()), size)) {
    profile_.clear();
  }
}

Bytes JxlSource::Profile() {
  return profile_;
}

Picture JxlSource::Decode(const ColorRules& rules) {
  JxlDecoder* const decoder = decoder_.get();
  const JxlPixelFormat format{4, deep_ ? JXL_TYPE_UINT16 : JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  const std::size_t values = std::size_t{width_} * height_ * 4;
  std::vector<std::uint8_t> shallow(deep_ ? 0 : values);
  std::vector<std::uint16_t> deep(deep_ ? values : 0);
  const auto room =
      RoomFor(std::size_t{width_} * height_ * (kBytesEach + extra_channels_ * kBytesEachExtra));
  for (bool done = false; !done;) {
    switch (JxlDecoderProcessInput(decoder)) {
      case JXL_DEC_NEED_IMAGE_OUT_BUFFER: {
        void* const out = deep_ ? static_cast<void*>(deep.data()) : shallow.data();
        if (JxlDecoderSetImageOutBuffer(decoder, &format, out, values * (deep_ ? 2 : 1)) !=
            JXL_DEC_SUCCESS) {
          ThrowBroken();
        }
        break;
      }
      case JXL_DEC_FULL_IMAGE: done = true; break;
      case JXL_DEC_NEED_MORE_INPUT:
        EndsEarly(kBrokenJxl, "its pixels end early");
        JxlDecoderFlushImage(decoder);  // the pixels decoded so far, possibly none
        done = true;
        break;
      default: ThrowBroken();
    }
  }
  Picture picture = MakePicture(PictureChannels(grey_, opaque_, rules));
  for (std::size_t y = 0; y < height_; ++y) {
    const std::size_t at = y * width_ * 4;
    std::uint8_t* const out = picture.Line(y);
    if (deep_)
      StoreRgbaLine(&deep[at], width_, picture.channels, rules, out);
    else
      StoreRgbaLine(&shallow[at], width_, picture.channels, rules, out);
  }
  return picture;
}

}  // namespace

std::unique_ptr<PixelSource> OpenJxl(Bytes file, bool) {
  return std::make_unique<JxlSource>(file);
}

std::string JxlVersion() {
  return std::to_string(JxlDecoderVersion());
}

}  // namespace sluice
