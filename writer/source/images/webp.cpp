// WebP, lossy or lossless, by libwebp. From an animation, the first frame on its canvas is used.
// The frame may be smaller than the canvas. libwebp decodes it straight to its place there; the
// canvas around it is transparent, so only a frame that covers it may be decoded without opacity.
// Bytes after the end that the RIFF header states are ignored.
// If the file ends early, EndsEarly() throws, or returns if the caller accepts such pictures. Then
// DecodePart() decodes the part that exists, into the same canvas.
#include <algorithm>
#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

#include <sluice/error.h>

#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

class WebpSource : public PixelSource {
 public:
  explicit WebpSource(Bytes file);

  Bytes Profile() override { return profile_; }
  Picture Decode(const ColorRules& rules) override;

 private:
  // The content of the chunk with that name; empty without such a chunk.
  Bytes Chunk(const char* name) const;

  std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer*)> demuxer_;
  Bytes profile_;
  bool ends_early_ = false;  // chunks are missing
};

constexpr const char* kBrokenWebp = "broken WebP";
constexpr const char* kEndsEarly = "its pixels end early";

[[noreturn]] void ThrowBrokenWebp(const char* what) {
  throw Error(ErrorCode::kCorrupt, std::string(kBrokenWebp) + ": " + what);
}

// The file without anything that follows its content.
Bytes ContentOf(Bytes file) {
  constexpr std::size_t kRiffHeader = 8;
  if (file.size() < kRiffHeader) return file;
  const std::uint64_t end = kRiffHeader + std::uint64_t{LoadAt<std::uint32_t>(file, 4)};
  return WithoutManyZeros(
      file.first(static_cast<std::size_t>(std::min<std::uint64_t>(end, file.size()))));
}

const char* SentenceOf(VP8StatusCode status) noexcept {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "there is not enough memory for it";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "it has a feature that libwebp does not know";
    default: return "its pixels are damaged";
  }
}

// Decodes the existing part of a picture that ends early.
VP8StatusCode DecodePart(const WebPIterator& frame, WebPDecoderConfig& config) {
  const std::unique_ptr<WebPIDecoder, void (*)(WebPIDecoder*)> decoder(
      WebPIDecode(nullptr, 0, &config), &WebPIDelete);
  if (!decoder) return VP8_STATUS_OUT_OF_MEMORY;
  const VP8StatusCode status =
      WebPIAppend(decoder.get(), frame.fragment.bytes, frame.fragment.size);
  return status == VP8_STATUS_SUSPENDED ? VP8_STATUS_OK : status;
}

struct Frame {
  WebPIterator it{};
  ~Frame() { WebPDemuxReleaseIterator(&it); }
};

WebpSource::WebpSource(Bytes file) : demuxer_(nullptr, &WebPDemuxDelete) {
  file = ContentOf(file);
  const WebPData data{reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  demuxer_.reset(WebPDemuxPartial(&data, &state));
  if (state == WEBP_DEMUX_PARSING_HEADER) EndsEarly(kBrokenWebp, "it ends in its header");
  if (!demuxer_ || state == WEBP_DEMUX_PARSE_ERROR) ThrowBrokenWebp("its chunks are damaged");
  ends_early_ = state != WEBP_DEMUX_DONE;
  width_ = WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_WIDTH);
  height_ = WebPDemuxGetI(demuxer_.get(), WEBP_FF_CANVAS_HEIGHT);
  profile_ = Chunk("ICCP");
  has_profile_ = !profile_.empty();
  orientation_ = ReadOrientation(Chunk("EXIF"), Chunk("XMP "));
}

Bytes WebpSource::Chunk(const char* name) const {
  WebPChunkIterator it{};
  Bytes chunk;
  // The chunk's bytes lie in the file, so they outlive the iterator.
  if (WebPDemuxGetChunk(demuxer_.get(), name, 1, &it) != 0) {
    chunk = Bytes(reinterpret_cast<const std::byte*>(it.chunk.bytes), it.chunk.size);
  }
  WebPDemuxReleaseChunkIterator(&it);
  return chunk;
}

Picture WebpSource::Decode(const ColorRules& rules) {
  if (ends_early_) EndsEarly(kBrokenWebp, kEndsEarly);
  Frame frame;
  if (WebPDemuxGetFrame(demuxer_.get(), 1, &frame.it) == 0) ThrowBrokenWebp("it has no picture");
  const auto left = static_cast<std::uint32_t>(frame.it.x_offset);
  const auto top = static_cast<std::uint32_t>(frame.it.y_offset);
  const auto width = static_cast<std::uint32_t>(frame.it.width);
  const auto height = static_cast<std::uint32_t>(frame.it.height);
  if (left > width_ || width > width_ - left || top > height_ || height > height_ - top) {
    ThrowBrokenWebp("its first frame lies outside its canvas");
  }
  const bool opaque = frame.it.has_alpha == 0 && width == width_ && height == height_;
  const std::uint32_t values = opaque ? 3 : 4;
  const std::size_t line_bytes = std::size_t{width_} * values;
  std::vector<std::uint8_t> canvas(line_bytes * height_);  // transparent outside the frame
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    throw Error(ErrorCode::kUnsupported,
                "libwebp has another version than the one Sluice was built for");
  }
  config.output.colorspace = opaque ? MODE_RGB : MODE_RGBA;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = canvas.data() + top * line_bytes + std::size_t{left} * values;
  config.output.u.RGBA.stride = static_cast<int>(line_bytes);
  config.output.u.RGBA.size =
      line_bytes * (height > 0 ? height - 1 : 0) + std::size_t{width} * values;
  VP8StatusCode status = WebPDecode(frame.it.fragment.bytes, frame.it.fragment.size, &config);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED) {
    EndsEarly(kBrokenWebp, kEndsEarly);
    status = DecodePart(frame.it, config);
  }
  if (status != VP8_STATUS_OK) ThrowBrokenWebp(SentenceOf(status));
  Picture picture = MakePicture(rules.channels);
  for (std::uint32_t y = 0; y < height_; ++y) {
    const std::uint8_t* const in = &canvas[y * line_bytes];
    std::uint8_t* const out = picture.Line(y);
    if (opaque) {
      StoreRgbLine(in, width_, picture.channels, rules, out);
    } else {
      StoreRgbaLine(in, width_, picture.channels, rules, out);
    }
  }
  return picture;
}

}  // namespace

std::unique_ptr<PixelSource> OpenWebp(Bytes file, bool) {
  return std::make_unique<WebpSource>(file);
}

std::string WebpVersion() {
  const int version = WebPGetDecoderVersion();  // 0xMMmmrr
  return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) + "." +
         std::to_string(version & 255);
}

}  // namespace sluice
