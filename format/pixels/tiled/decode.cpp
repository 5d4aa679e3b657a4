// Open() checks all that a payload says of itself: the checksum of header, table and directory
// first, then each number, since a checksum guards against accidents and not against forgery. What
// the directory says of a tile is checked when the tile is read.
//
// Read() goes from tile to tile, and in each from channel to channel. The tile of a channel may be
// stored as its difference from another channel's tile, its base. A tile without a base is likely
// the base of the channels after it, so it is kept until the next such tile.
#include <algorithm>
#include <cstring>

#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "format/disk/zstd.h"
#include "format/pixels/tiled/form.h"
#include "format/pixels/tiled/tiled.h"

namespace sluice::tiled {

namespace {

std::uint32_t ChecksumOf(Bytes bytes) noexcept {
  return static_cast<std::uint32_t>(Hash64(bytes));
}

}  // namespace

struct Decoder::State {
  explicit State(const kernels::Kernels& kernel_set) : set(kernel_set) {}

  const kernels::Kernels& set;
  ZstdDecompressor zstd;

  // The image last opened.
  ImagePayload image;
  Header header;
  std::size_t directory = 0, first_tile = 0, end = 0;  // offsets in the payload
  std::vector<std::uint32_t> table;                    // the bits of its values
  std::vector<std::byte> table_bytes;

  // The tile that is being read.
  std::uint32_t width = 0, height = 0;
  std::uint32_t lines = 0;       // those below are not decoded
  std::size_t first_number = 0;  // of the tile of channel 0
  std::uint32_t base_kept = 0;   // 1 + the channel whose values `base` has
  std::vector<std::uint64_t> own, base, words;
  std::vector<std::byte> widths;
  std::vector<std::uint32_t> line;  // values whose bits are not those of the tile

  template <class Value>
  Defect MakeTable();
  template <class U>
  Defect TileOf(std::uint32_t channel, std::vector<std::uint64_t>& room, std::uint16_t& base_is);
  template <class U>
  Defect LayoutOf(Bytes body, std::uint8_t layout, U* values);
  template <class U>
  Defect ValuesOf(std::uint32_t channel, const U*& values);
  template <class U, class Value>
  Defect ReadAs(const Rect& rect, std::span<const std::uint32_t> channels, const ValueGrid& to);
  template <class U, class Value>
  Defect Bits(const U* from, std::uint32_t count, Value* to);

  // A kernel for the size of a tile's values.
  auto Unpack(std::uint8_t*) const { return set.unpack8; }
  auto Unpack(std::uint16_t*) const { return set.unpack16; }
  auto Unpack(std::uint32_t*) const { return set.unpack32; }
  auto Predict(std::uint8_t*) const { return set.predict8; }
  auto Predict(std::uint16_t*) const { return set.predict16; }
  auto Predict(std::uint32_t*) const { return set.predict32; }
};

template <class Value>
Defect Decoder::State::MakeTable() {
  const std::size_t count = header.table_values;
  table_bytes.resize(count * sizeof(Value));
  if (!zstd.Decompress(image.bytes.subspan(kHeaderBytes, header.table_bytes), table_bytes))
    return "the tiled image's table cannot be decompressed";
  table.resize(count);
  // Values are stored as steps from one to the next, and the steps byte by byte: first all low
  // bytes.
  Value number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Value step = 0;
    for (std::size_t b = 0; b < sizeof(Value); ++b) {
      const auto byte = std::to_integer<Value>(table_bytes[b * count + i]);
      step = static_cast<Value>(step | static_cast<Value>(byte << (8 * b)));
    }
    number = static_cast<Value>(number + step);
    table[i] = FromOrder<Value>(image.pixel_type, number);
  }
  return nullptr;
}

Decoder::Decoder(const kernels::Kernels& set) : state_(std::make_unique<State>(set)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

Defect Decoder::Open(const ImagePayload& payload) {
  State& state = *state_;
  const Bytes bytes = payload.bytes;
  state.image = payload;
  if (bytes.size() < kHeaderBytes + kEndBytes) return "the tiled image is cut short";
  state.header = LoadAt<Header>(bytes, 0);
  const Header& header = state.header;
  if (header.form != kForm || header.zero != 0) return "the tiled image's form is not known";
  const auto side = [](std::uint32_t pixels) {
    return pixels >= kMinTileSide && pixels <= kMaxTileSide;
  };
  if (!side(header.tile_width) || !side(header.tile_height) ||
      std::uint32_t{header.tile_width} * header.tile_height > kMaxTilePixels) {
    return "the tiled image's tiles have a size that is not allowed";
  }
  state.end = bytes.size() - kEndBytes;
  if (header.table_bytes > state.end - kHeaderBytes)
    return "the tiled image's table is longer than the payload";
  const std::size_t value_bytes = SizeOf(payload.pixel_type);
  const bool codes = header.code_bytes != 0;
  if (codes ? header.code_bytes > 2 || value_bytes == 1 || header.table_values == 0 ||
                  header.table_values > (1U << (8 * header.code_bytes))
            : header.table_values != 0 || header.table_bytes != 0) {
    return "the tiled image's table has a size that is not allowed";
  }
  const Grid grid(payload, header.tile_width, header.tile_height);
  const std::uint64_t tiles = std::uint64_t{grid.across} * grid.down * payload.channels;
  state.directory = kHeaderBytes + header.table_bytes;
  if (tiles > (state.end - state.directory) / kEntryBytes)
    return "the tiled image's directory is longer than the payload";
  state.first_tile = state.directory + static_cast<std::size_t>(tiles) * kEntryBytes;
  if (header.checksum != ChecksumOf(bytes.subspan(sizeof header.checksum,
                                                  state.first_tile - sizeof header.checksum))) {
    return "the checksum of the tiled image's directory does not match: the shard is damaged";
  }
  if (LoadAt<Entry>(bytes, state.first_tile - kEntryBytes).end != state.end ||
      !AllZero(bytes.subspan(state.end))) {
    return "the tiled image has bytes after its last tile";
  }
  if (!codes) return nullptr;
  return value_bytes == 2 ? state.MakeTable<std::uint16_t>() : state.MakeTable<std::uint32_t>();
}

// Makes the differences or values of the lines that are wanted from what follows a tile's header.
template <class U>
Defect Decoder::State::LayoutOf(Bytes body, std::uint8_t layout, U* values) {
  constexpr Defect kBroken = "the zstd frame of a tile cannot be decompressed";
  const std::size_t count = std::size_t{width} * height, bytes = count * sizeof(U);
  const std::span<std::byte> content(reinterpret_cast<std::byte*>(values), bytes);
  if (layout == kPlain) {
    if (body.size() == bytes) {
      std::copy(body.begin(), body.end(), content.begin());
      return nullptr;
    }
    return zstd.Decompress(body, content) ? nullptr : kBroken;
  }
  if (layout == kByteRuns) {
    words.resize((bytes + 7) / 8);
    auto* const runs = reinterpret_cast<std::byte*>(words.data());
    if (!zstd.Decompress(body, {runs, bytes})) return kBroken;
    for (std::size_t i = 0; i < std::size_t{width} * lines; ++i) {
      U z = 0;
      for (std::size_t b = 0; b < sizeof(U); ++b) {
        const auto byte = std::to_integer<U>(runs[b * count + i]);
        z = static_cast<U>(z | static_cast<U>(byte << (8 * b)));
      }
      values[i] = static_cast<U>((z >> 1) ^ static_cast<U>(0U - (z & 1U)));
    }
    return nullptr;
  }
  if (body.size() < sizeof(std::uint32_t)) return "a tile is cut short";
  // The third layout: a compressed list of widths, one for each group of eight values, then the
  // groups.
  const auto frame = LoadAt<std::uint32_t>(body, 0);
  body = body.subspan(sizeof frame);
  if (frame > body.size()) return "a tile is cut short";
  widths.resize(GroupsOf(count));
  if (!zstd.Decompress(body.first(frame), widths)) return kBroken;
  const auto* const each = reinterpret_cast<const std::uint8_t*>(widths.data());
  std::size_t sum = 0;
  std::uint8_t most = 0;
  for (std::size_t g = 0; g < widths.size(); ++g) {
    sum += each[g];
    most = std::max(most, each[g]);
  }
  // A group of width w takes w bytes. The kernel below does not check, so this must hold before it.
  if (most > 8 * sizeof(U) || sum != body.size() - frame)
    return "the groups of a tile do not fill it";
  // Groups of lines that nobody asked for are left packed.
  const std::size_t groups = GroupsOf(std::size_t{width} * lines);
  words.resize(sizeof(U) * groups);
  Unpack(values)(reinterpret_cast<const std::uint8_t*>(body.data()) + frame, each, groups,
                 words.data(), values);
  return nullptr;
}

// Decodes a channel's tile, without its base. `base_is`: 0, or 1 + the channel of its base.
template <class U>
Defect Decoder::State::TileOf(std::uint32_t channel, std::vector<std::uint64_t>& room,
                              std::uint16_t& base_is) {
  const std::size_t at = directory + (first_number + channel) * kEntryBytes;
  const auto entry = LoadAt<Entry>(image.bytes, at);
  const std::size_t begin =
      at == directory ? first_tile : LoadAt<Entry>(image.bytes, at - kEntryBytes).end;
  if (begin < first_tile || entry.end > end || entry.end < begin ||
      entry.end - begin < kTileHeaderBytes) {
    return "a tile lies outside of the tiled image";
  }
  const Bytes tile = image.bytes.subspan(begin, entry.end - begin);
  if (entry.checksum != ChecksumOf(tile))
    return "the checksum of a tile does not match: the shard is damaged. `sluice verify` lists all "
           "damage";
  const auto predictor = std::to_integer<std::uint8_t>(tile[0]);
  const auto layout = std::to_integer<std::uint8_t>(tile[1]);
  base_is = LoadAt<std::uint16_t>(tile, 2);
  if (predictor >= kPredictors || layout >= kLayouts || (layout == kPlain && predictor != kNone))
    return "a tile's predictor or layout is not known";
  if (base_is > image.channels) return "a tile's base is not a channel";
  room.resize(GroupsOf(std::size_t{width} * height) * sizeof(U));
  auto* const values = reinterpret_cast<U*>(room.data());
  if (const Defect defect = LayoutOf(tile.subspan(kTileHeaderBytes), layout, values)) return defect;
  Predict(values)(values, width, lines, predictor);
  return nullptr;
}

// Decodes a channel's tile, with its base.
template <class U>
Defect Decoder::State::ValuesOf(std::uint32_t channel, const U*& values) {
  std::uint16_t base_is = 0;
  if (const Defect defect = TileOf<U>(channel, own, base_is)) return defect;
  if (base_is == 0) {
    // Kept without a copy: channels after it are likely to be stored against it.
    std::swap(own, base);
    base_kept = channel + 1;
    values = reinterpret_cast<const U*>(base.data());
    return nullptr;
  }
  if (base_kept != base_is) {
    // One step is all that is allowed, so a forged chain of bases cannot cost more than two tiles.
    std::uint16_t further = 0;
    base_kept = 0;
    if (const Defect defect = TileOf<U>(base_is - 1U, base, further)) return defect;
    if (further != 0) return "a tile's base has a base itself";
    base_kept = base_is;
  }
  auto* const sum = reinterpret_cast<U*>(own.data());
  const auto* const other = reinterpret_cast<const U*>(base.data());
  for (std::size_t i = 0; i < std::size_t{width} * lines; ++i)
    sum[i] = static_cast<U>(sum[i] + other[i]);
  values = sum;
  return nullptr;
}

// The bits of the values that a tile's numbers stand for.
template <class U, class Value>
Defect Decoder::State::Bits(const U* from, std::uint32_t count, Value* to) {
  if (header.code_bytes == 0) {
    for (std::uint32_t x = 0; x < count; ++x)
      to[x] = FromOrder<Value>(image.pixel_type, static_cast<Value>(from[x]));
    return nullptr;
  }
  U most = 0;
  for (std::uint32_t x = 0; x < count; ++x)
    most = std::max(most, from[x]);
  if (most >= table.size()) return "a tile has an index that is not in the table";
  for (std::uint32_t x = 0; x < count; ++x)
    to[x] = static_cast<Value>(table[from[x]]);
  return nullptr;
}

template <class U, class Value>
Defect Decoder::State::ReadAs(const Rect& rect, std::span<const std::uint32_t> channels,
                              const ValueGrid& to) {
  const Grid grid(image, header.tile_width, header.tile_height);
  // Integers without a table are stored as their bits, and are copied as they are.
  const bool same_bits = header.code_bytes == 0 && !IsFloat(image.pixel_type);
  const std::uint32_t right = rect.left + rect.width, bottom = rect.top + rect.height;
  line.resize(grid.tile_width);
  for (std::uint32_t row = rect.top / grid.tile_height; row * grid.tile_height < bottom; ++row) {
    const std::uint32_t y0 = row * grid.tile_height;
    height = std::min(grid.tile_height, image.height - y0);
    const std::uint32_t y_begin = std::max(y0, rect.top), y_end = std::min(y0 + height, bottom);
    lines = y_end - y0;
    for (std::uint32_t column = rect.left / grid.tile_width; column * grid.tile_width < right;
         ++column) {
      const std::uint32_t x0 = column * grid.tile_width;
      width = std::min(grid.tile_width, image.width - x0);
      const std::uint32_t x_begin = std::max(x0, rect.left), x_end = std::min(x0 + width, right);
      first_number = (std::size_t{row} * grid.across + column) * image.channels;
      base_kept = 0;
      for (std::size_t plane = 0; plane < channels.size(); ++plane) {
        const U* values = nullptr;
        if (const Defect defect = ValuesOf<U>(channels[plane], values)) return defect;
        for (std::uint32_t y = y_begin; y < y_end; ++y) {
          const U* const from = values + std::size_t{y - y0} * width + (x_begin - x0);
          Value* out = reinterpret_cast<Value*>(to.data) +
                       static_cast<std::ptrdiff_t>(plane) * to.plane +
                       std::ptrdiff_t{y - rect.top} * to.line +
                       std::ptrdiff_t{x_begin - rect.left} * to.pixel;
          const std::uint32_t count = x_end - x_begin;
          const auto* bits = reinterpret_cast<const Value*>(from);
          if (!same_bits) {
            auto* const room = to.pixel == 1 ? out : reinterpret_cast<Value*>(line.data());
            if (const Defect defect = Bits(from, count, room)) return defect;
            bits = room;
          }
          if (to.pixel == 1) {
            if (bits != out) std::memcpy(out, bits, count * sizeof(Value));
          } else {
            for (std::uint32_t x = 0; x < count; ++x, out += to.pixel)
              *out = bits[x];
          }
        }
      }
    }
  }
  return nullptr;
}

Defect Decoder::Read(const Rect& rect, std::span<const std::uint32_t> channels,
                     const ValueGrid& to) {
  State& state = *state_;
  const std::uint8_t codes = state.header.code_bytes;
  switch (SizeOf(state.image.pixel_type)) {
    case 1: return state.ReadAs<std::uint8_t, std::uint8_t>(rect, channels, to);
    case 2:
      return codes == 1 ? state.ReadAs<std::uint8_t, std::uint16_t>(rect, channels, to)
                        : state.ReadAs<std::uint16_t, std::uint16_t>(rect, channels, to);
    default:
      return codes == 1   ? state.ReadAs<std::uint8_t, std::uint32_t>(rect, channels, to)
             : codes == 2 ? state.ReadAs<std::uint16_t, std::uint32_t>(rect, channels, to)
                          : state.ReadAs<std::uint32_t, std::uint32_t>(rect, channels, to);
  }
}

}  // namespace sluice::tiled
