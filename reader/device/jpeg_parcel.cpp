#include "reader/device/jpeg_parcel.h"

#include <algorithm>
#include <cstring>

#include "format/pixels/baseline/segments.h"
#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/kernels/zigzag.h"

namespace sluice {

namespace {

JpegCodes CodesOf(const baseline::HuffmanTable& table) {
  JpegCodes codes = {};
  for (std::size_t i = 0; i < std::size(codes.look); ++i) {
    const baseline::HuffmanTable::Code code =
        table.codes[i << (baseline::kSkipBits - JpegCodes::kLookBits)];
    if (code.length > 0 && code.length <= JpegCodes::kLookBits)
      codes.look[i] = static_cast<std::uint16_t>(code.length << 8 | code.symbol);
  }
  std::copy(std::begin(table.symbols), std::end(table.symbols), codes.symbols);
  for (std::size_t length = 1; length <= 16; ++length) {
    codes.limit[length] = table.limit[length];
    codes.offset[length] = table.offset[length];
  }
  return codes;
}

// In 16 bytes, as scratch memory is counted.
std::uint64_t Sixteens(std::uint64_t bytes) {
  return (bytes + 15) / 16;
}

}  // namespace

JpegTables StandardJpegTables() {
  JpegTables tables = {};
  for (std::size_t i = 0; i < baseline::kStandardTables; ++i) {
    const baseline::StrandTable& standard = baseline::StandardStrandTables(i).first;
    tables.dc[i] = CodesOf(*standard.dc);
    tables.ac[i] = CodesOf(*standard.ac);
  }
  std::copy(std::begin(kernels::kZigzag.natural), std::end(kernels::kZigzag.natural),
            tables.natural);
  return tables;
}

std::uint32_t JpegParcel::Append(const void* bytes, std::size_t count) {
  const std::size_t at = words_.size();
  words_.resize(at + (count + 3) / 4);
  std::memcpy(words_.data() + at, bytes, count);
  return static_cast<std::uint32_t>(at);
}

// Whether each component has the standard's tables.
bool JpegParcel::FindTables() {
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const baseline::Component& component = header_.component[c];
    const std::size_t number = baseline::StandardNumber(header_.huffman[0][component.dc], false);
    if (number == baseline::kStandardTables ||
        number != baseline::StandardNumber(header_.huffman[1][component.ac], true)) {
      return false;
    }
    picture_.component[c].table = static_cast<std::uint32_t>(number);
  }
  return true;
}

JpegAxis JpegParcel::AddAxis(const AxisWeights& weights, std::uint32_t first) {
  firsts_.assign(weights.firsts().begin(), weights.firsts().end());
  firsts_.insert(firsts_.end(), weights.values().begin(), weights.values().end());
  return {Append(firsts_.data(), 2 * firsts_.size()), weights.taps(), first};
}

void JpegParcel::AddComponent(std::size_t number, const baseline::ComponentWindow& part,
                              bool weighted, bool mirrored) {
  const baseline::Component& of = header_.component[number];
  JpegComponent& component = picture_.component[number];
  component.across = of.h;
  component.down = of.v;
  component.size_log2 = part.size_log2;
  component.quant = Append(header_.quant[of.quant], sizeof(header_.quant[0]));
  const std::uint64_t samples = std::uint64_t{part.width} * part.height;
  component.coefficients = static_cast<std::uint32_t>(scratch_);
  scratch_ += Sixteens(samples * sizeof(std::int16_t));
  component.samples = static_cast<std::uint32_t>(scratch_);
  scratch_ += Sixteens(samples);
  if (!weighted) return;
  x_[number].Make(set_, part.x, mirrored);
  y_[number].Make(set_, part.y, false);
  component.x = AddAxis(x_[number], part.x.first - part.left);
  component.y = AddAxis(y_[number], part.y.first - part.top);
}

bool JpegParcel::AddRows() {
  baseline::Segments segments(header_.scan);
  for (std::uint32_t row = picture_.top; row < picture_.bottom; ++row) {
    if (!segments.Seek(row)) return false;
    const std::size_t size = segments.Read(segment_);
    if (size > UINT32_MAX / 8) return false;
    rows_.push_back({0, row, Append(segment_.data(), size), static_cast<std::uint32_t>(size)});
  }
  return true;
}

bool JpegParcel::Make(const ImagePayload& payload, const Region& region, std::uint32_t channels) {
  picture_ = {};
  rows_.clear();
  words_.clear();
  scratch_ = 0;
  if (payload.codec != Codec::kJpeg || payload.pixel_type != PixelType::kUint8) return false;
  if (channels != 1 && channels != 3) return false;
  if (region.transpose || region.bordered() || region.x.out == 0 || region.y.out == 0) return false;
  if (!LiesInside(region, payload.width, payload.height)) return false;
  if (!baseline::ParseHeader(payload.bytes, header_) || header_.width != payload.width ||
      header_.height != payload.height || !FindTables() || !baseline::HoldsPicture(header_)) {
    return false;
  }
  const bool one_row = header_.mcus_down == 1 && header_.restart_interval == 0;
  if (header_.restart_interval != header_.mcus_across && !one_row) return false;
  const baseline::McuWindow window(header_, region, DecodePolicy());
  picture_.components = header_.components;
  picture_.mcus_across = header_.mcus_across;
  picture_.left = window.left;
  picture_.top = window.top;
  picture_.right = window.right;
  picture_.bottom = window.bottom;
  picture_.flip_y = region.flip_y;
  for (std::uint32_t c = 0; c < header_.components; ++c)
    AddComponent(c, window.component[c], c < channels, region.flip);
  return scratch_ <= UINT32_MAX && AddRows();
}

void JpegParcel::Put(std::uint32_t number, std::uint32_t at, JpegPicture& picture,
                     std::span<JpegRow> rows) const noexcept {
  picture = picture_;
  for (std::uint32_t c = 0; c < picture.components; ++c) {
    for (std::uint32_t* const place :
         {&picture.component[c].quant, &picture.component[c].x.at, &picture.component[c].y.at}) {
      *place += at;
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = rows_[i];
    rows[i].picture = number;
    rows[i].at += at;
  }
}

}  // namespace sluice
