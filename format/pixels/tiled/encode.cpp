// Chooses how each tile is stored. The groups' widths of the differences say how well a predictor
// fits, so they choose the predictor, and whether the tile is stored as its difference from another
// channel's tile; only then are the three layouts made, and the shortest is kept. The base of a
// tile is the last channel before it that was stored without one: so no base has a base.
//
// If few different values occur, the whole image is also tried with a table of them, and indices in
// its tiles. A table lists bits, not numbers: -0.0 and 0.0, and each NaN, are values of their own.
#include <algorithm>
#include <bit>
#include <cstring>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/zstd.h"
#include "format/pixels/tiled/form.h"
#include "format/pixels/tiled/tiled.h"

namespace sluice::tiled {

namespace {

constexpr std::uint32_t kTileSide = 128;

void Append(std::vector<std::byte>& out, Bytes bytes) {
  const std::size_t at = out.size();
  out.resize(at + bytes.size());
  if (!bytes.empty()) std::memcpy(&out[at], bytes.data(), bytes.size());
}

// The differences of a tile from what the predictor makes of it, as the decoder adds them up.
template <class U>
void Differences(const std::vector<U>& tile, std::size_t width, Predictor predictor,
                 std::vector<U>& out) {
  const std::size_t count = tile.size();
  const auto d = [](auto difference) { return Zigzag(static_cast<U>(difference)); };
  const U* const t = tile.data();
  out[0] = d(t[0]);
  if (predictor == kNone) {
    for (std::size_t i = 0; i < count; ++i)
      out[i] = d(t[i]);
    return;
  }
  for (std::size_t x = 1; x < width; ++x)
    out[x] = d(t[x] - t[x - 1]);
  for (std::size_t y = width; y < count; y += width) {
    const U* const line = t + y;
    const U* const above = line - width;
    U* const to = out.data() + y;
    switch (predictor) {
      case kLeft:
        to[0] = d(line[0] - above[0]);
        for (std::size_t x = 1; x < width; ++x)
          to[x] = d(line[x] - line[x - 1]);
        break;
      case kUp:
        for (std::size_t x = 0; x < width; ++x)
          to[x] = d(line[x] - above[x]);
        break;
      default:
        to[0] = d(line[0] - above[0]);
        for (std::size_t x = 1; x < width; ++x)
          to[x] = d(line[x] - line[x - 1] - above[x] + above[x - 1]);
    }
  }
}

// The bits that the largest difference of each group takes; returns their sum. `differences` has
// zeros after its end, so that the last group is whole.
template <class U>
std::size_t WidthsOf(const std::vector<U>& differences, std::vector<std::byte>& widths) {
  std::size_t sum = 0;
  for (std::size_t g = 0; g < widths.size(); ++g) {
    U all = 0;
    for (std::size_t i = 0; i < 8; ++i)
      all = static_cast<U>(all | differences[8 * g + i]);
    const auto width = static_cast<std::uint8_t>(std::bit_width(all));
    widths[g] = std::byte{width};
    sum += width;
  }
  return sum;
}

// Eight bytes as 8 x 8 bits, transposed.
std::uint64_t Transposed(std::uint64_t x) noexcept {
  std::uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
  return x ^ t ^ (t << 28);
}

// An image of values of type U: its own, or indices of a table.
template <class U>
class ImageEncoder {
 public:
  // `planes`: the numbers of the image, channel by channel.
  std::vector<std::byte> Encode(const ImagePayload& image, const std::vector<U>& planes,
                                std::uint32_t table_values, Bytes table) {
    const Grid grid(image, kTileSide, kTileSide);
    Header header;
    header.code_bytes = table_values != 0 ? sizeof(U) : 0;
    header.tile_width = header.tile_height = kTileSide;
    header.table_values = table_values;
    header.table_bytes = static_cast<std::uint32_t>(table.size());
    std::vector<std::byte> out;
    Append(out, std::as_bytes(std::span(&header, 1)));
    Append(out, table);
    const std::size_t tiles = std::size_t{grid.across} * grid.down * image.channels;
    std::size_t entry = out.size();
    out.resize(out.size() + tiles * kEntryBytes);
    const std::size_t first_tile = out.size();
    const std::size_t plane = std::size_t{image.width} * image.height;
    for (std::uint32_t y = 0; y < image.height; y += kTileSide) {
      for (std::uint32_t x = 0; x < image.width; x += kTileSide) {
        const std::uint32_t width = std::min(kTileSide, image.width - x);
        const std::uint32_t height = std::min(kTileSide, image.height - y);
        std::uint16_t base_is = 0;
        for (std::uint32_t c = 0; c < image.channels; ++c) {
          own_.resize(std::size_t{width} * height);
          for (std::uint32_t line = 0; line < height; ++line) {
            std::copy_n(&planes[c * plane + std::size_t{y + line} * image.width + x], width,
                        &own_[std::size_t{line} * width]);
          }
          const std::size_t begin = out.size();
          if (!AddTile(width, base_is, out)) {
            std::swap(own_, base_);
            base_is = static_cast<std::uint16_t>(c + 1);
          }
          const auto sum = static_cast<std::uint32_t>(Hash64(Bytes(out).subspan(begin)));
          StoreAt(out, entry, Entry{static_cast<std::uint32_t>(out.size()), sum});
          entry += kEntryBytes;
        }
      }
    }
    const Bytes covered =
        Bytes(out).subspan(sizeof header.checksum, first_tile - sizeof header.checksum);
    StoreAt(out, 0, static_cast<std::uint32_t>(Hash64(covered)));
    out.resize(out.size() + kEndBytes);
    return out;
  }

 private:
  struct Choice {
    Predictor predictor = kNone;
    std::size_t bytes = SIZE_MAX;  // of all groups
  };

  // The predictor for a tile with the shortest groups.
  Choice Choose(const std::vector<U>& tile, std::size_t width) {
    Choice best;
    widths_.resize(GroupsOf(tile.size()));
    differences_.assign(8 * widths_.size(), U{0});
    for (const Predictor predictor : {kGradient, kLeft, kUp, kNone}) {
      Differences(tile, width, predictor, differences_);
      const std::size_t bytes = WidthsOf(differences_, widths_);
      if (bytes < best.bytes) best = {predictor, bytes};
    }
    return best;
  }

  // Appends the tile `own_`. Returns whether its base was subtracted.
  bool AddTile(std::size_t width, std::uint16_t base_is, std::vector<std::byte>& out) {
    Choice choice = Choose(own_, width);
    const std::vector<U>* tile = &own_;
    if (base_is != 0) {
      less_.resize(own_.size());
      for (std::size_t i = 0; i < own_.size(); ++i)
        less_[i] = static_cast<U>(own_[i] - base_[i]);
      // A base costs its decoding in a crop of this channel alone, so it must gain something.
      const Choice other = Choose(less_, width);
      if (other.bytes < choice.bytes - choice.bytes / 50) {
        choice = other;
        tile = &less_;
      }
    }
    const bool subtracted = tile == &less_;
    const std::size_t count = tile->size();
    Differences(*tile, width, choice.predictor, differences_);
    WidthsOf(differences_, widths_);

    small_frames_.Compress(widths_, frame_);
    PackGroups();
    Layout layout = kGroups;

    runs_.resize(count * sizeof(U));
    for (std::size_t b = 0; b < sizeof(U); ++b) {
      for (std::size_t i = 0; i < count; ++i)
        runs_[b * count + i] = static_cast<std::byte>(differences_[i] >> (8 * b));
    }
    frames_.Compress(runs_, frame_);
    if (frame_.size() < best_.size()) {
      std::swap(best_, frame_);
      layout = kByteRuns;
    }
    const Bytes values = std::as_bytes(std::span(*tile));
    frames_.Compress(values, frame_);
    if (std::min(frame_.size(), values.size()) < best_.size()) {
      if (frame_.size() < values.size()) {
        std::swap(best_, frame_);
      } else {
        best_.assign(values.begin(), values.end());
      }
      layout = kPlain;
      choice.predictor = kNone;
    }
    const std::size_t header = out.size();
    out.resize(header + kTileHeaderBytes);
    out[header] = std::byte{choice.predictor};
    out[header + 1] = std::byte{layout};
    StoreAt(out, header + 2, subtracted ? base_is : std::uint16_t{0});
    Append(out, best_);
    return subtracted;
  }

  // The size of the widths' frame, the frame, and the groups.
  void PackGroups() {
    std::size_t groups_bytes = 0;
    for (const std::byte width : widths_)
      groups_bytes += std::to_integer<std::size_t>(width);
    std::size_t at = sizeof(std::uint32_t) + frame_.size();
    best_.resize(at + groups_bytes + sizeof(std::uint64_t));  // the last group is stored as a word
    StoreAt(best_, 0, static_cast<std::uint32_t>(frame_.size()));
    std::ranges::copy(frame_, best_.begin() + sizeof(std::uint32_t));
    for (std::size_t g = 0; g < widths_.size(); ++g) {
      const auto width = std::to_integer<std::size_t>(widths_[g]);
      for (std::size_t b = 0; 8 * b < width; ++b) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < 8; ++i)
          word |= std::uint64_t{static_cast<std::uint8_t>(differences_[8 * g + i] >> (8 * b))}
                  << (8 * i);
        StoreAt(best_, at, Transposed(word));
        at += std::min<std::size_t>(8, width - 8 * b);
      }
    }
    best_.resize(at);
  }

  ZstdCompressor frames_;
  // Of the groups' widths: short matches are slow to decode and hardly save anything.
  ZstdCompressor small_frames_ = [] {
    ZstdCompressor compressor(1);
    compressor.SetMinMatch(7);
    return compressor;
  }();
  std::vector<U> own_, base_, less_, differences_;
  std::vector<std::byte> widths_, frame_, best_, runs_;
};

// The numbers of the values' bits, channel by channel.
template <class U>
std::vector<U> PlanesOf(const ImagePayload& image) {
  const std::size_t plane = std::size_t{image.width} * image.height;
  std::vector<U> planes(plane * image.channels);
  const std::byte* from = image.bytes.data();
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < image.channels; ++c, from += sizeof(U)) {
      U bits;
      std::memcpy(&bits, from, sizeof bits);
      planes[c * plane + i] = bits;
    }
  }
  return planes;
}

// The different numbers of an image in order, if there are few enough, and the place of each.
template <class U>
class ValueTable {
 public:
  // Returns whether a table may pay.
  bool Take(const std::vector<U>& numbers) {
    auto last = static_cast<U>(numbers[0] + 1);
    for (const U number : numbers) {
      if (number == last) continue;
      last = number;
      const std::size_t slot = SlotOf(number);
      if (codes_[slot] != 0) continue;
      if (values_.size() == kMaxTableValues) return false;
      codes_[slot] = 1;
      keys_[slot] = number;
      values_.push_back(number);
    }
    std::ranges::sort(values_);
    for (std::size_t i = 0; i < values_.size(); ++i)
      codes_[SlotOf(values_[i])] = static_cast<std::uint32_t>(i + 1);
    const std::uint64_t range = std::uint64_t{values_.back()} - values_.front() + 1;
    return values_.size() * 5 <= range * 4;
  }
  const std::vector<U>& values() const noexcept { return values_; }

  template <class Code>
  std::vector<Code> CodesOf(const std::vector<U>& numbers) const {
    std::vector<Code> codes(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      codes[i] = static_cast<Code>(codes_[SlotOf(numbers[i])] - 1);
    return codes;
  }

 private:
  // A hash table with open addressing; of 16 bits, each number has a slot.
  static constexpr unsigned kSlotBits = sizeof(U) == 2 ? 16 : 18;

  std::size_t SlotOf(U number) const noexcept {
    if constexpr (sizeof(U) == 2) return number;
    std::size_t slot = std::uint32_t{number} * 2654435761U >> (32 - kSlotBits);
    while (codes_[slot] != 0 && keys_[slot] != number)
      slot = (slot + 1) % codes_.size();
    return slot;
  }

  std::vector<U> values_;
  std::vector<U> keys_ = std::vector<U>(std::size_t{1} << kSlotBits);
  std::vector<std::uint32_t> codes_ =
      std::vector<std::uint32_t>(std::size_t{1} << kSlotBits);  // 0: the slot is free
};

// With a table, or without one if that is shorter.
template <class U>
std::vector<std::byte> EncodeNumbers(const ImagePayload& image) {
  std::vector<U> numbers = PlanesOf<U>(image);
  const auto put_in_order = [&] {
    for (U& number : numbers)
      number = InOrder<U>(image.pixel_type, number);
  };
  if (IsFloat(image.pixel_type)) put_in_order();
  std::vector<std::byte> plain = ImageEncoder<U>().Encode(image, numbers, 0, {});
  if constexpr (sizeof(U) > 1) {
    if (!IsFloat(image.pixel_type)) put_in_order();
    ValueTable<U> table;
    if (!table.Take(numbers)) return plain;
    const std::vector<U>& values = table.values();
    std::vector<std::byte> steps(values.size() * sizeof(U));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const U step = static_cast<U>(values[i] - (i > 0 ? values[i - 1] : U{0}));
      for (std::size_t b = 0; b < sizeof(U); ++b)
        steps[b * values.size() + i] = static_cast<std::byte>(step >> (8 * b));
    }
    const std::vector<std::byte> frame = ZstdCompress(steps);
    const auto count = static_cast<std::uint32_t>(values.size());
    std::vector<std::byte> coded =
        count <= 256 ? ImageEncoder<std::uint8_t>().Encode(
                           image, table.template CodesOf<std::uint8_t>(numbers), count, frame)
                     : ImageEncoder<std::uint16_t>().Encode(
                           image, table.template CodesOf<std::uint16_t>(numbers), count, frame);
    if (coded.size() < plain.size()) return coded;
  }
  return plain;
}

}  // namespace

std::vector<std::byte> Encode(const ImagePayload& pixels) {
  if (pixels.bytes.size() !=
      std::uint64_t{pixels.width} * pixels.height * pixels.channels * SizeOf(pixels.pixel_type)) {
    throw Error(ErrorCode::kInvalidArgument,
                "the pixels have another number of bytes than the image");
  }
  switch (SizeOf(pixels.pixel_type)) {
    case 1: return EncodeNumbers<std::uint8_t>(pixels);
    case 2: return EncodeNumbers<std::uint16_t>(pixels);
    default: return EncodeNumbers<std::uint32_t>(pixels);
  }
}

}  // namespace sluice::tiled
