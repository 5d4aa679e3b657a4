#include "writer/encode/pack.h"

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/pixels/packed/pack.h"

namespace sluice {

bool PackJpeg(FieldValue& value, baseline::BlockReader& reader) {
  packed::Coefficients coefficients;
  std::string why;
  switch (packed::ReadCoefficients(value.bytes, reader, coefficients, why)) {
    case packed::Taken::kYes: break;
    case packed::Taken::kNo: return false;
    case packed::Taken::kBroken: throw Error(ErrorCode::kCorrupt, "broken JPEG: " + why);
  }
  std::vector<std::byte> packed = packed::Pack(coefficients);
  if (packed.size() > kMaxPayloadBytes) return false;
  value.bytes = std::move(packed);
  value.codec = Codec::kPacked;
  value.width = coefficients.header.width;
  value.height = coefficients.header.height;
  value.channels = static_cast<std::uint8_t>(coefficients.header.components);
  return true;
}

}  // namespace sluice
