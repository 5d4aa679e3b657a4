// The vector operations of the kernels in plain C++: the definition of what the other sets must
// give. Included inside a namespace of its own.

// A vector whose lane i is f(i).
template <class V, class F>
SLUICE_INLINE V EachLane(const F& f) noexcept {
  V r;
  for (int i = 0; i < static_cast<int>(sizeof(r.lane) / sizeof(r.lane[0])); ++i)
    r.lane[i] = static_cast<typename V::Lane>(f(i));
  return r;
}

// Eight values of 32 bits, four for each block.
struct Wide32x2 {
  using Lane = std::int32_t;
  Lane lane[8];
  static Wide32x2 All(std::int32_t value) noexcept {
    return EachLane<Wide32x2>([value](int) { return value; });
  }
  template <int kBits>
  Wide32x2 Right() const noexcept {
    return EachLane<Wide32x2>([this](int i) { return lane[i] >> kBits; });
  }
};

// Sums wrap around, as vector instructions do: hostile coefficients must not cause undefined
// behaviour.
inline Wide32x2 operator+(const Wide32x2& a, const Wide32x2& b) noexcept {
  return EachLane<Wide32x2>([&](int i) {
    return static_cast<std::uint32_t>(a.lane[i]) + static_cast<std::uint32_t>(b.lane[i]);
  });
}
inline Wide32x2 operator-(const Wide32x2& a, const Wide32x2& b) noexcept {
  return EachLane<Wide32x2>([&](int i) {
    return static_cast<std::uint32_t>(a.lane[i]) - static_cast<std::uint32_t>(b.lane[i]);
  });
}

// Spreads the consecutive bytes at `in` to the places of the mask's ones, lowest first; zeros
// elsewhere.
inline std::uint64_t ExpandBytes(const std::uint8_t* in, std::uint8_t mask) noexcept {
  std::uint64_t out = 0;
  for (int place = 0; place < 64; place += 8, mask = static_cast<std::uint8_t>(mask >> 1)) {
    if ((mask & 1) != 0) out |= std::uint64_t{*in++} << place;
  }
  return out;
}
// Like ExpandBytes(), for signed 8-bit values, which are widened to 16 bits.
inline void ExpandLine(const std::uint8_t* in, std::uint8_t mask, std::int16_t* out) noexcept {
  for (int i = 0; i < 8; ++i, mask = static_cast<std::uint8_t>(mask >> 1)) {
    out[i] = static_cast<std::int8_t>((mask & 1) != 0 ? *in++ : 0);
  }
}

// Unpacks signed 4-bit values to bytes, the low half of a byte first; -8 stands for the next byte
// of `more`. False if `more` ends too early.
inline bool UnpackNibbles(const std::uint8_t* in, std::size_t count, const std::uint8_t* more,
                          const std::uint8_t* more_end, std::uint8_t* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned nibble = (in[i / 2] >> (i % 2 * 4)) & 15U;
    if (nibble != 8) {
      out[i] = static_cast<std::uint8_t>(nibble > 8 ? nibble + 240 : nibble);
    } else if (more == more_end) {
      return false;
    } else {
      out[i] = *more++;
    }
  }
  return true;
}

// Sixteen values of 16 bits: eight of one block, then eight of another.
struct Vector16x2 {
  using Wide = Wide32x2;
  using Lane = std::int16_t;
  static constexpr int kBlocks = 2;
  Lane lane[16];

  static Vector16x2 Load(const std::int16_t* a, const std::int16_t* b) noexcept {
    Vector16x2 r;
    std::memcpy(r.lane, a, 16);
    std::memcpy(r.lane + 8, b, 16);
    return r;
  }
  static Vector16x2 LoadTwice(const std::int16_t* a) noexcept { return Load(a, a); }
  // As many values in a row as a vector holds.
  static Vector16x2 LoadRun(const std::int16_t* from) noexcept { return Load(from, from + 8); }
  void StoreRun(std::int16_t* to) const noexcept { std::memcpy(to, lane, sizeof(lane)); }
  // ExpandLine() for a row of each block.
  static Vector16x2 Expand(const std::uint8_t* a, std::uint8_t mask_a, const std::uint8_t* b,
                           std::uint8_t mask_b) noexcept {
    Vector16x2 r;
    ExpandLine(a, mask_a, r.lane);
    ExpandLine(b, mask_b, r.lane + 8);
    return r;
  }
  // Sets the first value of each block.
  void SetFirst(std::int16_t a, std::int16_t b) noexcept {
    lane[0] = a;
    lane[8] = b;
  }
  static Vector16x2 LoadTwice(const std::uint16_t* a) noexcept {
    return LoadTwice(reinterpret_cast<const std::int16_t*>(a));
  }
  // Eight samples of each block, minus 128.
  static Vector16x2 LoadSamples(const std::uint8_t* a, const std::uint8_t* b) noexcept {
    Vector16x2 r;
    for (int i = 0; i < 8; ++i) {
      r.lane[i] = static_cast<std::int16_t>(a[i] - 128);
      r.lane[8 + i] = static_cast<std::int16_t>(b[i] - 128);
    }
    return r;
  }
  static Vector16x2 All(std::int16_t value) noexcept {
    return EachLane<Vector16x2>([value](int) { return value; });
  }
  template <int kBits>
  Vector16x2 Left() const noexcept {
    return EachLane<Vector16x2>(
        [this](int i) { return static_cast<std::uint16_t>(lane[i]) << kBits; });
  }
  template <int kBits>
  Vector16x2 Right() const noexcept {
    return EachLane<Vector16x2>([this](int i) { return lane[i] >> kBits; });
  }
};
using BlockVector = Vector16x2;

inline Vector16x2 operator+(const Vector16x2& a, const Vector16x2& b) noexcept {
  return EachLane<Vector16x2>([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline Vector16x2 operator-(const Vector16x2& a, const Vector16x2& b) noexcept {
  return EachLane<Vector16x2>([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline Vector16x2 Multiply(const Vector16x2& a, const Vector16x2& b) noexcept {
  return EachLane<Vector16x2>([&](int i) { return a.lane[i] * b.lane[i]; });
}

// These two are written as loops: GCC 12 turns a condition in a lambda into branches.
inline Vector16x2 Absolute(const Vector16x2& a) noexcept {
  Vector16x2 r;
  for (int i = 0; i < 16; ++i)
    r.lane[i] = static_cast<std::int16_t>(a.lane[i] < 0 ? -a.lane[i] : a.lane[i]);
  return r;
}
// -a where `b` is below zero. `a` must be zero where `b` is.
inline Vector16x2 WithSign(const Vector16x2& a, const Vector16x2& b) noexcept {
  Vector16x2 r;
  for (int i = 0; i < 16; ++i)
    r.lane[i] = static_cast<std::int16_t>(b.lane[i] < 0 ? -a.lane[i] : a.lane[i]);
  return r;
}

// The high halves of products of unsigned values.
inline Vector16x2 MultiplyHigh(const Vector16x2& a, const Vector16x2& b) noexcept {
  Vector16x2 r;
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t product = std::uint32_t{static_cast<std::uint16_t>(a.lane[i])} *
                                  static_cast<std::uint16_t>(b.lane[i]);
    r.lane[i] = static_cast<std::int16_t>(product >> 16);
  }
  return r;
}

// Two factors in turn, for MultiplyAddPairs().
template <class V, int kFirst, int kSecond>
inline V Pairs() noexcept {
  V r;
  for (int i = 0; i < 16; i += 2) {
    r.lane[i] = kFirst;
    r.lane[i + 1] = kSecond;
  }
  return r;
}

// a and b interleaved: the first four lanes of each block, or the last four.
template <int kFirst>
inline Vector16x2 Interleave(const Vector16x2& a, const Vector16x2& b) noexcept {
  Vector16x2 r;
  for (int block = 0; block < 16; block += 8) {
    for (int i = 0; i < 4; ++i) {
      r.lane[block + 2 * i] = a.lane[block + kFirst + i];
      r.lane[block + 2 * i + 1] = b.lane[block + kFirst + i];
    }
  }
  return r;
}
inline Vector16x2 InterleaveLow(const Vector16x2& a, const Vector16x2& b) noexcept {
  return Interleave<0>(a, b);
}
inline Vector16x2 InterleaveHigh(const Vector16x2& a, const Vector16x2& b) noexcept {
  return Interleave<4>(a, b);
}

// Adds the products of neighbours.
inline Wide32x2 MultiplyAddPairs(const Vector16x2& a, const Vector16x2& b) noexcept {
  return EachLane<Wide32x2>(
      [&](int i) { return a.lane[2 * i] * b.lane[2 * i] + a.lane[2 * i + 1] * b.lane[2 * i + 1]; });
}

// Widens the first or the last four values of each block, and shifts them left.
template <int kFirst, int kBits>
inline Wide32x2 Widen(const Vector16x2& a) noexcept {
  Wide32x2 r;
  for (int i = 0; i < 4; ++i) {
    r.lane[i] = a.lane[kFirst + i] * (1 << kBits);
    r.lane[4 + i] = a.lane[8 + kFirst + i] * (1 << kBits);
  }
  return r;
}
template <int kBits>
inline Wide32x2 WidenLow(const Vector16x2& a) noexcept {
  return Widen<0, kBits>(a);
}
template <int kBits>
inline Wide32x2 WidenHigh(const Vector16x2& a) noexcept {
  return Widen<4, kBits>(a);
}

// Narrows to 16 bits, saturating.
inline Vector16x2 Narrow(const Wide32x2& low, const Wide32x2& high) noexcept {
  const auto clamp = [](std::int32_t value) {
    return static_cast<std::int16_t>(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
  };
  Vector16x2 r;
  for (int block = 0; block < 2; ++block) {
    for (int i = 0; i < 4; ++i) {
      r.lane[block * 8 + i] = clamp(low.lane[block * 4 + i]);
      r.lane[block * 8 + 4 + i] = clamp(high.lane[block * 4 + i]);
    }
  }
  return r;
}

inline void Transpose8(Vector16x2* v) noexcept {
  for (int block = 0; block < 16; block += 8) {
    for (int i = 0; i < 8; ++i) {
      for (int j = i + 1; j < 8; ++j) {
        const std::int16_t other = v[i].lane[block + j];
        v[i].lane[block + j] = v[j].lane[block + i];
        v[j].lane[block + i] = other;
      }
    }
  }
}

// Of each block, the first four values of `a`, then those of `b`.
inline Vector16x2 JoinFours(const Vector16x2& a, const Vector16x2& b) noexcept {
  Vector16x2 r;
  for (int block = 0; block < 16; block += 8) {
    std::memcpy(r.lane + block, a.lane + block, 8);
    std::memcpy(r.lane + block + 4, b.lane + block, 8);
  }
  return r;
}
// Of each block, the first two values of `a` and of `b`, then these four again.
inline Vector16x2 JoinTwos(const Vector16x2& a, const Vector16x2& b) noexcept {
  Vector16x2 r;
  for (int half = 0; half < 16; half += 4) {
    std::memcpy(r.lane + half, a.lane + half / 8 * 8, 4);
    std::memcpy(r.lane + half + 2, b.lane + half / 8 * 8, 4);
  }
  return r;
}

// Four frequencies to four samples, with 13 bits of fraction more.
template <class Value>
inline void FourSamples(const Value* in, Value* out) noexcept {
  const Value even = (in[0] + in[2]) * k1000;
  const Value other_even = (in[0] - in[2]) * k1000;
  const Value odd = in[1] * k1306 + in[3] * k0541;
  const Value other_odd = in[1] * k0541 - in[3] * k1306;
  out[0] = even + odd;
  out[1] = other_even + other_odd;
  out[2] = other_even - other_odd;
  out[3] = even - odd;
}
// TransformToFour() in 64 bits, which are faster here than sums of two parts.
inline void TransformToFour(const Vector16x2* rows, Vector16x2* columns) noexcept {
  for (int block = 0; block < 16; block += 8) {
    std::int32_t across[4][4];
    for (int v = 0; v < 4; ++v) {
      std::int32_t in[4];
      for (int u = 0; u < 4; ++u)
        in[u] = rows[v / 2].lane[block + v % 2 * 4 + u];
      FourSamples(in, across[v]);
    }
    for (int x = 0; x < 4; ++x) {
      std::int64_t in[4], out[4];
      for (int v = 0; v < 4; ++v)
        in[v] = across[v][x];
      in[0] += std::int64_t{1} << (kConstBits + 2);  // half of what the shift takes
      FourSamples(in, out);
      for (int y = 0; y < 4; ++y) {
        const std::int64_t value = out[y] >> (2 * kConstBits + 3);
        columns[x / 2].lane[block + x % 2 * 4 + y] =
            static_cast<std::int16_t>(value < -128  ? -128
                                      : value > 127 ? 127
                                                    : value);
      }
    }
  }
}

inline Vector16x2 TransformToTwo(const Vector16x2& square) noexcept {
  Vector16x2 r;
  for (int block = 0; block < 16; block += 8) {
    const std::int16_t* const in = square.lane + block;
    const std::int32_t sums[2] = {in[0] + in[1] + 4, in[2] + in[3]};  // one for each row
    const std::int32_t differences[2] = {in[0] - in[1] + 4, in[2] - in[3]};
    const std::int32_t out[4] = {sums[0] + sums[1], sums[0] - sums[1],
                                 differences[0] + differences[1], differences[0] - differences[1]};
    for (int i = 0; i < 4; ++i)
      r.lane[block + i] = static_cast<std::int16_t>(out[i] >> 3);
  }
  return r;
}

inline std::uint8_t SampleOf(std::int16_t value) noexcept {
  return static_cast<std::uint8_t>(value < -128 ? 0 : value > 127 ? 255 : value + 128);
}

// Four columns of four samples, two in each vector.
inline void StoreFours(const Vector16x2* v, std::uint8_t* a, std::uint8_t* b,
                       std::size_t stride) noexcept {
  for (std::size_t x = 0; x < 4; ++x) {
    const std::int16_t* const in = v[x / 2].lane + x % 2 * 4;
    std::uint8_t column[2][4];
    for (std::size_t y = 0; y < 4; ++y) {
      column[0][y] = SampleOf(in[y]);
      column[1][y] = SampleOf(in[8 + y]);
    }
    std::memcpy(a + x * stride, column[0], 4);
    std::memcpy(b + x * stride, column[1], 4);
  }
}

// Two columns of two samples.
inline void StoreTwos(const Vector16x2& v, std::uint8_t* a, std::uint8_t* b,
                      std::size_t stride) noexcept {
  for (std::size_t y = 0; y < 2; ++y) {
    a[y] = SampleOf(v.lane[y]);
    a[stride + y] = SampleOf(v.lane[2 + y]);
    b[y] = SampleOf(v.lane[8 + y]);
    b[stride + y] = SampleOf(v.lane[10 + y]);
  }
}

// The eight vectors as columns of two blocks of samples: 128 added, clamped to 0..255.
inline void StoreColumns(const Vector16x2* v, std::uint8_t* a, std::size_t a_stride,
                         std::uint8_t* b, std::size_t b_stride) noexcept {
  for (std::size_t x = 0; x < 8; ++x) {
    for (std::size_t y = 0; y < 8; ++y) {
      a[x * a_stride + y] = SampleOf(v[x].lane[y]);
      b[x * b_stride + y] = SampleOf(v[x].lane[8 + y]);
    }
  }
}

constexpr bool kStrandsPay = false;

// Consecutive coefficients.
struct Coefficients {
  std::int16_t value[8];
};

// The values of a look-up, then a zero. `late`, those bits of the first value that follow the bits
// looked up, is added to the first value.
inline Coefficients ValuesOf(const baseline::StrandValues& values, std::uint64_t late) noexcept {
  Coefficients all = {};
  std::memcpy(all.value, values.value, sizeof(values.value));
  all.value[0] = static_cast<std::int16_t>(all.value[0] + static_cast<int>(late));
  return all;
}

inline void StoreValues(const Coefficients& values, std::int16_t* out) noexcept {
  std::memcpy(out, values.value, sizeof(values.value));
}

// Loads the rows of two blocks that are in zigzag order.
inline void LoadZigzag(const std::int16_t* a, const std::int16_t* b, Vector16x2* v) noexcept {
  for (int i = 0; i < 64; ++i) {
    const int natural = kZigzag.natural[i];
    v[natural / 8].lane[natural % 8] = a[i];
    v[natural / 8].lane[8 + natural % 8] = b[i];
  }
}

// Loads the 4 x 4 lowest frequencies of two blocks that are in zigzag order, as JoinFours() of rows
// 0 and 1, and of rows 2 and 3.
inline void LoadZigzagFours(const std::int16_t* a, const std::int16_t* b, Vector16x2* v) noexcept {
  for (int i = 0; i < 32; ++i) {
    const int place = kZigzagFours.pair[i];
    v[i / 16].lane[i % 16] = place < 32 ? a[place] : b[place - 32];
  }
}
// JoinTwos() of a block's first two rows, in zigzag order.
inline Vector16x2 LoadZigzagTwos(const std::int16_t* a, const std::int16_t* b) noexcept {
  Vector16x2 r;
  for (int half = 0; half < 16; half += 4) {
    const std::int16_t* const from = half < 8 ? a : b;
    std::memcpy(r.lane + half, from, 6);
    r.lane[half + 3] = from[4];
  }
  return r;
}

// Stores the rows of two blocks in zigzag order.
inline void StoreZigzag(const Vector16x2* v, std::int16_t* a, std::int16_t* b) noexcept {
  for (int i = 0; i < 64; ++i) {
    const int natural = kZigzag.natural[i];
    a[i] = v[natural / 8].lane[natural % 8];
    b[i] = v[natural / 8].lane[8 + natural % 8];
  }
}

// Stores the rows of two blocks as they are, in natural order.
inline void StoreRows(const Vector16x2* v, std::int16_t* a, std::int16_t* b) noexcept {
  for (int row = 0; row < 8; ++row) {
    std::memcpy(a + row * 8, v[row].lane, 8 * sizeof(*a));
    std::memcpy(b + row * 8, v[row].lane + 8, 8 * sizeof(*b));
  }
}

// A bit for each of a block's coefficients: whether it is not zero.
inline std::uint64_t NonZeroMask(const std::int16_t* block) noexcept {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; ++i)
    mask |= std::uint64_t{block[i] != 0 ? 1U : 0U} << i;
  return mask;
}
