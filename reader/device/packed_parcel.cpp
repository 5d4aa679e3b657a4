// The part of JpegParcel for packed pictures.
#include "reader/device/jpeg_parcel.h"

namespace sluice {

void JpegParcel::AddBlocks(const JpegForm& form, std::size_t number,
                           const packed::BlockWindow& window, std::uint32_t row_blocks,
                           bool mirrored) {
  JpegComponent& component = picture_.component[number];
  component.across = window.right - window.left;
  component.down = window.bottom - window.top;
  component.size_log2 = window.size_log2;
  component.row_blocks = row_blocks;
  component.first_block = window.left;
  component.quant = Append(form.quant[number], sizeof(form.quant[number]));
  AddPlane(number, (std::uint64_t{component.across} * component.down) << 2 * window.size_log2);
  AddAxes(number, window.x, window.left << window.size_log2, window.y,
          window.top << window.size_log2, mirrored);
}

// `stored`: where the rows lie; null: they are among the parts.
bool JpegParcel::MakePacked(const StoredPicture* stored, const packed::Header& header,
                            const JpegForm& form, const Region& region, std::uint32_t channels) {
  picture_.packed = true;
  picture_.components = channels == 1 ? 1 : header.components;
  picture_.right = picture_.bottom = 1;
  picture_.flip_y = region.flip_y;
  for (std::uint32_t c = 0; c < picture_.components; ++c) {
    const packed::Component& of = header.component[c];
    const packed::BlockWindow window = packed::WindowOf(header, c, region, DecodePolicy());
    AddBlocks(form, c, window, of.across, region.flip);
    const std::uint32_t begin = of.first_row + window.top, end = of.first_row + window.bottom;
    if (stored != nullptr) {
      AddStoredRows(*stored, begin, end);
    } else if (!parts_.AppendRows(begin, end, words_, rows_)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < rows_.size(); ++i)
    rows_[i].row = static_cast<std::uint32_t>(i);  // among those that are needed
  return scratch_ <= UINT32_MAX;
}

}  // namespace sluice
