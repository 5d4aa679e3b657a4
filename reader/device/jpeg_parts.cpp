#include "reader/device/jpeg_parts.h"

#include <algorithm>
#include <cstring>

#include "format/pixels/baseline/segments.h"
#include "format/pixels/baseline/strand_table.h"

namespace sluice {

std::uint32_t AppendTo(std::vector<std::uint32_t>& words, const void* bytes, std::size_t count) {
  const std::size_t at = words.size();
  words.resize(at + (count + 3) / 4);
  std::memcpy(words.data() + at, bytes, count);
  return static_cast<std::uint32_t>(at);
}

bool JpegParts::Take(const ImagePayload& payload) {
  if (payload.pixel_type != PixelType::kUint8) return false;
  form_ = {};
  payload_ = payload.bytes;
  switch (payload.codec) {
    case Codec::kJpeg: return TakeJpeg(payload);
    case Codec::kPacked: return TakePacked(payload);
    default: return false;
  }
}

bool JpegParts::TakeJpeg(const ImagePayload& payload) {
  if (!baseline::ParseHeader(payload.bytes, header_) || header_.width != payload.width ||
      header_.height != payload.height || !baseline::HoldsPicture(header_)) {
    return false;
  }
  const bool one_row = header_.mcus_down == 1 && header_.restart_interval == 0;
  if (header_.restart_interval != header_.mcus_across && !one_row) return false;
  form_.components = static_cast<std::uint8_t>(header_.components);
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const baseline::Component& component = header_.component[c];
    const std::size_t number = baseline::StandardNumber(header_.huffman[0][component.dc], false);
    if (number == baseline::kStandardTables ||
        number != baseline::StandardNumber(header_.huffman[1][component.ac], true)) {
      return false;
    }
    form_.h[c] = component.h;
    form_.v[c] = component.v;
    form_.table[c] = static_cast<std::uint8_t>(number);
    std::copy(std::begin(header_.quant[component.quant]), std::end(header_.quant[component.quant]),
              form_.quant[c]);
  }
  return true;
}

bool JpegParts::TakePacked(const ImagePayload& payload) {
  if (packed::ParseHeader(payload.bytes, packed_) != nullptr || packed_.width != payload.width ||
      packed_.height != payload.height || packed_.components != payload.channels) {
    return false;
  }
  form_.packed = 1;
  form_.components = static_cast<std::uint8_t>(packed_.components);
  for (std::uint32_t c = 0; c < packed_.components; ++c) {
    const packed::Component& component = packed_.component[c];
    form_.h[c] = component.h;
    form_.v[c] = component.v;
    std::copy_n(packed_.table[component.table], 64, form_.quant[c]);
  }
  return true;
}

bool JpegParts::AppendRows(std::uint32_t begin, std::uint32_t end,
                           std::vector<std::uint32_t>& words, std::vector<JpegRow>& rows) {
  baseline::Segments segments(header_.scan);
  for (std::uint32_t row = begin; row < end; ++row) {
    const void* bytes = nullptr;
    std::size_t size = 0;
    if (form_.packed != 0) {
      const Bytes stored = packed::RowOf(payload_, packed_, row);
      if (stored.empty()) return false;
      bytes = stored.data();
      size = stored.size();
    } else {
      if (!segments.Seek(row)) return false;
      size = segments.Read(segment_);
      bytes = segment_.data();
    }
    if (size > UINT32_MAX / 8) return false;
    rows.push_back({0, row, AppendTo(words, bytes, size), static_cast<std::uint32_t>(size)});
  }
  return true;
}

}  // namespace sluice
