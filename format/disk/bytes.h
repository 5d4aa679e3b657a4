// The basics of every structure on disk: little-endian words, alignment, identifiers.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

static_assert(std::endian::native == std::endian::little,
              "the on-disk structures are little-endian and read in place");

using Bytes = std::span<const std::byte>;

inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kPayloadAlignment = 64;

constexpr std::uint64_t AlignUp(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) / alignment * alignment;
}

// The value at `offset`; the caller has checked that it lies inside.
template <class T>
T LoadAt(Bytes bytes, std::size_t offset) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <class T>
void StoreAt(std::span<std::byte> bytes, std::size_t offset, const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// Whether [offset, offset + size) lies inside [0, limit), without overflow.
constexpr bool Inside(std::uint64_t offset, std::uint64_t size, std::uint64_t limit) noexcept {
  return offset <= limit && size <= limit - offset;
}

bool AllZero(Bytes bytes) noexcept;

inline Bytes AsBytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view AsText(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A 128-bit identifier: a shard's id, a digest. Its text form is 32 lower-case hexadecimal digits,
// and its bytes are in the order of the text.
struct Id128 {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const Id128&, const Id128&) = default;
};

// Two lower-case hexadecimal digits for each byte.
std::string HexOf(Bytes bytes);
inline std::string ToHex(const Id128& id) {
  return HexOf(std::as_bytes(std::span(id.bytes)));
}
// False if `text` is not 32 lower-case hexadecimal digits.
bool FromHex(std::string_view text, Id128& id) noexcept;

}  // namespace sluice
