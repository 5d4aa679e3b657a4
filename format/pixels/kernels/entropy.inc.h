// Entropy decoding of MCUs. Included once for each instruction set, inside a namespace of its own.

// The next bits of the stream, left-aligned. After Refill() at least kRefilled of them are there.
// Each Refill() already computes the address that the next one loads from, so that this load does
// not wait for the look-ups in between.
struct BitReader {
  static constexpr std::uint32_t kRefilled = 56;
  std::uint64_t bits = 0;
  std::uint64_t known = 0;  // only the lowest six bits count
  const std::uint8_t* next;

  explicit BitReader(const std::uint8_t* begin) noexcept : next(begin) {}
  SLUICE_INLINE void Refill() noexcept {
    std::uint64_t word;
    std::memcpy(&word, next, 8);
    bits |= __builtin_bswap64(word) >> (known & 63);
    next += (~known >> 3) & 7;
    known |= 56;
  }
  // Consumes as many bits as the lowest six bits of `count` say.
  SLUICE_INLINE void Consume(std::uint64_t count) noexcept {
    bits <<= count & 63;
    known -= count;
  }
  // Bits consumed since `begin`.
  std::size_t Position(const std::uint8_t* begin) const noexcept {
    return static_cast<std::size_t>(next - begin) * 8 - (known & 63);
  }
};

// Where a zigzag position lies in a block. A broken stream or an end of block leads to positions
// beyond the block; these map to a spare place, so the inner loop needs no bounds check.
template <BlockOrder kOrder>
struct PlaceTable {
  std::uint8_t place[256] = {};
  constexpr PlaceTable() {
    for (unsigned i = 0; i < 256; ++i) {
      const unsigned inside = kOrder == kNaturalOrder ? kZigzag.natural[i % 64] : i % 64;
      place[i] = static_cast<std::uint8_t>(i < 64 ? inside : kSpare);
    }
  }
};
template <BlockOrder kOrder>
inline constexpr PlaceTable<kOrder> kPlaces;

// The difference of a DC coefficient. Sets `bad` if the code does not exist. Leaves the reader
// refilled.
SLUICE_INLINE std::int32_t DecodeDc(BitReader& in, const baseline::HuffmanTable& table,
                                    std::uint32_t& bad) noexcept {
  in.Refill();
  baseline::DcEntry entry = table.dc[in.bits >> (64 - baseline::kDcBits)];
  if (__builtin_expect(entry == 0, 0)) {
    entry = table.SlowDc(in.bits);
    bad |= entry == 0 ? 1 : 0;
  }
  // The length of a value varies from block to block, so the code does not branch on it.
  const std::uint64_t value = in.bits << ((entry >> 8) & 63);
  const std::uint32_t size = (entry >> 16) & 63;
  in.Consume(entry);
  const auto above = static_cast<std::int64_t>(value) >> 63;  // all ones where the first bit is one
  in.Refill();
  return static_cast<std::int32_t>(value >> 1 >> (63 - size)) +
         (static_cast<std::int32_t>(~above) & (static_cast<std::int32_t>(~0U << size) + 1));
}

// The AC symbol at the top of `bits`, of which 26 are known, if a look-up does not hold it whole. A
// code that does not exist leads far beyond the block, not to an end of block.
inline __attribute__((noinline)) baseline::Entry RareAc(const baseline::HuffmanTable& table,
                                                        std::uint64_t bits) {
  const baseline::HuffmanTable::Code code = table.codes[bits >> (64 - baseline::kSkipBits)];
  if (__builtin_expect(code.length != 0, 1)) {
    return baseline::ResolveAc(code.symbol, code.length, bits);
  }
  const baseline::Entry entry = table.SlowAc(bits);
  return entry != 0 ? entry : baseline::MakeEntry(1, 64, 0);
}

// A bit field of `bits`: the low byte of `field` is its lowest bit, the next byte its length.
SLUICE_INLINE std::uint64_t BitField(std::uint64_t bits, std::uint64_t field) noexcept {
#ifdef __BMI__
  return __builtin_ia32_bextr_u64(bits, field);
#else
  return (bits >> (field & 63)) & ~(~std::uint64_t{0} << ((field >> 8) & 63));
#endif
}

// A block must end at its last coefficient or with an end of block. `k` is where it ended.
SLUICE_INLINE std::uint32_t EndsBadly(std::size_t k) noexcept {
  return (k != 63 && k < baseline::kEndOfBlock) ? 1 : 0;
}

// Decodes a block's AC coefficients into a block of zeros; call it after DecodeDc. A look-up that
// was not resolved advances beyond the block, so the one check at each look-up finds both that case
// and the end of the block.
template <BlockOrder kOrder>
SLUICE_INLINE void DecodeBlock(BitReader& in, const baseline::HuffmanTable& ac, std::int16_t* block,
                               std::uint32_t& bad) noexcept {
  static_assert(4 * baseline::kMaxPairLength <= BitReader::kRefilled);
  const std::uint8_t* const places = kPlaces<kOrder>.place;
  std::size_t k = 0;
  std::size_t first = 0;  // where the first symbol of the last look-up led to
  BitReader before = in;  // as it was at the last look-up
  baseline::Pair pair = 0;
  const auto inside = [&]() __attribute__((always_inline)) {
    before = in;
    pair = ac.pair[in.bits >> (64 - baseline::kPairBits)];
    in.Consume(pair);
    first = k + ((pair >> 8) & 255);
    k = first + ((pair >> 16) & 255);
    block[places[k]] = static_cast<std::int16_t>(static_cast<std::int32_t>(pair) >> 24);
    block[places[first]] =
        static_cast<std::int16_t>((pair >> 32) + BitField(before.bits, pair >> 48));
    return k < 63;
  };
  for (;;) {
    if (inside() && inside() && inside() && inside()) {
      in.Refill();
      continue;
    }
    if (pair != baseline::kNoPair) break;
    k = first - (baseline::kNoPair >> 8);
    in.Refill();
    const baseline::Entry entry = RareAc(ac, in.bits);
    in.Consume(baseline::LengthOf(entry));
    k += baseline::AdvanceOf(entry);
    block[places[k]] = static_cast<std::int16_t>(baseline::ValueOf(entry));
    if (k >= 63) {
      bad |= EndsBadly(k);
      return;
    }
    in.Refill();
  }
  if (first >= 63) {  // the second symbol belongs to the next block
    k = first;
    in = before;
    in.Consume(baseline::LengthOf(RareAc(ac, in.bits)));
  }
  bad |= EndsBadly(k);
}

// Like DecodeBlock(), for a block that is not wanted.
SLUICE_INLINE void SkipBlock(BitReader& in, const baseline::HuffmanTable& ac,
                             std::uint32_t& bad) noexcept {
  static_assert(3 * baseline::kMaxSkipLength <= BitReader::kRefilled);
  std::uint32_t k = 0;
  BitReader before = in;
  std::uint32_t skip = 0;  // a baseline::Skip; narrower arithmetic is slower
  const auto inside = [&]() __attribute__((always_inline)) {
    before = in;
    skip = ac.skip[in.bits >> (64 - baseline::kSkipBits)];
    k += skip >> 8;
    in.Consume(skip);
    return k < 63;
  };
  for (;;) {
    if (inside() && inside() && inside()) {
      in.Refill();
      continue;
    }
    // A skip takes several symbols at once. That was right only if all of them before the last
    // certainly lie inside the block; otherwise they are taken one by one.
    if (skip != baseline::kNoSkip && (k == 63 || (k & 127) < 63)) return;
    k -= skip >> 8;
    in = before;
    in.Refill();
    const baseline::Entry entry = RareAc(ac, in.bits);
    in.Consume(baseline::LengthOf(entry));
    k += baseline::AdvanceOf(entry);
    if (k >= 63) {
      bad |= EndsBadly(k);
      return;
    }
    in.Refill();
  }
}

struct McuBlocks {
  alignas(64) std::int16_t block[6][kBlockStride];
};

// Transforms a block together with the one that waits for a partner, if both have the same steps.
// Otherwise transforms the waiting one alone, if there is one, and lets this block wait.
template <BlockOrder kOrder>
inline __attribute__((noinline)) void TransformOrWait(const BlockTarget& target,
                                                      BlockTarget& waiting) noexcept {
  if (waiting.block == nullptr) {
    waiting = target;
  } else if (waiting.quant == target.quant) {
    TransformTwo<BlockVector, kOrder>(waiting, target);
    waiting.block = nullptr;
  } else {
    TransformOne<BlockVector, kOrder>(waiting);
    waiting = target;
  }
}

// Transforms MCUs that follow one another in a row: from (x, y) on, counted from the window's
// corner. Their blocks are `stride` apart.
template <BlockOrder kOrder>
inline void TransformMcus(const SegmentJob& job, std::int16_t* blocks, std::size_t stride,
                          std::uint32_t x, std::uint32_t y, std::uint32_t mcus) noexcept {
  std::size_t mcu = 0;  // coefficients from an MCU to the next
  for (std::uint32_t c = 0; c < job.components; ++c)
    mcu += job.component[c].across * job.component[c].down * stride;
  BlockTarget waiting = {};
  for (std::uint32_t c = 0; c < job.components; ++c) {
    const ComponentJob& component = job.component[c];
    const std::uint32_t log2 = component.size_log2;
    std::uint8_t* out = component.plane +
                        (std::size_t{x} * component.across << log2) * component.stride +
                        (std::size_t{y} * component.down << log2);
    const bool single = component.across == 1;
    for (std::uint32_t v = 0; v < component.down; ++v) {
      const BlockLine row = {.first = {blocks, component.quant, out, component.stride},
                             .second = single ? mcu : stride,
                             .pair = single ? 2 * mcu : mcu,
                             .count = mcus * component.across};
      switch (log2) {
        case 0: TransformLineToMeans<kOrder>(row); break;
        case 1: TransformLineReduced<BlockVector, kOrder, 1>(row); break;
        case 2: TransformLineReduced<BlockVector, kOrder, 2>(row); break;
        default:
          ForEachPair(
              row, 3,
              [&waiting](const BlockTarget& a, const BlockTarget& b)
                  __attribute__((always_inline)) {
                    if (a.block == b.block) {
                      TransformOrWait<kOrder>(a, waiting);
                    } else {
                      TransformTwo<BlockVector, kOrder>(a, b);
                    }
                  });
      }
      blocks += component.across * stride;
      out += std::size_t{1} << log2;
    }
  }
  if (waiting.block != nullptr) TransformOne<BlockVector, kOrder>(waiting);
}

template <BlockOrder kOrder>
SLUICE_INLINE bool DecodeSegmentIn(const SegmentJob& job) {
  BlockVector beyond = BlockVector::All(0);
  McuBlocks mcu;
  std::memset(&mcu, 0, sizeof(mcu));
  std::uint32_t dc[3] = {};  // wraps around if a broken stream makes it grow without end
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
      const bool mean_alone = component.size_log2 == 0;
      for (std::uint32_t b = 0; b < blocks; ++b) {
        dc[c] += static_cast<std::uint32_t>(DecodeDc(in, *component.dc, bad));
        if (wanted) {
          if (mean_alone) {
            SkipBlock(in, *component.ac, bad);
          } else {
            DecodeBlock<kOrder>(in, *component.ac, block, bad);
          }
          block[0] = static_cast<std::int16_t>(dc[c]);
          block += kBlockStride;
        } else {
          SkipBlock(in, *component.ac, bad);
        }
      }
    }
    if (bad != 0 || in.Position(job.bytes) > job.size * 8) return false;
    if constexpr (kOrder == kZigzagOrder) {
      RecodeMcu(job, mcu.block[0], kBlockStride, x, y, beyond);
    } else if (wanted && job.transform) {
      TransformMcus<kNaturalOrder>(job, mcu.block[0], kBlockStride, x - job.left, y - job.top, 1);
    }
    if (++x == job.mcus_across) {
      x = 0;
      ++y;
    }
  }
  if constexpr (kOrder == kZigzagOrder) NoteBeyond(job, beyond);
  // The rest of the last byte is filled with ones. If a whole byte or more is left, codes were
  // misread.
  return !job.whole || job.size * 8 - in.Position(job.bytes) < 8;
}

inline bool DecodeSegment(const SegmentJob& job) {
  return job.recoding != nullptr ? DecodeSegmentIn<kZigzagOrder>(job)
                                 : DecodeSegmentIn<kNaturalOrder>(job);
}
