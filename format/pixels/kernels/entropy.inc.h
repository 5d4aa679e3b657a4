// Entropy decoding of MCUs. Included once for each instruction set, inside a namespace of its own.

// 64 bits of the stream, left-aligned. After Refill() at least 56 are there: a DC symbol with its
// value (27 bits at most) and an AC one (26), or two AC ones.
struct BitReader {
  std::uint64_t bits = 0;
  std::uint32_t known = 0;
  const std::uint8_t* next;

  explicit BitReader(const std::uint8_t* begin) noexcept : next(begin) {}
  SLUICE_INLINE void Refill() noexcept {
    std::uint64_t word;
    std::memcpy(&word, next, 8);
    bits |= __builtin_bswap64(word) >> known;
    next += (63 - known) >> 3;
    known |= 56;
  }
  SLUICE_INLINE void Consume(std::uint32_t count) noexcept {
    bits <<= count;
    known -= count;
  }
  // Bits consumed since `begin`.
  std::size_t Position(const std::uint8_t* begin) const noexcept {
    return static_cast<std::size_t>(next - begin) * 8 - known;
  }
};

// Natural index by zigzag position. Positions beyond the block, which a broken stream or an end of
// block leads to, go to a place of their own: the inner loop needs no bounds check.
struct ZigzagTable {
  std::uint8_t natural[256] = {};
  constexpr ZigzagTable() {
    for (std::uint8_t& index : natural)
      index = kSpare;
    int x = 0;
    int y = 0;
    for (int i = 0; i < 64; ++i) {
      natural[i] = static_cast<std::uint8_t>(y * 8 + x);
      // Up and to the right on even diagonals, down and to the left on odd ones; along the edges
      // between.
      const bool up = (x + y) % 2 == 0;
      if (up) {
        if (x == 7)
          ++y;
        else if (y == 0)
          ++x;
        else {
          ++x;
          --y;
        }
      } else {
        if (y == 7)
          ++x;
        else if (x == 0)
          ++y;
        else {
          --x;
          ++y;
        }
      }
    }
  }
};
inline constexpr ZigzagTable kNatural;

// The difference of a DC coefficient; `bad` is set for a code that is none.
SLUICE_INLINE std::int32_t DecodeDc(BitReader& in, const baseline::HuffmanTable& table,
                                    std::uint32_t& bad) noexcept {
  baseline::Entry entry = table.look[in.bits >> (64 - baseline::kLookBits)];
  if (__builtin_expect(entry == 0, 0)) {
    entry = table.Slow(in.bits);
    bad |= entry == 0 ? 1 : 0;
  }
  in.Consume(baseline::LengthOf(entry));
  return baseline::ValueOf(entry);
}

// One AC symbol: moves `k` and puts its value where it belongs.
SLUICE_INLINE void TakeAc(BitReader& in, baseline::Entry entry, std::uint32_t& k,
                          std::int16_t* block) noexcept {
  in.Consume(baseline::LengthOf(entry));
  k += baseline::AdvanceOf(entry);
  block[kNatural.natural[k]] = static_cast<std::int16_t>(baseline::ValueOf(entry));
}

// The symbol at the reader's position, where a look-up does not hold it whole.
inline __attribute__((noinline)) baseline::Entry RareAc(const BitReader& in,
                                                        const baseline::HuffmanTable& table) {
  const baseline::Entry entry = table.Slow(in.bits);
  // A code that is none leads far beyond the block, not to an end of block.
  return entry != 0 ? entry : baseline::MakeEntry(1, 64, 0);
}

SLUICE_INLINE void DecodeAc(BitReader& in, const baseline::HuffmanTable& table, std::uint32_t& k,
                            std::int16_t* block) noexcept {
  const baseline::Entry entry = table.look[in.bits >> (64 - baseline::kLookBits)];
  TakeAc(in, __builtin_expect(entry != 0, 1) ? entry : RareAc(in, table), k, block);
}

// One look-up of AC symbols: two, or one.
SLUICE_INLINE void DecodeAcPair(BitReader& in, const baseline::HuffmanTable& table,
                                std::uint32_t& k, std::int16_t* block) noexcept {
  const baseline::Pair pair = table.pair[in.bits >> (64 - baseline::kPairBits)];
  if (__builtin_expect(pair == 0, 0)) return TakeAc(in, RareAc(in, table), k, block);
  k += (pair >> 16) & 255;
  block[kNatural.natural[k]] = static_cast<std::int16_t>(pair >> 32);
  if (k >= 63) {  // what follows is no longer of this block
    in.Consume(pair & 255);
    return;
  }
  k += (pair >> 24) & 255;
  block[kNatural.natural[k]] = static_cast<std::int16_t>(pair >> 48);
  in.Consume((pair >> 8) & 255);
}

// A block's AC coefficients into zeros. A block ends well at its last coefficient or with an end of
// block.
SLUICE_INLINE void DecodeBlock(BitReader& in, const baseline::HuffmanTable& ac, std::int16_t* block,
                               std::uint32_t& bad) noexcept {
  std::uint32_t k = 0;
  DecodeAcPair(in, ac, k, block);  // what DecodeDc left in the reader is enough for one
  while (k < 63) {
    in.Refill();
    DecodeAcPair(in, ac, k, block);
    if (k >= 63) break;
    DecodeAcPair(in, ac, k, block);
  }
  bad |= (k != 63 && k < baseline::kEndOfBlock) ? 1 : 0;
}

// The same for a block that nobody wants.
SLUICE_INLINE void SkipBlock(BitReader& in, const baseline::HuffmanTable& ac,
                             std::uint32_t& bad) noexcept {
  std::uint32_t k = 0;
  while (k < 63) {
    in.Refill();
    const std::uint32_t entry = ac.skip[in.bits >> (64 - baseline::kSkipBits)];
    const std::uint32_t advance = entry >> 16;
    // Several symbols at once only where all of them surely belong to this block.
    if (entry != 0 && k + (advance & 127) < 63) {
      in.Consume(entry & 0xFFFF);
      k += advance;
    } else {
      std::int16_t unused[kBlockStride];
      DecodeAc(in, ac, k, unused);
    }
  }
  bad |= (k != 63 && k < baseline::kEndOfBlock) ? 1 : 0;
}

struct McuBlocks {
  alignas(64) std::int16_t block[6][kBlockStride];
};

// Turns the coefficients of an MCU at (x, y), counted from the window's corner, into samples, and
// leaves zeros behind.
inline void TransformMcu(const SegmentJob& job, McuBlocks& mcu, std::uint32_t x, std::uint32_t y) {
  BlockTarget targets[6];
  std::uint32_t count = 0;
  for (std::uint32_t c = 0; c < job.components; ++c) {
    const ComponentJob& component = job.component[c];
    for (std::uint32_t v = 0; v < component.down; ++v) {
      for (std::uint32_t h = 0; h < component.across; ++h) {
        const std::size_t column = std::size_t{x * component.across + h} << component.size_log2;
        const std::size_t row = std::size_t{y * component.down + v} << component.size_log2;
        targets[count] = {mcu.block[count], component.quant,
                          component.plane + column * component.stride + row, component.stride,
                          component.size_log2};
        ++count;
      }
    }
  }
  std::uint32_t i = 0;
  while (i < count) {
    if (targets[i].size_log2 != 3) {
      TransformReduced(targets[i]);
      ++i;
    } else if (i + 1 < count && targets[i + 1].size_log2 == 3) {
      TransformPair(targets[i], targets[i + 1]);
      i += 2;
    } else {
      TransformOne(targets[i]);
      ++i;
    }
  }
}

inline bool DecodeSegment(const SegmentJob& job) {
  McuBlocks mcu;
  std::memset(&mcu, 0, sizeof(mcu));
  std::uint32_t dc[3] = {};  // wraps around, where a broken stream makes it grow without end
  std::uint32_t bad = 0;
  BitReader in(job.bytes);
  std::uint32_t x = job.first_mcu % job.mcus_across;
  std::uint32_t y = job.first_mcu / job.mcus_across;
  for (std::uint32_t m = job.first_mcu; m < job.last_mcu; ++m) {
    const bool wanted = x >= job.left && x < job.right && y >= job.top && y < job.bottom;
    std::int16_t* block = mcu.block[0];
    for (std::uint32_t c = 0; c < job.components; ++c) {
      const ComponentJob& component = job.component[c];
      const std::uint32_t blocks = component.across * component.down;
      for (std::uint32_t b = 0; b < blocks; ++b) {
        in.Refill();
        dc[c] += static_cast<std::uint32_t>(DecodeDc(in, *component.dc, bad));
        if (wanted) {
          DecodeBlock(in, *component.ac, block, bad);
          block[0] = static_cast<std::int16_t>(dc[c]);
          block += kBlockStride;
        } else {
          SkipBlock(in, *component.ac, bad);
        }
      }
    }
    if (bad != 0 || in.Position(job.bytes) > job.size * 8) return false;
    if (wanted) TransformMcu(job, mcu, x - job.left, y - job.top);
    if (++x == job.mcus_across) {
      x = 0;
      ++y;
    }
  }
  // What is left of the last byte is filled with ones; a whole byte more means that codes were
  // misread.
  return !job.whole || job.size * 8 - in.Position(job.bytes) < 8;
}
