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
  }
  return "unknown";
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

}  // namespace sluice
