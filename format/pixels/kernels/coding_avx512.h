// Entropy coding in AVX-512: the same bytes as coding.inc.h, after which it is included. A block's
// coefficients become a list of words to look up, at once and without a branch for each, so that no
// branch prediction has to find the block's end; then the words of many blocks are written.

// The numbers of the words to write, counted from the first word of the first table.
struct WordList {
  static constexpr std::size_t kEnough = 2048;
  // A block adds up to 65 numbers (64 coefficients and its end) to fewer than kEnough, and 32 are
  // stored at once. PutWords() reads four at once, and fills up the last four.
  std::uint16_t number[kEnough + 65 + 32];
  std::size_t count = 0;
};

// Two words joined into one: the writer, whose steps wait for each other, then takes half as many.
struct WordPair {
  std::uint64_t bits, length;

  SLUICE_INLINE WordPair(std::uint64_t a, std::uint64_t b) noexcept
      : bits((a >> baseline::kWordLengthBits) << (b & baseline::kWordLength) |
             b >> baseline::kWordLengthBits),
        length((a & baseline::kWordLength) + (b & baseline::kWordLength)) {}

  SLUICE_INLINE void PutTo(BitWriter& to) const noexcept {
    to.bits = to.bits << length | bits;
    to.count += length;
  }
};

// Not inlined: it takes all registers.
[[gnu::noinline]] inline void PutWords(const baseline::CodeWord* words, WordList& list,
                                       BitWriter& writer) noexcept {
  BitWriter to = writer;
  for (std::size_t i = 0; i < 4; ++i)
    list.number[list.count + i] = baseline::kNoWord;
  for (const std::uint16_t *at = list.number, *end = at + list.count; at < end; at += 4) {
    const WordPair first(words[at[0]], words[at[1]]), second(words[at[2]], words[at[3]]);
    first.PutTo(to);
    // Each pair has at most 52 bits. More than 56 in both are rare.
    if (__builtin_expect(first.length + second.length > 56, 0)) to.Flush();
    second.PutTo(to);
    to.Flush();
  }
  list.count = 0;
  writer = to;
}

// Whether more than 15 zeros lie between two ones.
SLUICE_INLINE bool HasLongRun(std::uint64_t mask) noexcept {
  std::uint64_t reached = mask | mask << 1;  // up to 15 places further on
  reached |= reached << 2;
  reached |= reached << 4;
  reached |= reached << 8;
  return (mask & ~(mask & -mask) & ~(reached << 1)) != 0;
}

// Half of a block.
struct HalfBlock {
  __m512i value;
  __mmask32 ones, large;  // coefficients that are not zero; those beyond kMaxSmall

  SLUICE_INLINE explicit HalfBlock(const std::int16_t* from) noexcept
      : value(_mm512_loadu_si512(from)), ones(_mm512_test_epi16_mask(value, value)) {
    const __m512i most = _mm512_set1_epi16(baseline::kMaxSmall);
    large = _mm512_cmpgt_epu16_mask(_mm512_add_epi16(value, most), _mm512_add_epi16(most, most));
  }

  // Writes the words of the coefficients in `mask`, one after another. The coefficient before the
  // first of them is at `before`; `first` is this half's first place.
  SLUICE_INLINE void List(__mmask32 mask, std::uint32_t before, std::int16_t first,
                          std::uint16_t table, std::uint16_t* out) const noexcept {
    alignas(64) static constexpr auto kCounted = [] {
      struct {
        std::uint16_t up[32], last[32];
      } made{};
      for (std::uint16_t i = 0; i < 32; ++i) {
        made.up[i] = i;
        made.last[i] = i == 0 ? 31 : i - 1;
      }
      return made;
    }();
    const __m512i places =
        _mm512_add_epi16(_mm512_load_si512(kCounted.up), _mm512_set1_epi16(first));
    // Each lane of `here` has a coefficient's value in its high byte and the place in its low byte;
    // the same lane of `last` has those of the coefficient before.
    const __m512i here =
        _mm512_maskz_compress_epi16(mask, _mm512_or_si512(_mm512_slli_epi16(value, 8), places));
    const __m512i last =
        _mm512_mask_set1_epi16(_mm512_permutexvar_epi16(_mm512_load_si512(kCounted.last), here), 1,
                               static_cast<std::int16_t>(before));
    const __m512i one = _mm512_set1_epi16(1);
    const __m512i run = _mm512_and_si512(_mm512_sub_epi16(_mm512_sub_epi16(here, last), one),
                                         _mm512_set1_epi16(15));
    const __m512i values = _mm512_and_si512(_mm512_srli_epi16(here, 4), _mm512_set1_epi16(0xFF0));
    _mm512_storeu_si512(out, _mm512_add_epi16(_mm512_or_si512(run, values),
                                              _mm512_set1_epi16(static_cast<std::int16_t>(table))));
  }
};

inline void CodeByLists(CodeJob& job) {
  BitWriter to{job.bits, job.bit_count, job.out};
  const baseline::CodeWord* const words = baseline::StandardCodingTable(0);
  const std::int16_t* block = job.blocks;
  WordList list;
  for (std::uint32_t m = 0; m < job.mcus; ++m) {
    for (std::uint32_t c = 0; c < job.components; ++c) {
      CodeJob::Component& component = job.component[c];
      const auto table = static_cast<std::uint16_t>(component.table - words);
      for (std::uint32_t b = 0; b < component.blocks; ++b, block += kBlockSize) {
        const HalfBlock first(block), second(block + 32);
        const std::uint32_t ones = first.ones | 1;
        const std::uint64_t mask = ones | std::uint64_t{second.ones} << 32;
        const std::int32_t difference = block[0] - component.dc;
        component.dc = block[0];
        if (__builtin_expect((first.large & ~1U) != 0 || second.large != 0 || HasLongRun(mask),
                             0)) {
          PutWords(words, list, to);
          CodeBlock(block, mask, difference, component.table, to);
          continue;
        }
        std::uint16_t* const out = list.number + list.count;
        const auto count = static_cast<std::uint32_t>(__builtin_popcount(ones));
        first.List(ones, 0, 0, table, out);
        out[0] = static_cast<std::uint16_t>(table + baseline::kDifferenceWords +
                                            static_cast<std::size_t>(difference));
        second.List(second.ones, 31U - static_cast<std::uint32_t>(__builtin_clz(ones)), 32, table,
                    out + count);
        list.count += count + static_cast<std::uint32_t>(__builtin_popcount(second.ones));
        list.number[list.count++] = static_cast<std::uint16_t>(
            table + (mask >> 63 != 0 ? baseline::kNoWord : baseline::kEndWord));
        if (list.count >= WordList::kEnough) PutWords(words, list, to);
      }
    }
  }
  PutWords(words, list, to);
  job.bits = to.bits;
  job.bit_count = to.count;
  job.out = to.out;
}
