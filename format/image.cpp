// The words for codecs and pixel types, a stored picture as a JPEG file, and sums of figures. A
// switch has no default, so that the compiler names it when a codec is added; a number that a newer
// version wrote gets "unknown". JpegFileOf() gives back the file for packed pictures as well: their
// coefficients are those of the JPEG, so nothing is decoded and encoded again.
#include <algorithm>
#include <string>

#include <sluice/error.h>
#include <sluice/image.h>

#include "format/pixels/packed/pack.h"

namespace sluice {

std::string_view NameOf(Codec codec) noexcept {
  switch (codec) {
    case Codec::kAbsent: return "absent";
    case Codec::kRaw: return "raw";
    case Codec::kJpeg: return "jpeg";
    case Codec::kZstd: return "zstd";
    case Codec::kPacked: return "packed";
    case Codec::kTiled: return "tiled";
  }
  return "unknown";
}

std::string_view NameOf(PixelType type) noexcept {
  switch (type) {
    case PixelType::kUint8: return "uint8";
    case PixelType::kUint16: return "uint16";
    case PixelType::kInt16: return "int16";
    case PixelType::kFloat16: return "float16";
    case PixelType::kFloat32: return "float32";
  }
  return {};
}

std::vector<std::byte> JpegFileOf(const ImagePayload& payload) {
  if (payload.codec == Codec::kJpeg) return {payload.bytes.begin(), payload.bytes.end()};
  if (payload.codec != Codec::kPacked) {
    throw Error(ErrorCode::kUnsupported, "has no coefficients of a JPEG (its codec is " +
                                             std::string(NameOf(payload.codec)) + ")");
  }
  packed::Coefficients coefficients;
  if (const Defect defect = packed::Unpack(payload.bytes, coefficients)) {
    throw Error(ErrorCode::kCorrupt, defect);
  }
  return packed::WriteJpeg(coefficients);
}

void ImageFigures::Add(const ImageFigures& other) noexcept {
  // Figures of no image have zeros for the least sides, which must not win.
  if (other.present == 0) return;
  if (present == 0) {
    *this = other;
    return;
  }
  present += other.present;
  payload_bytes += other.payload_bytes;
  max_payload_bytes = std::max(max_payload_bytes, other.max_payload_bytes);
  min_width = std::min(min_width, other.min_width);
  max_width = std::max(max_width, other.max_width);
  min_height = std::min(min_height, other.min_height);
  max_height = std::max(max_height, other.max_height);
  min_channels = std::min(min_channels, other.min_channels);
  max_channels = std::max(max_channels, other.max_channels);
  pixel_type = std::max(pixel_type, other.pixel_type);
}

}  // namespace sluice
