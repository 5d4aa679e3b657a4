// Entropy coding of blocks: the reverse of entropy.inc.h. Included once for each instruction set.
//
// No branch depends on how many bits a code has: after every two coefficients, eight bytes are
// written, and the output moves on by as many as are full. The caller adds stuffing and the last
// byte.

struct BitWriter {
  std::uint64_t bits;   // the lowest ones are yet to be written
  std::uint64_t count;  // how many, in the lowest six bits; shifts ignore the bits above
  std::uint8_t* out;

  // Up to seven bits and two words may wait for a flush.
  SLUICE_INLINE void Put(baseline::CodeWord word) noexcept {
    bits = bits << (word & baseline::kWordLength) | word >> baseline::kWordLengthBits;
    count += word;
  }
  // Leaves at most seven bits.
  SLUICE_INLINE void Flush() noexcept {
    const std::uint64_t word = __builtin_bswap64(bits << (-count & 63));
    std::memcpy(out, &word, sizeof(word));
    out += count >> 3 & 7;
    count &= 7;
  }
};
static_assert(baseline::kWordLength == 63);

// The word for a large value, with `words` indexed by its size category.
SLUICE_INLINE baseline::CodeWord LargeWordOf(const baseline::CodeWord* words,
                                             std::int32_t value) noexcept {
  const std::int32_t sign = value >> 31;
  const auto size = 32U - static_cast<std::uint32_t>(
                              __builtin_clz(static_cast<std::uint32_t>((value ^ sign) - sign)));
  const auto bits = static_cast<std::uint32_t>(value + sign) & ~(~0U << size);
  return words[size] | bits << baseline::kWordLengthBits;
}

SLUICE_INLINE bool IsSmall(std::int32_t value) noexcept {
  return static_cast<std::uint32_t>(value + baseline::kMaxSmall) <= 2 * baseline::kMaxSmall;
}

// Codes a block. `left`: a bit for each coefficient that is not zero.
SLUICE_INLINE void CodeBlock(const std::int16_t* block, std::uint64_t left, std::int32_t difference,
                             const baseline::CodeWord* table, BitWriter& to) noexcept {
  to.Put(table[baseline::kDifferenceWords + static_cast<std::size_t>(difference)]);
  to.Flush();
  left &= ~std::uint64_t{1};
  std::uint32_t before = 0;
  const auto put_next = [&]() __attribute__((always_inline)) {
    const auto at = static_cast<std::uint32_t>(__builtin_ctzll(left));
    left &= left - 1;
    std::uint32_t run = at - before - 1;
    before = at;
    for (; __builtin_expect(run > 15, 0); run -= 16) {
      to.Flush();
      to.Put(table[baseline::kZerosWord]);
      to.Flush();
    }
    const std::int32_t value = block[at];
    if (__builtin_expect(IsSmall(value), 1)) {
      to.Put(table[static_cast<std::uint32_t>(value & 255) * 16 + run]);
    } else {
      to.Put(LargeWordOf(table + baseline::kLargeWords + run * 16, value));
    }
  };
  while (left != 0) {
    put_next();
    if (left == 0) break;
    put_next();
    to.Flush();
  }
  to.Put(before == kBlockSize - 1 ? 0 : table[baseline::kEndWord]);
  to.Flush();
}

inline void FindValues(const std::int16_t* blocks, std::size_t count, std::uint64_t* masks) {
  for (std::size_t i = 0; i < count; ++i)
    masks[i] = NonZeroMask(blocks + i * kBlockSize);
}

constexpr std::size_t kMaxMcuBlocks = 10;  // T.81, B.2.3

inline void CodeBlocks(CodeJob& job) {
  BitWriter to{job.bits, job.bit_count, job.out};
  const std::int16_t* block = job.blocks;
  std::uint32_t mcu_blocks = 0;
  for (std::uint32_t c = 0; c < job.components; ++c)
    mcu_blocks += job.component[c].blocks;
  for (std::uint32_t m = 0; m < job.mcus; ++m) {
    // The masks of all blocks are made first: the processor cannot predict where a block ends, and
    // the next block should not have to wait for its mask then.
    std::uint64_t masks[kMaxMcuBlocks];
    FindValues(block, mcu_blocks, masks);
    const std::uint64_t* mask = masks;
    for (std::uint32_t c = 0; c < job.components; ++c) {
      CodeJob::Component& component = job.component[c];
      for (std::uint32_t b = 0; b < component.blocks; ++b, block += kBlockSize) {
        CodeBlock(block, *mask++, block[0] - component.dc, component.table, to);
        component.dc = block[0];
      }
    }
  }
  job.bits = to.bits;
  job.bit_count = to.count;
  job.out = to.out;
}
