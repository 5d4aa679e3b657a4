#include "writer/encode/recode.h"

#include <algorithm>

#include "format/disk/limits.h"
#include "format/pixels/baseline/file_writer.h"
#include "format/pixels/packed/pack.h"
#include "writer/encode/jpeg.h"
#include "writer/fit/jpeg_fitter.h"

namespace sluice {

bool JpegRecoder::Take(Bytes file, std::uint32_t width, std::uint32_t height,
                       const ConvertOptions& options) {
  if (std::uint64_t{width} * height > kKeptPixels) return false;
  header_ = StoredHeader(width, height, options.channels, options);
  packs_ = options.image == ImageCodec::kPacked && packed::BeginCoefficients(header_, packed_);
  const baseline::McuRow row(header_);
  if (!packs_) rows_.resize(std::max(rows_.size(), row.values() * header_.mcus_down));
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    kernels::BlockPlaces& to = places[c];
    to.across = row.across(c);
    to.down = row.down(c);
    if (packs_) {
      to.first = packed_.blocks[c].data();
      to.mcu = baseline::kCoefficients;
      to.row = row.across(c) * baseline::kCoefficients;
    } else {
      to.first = rows_.data() + row.PlaceOf(c, 0, 0);
      to.h_log2 = header_.component[c].h - 1U;  // 1 or 2
      to.v_log2 = header_.component[c].v - 1U;
      to.mcu = row.mcu_values();
      to.row = row.values();
    }
  }
  return recoder_.Recode(file, header_, places, packs_);
}

void JpegRecoder::Store(FieldValue& value) {
  value.width = header_.width;
  value.height = header_.height;
  value.channels = static_cast<std::uint8_t>(header_.components);
  if (packs_) {
    value.codec = Codec::kPacked;
    value.bytes = packed::Pack(packed_);
    if (value.bytes.size() <= kMaxPayloadBytes) return;
    value.bytes = packed::WriteJpeg(packed_);
  } else {
    const baseline::McuRow row(header_);
    baseline::FileWriter out(kernels::Chosen(), header_);
    for (std::uint32_t y = 0; y < header_.mcus_down; ++y) {
      std::int16_t* const blocks = rows_.data() + y * row.values();
      row.FillEdges(y, blocks);
      out.Add(blocks);
    }
    value.bytes = out.Finish();
  }
  value.codec = Codec::kJpeg;
}

}  // namespace sluice
