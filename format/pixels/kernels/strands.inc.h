// Entropy decoding at several places of a scan side by side (baseline/strands.h), so that the
// look-up of one place is loaded while those of the others are used. Included once for each
// instruction set.
//
// A strand runs freely: no branch depends on where its blocks end. Each entry of a table says how
// to move on in the block and in the list of tables; after the last block of a run that list has a
// table on which the strand stays where it is.

// The part of a strand's state that each look-up updates. `bits` are the next bits of the stream,
// left-aligned, followed by a one: the number of zeros after this one is the number of bits
// consumed since `in`.
struct StrandState {
  std::uint64_t bits;
  const std::uint8_t* in;
  std::int16_t* out;
  const baseline::StrandTable* const* next;
};

SLUICE_INLINE void Refill(StrandState& s) noexcept {
  const auto consumed = static_cast<std::uint32_t>(__builtin_ctzll(s.bits));
  s.in += consumed >> 3;
  std::uint64_t word;
  std::memcpy(&word, s.in, 8);
  s.bits = (__builtin_bswap64(word) | 1) << (consumed & 7);
}

template <class T>
SLUICE_INLINE T* BytesOn(T* pointer, std::size_t bytes) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + bytes);
}

SLUICE_INLINE std::size_t BytesInBlock(const std::int16_t* out) noexcept {
  return reinterpret_cast<std::uintptr_t>(out) % baseline::kBlockBytes;
}

// One look-up, of all bits but the lowest `unseen`. Returns false and does nothing if the next
// symbol must be taken by its code.
SLUICE_INLINE bool Step(StrandState& s, std::uint32_t unseen) noexcept {
  const baseline::StrandTable* const table = *s.next;
  const baseline::StrandEntry& entry = table->entry[s.bits >> unseen];
  // Both numbers are 128 at most, so that in eight bits their sum is negative from 128 on.
  static_assert(baseline::kBlockBytes == 128);
  const auto reach = static_cast<std::int8_t>(BytesInBlock(s.out) + entry.reach);
  if (__builtin_expect(reach < 0, 0)) return false;
  const auto& values = *reinterpret_cast<const baseline::StrandValues*>(
      reinterpret_cast<std::uintptr_t>(table) + entry.values * baseline::kValuesUnit);
  StoreValues(ValuesOf(values, BitField(s.bits, values.late)), BytesOn(s.out, entry.offset));
  s.bits <<= entry.length & 63;
  s.out = reinterpret_cast<std::int16_t*>((reinterpret_cast<std::uintptr_t>(s.out) | entry.end) +
                                          entry.advance);
  s.next = BytesOn(s.next, static_cast<std::size_t>(entry.next));
  return true;
}

// Takes one symbol by its code. A strand with a code that does not exist or a coefficient beyond
// its block is moved beyond its limit.
inline __attribute__((noinline)) void TakeSymbol(Strand& strand) noexcept {
  StrandState s{strand.bits, strand.in, strand.out, strand.next};
  Refill(s);
  const std::size_t in_block = BytesInBlock(s.out);
  const baseline::StrandTable& table = **s.next;
  const bool dc = in_block == 0;
  const std::uint32_t prefix = table.prefix();
  const std::uint64_t bits = s.bits >> prefix | ~(~std::uint64_t{0} >> prefix);
  const baseline::HuffmanTable::Code code = (dc ? table.dc : table.ac)->CodeAt(bits);
  const std::uint32_t size = code.symbol & 15;
  const std::uint32_t run = dc ? 0 : code.symbol >> 4;
  strand.in = strand.limit + 1;
  if (code.length == 0) return;
  if (!dc && code.symbol == 0) {
    s.out = BytesOn(s.out, baseline::kBlockBytes - in_block);
  } else {
    if (in_block + run * 2 >= baseline::kBlockBytes) return;
    s.out += run;
    if (size != 0 && (dc || table.wanted)) {
      *s.out = static_cast<std::int16_t>(
          baseline::Extend(static_cast<std::uint32_t>((bits << code.length) >> (64 - size)), size));
    }
    ++s.out;
  }
  s.next += (BytesInBlock(s.out) == 0 ? baseline::kBlockTables : baseline::kRest) - table.place;
  s.bits <<= code.length + size - prefix;
  Refill(s);
  strand.bits = s.bits;
  strand.in = s.in;
  strand.out = s.out;
  strand.next = s.next;
}

inline bool IsDone(const Strand& s) noexcept {
  return s.out >= s.end || s.in > s.limit;
}

// Runs kCount strands until one of them is done. Returns the number of the strand whose next symbol
// must be taken by its code, if that comes first; kCount otherwise.
template <std::size_t kCount>
inline std::size_t RunToSymbol(Strand* strands) noexcept {
  StrandState s[kCount];
  for (std::size_t i = 0; i < kCount; ++i)
    s[i] = {strands[i].bits, strands[i].in, strands[i].out, strands[i].next};
  const std::uint32_t unseen = strands[0].unseen;
  std::size_t by_code = kCount;
  bool done = false;
  while (!done && by_code == kCount) {
#pragma GCC unroll 3
    for (std::size_t i = 0; i < kCount; ++i)
      Refill(s[i]);
#pragma GCC unroll 9
    for (std::size_t i = 0; i < kCount * baseline::kStrandLookUps; ++i) {
      if (__builtin_expect(!Step(s[i % kCount], unseen), 0)) {
        by_code = i % kCount;
        break;
      }
    }
#pragma GCC unroll 3
    for (std::size_t i = 0; i < kCount; ++i)
      done = done || s[i].out >= strands[i].end || s[i].in > strands[i].limit;
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    strands[i].bits = s[i].bits;
    strands[i].in = s[i].in;
    strands[i].out = s[i].out;
    strands[i].next = s[i].next;
  }
  return by_code;
}

template <std::size_t kCount>
inline void RunStrandsOf(Strand* strands) noexcept {
  for (;;) {
    const std::size_t by_code = RunToSymbol<kCount>(strands);
    if (by_code == kCount) return;
    TakeSymbol(strands[by_code]);
    // RunToSymbol() may return before it compares the strands with their limits. However often that
    // happens, no strand may run on beyond its limit, so the limits are checked here, too.
    for (std::size_t i = 0; i < kCount; ++i) {
      if (IsDone(strands[i])) return;
    }
  }
}

inline void RunStrands(Strand* strands, std::size_t count) noexcept {
  static_assert(kStrands == 3);
  switch (count) {
    case 1: return RunStrandsOf<1>(strands);
    case 2: return RunStrandsOf<2>(strands);
    default: RunStrandsOf<3>(strands);
  }
}

// Replaces the DC differences of a component, which has kBlocks blocks in each MCU, by the DC
// coefficients. Returns the last one.
template <std::size_t kBlocks>
SLUICE_INLINE std::uint32_t AddDifferences(std::int16_t* block, std::size_t mcu, std::uint32_t mcus,
                                           std::uint32_t dc) noexcept {
  for (; mcus > 0; --mcus, block += mcu) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      dc += static_cast<std::uint32_t>(block[b * kBlockSize]);
      block[b * kBlockSize] = static_cast<std::int16_t>(dc);
    }
  }
  return dc;
}

inline void FinishBlocks(const SegmentJob& job, const BlockRun& run) {
  std::size_t mcu = 0;  // coefficients of an MCU
  for (std::uint32_t c = 0; c < job.components; ++c)
    mcu += job.component[c].across * job.component[c].down * kBlockSize;
  std::int16_t* first = run.blocks;
  for (std::uint32_t c = 0; c < job.components; ++c) {
    const std::uint32_t blocks = job.component[c].across * job.component[c].down;
    switch (blocks) {
      case 1: run.dc[c] = AddDifferences<1>(first, mcu, run.mcus, run.dc[c]); break;
      case 2: run.dc[c] = AddDifferences<2>(first, mcu, run.mcus, run.dc[c]); break;
      default: run.dc[c] = AddDifferences<4>(first, mcu, run.mcus, run.dc[c]);
    }
    first += blocks * kBlockSize;
  }
  if (!run.wanted) {  // only DC coefficients were decoded; the others are zero
    for (std::size_t i = 0; i < run.mcus * mcu; i += kBlockSize)
      run.blocks[i] = 0;
    return;
  }
  const std::uint32_t x = run.first_mcu % job.mcus_across;
  const std::uint32_t y = run.first_mcu / job.mcus_across;
  if (job.recoding != nullptr) {
    BlockVector beyond = BlockVector::All(0);
    for (std::uint32_t m = 0; m < run.mcus; ++m)
      RecodeMcu(job, run.blocks + m * mcu, kBlockSize, x + m, y, beyond);
    NoteBeyond(job, beyond);
  } else if (job.transform) {
    TransformMcus<kZigzagOrder>(job, run.blocks, kBlockSize, x - job.left, y - job.top, run.mcus);
  } else {
    std::memset(run.blocks, 0, run.mcus * mcu * sizeof(*run.blocks));
  }
}
