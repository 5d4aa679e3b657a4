// Unpacking lines of a packed image's blocks (FORMAT.md, "Packed"). Included once for each
// instruction set, whose vector_*.h gives ExpandBytes, ExpandLine, UnpackNibbles and V::Expand, the
// operations that spread values out to the places that a mask names.

SLUICE_INLINE std::uint64_t LoadWord(const std::uint8_t* in) noexcept {
  std::uint64_t word;
  std::memcpy(&word, in, sizeof(word));
  return word;
}

SLUICE_INLINE std::uint32_t CountBits(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(__builtin_popcountll(word));
}

// The number of one bits in `size` bytes. Reads up to eight bytes more.
SLUICE_INLINE std::size_t CountBits(const std::uint8_t* bytes, std::size_t size) noexcept {
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8)
    count += CountBits(LoadWord(bytes + i));
  if (i < size)
    count += CountBits(LoadWord(bytes + i) & ((std::uint64_t{1} << (size - i) * 8) - 1));
  return count;
}

// A line's parts. Each is known to fit into the line.
struct PackedLine {
  const std::uint8_t* dc;     // of each block, 16 bits
  const std::uint8_t* large;  // the list of large coefficients, up to `end`
  const std::uint8_t* end;
};

// Finds the masks of all blocks up to the last wanted one, and where each block's values begin.
inline void FindBlocks(const PackedLineJob& job, const std::uint8_t* lines,
                       const std::uint8_t* masks) noexcept {
  std::uint32_t start = 0;
  for (std::uint32_t x = 0; x < job.right; ++x) {
    const std::uint64_t mask = ExpandBytes(masks, lines[x]);
    masks += CountBits(lines[x]);
    job.masks[x] = mask;
    job.starts[x] = start;
    start += CountBits(mask);
  }
  job.starts[job.right] = start;
}

inline bool TakeApart(const PackedLineJob& job, PackedLine& line) noexcept {
  const std::size_t blocks = job.blocks;
  std::size_t left = job.size;  // what is left of the line
  const auto takes = [&left](std::size_t size) {
    if (size > left) return false;
    left -= size;
    return true;
  };
  if (!takes(4)) return false;
  std::uint32_t large = 0;
  std::memcpy(&large, job.bytes, sizeof(large));
  if (!takes(std::size_t{large} * 4) || !takes(blocks * 3)) return false;
  const std::uint8_t* const lines = job.bytes + 4;
  line.dc = lines + blocks;
  const std::uint8_t* const masks = line.dc + 2 * blocks;
  const std::size_t mask_bytes = CountBits(lines, blocks);
  if (!takes(mask_bytes)) return false;
  const std::uint8_t* const values = masks + mask_bytes;
  const std::size_t value_bytes = (CountBits(masks, mask_bytes) + 1) / 2;
  if (!takes(value_bytes)) return false;
  line.end = job.bytes + job.size;
  line.large = line.end - std::size_t{large} * 4;
  FindBlocks(job, lines, masks);
  return UnpackNibbles(values, job.starts[job.right], values + value_bytes, line.large, job.values);
}

SLUICE_INLINE std::int16_t DcOf(const PackedLine& line, std::uint32_t x) noexcept {
  std::int16_t dc;
  std::memcpy(&dc, line.dc + std::size_t{x} * 2, sizeof(dc));
  return dc;
}

// The line's list of large coefficients, in the order of its blocks.
struct LargeList {
  const std::uint8_t* next;
  const std::uint8_t* end;
  std::uint32_t block;  // of the next entry; after the last entry, a number that no block has

  LargeList(const std::uint8_t* begin, const std::uint8_t* list_end) noexcept
      : next(begin), end(list_end) {
    ReadBlock();
  }
  void ReadBlock() noexcept {
    block = next == end ? ~std::uint32_t{0} : next[0] + (std::uint32_t{next[1]} << 8);
  }
  void SkipTo(std::uint32_t x) noexcept {
    while (block < x) {
      next += 4;
      ReadBlock();
    }
  }
  // Adds the list's entries for block x. Blocks must be asked for in order.
  void AddTo(std::uint32_t x, std::int16_t* coefficients) noexcept {
    SkipTo(x);
    while (block == x) {
      std::int16_t& place = coefficients[next[2] & 63];
      place = static_cast<std::int16_t>(place + static_cast<std::int8_t>(next[3]) * 256);
      next += 4;
      ReadBlock();
    }
  }
};

// Expands the first `lines` lines of block x to coefficients in natural order. Few blocks need it.
// (If this were inlined, GCC 12 would use an instruction for halves of registers that valgrind does
// not know.)
inline __attribute__((noinline)) void ExpandBlock(const PackedLineJob& job, const PackedLine& line,
                                                  std::uint32_t x, std::uint32_t lines,
                                                  std::int16_t* block) noexcept {
  const std::uint8_t* values = job.values + job.starts[x];
  std::uint64_t mask = job.masks[x];
  for (std::uint32_t v = 0; v < lines; ++v, mask >>= 8) {
    ExpandLine(values, static_cast<std::uint8_t>(mask), block + std::size_t{v} * 8);
    values += CountBits(mask & 255);
  }
  block[0] = DcOf(line, x);
}

// The same for two blocks, if vectors hold two, without a round trip through memory.
template <class V>
SLUICE_INLINE void ExpandBlocks(const PackedLineJob& job, const PackedLine& line, std::uint32_t a,
                                std::uint32_t b, int lines, V* v) noexcept {
  const std::uint8_t* values_a = job.values + job.starts[a];
  std::uint64_t mask_a = job.masks[a];
  if constexpr (V::kBlocks == 2) {
    const std::uint8_t* values_b = job.values + job.starts[b];
    std::uint64_t mask_b = job.masks[b];
    for (int r = 0; r < lines; ++r) {
      v[r] = V::Expand(values_a, static_cast<std::uint8_t>(mask_a), values_b,
                       static_cast<std::uint8_t>(mask_b));
      values_a += CountBits(mask_a & 255);
      values_b += CountBits(mask_b & 255);
      mask_a >>= 8;
      mask_b >>= 8;
    }
    v[0].SetFirst(DcOf(line, a), DcOf(line, b));
  } else {
    for (int r = 0; r < lines; ++r) {
      v[r] = V::Expand(values_a, static_cast<std::uint8_t>(mask_a));
      values_a += CountBits(mask_a & 255);
      mask_a >>= 8;
    }
    v[0].SetFirst(DcOf(line, a));
  }
}

// Transforms as many blocks as a vector holds, given by their first 1 << kSizeLog2 lines.
template <class V, std::uint32_t kSizeLog2>
SLUICE_INLINE void TransformLines(V* v, const std::int16_t* quant, std::uint8_t* a, std::uint8_t* b,
                                  std::size_t stride) noexcept {
  if constexpr (kSizeLog2 == 3) {
    for (int r = 0; r < 8; ++r)
      v[r] = Multiply(v[r], V::LoadTwice(quant + r * 8));
    Transform(v);
    if constexpr (V::kBlocks == 2) {
      StoreColumns(v, a, stride, b, stride);
    } else {
      StoreColumns(v, a, stride);
    }
  } else {
    V low[2];
    JoinRows<V, kSizeLog2>(v, low);
    TransformLow<V, kSizeLog2>(low, LowSteps<V, kSizeLog2>(quant), a, b, stride);
  }
}

template <class V, std::uint32_t kSizeLog2>
inline void TransformPacked(const PackedLineJob& job, const PackedLine& line) noexcept {
  constexpr int kLines = 1 << kSizeLog2;
  LargeList large(line.large, line.end);
  alignas(64) std::int16_t blocks[2][kBlockSize] = {};
  const std::size_t width = job.stride << kSizeLog2;
  std::uint8_t* out = job.plane;
  for (std::uint32_t x = job.left; x < job.right; x += V::kBlocks, out += V::kBlocks * width) {
    large.SkipTo(x);
    // A last block without a partner is transformed twice.
    const std::uint32_t more = x + V::kBlocks - 1 < job.right ? V::kBlocks - 1 : 0;
    V v[kLines];
    if (large.block > x + more) {
      ExpandBlocks(job, line, x, x + more, kLines, v);
    } else {
      for (std::uint32_t i = 0; i <= more; ++i) {
        ExpandBlock(job, line, x + i, kLines, blocks[i]);
        large.AddTo(x + i, blocks[i]);
      }
      for (int r = 0; r < kLines; ++r)
        v[r] = V::Load(blocks[0] + r * 8, blocks[more] + r * 8);
    }
    TransformLines<V, kSizeLog2>(v, job.quant, out, out + more * width, job.stride);
  }
}

inline void PackedMeans(const PackedLineJob& job, const PackedLine& line) noexcept {
  LargeList large(line.large, line.end);
  std::int16_t block[kBlockSize] = {};
  std::uint8_t* out = job.plane;
  for (std::uint32_t x = job.left; x < job.right; ++x, out += job.stride) {
    block[0] = DcOf(line, x);
    large.AddTo(x, block);
    *out = TransformToOne(block[0], job.quant[0]);
  }
}

inline bool UnpackLine(const PackedLineJob& job) {
  PackedLine line;
  if (!TakeApart(job, line)) return false;
  if (!job.transform) return true;
  switch (job.size_log2) {
    case 0: PackedMeans(job, line); break;
    case 1: TransformPacked<BlockVector, 1>(job, line); break;
    case 2: TransformPacked<BlockVector, 2>(job, line); break;
    default: TransformPacked<BlockVector, 3>(job, line);
  }
  return true;
}
