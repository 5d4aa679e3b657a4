#include "writer/encode/recode.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/pixels/baseline/file_writer.h"
#include "format/pixels/kept_memory.h"
#include "format/pixels/packed/pack.h"
#include "writer/encode/jpeg.h"

namespace sluice {

bool JpegRecoder::Take(Bytes file, std::uint32_t width, std::uint32_t height,
                       const ConvertOptions& options) {
  header_ = StoredHeader(width, height, options.form.channels, options);
  if (!recoder_.Begin(file, header_)) return false;
  packs_ = options.form.image == ImageCodec::kPacked && packed::BeginCoefficients(header_, packed_);
  const baseline::McuRow row(header_);
  if (!packs_) MakeRoom(row.values() * header_.mcus_down, rows_);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    places[c] = packs_ ? row.InPlane(c, packed_.blocks[c].data()) : row.InRows(c, rows_.data());
  }
  const bool taken = recoder_.Recode(places, packs_);
  if (!taken) FreeMemory();
  return taken;
}

void JpegRecoder::FreeMemory() {
  FreeLarge(rows_);
  std::ranges::for_each(packed_.blocks, FreeLarge<std::int16_t>);
}

void JpegRecoder::Store(FieldValue& value) {
  value.width = header_.width;
  value.height = header_.height;
  value.channels = static_cast<std::uint8_t>(header_.components);
  if (packs_) {
    value.codec = Codec::kPacked;
    value.bytes = packed::Pack(packed_);
    if (value.bytes.size() > kMaxPayloadBytes) {
      value.codec = Codec::kJpeg;
      value.bytes = packed::WriteJpeg(packed_);
    }
  } else {
    value.codec = Codec::kJpeg;
    value.bytes = baseline::WriteFile(kernels::Chosen(), header_, rows_.data());
  }
  FreeMemory();
}

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
