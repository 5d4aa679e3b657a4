// Huffman decoding of a line of MCUs, or of a part of one: the work of one thread of a device, by
// the rules of the host's decoder (format/pixels/kernels/entropy.inc.h). The thread reads no byte
// outside the part, whatever it holds. C++17: nvcc compiles this.
#pragma once

#include "reader/device/jpeg_job.h"

namespace sluice {

// The next bits of a line, left-aligned; zeros follow its end. A word is loaded long before its
// bits are needed.
struct JpegBits {
  SLUICE_ON_DEVICE JpegBits(const std::uint32_t* of_line, std::uint32_t words_of_line)
      : words(of_line), count(words_of_line), ahead(words_of_line > 0 ? of_line[0] : 0) {}

  // Afterwards, at least 32 bits are known, which is enough for a code of 16 bits and a value of
  // 11.
  SLUICE_ON_DEVICE void Refill() {
    if (known > 32) return;
    const std::uint32_t in_order = ahead >> 24 | (ahead >> 8 & 0xFF00U) | (ahead << 8 & 0xFF0000U) |
                                   ahead << 24;  // coded bytes come first to last
    bits |= std::uint64_t{in_order} << (32 - known);
    known += 32;
    ++taken;
    ahead = taken < count ? words[taken] : 0;
  }
  // Skips a code of `length` bits, and returns the value of the next `size` bits (0 to 11) as T.81,
  // F.2.2.1, defines it.
  SLUICE_ON_DEVICE std::int32_t TakeValue(std::uint32_t length, std::uint32_t size) {
    bits <<= length;
    const auto next = static_cast<std::uint32_t>(bits >> 32);
    bits <<= size;
    known -= length + size;
    const auto number = static_cast<std::int32_t>(next >> 1 >> (31 - size));
    return next >> 31 != 0 ? number : number - (1 << size) + 1;
  }
  // The number of bits of the line that have been skipped or returned so far.
  SLUICE_ON_DEVICE std::uint64_t Position() const { return std::uint64_t{32} * taken - known; }

  const std::uint32_t* words;
  std::uint32_t count;      // number of words
  std::uint32_t taken = 0;  // number of words taken so far; may exceed `count`
  std::uint32_t known = 0;  // number of valid bits in `bits`
  std::uint64_t bits = 0;
  std::uint32_t ahead;  // the next word to take
};

// For each of kThreads threads that share this memory: the blocks of an MCU in the order of coding,
// each with the data that the thread needs to begin it.
template <std::uint32_t kThreads>
struct JpegMcu {
  static constexpr std::uint32_t kMaxBlocks = 6;  // luma has up to 2 x 2, each chroma component 1
  struct Block {
    std::uint32_t first;  // its first coefficient in the first needed MCU, within the picture's
                          // scratch memory
    std::uint16_t step;   // from one MCU to the next, in coefficients
    std::uint8_t component, size_log2;
  };
  Block block[kMaxBlocks][kThreads];
  std::int32_t dc[3][kThreads];  // the DC value of the block before, by component
};

// The words of which CodedLine::at is an index, for lines of that picture.
SLUICE_ON_DEVICE inline const std::uint32_t* LineWordsOf(const JpegJob& job,
                                                         const JpegPicture& picture) {
  return picture.stored == nullptr ? job.words
                                   : reinterpret_cast<const std::uint32_t*>(picture.stored);
}

// Lists the blocks of an MCU; returns how many there are.
template <std::uint32_t kThreads>
SLUICE_ON_DEVICE std::uint32_t ListBlocks(const JpegPicture& picture, std::uint32_t line,
                                          JpegMcu<kThreads>& mcu, std::uint32_t thread) {
  std::uint32_t blocks = 0;
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    if (c >= picture.components) break;
    const JpegComponent& component = picture.component[c];
    const std::uint32_t values_log2 = 2 * component.size_log2;
    mcu.dc[c][thread] = 0;
    for (std::uint32_t v = 0; v < component.down; ++v) {
      const std::uint32_t y = (line - picture.top) * component.down + v;
      for (std::uint32_t h = 0; h < component.across; ++h, ++blocks) {
        if (blocks >= JpegMcu<kThreads>::kMaxBlocks) return blocks;
        mcu.block[blocks][thread] = {
            8 * component.coefficients +
                ((y * BlocksAcross(picture, component) + h) << values_log2),
            static_cast<std::uint16_t>(component.across << values_log2),
            static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(component.size_log2)};
      }
    }
  }
  return blocks;
}

// Decodes a line into coefficients that ClearCoefficientsShare() has cleared. Returns false if the
// line breaks a rule: then the host must decode the picture, and finds out whether it is broken.
//
// All symbols of a line, of whichever kind, are taken by one loop: threads side by side wait for
// the longest line among them, and not at the end of each block for the longest block.
template <std::uint32_t kThreads>
SLUICE_ON_DEVICE bool DecodeCodedLine(const JpegJob& job, const JpegTables& tables,
                                      const CodedLine& line, JpegMcu<kThreads>& mcu,
                                      std::uint32_t thread) {
  constexpr std::uint32_t kBefore = ~0U;  // the position before a block's first coefficient
  const JpegPicture& picture = job.pictures[line.picture];
  auto* const values =
      reinterpret_cast<std::int16_t*>(job.scratch + 16 * std::uint64_t{picture.scratch});
  const std::uint32_t blocks = ListBlocks(picture, line.number / picture.parts, mcu, thread);
  const std::uint32_t left = picture.left, begun = line.number % picture.parts * picture.part_mcus;
  const std::uint32_t ended = begun + picture.part_mcus;
  const std::uint32_t right = picture.right < ended ? picture.right : ended;
  if (blocks == 0 || right <= begun) return true;
  const std::uint32_t table_of[3] = {picture.component[0].table, picture.component[1].table,
                                     picture.component[2].table};
  JpegBits in(LineWordsOf(job, picture) + line.at, (line.bytes + 3) / 4);
  const std::uint32_t* const entries = tables.dc[0];
  constexpr std::uint32_t kAc = 2 * JpegTables::kEntries;  // from a DC table to the AC table
  std::uint32_t number = begun, block = 0;                 // MCU, and block in it
  std::uint32_t component = 0, codes = 0, dc_codes = 0, to = 0, k = kBefore;
  std::int32_t before = 0;
  const std::uint8_t* places = nullptr;
  const auto begin = [&] {
    const typename JpegMcu<kThreads>::Block next = mcu.block[block][thread];
    component = next.component;
    before = mcu.dc[component][thread];
    to = next.first + (number - left) * next.step;
    places = tables.place[number >= left ? next.size_log2 : JpegTables::kNone];
    const std::uint32_t table = component == 0   ? table_of[0]
                                : component == 1 ? table_of[1]
                                                 : table_of[2];
    codes = dc_codes = table * JpegTables::kEntries;
    k = kBefore;
  };
  begin();
  for (;;) {
    in.Refill();
    const std::uint32_t entry =
        entries[codes + JpegTables::IndexOf(static_cast<std::uint32_t>(in.bits >> 48))];
    const std::uint32_t size = entry >> 8 & 15;
    std::int32_t value = in.TakeValue(entry & 31, size);
    k += entry >> 16;
    codes = dc_codes + kAc;
    if (k == 0) {
      // Wraps around, as on the host.
      value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) +
                                        static_cast<std::uint32_t>(before));
      mcu.dc[component][thread] = value;
    }
    const std::uint32_t place = places[k & 63];
    if ((size > 0 || k == 0) && place != JpegTables::kNowhere)
      values[to + place] = static_cast<std::int16_t>(value);
    if (k < 63) continue;
    if (k > 63 && k < JpegTables::kEnd) return false;
    if (++block == blocks) {
      block = 0;
      if (++number == right) break;
    }
    begin();
  }
  // An encoder fills the rest of the last byte with ones. If a whole byte or more is left, codes
  // were misread.
  const std::uint64_t end = std::uint64_t{8} * line.bytes;
  return in.Position() <= end && (right < ended || end - in.Position() < 8);
}

// Clears a thread's share of a picture's coefficients: that of thread number `thread` out of
// `threads`.
SLUICE_ON_DEVICE inline void ClearCoefficientsShare(const JpegJob& job, const JpegPicture& picture,
                                                    std::uint32_t thread, std::uint32_t threads) {
  if (picture.packed || picture.raw.width > 0)
    return;  // unpacking writes all of them; raw pictures have none
  for (std::uint32_t c = 0; c < picture.components; ++c) {
    const JpegComponent& component = picture.component[c];
    const std::uint64_t blocks =
        std::uint64_t{BlocksAcross(picture, component)} * BlocksDown(picture, component);
    const std::uint64_t eights = ((blocks << 2 * component.size_log2) + 7) / 8;
    auto* const to = reinterpret_cast<EightCoefficients*>(CoefficientsOf(job, picture, component));
    for (std::uint64_t i = thread; i < eights; i += threads)
      to[i] = {};
  }
}

}  // namespace sluice
