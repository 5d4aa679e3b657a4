// Unpacking rows of a packed image's blocks (FORMAT.md, "Packed"). Included once for each
// instruction set, whose vector_*.h gives ExpandBytes, ExpandRow, UnpackNibbles and V::Expand, the
// operations that spread values out to the places that a mask names.

SLUICE_INLINE std::uint64_t LoadWord(const std::uint8_t* in) noexcept {
  std::uint64_t word;
  std::memcpy(&word, in, sizeof(word));
  return word;
}

SLUICE_INLINE std::uint32_t CountBits(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(__builtin_popcountll(word));
}

// The ones in `size` bytes. Reads up to eight bytes more.
SLUICE_INLINE std::size_t CountBits(const std::uint8_t* bytes, std::size_t size) noexcept {
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8)
    count += CountBits(LoadWord(bytes + i));
  if (i < size)
    count += CountBits(LoadWord(bytes + i) & ((std::uint64_t{1} << (size - i) * 8) - 1));
  return count;
}

// A row's parts. Each is known to fit into the row.
struct PackedRow {
  const std::uint8_t* dc;  // of each block, 16 bits
  const std::uint8_t* large;
  const std::uint8_t* end;
};

// Finds the masks of all blocks up to the last wanted one, and where each block's values begin.
inline void FindBlocks(const PackedRowJob& job, const std::uint8_t* rows,
                       const std::uint8_t* masks) noexcept {
  std::uint32_t start = 0;
  for (std::uint32_t x = 0; x < job.right; ++x) {
    const std::uint64_t mask = ExpandBytes(masks, rows[x]);
    masks += CountBits(rows[x]);
    job.masks[x] = mask;
    job.starts[x] = start;
    start += CountBits(mask);
  }
  job.starts[job.right] = start;
}

inline bool TakeApart(const PackedRowJob& job, PackedRow& row) noexcept {
  const std::size_t blocks = job.blocks;
  std::size_t left = job.size;  // what is left of the row
  const auto takes = [&left](std::size_t size) {
    if (size > left) return false;
    left -= size;
    return true;
  };
  if (!takes(4)) return false;
  std::uint32_t large = 0;
  std::memcpy(&large, job.bytes, sizeof(large));
  if (!takes(std::size_t{large} * 4) || !takes(blocks * 3)) return false;
  const std::uint8_t* const rows = job.bytes + 4;
  row.dc = rows + blocks;
  const std::uint8_t* const masks = row.dc + 2 * blocks;
  const std::size_t mask_bytes = CountBits(rows, blocks);
  if (!takes(mask_bytes)) return false;
  const std::uint8_t* const values = masks + mask_bytes;
  const std::size_t value_bytes = (CountBits(masks, mask_bytes) + 1) / 2;
  if (!takes(value_bytes)) return false;
  row.end = job.bytes + job.size;
  row.large = row.end - std::size_t{large} * 4;
  FindBlocks(job, rows, masks);
  return UnpackNibbles(values, job.starts[job.right], values + value_bytes, row.large, job.values);
}

SLUICE_INLINE std::int16_t DcOf(const PackedRow& row, std::uint32_t x) noexcept {
  std::int16_t dc;
  std::memcpy(&dc, row.dc + std::size_t{x} * 2, sizeof(dc));
  return dc;
}

// The row's list of large coefficients, in the order of its blocks.
struct LargeList {
  const std::uint8_t* next;
  const std::uint8_t* end;
  std::uint32_t block;  // of the next entry; beyond any block after the last entry

  LargeList(const std::uint8_t* begin, const std::uint8_t* list_end) noexcept
      : next(begin), end(list_end) {
    Look();
  }
  void Look() noexcept {
    block = next == end ? ~std::uint32_t{0} : next[0] + (std::uint32_t{next[1]} << 8);
  }
  void SkipTo(std::uint32_t x) noexcept {
    while (block < x) {
      next += 4;
      Look();
    }
  }
  // Adds the list's entries for block x. Blocks must be asked for in order.
  void AddTo(std::uint32_t x, std::int16_t* coefficients) noexcept {
    SkipTo(x);
    while (block == x) {
      std::int16_t& place = coefficients[next[2] & 63];
      place = static_cast<std::int16_t>(place + static_cast<std::int8_t>(next[3]) * 256);
      next += 4;
      Look();
    }
  }
};

// Expands at least the first `rows` rows of block x to coefficients in natural order.
inline void ExpandBlock(const PackedRowJob& job, const PackedRow& row, std::uint32_t x,
                        std::uint32_t rows, std::int16_t* block) noexcept {
  const std::uint8_t* values = job.values + job.starts[x];
  std::uint64_t mask = job.masks[x];
  for (std::uint32_t v = 0; v < rows; ++v, mask >>= 8) {
    ExpandRow(values, static_cast<std::uint8_t>(mask), block + std::size_t{v} * 8);
    values += CountBits(mask & 255);
  }
  block[0] = DcOf(row, x);
}

// Blocks at full size, two at a time if vectors hold two, without a round trip through memory.
template <class V>
SLUICE_INLINE void TransformPacked(const PackedRowJob& job, const PackedRow& row, std::uint32_t a,
                                   std::uint32_t b, std::uint8_t* out_a,
                                   std::uint8_t* out_b) noexcept {
  V v[8];
  const std::uint8_t* values_a = job.values + job.starts[a];
  std::uint64_t mask_a = job.masks[a];
  if constexpr (V::kBlocks == 2) {
    const std::uint8_t* values_b = job.values + job.starts[b];
    std::uint64_t mask_b = job.masks[b];
    for (int r = 0; r < 8; ++r) {
      v[r] = V::Expand(values_a, static_cast<std::uint8_t>(mask_a), values_b,
                       static_cast<std::uint8_t>(mask_b));
      values_a += CountBits(mask_a & 255);
      values_b += CountBits(mask_b & 255);
      mask_a >>= 8;
      mask_b >>= 8;
      if (r == 0) v[0].SetFirst(DcOf(row, a), DcOf(row, b));
      v[r] = Multiply(v[r], V::LoadTwice(job.quant + r * 8));
    }
    Transform(v);
    StoreColumns(v, out_a, job.stride, out_b, job.stride);
  } else {
    for (int r = 0; r < 8; ++r) {
      v[r] = V::Expand(values_a, static_cast<std::uint8_t>(mask_a));
      values_a += CountBits(mask_a & 255);
      mask_a >>= 8;
      if (r == 0) v[0].SetFirst(DcOf(row, a));
      v[r] = Multiply(v[r], V::Load(job.quant + r * 8));
    }
    Transform(v);
    StoreColumns(v, out_a, job.stride);
  }
}

inline bool UnpackRow(const PackedRowJob& job) {
  PackedRow row;
  if (!TakeApart(job, row)) return false;
  if (!job.transform) return true;
  LargeList large(row.large, row.end);
  constexpr std::uint32_t kStep = BlockVector::kBlocks;
  struct {
    alignas(64) std::int16_t block[2][kBlockStride];
  } memory;
  std::memset(&memory, 0, sizeof(memory));
  const auto out = [&](std::uint32_t x) {
    return job.plane + (std::size_t{x - job.left} << job.size_log2) * job.stride;
  };
  for (std::uint32_t x = job.left; x < job.right; x += kStep) {
    large.SkipTo(x);
    // A last block without a partner is transformed twice.
    const std::uint32_t other = x + kStep - 1 < job.right ? x + kStep - 1 : x;
    if (job.size_log2 == 3 && large.block > other) {
      TransformPacked<BlockVector>(job, row, x, other, out(x), out(other));
      continue;
    }
    const std::uint32_t rows = 1U << job.size_log2;
    BlockTarget targets[2];
    std::uint32_t count = 0;
    for (std::uint32_t b = x; b <= other; ++b, ++count) {
      ExpandBlock(job, row, b, rows, memory.block[count]);
      large.AddTo(b, memory.block[count]);
      targets[count] = {memory.block[count], job.quant, out(b), job.stride, job.size_log2};
    }
    TransformBlocks<BlockVector, kNaturalOrder>(targets, count);
  }
  return true;
}
