#include "format/pixels/packed/pack.h"

#include <algorithm>
#include <array>
#include <bit>

namespace sluice::packed {

namespace {

constexpr std::uint8_t kEscape = 8;  // a 4-bit value that stands for the next byte

void Append(std::vector<std::byte>& out, const std::vector<std::uint8_t>& bytes) {
  const Bytes more = std::as_bytes(std::span(bytes));
  out.insert(out.end(), more.begin(), more.end());
}

// The parts of a row, gathered block by block.
struct RowParts {
  std::vector<std::uint8_t> rows, dc, masks, values, escapes, large;
  std::size_t nibbles = 0;

  void Add(std::uint32_t x, const std::int16_t* block);
  void AddValue(std::int8_t value);
  void AppendTo(std::vector<std::byte>& out) const;
};

void RowParts::AddValue(std::int8_t value) {
  const auto byte = static_cast<std::uint8_t>(value);
  const bool fits = value >= -7 && value <= 7;
  const std::uint8_t nibble = fits ? byte & 15 : kEscape;
  if (!fits) escapes.push_back(byte);
  if (nibbles++ % 2 == 0) {
    values.push_back(nibble);
  } else {
    values.back() = static_cast<std::uint8_t>(values.back() | nibble << 4);
  }
}

void RowParts::Add(std::uint32_t x, const std::int16_t* block) {
  const auto first = static_cast<std::uint16_t>(block[0]);
  dc.push_back(static_cast<std::uint8_t>(first));
  dc.push_back(static_cast<std::uint8_t>(first >> 8));
  std::uint8_t rows_set = 0;
  for (unsigned v = 0; v < 8; ++v) {
    std::uint8_t mask = 0;
    for (unsigned u = v == 0 ? 1 : 0; u < 8; ++u) {
      const std::int16_t value = block[v * 8 + u];
      if (value == 0) continue;
      mask = static_cast<std::uint8_t>(mask | 1U << u);
      const auto low = static_cast<std::int8_t>(value);
      AddValue(low);
      if (low == value) continue;
      for (const unsigned byte :
           {x & 255U, x >> 8, v * 8 + u, static_cast<unsigned>((value - low) / 256)}) {
        large.push_back(static_cast<std::uint8_t>(byte));
      }
    }
    if (mask == 0) continue;
    rows_set = static_cast<std::uint8_t>(rows_set | 1U << v);
    masks.push_back(mask);
  }
  rows.push_back(rows_set);
}

void RowParts::AppendTo(std::vector<std::byte>& out) const {
  const auto count = static_cast<std::uint32_t>(large.size() / kLargeBytes);
  const Bytes header = std::as_bytes(std::span(&count, 1));
  out.insert(out.end(), header.begin(), header.end());
  for (const auto* part : {&rows, &dc, &masks, &values, &escapes, &large})
    Append(out, *part);
}

std::vector<std::byte> HeaderBytes(const Header& header) {
  std::vector<std::byte> out(header.rows_offset());
  const auto set = [&out](std::size_t at, auto value) { StoreAt(std::span(out), at, value); };
  set(0, kForm);
  set(1, static_cast<std::uint8_t>(header.components));
  set(2, static_cast<std::uint8_t>(header.component[0].h << 4 | header.component[0].v));
  set(3, static_cast<std::uint8_t>(header.tables));
  set(4, static_cast<std::uint16_t>(header.width));
  set(6, static_cast<std::uint16_t>(header.height));
  for (std::uint32_t c = 0; c < header.components; ++c)
    set(8 + c, header.component[c].table);
  set(11, header.density_unit);
  set(12, header.density_x);
  set(14, header.density_y);
  set(16, header.jfif_major);
  set(17, header.jfif_minor);
  set(18, header.restart_interval);
  for (std::uint32_t t = 0; t < header.tables; ++t) {
    const Bytes steps = std::as_bytes(std::span(header.table[t]));
    const std::span<std::byte> table = std::span(out).subspan(kHeaderBytes + t * kTableBytes);
    std::copy(steps.begin(), steps.end(), table.begin());
  }
  return out;
}

// Reads a row's parts front to back. Checks that each lies inside before it is taken.
class RowReader {
 public:
  explicit RowReader(Bytes row) noexcept : left_(row) {}
  bool Take(std::size_t size, Bytes& part) noexcept {
    if (size > left_.size()) return false;
    part = left_.first(size);
    left_ = left_.subspan(size);
    return true;
  }
  bool TakeLast(std::size_t size, Bytes& part) noexcept {
    if (size > left_.size()) return false;
    part = left_.last(size);
    left_ = left_.first(left_.size() - size);
    return true;
  }
  Bytes left() const noexcept { return left_; }

 private:
  Bytes left_;
};

// Two's complement.
std::int16_t SignedByte(std::byte byte) noexcept {
  const int value = std::to_integer<int>(byte);
  return static_cast<std::int16_t>(value < 128 ? value : value - 256);
}

std::size_t CountOnes(Bytes bytes) noexcept {
  std::size_t count = 0;
  for (const std::byte byte : bytes)
    count += static_cast<std::size_t>(std::popcount(static_cast<std::uint8_t>(byte)));
  return count;
}

// Takes a row's values as bytes. False if they do not use up the bytes that are there.
bool TakeValues(Bytes packed, std::size_t count, Bytes escapes, std::vector<std::int16_t>& values) {
  values.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned nibble = (static_cast<unsigned>(packed[i / 2]) >> (i % 2 * 4)) & 15U;
    if (nibble != kEscape) {
      values.push_back(static_cast<std::int16_t>(nibble > 8 ? int(nibble) - 16 : int(nibble)));
      continue;
    }
    if (escapes.empty()) return false;
    values.push_back(SignedByte(escapes[0]));
    if (values.back() >= -7 && values.back() <= 7) return false;  // it has one encoding only
    escapes = escapes.subspan(1);
  }
  const bool odd = count % 2 != 0;
  return escapes.empty() && (!odd || static_cast<unsigned>(packed.back()) >> 4 == 0);
}

// Adds the list of large coefficients. It must be in order and name only coefficients that have a
// value.
bool AddLarge(Bytes list, const std::vector<std::uint64_t>& masks, std::span<std::int16_t> blocks) {
  std::int64_t last = -1;
  for (std::size_t at = 0; at < list.size(); at += kLargeBytes) {
    const std::size_t block = LoadAt<std::uint16_t>(list, at);
    const auto place = static_cast<std::size_t>(list[at + 2]);
    const int high = SignedByte(list[at + 3]);
    if (place == 0 || place > 63 || high == 0) return false;
    const std::size_t index = block * 64 + place;
    if (static_cast<std::int64_t>(index) <= last || index >= blocks.size() ||
        (masks[block] >> place & 1) == 0) {
      return false;
    }
    last = static_cast<std::int64_t>(index);
    blocks[index] = static_cast<std::int16_t>(blocks[index] + high * 256);
  }
  return true;
}

bool UnpackRow(Bytes bytes, std::uint32_t across, std::vector<std::int16_t>& values,
               std::span<std::int16_t> blocks) {
  RowReader in(bytes);
  Bytes header, large, rows, dc, masks, packed;
  if (!in.Take(kRowHeaderBytes, header)) return false;
  if (!in.TakeLast(std::size_t{LoadAt<std::uint32_t>(header, 0)} * kLargeBytes, large) ||
      !in.Take(across, rows) || !in.Take(std::size_t{across} * 2, dc) ||
      !in.Take(CountOnes(rows), masks)) {
    return false;
  }
  const std::size_t count = CountOnes(masks);
  if (!in.Take((count + 1) / 2, packed) || !TakeValues(packed, count, in.left(), values)) {
    return false;
  }
  auto mask = masks.begin();
  auto value = values.begin();
  std::vector<std::uint64_t> block_masks(across);
  // The places of values whose low byte is zero: the list must make them large, or they are no
  // values.
  std::vector<std::size_t> zeros;
  for (std::size_t x = 0; x < across; ++x) {
    blocks[x * 64] = LoadAt<std::int16_t>(dc, x * 2);
    for (unsigned v = 0; v < 8; ++v) {
      if ((static_cast<unsigned>(rows[x]) >> v & 1) == 0) continue;
      const auto places = static_cast<unsigned>(*mask++);
      block_masks[x] |= std::uint64_t{places} << v * 8;
      if (places == 0 || (v == 0 && (places & 1) != 0)) return false;
      for (unsigned u = 0; u < 8; ++u) {
        if ((places >> u & 1) == 0) continue;
        const std::size_t index = x * 64 + std::size_t{v} * 8 + u;
        if (*value == 0) zeros.push_back(index);
        blocks[index] = *value++;
      }
    }
  }
  if (!AddLarge(large, block_masks, blocks)) return false;
  return std::none_of(zeros.begin(), zeros.end(),
                      [&](std::size_t index) { return blocks[index] == 0; });
}

}  // namespace

std::vector<std::byte> Pack(const Coefficients& coefficients) {
  const Header& header = coefficients.header;
  std::vector<std::byte> out = HeaderBytes(header);
  std::size_t entry = header.directory_offset();
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    const std::int16_t* block = coefficients.blocks[c].data();
    for (std::uint32_t y = 0; y < component.down; ++y) {
      RowParts parts;
      for (std::uint32_t x = 0; x < component.across; ++x, block += 64)
        parts.Add(x, block);
      parts.AppendTo(out);
      StoreAt(std::span(out), entry, static_cast<std::uint32_t>(out.size()));
      entry += sizeof(std::uint32_t);
    }
  }
  out.resize(out.size() + kEndBytes);
  return out;
}

Defect Unpack(Bytes payload, Coefficients& coefficients) {
  Header& header = coefficients.header;
  header = Header{};
  if (const Defect defect = ParseHeader(payload, header)) return defect;
  for (std::uint32_t t = 0; t < header.tables; ++t) {
    if (std::count(std::begin(header.table[t]), std::end(header.table[t]), 0) != 0) {
      return "a quantisation step of the packed image is zero";
    }
  }
  if (payload.size() - kEndBytes !=
          LoadAt<std::uint32_t>(payload, header.rows_offset() - sizeof(std::uint32_t)) ||
      !AllZero(payload.last(kEndBytes)) || !AllZero(payload.subspan(20, 4))) {
    return "the packed image does not end where its rows do";
  }
  std::vector<std::int16_t> values;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    const std::size_t row_size = std::size_t{component.across} * 64;
    coefficients.blocks[c].assign(row_size * component.down, 0);
    for (std::uint32_t y = 0; y < component.down; ++y) {
      const std::span<std::int16_t> blocks =
          std::span(coefficients.blocks[c]).subspan(y * row_size, row_size);
      if (!UnpackRow(RowOf(payload, header, component.first_row + y), component.across, values,
                     blocks)) {
        return "a row of the packed image contradicts itself";
      }
    }
  }
  return nullptr;
}

}  // namespace sluice::packed
