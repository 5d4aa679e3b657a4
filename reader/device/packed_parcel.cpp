// The part of JpegParcel for packed pictures.
#include <algorithm>

#include "reader/device/jpeg_parcel.h"

namespace sluice {

void JpegParcel::AddBlocks(std::size_t number, const packed::BlockWindow& window, bool mirrored) {
  const packed::Component& of = packed_.component[number];
  JpegComponent& component = picture_.component[number];
  component.across = window.right - window.left;
  component.down = window.bottom - window.top;
  component.size_log2 = window.size_log2;
  component.row_blocks = of.across;
  component.first_block = window.left;
  std::int16_t quant[64];
  std::copy_n(packed_.table[of.table], 64, quant);
  component.quant = Append(quant, sizeof(quant));
  AddPlane(number, (std::uint64_t{component.across} * component.down) << 2 * window.size_log2);
  AddAxes(number, window.x, window.left << window.size_log2, window.y,
          window.top << window.size_log2, mirrored);
}

bool JpegParcel::AddBlockRows(Bytes payload, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t row = first; row < end; ++row) {
    const Bytes stored = packed::RowOf(payload, packed_, row);
    if (stored.empty() || stored.size() > UINT32_MAX / 8) return false;
    rows_.push_back({0, static_cast<std::uint32_t>(rows_.size()),
                     Append(stored.data(), stored.size()),
                     static_cast<std::uint32_t>(stored.size())});
  }
  return true;
}

bool JpegParcel::MakePacked(const ImagePayload& payload, const Region& region,
                            std::uint32_t channels) {
  if (payload.pixel_type != PixelType::kUint8 ||
      packed::ParseHeader(payload.bytes, packed_) != nullptr || packed_.width != payload.width ||
      packed_.height != payload.height || packed_.components != payload.channels) {
    return false;
  }
  picture_.packed = true;
  picture_.components = channels == 1 ? 1 : packed_.components;
  picture_.right = picture_.bottom = 1;
  for (std::uint32_t c = 0; c < picture_.components; ++c) {
    const packed::BlockWindow window = packed::WindowOf(packed_, c, region, DecodePolicy());
    AddBlocks(c, window, region.flip);
    const std::uint32_t first = packed_.component[c].first_row;
    if (!AddBlockRows(payload.bytes, first + window.top, first + window.bottom)) return false;
  }
  picture_.flip_y = region.flip_y;
  return scratch_ <= UINT32_MAX;
}

}  // namespace sluice
