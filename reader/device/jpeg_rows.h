// Huffman decoding of a row of MCUs: the work of one thread of a device, by the rules of the host's
// decoder (format/pixels/kernels/entropy.inc.h). It reads no byte outside the row, whatever the row
// holds. C++17: nvcc compiles this.
#pragma once

#include "reader/device/jpeg_job.h"

namespace sluice {

// The next bits of a row, left-aligned; zeros follow its end.
struct JpegBits {
  const std::uint32_t* words = nullptr;
  std::uint32_t count = 0;  // of words
  std::uint32_t next = 0;   // word; may lie beyond the end
  std::uint32_t known = 0;  // bits of those below
  std::uint64_t bits = 0;

  // At least 32 bits are known then: a code of 16 and a value of 11 fit.
  SLUICE_ON_DEVICE void Refill() {
    if (known > 32) return;
    const std::uint32_t word = next < count ? words[next] : 0;
    const std::uint32_t in_order = word >> 24 | (word >> 8 & 0xFF00U) | (word << 8 & 0xFF0000U) |
                                   word << 24;  // coded bytes come first to last
    bits |= std::uint64_t{in_order} << (32 - known);
    known += 32;
    ++next;
  }
  SLUICE_ON_DEVICE void Consume(std::uint32_t of) {
    bits <<= of;
    known -= of;
  }
  // The number of the next `size` bits, 1 to 16, read as T.81 says in F.2.2.1.
  SLUICE_ON_DEVICE std::int32_t TakeValue(std::uint32_t size) {
    const auto number = static_cast<std::int32_t>(bits >> (64 - size));
    const bool positive = (bits >> 63) != 0;
    Consume(size);
    return positive ? number : number - (1 << size) + 1;
  }
  SLUICE_ON_DEVICE std::uint64_t Position() const { return std::uint64_t{32} * next - known; }
};

// Takes the next code's symbol; false if there is no such code.
SLUICE_ON_DEVICE inline bool TakeSymbol(JpegBits& in, const JpegCodes& codes,
                                        std::uint32_t& symbol) {
  in.Refill();
  const std::uint32_t known = codes.look[in.bits >> (64 - JpegCodes::kLookBits)];
  if (known != 0) {
    in.Consume(known >> 8);
    symbol = known & 255;
    return true;
  }
  const auto top = static_cast<std::uint32_t>(in.bits >> 48);
  std::uint32_t length = JpegCodes::kLookBits + 1;
  while (length <= 16 && top >= codes.limit[length])
    ++length;
  if (length > 16) return false;
  const std::int32_t index = static_cast<std::int32_t>(top >> (16 - length)) + codes.offset[length];
  symbol = codes.symbols[index & 255];
  in.Consume(length);
  return true;
}

struct alignas(8) FourCoefficients {
  std::int16_t at[4];
};

// Decodes a block. Stores the coefficients of its lowest frequencies, 1 << size_log2 on each axis,
// unless `block` is null. False if it breaks a rule.
SLUICE_ON_DEVICE inline bool DecodeJpegBlock(JpegBits& in, const JpegTables& tables,
                                             std::uint32_t table, std::uint32_t size_log2,
                                             std::uint32_t& dc, std::int16_t* block) {
  std::uint32_t symbol = 0;
  if (!TakeSymbol(in, tables.dc[table], symbol)) return false;
  if (symbol > 0) dc += static_cast<std::uint32_t>(in.TakeValue(symbol));
  if (block != nullptr) {
    for (std::uint32_t i = 0; i < (1U << 2 * size_log2) / 4; ++i)
      reinterpret_cast<FourCoefficients*>(block)[i] = {};
    block[0] = static_cast<std::int16_t>(dc);
  }
  for (std::uint32_t k = 0; k < 63;) {
    if (!TakeSymbol(in, tables.ac[table], symbol)) return false;
    if (symbol == 0) return true;  // end of block
    k += (symbol >> 4) + 1;
    if (k > 63) return false;
    const std::uint32_t size = symbol & 15;
    if (size == 0) continue;  // sixteen zeros
    const std::int32_t value = in.TakeValue(size);
    const std::uint32_t natural = tables.natural[k];
    const std::uint32_t u = natural & 7, v = natural >> 3;
    if (block != nullptr && (u | v) >> size_log2 == 0)
      block[(v << size_log2) + u] = static_cast<std::int16_t>(value);
  }
  return true;
}

// What the places of a picture's rows count in.
SLUICE_ON_DEVICE inline const std::uint32_t* RowWordsOf(const JpegJob& job,
                                                        const JpegPicture& picture) {
  return picture.stored == nullptr ? job.words
                                   : reinterpret_cast<const std::uint32_t*>(picture.stored);
}

// False if the row breaks a rule: the picture is to be decoded by the host, which may know better.
SLUICE_ON_DEVICE inline bool DecodeJpegRow(const JpegJob& job, const JpegTables& tables,
                                           const JpegRow& row) {
  const JpegPicture& picture = job.pictures[row.picture];
  JpegBits in;
  in.words = RowWordsOf(job, picture) + row.at;
  in.count = (row.bytes + 3) / 4;
  const std::uint64_t end = std::uint64_t{8} * row.bytes;
  std::uint32_t dc[3] = {0, 0, 0};
  for (std::uint32_t mcu = 0; mcu < picture.right; ++mcu) {
    SLUICE_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c) {
      if (c >= picture.components) break;
      const JpegComponent& component = picture.component[c];
      std::int16_t* block = nullptr;
      const std::uint32_t blocks_across = BlocksAcross(picture, component);
      for (std::uint32_t v = 0; v < component.down; ++v) {
        if (mcu >= picture.left) {
          const std::uint64_t line = std::uint64_t{row.row - picture.top} * component.down + v;
          const std::uint64_t number =
              line * blocks_across + std::uint64_t{mcu - picture.left} * component.across;
          block = CoefficientsOf(job, picture, component) + (number << 2 * component.size_log2);
        }
        for (std::uint32_t h = 0; h < component.across; ++h) {
          if (!DecodeJpegBlock(in, tables, component.table, component.size_log2, dc[c], block))
            return false;
          if (block != nullptr) block += 1U << 2 * component.size_log2;
        }
      }
    }
    if (in.Position() > end) return false;
  }
  // The rest of the last byte is filled with ones. If a whole byte or more is left, codes were
  // misread.
  return picture.right < picture.mcus_across || end - in.Position() < 8;
}

}  // namespace sluice
