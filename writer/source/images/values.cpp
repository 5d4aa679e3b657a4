// Numbers of every type become those of a pixel type, exactly or not at all. NPY and PFM are read
// here: their headers are short texts, and the numbers follow as they are.
#include "writer/source/images/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

#include "format/ascii.h"
#include "format/disk/limits.h"
#include "format/half.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

template <class T>
T NumberAt(const std::byte* at, bool swapped) noexcept {
  std::array<std::byte, sizeof(T)> bytes;
  std::copy_n(at, sizeof(T), bytes.begin());
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

// Whether float32 has this number.
template <std::integral T>
bool IsFloat(T number) noexcept {
  auto digits = static_cast<std::uint64_t>(number);
  if (number < 0) digits = -digits;
  return digits == 0 || digits >> std::countr_zero(digits) < std::uint64_t{1} << 24;
}
bool IsFloat(double number) noexcept {
  return std::isnan(number) || std::isinf(number) ||
         (std::abs(number) <= std::numeric_limits<float>::max() &&
          static_cast<double>(static_cast<float>(number)) == number);
}

// From is stored as To; each From is a To, or To is float.
template <class From, class To>
void Store(const std::byte* from, std::size_t count, bool swapped, std::uint8_t* out,
           std::size_t step) {
  auto* to = reinterpret_cast<To*>(out);
  for (std::size_t i = 0; i < count; ++i, from += sizeof(From), to += step) {
    const auto number = NumberAt<From>(from, swapped);
    if constexpr (std::is_same_v<To, float>) {
      if (!IsFloat(number)) {
        throw Error(ErrorCode::kUnsupported,
                    "has the value " + std::to_string(number) +
                        ", which float32 does not hold exactly; round its values, or store them as "
                        "float32");
      }
    }
    *to = static_cast<To>(number);
  }
}

// The bits of a type that images have.
template <class Bits>
void StoreBits(const std::byte* from, std::size_t count, bool swapped, std::uint8_t* out,
               std::size_t step) {
  if (step == 1 && !swapped) {
    std::memcpy(out, from, count * sizeof(Bits));
  } else {
    Store<Bits, Bits>(from, count, swapped, out, step);
  }
}

}  // namespace

std::optional<PixelType> PixelTypeFor(NumberType number) noexcept {
  const bool wide = number.bytes == 4 || number.bytes == 8;
  switch (number.kind) {
    case 'u':
      if (number.bytes == 1) return PixelType::kUint8;
      if (number.bytes == 2) return PixelType::kUint16;
      break;
    case 'i':
      if (number.bytes == 1 || number.bytes == 2) return PixelType::kInt16;
      break;
    case 'f':
      if (number.bytes == 2) return PixelType::kFloat16;
      break;
    default: return std::nullopt;
  }
  return wide ? std::optional(PixelType::kFloat32) : std::nullopt;
}

void StoreNumbers(const std::byte* from, std::size_t count, NumberType number, std::uint8_t* out,
                  std::size_t step) {
  const bool swapped = number.swapped;
  const bool is_signed = number.kind == 'i';
  switch (number.bytes) {
    case 1:
      return is_signed ? Store<std::int8_t, std::int16_t>(from, count, false, out, step)
                       : StoreBits<std::uint8_t>(from, count, false, out, step);
    case 2: return StoreBits<std::uint16_t>(from, count, swapped, out, step);
    case 4:
      if (number.kind == 'f') return StoreBits<std::uint32_t>(from, count, swapped, out, step);
      return is_signed ? Store<std::int32_t, float>(from, count, swapped, out, step)
                       : Store<std::uint32_t, float>(from, count, swapped, out, step);
    default:
      if (number.kind == 'f') return Store<double, float>(from, count, swapped, out, step);
      return is_signed ? Store<std::int64_t, float>(from, count, swapped, out, step)
                       : Store<std::uint64_t, float>(from, count, swapped, out, step);
  }
}

void CheckValues(std::uint64_t width, std::uint64_t height, std::uint64_t channels, PixelType type,
                 std::uint64_t max_pixels) {
  if (width == 0 || height == 0 || channels == 0)
    throw Error(ErrorCode::kCorrupt, "broken: its header says that it has no pixels");
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  if (width > kMaxImageSide || height > kMaxImageSide || width * height > max_pixels) {
    throw Error(ErrorCode::kLimit, "has " + size + " pixels, more than the " +
                                       std::to_string(max_pixels) + " of max_pixels, or than " +
                                       std::to_string(kMaxImageSide) + " a side");
  }
  if (channels > kMaxImageChannels) {
    throw Error(ErrorCode::kLimit, "has " + std::to_string(channels) +
                                       " channels; images have at most " +
                                       std::to_string(kMaxImageChannels) +
                                       ", and arrays must be height x width x channels");
  }
  const std::uint64_t bytes = width * height * channels * SizeOf(type);
  if (bytes > kMaxImageBytes) {
    throw Error(ErrorCode::kLimit, "takes " + std::to_string(bytes) +
                                       " bytes as pixels, more than the " +
                                       std::to_string(kMaxImageBytes) + " of an image");
  }
}

ValuePicture NewValues(std::uint64_t width, std::uint64_t height, std::uint64_t channels,
                       PixelType type, std::uint64_t max_pixels) {
  CheckValues(width, height, channels, type, max_pixels);
  ValuePicture picture;
  picture.width = static_cast<std::uint32_t>(width);
  picture.height = static_cast<std::uint32_t>(height);
  picture.channels = static_cast<std::uint32_t>(channels);
  picture.type = type;
  picture.value_bytes = static_cast<std::uint32_t>(SizeOf(type));
  picture.pixels.resize(width * height * channels * SizeOf(type));
  return picture;
}

void FillWith(std::uint32_t bits, MaskPicture& picture) noexcept {
  const auto fill = [&]<class Bits>(Bits value) {
    std::fill_n(reinterpret_cast<Bits*>(picture.pixels.data()),
                picture.pixels.size() / sizeof value, value);
  };
  switch (picture.value_bytes) {
    case 1: return fill(static_cast<std::uint8_t>(bits));
    case 2: return fill(static_cast<std::uint16_t>(bits));
    default: return fill(bits);
  }
}

std::optional<double> AsValue(double number, PixelType type) noexcept {
  const auto in = [number](double least, double most) {
    return number >= least && number <= most && std::floor(number) == number;
  };
  bool fits = false;
  switch (type) {
    case PixelType::kUint8: fits = in(0, 255); break;
    case PixelType::kUint16: fits = in(0, 65'535); break;
    case PixelType::kInt16: fits = in(-32'768, 32'767); break;
    case PixelType::kFloat16:
      if (std::isnan(number)) return number;
      number = OfHalf(HalfOf(static_cast<float>(number)));
      fits = std::isfinite(number);
      break;
    case PixelType::kFloat32: {
      if (std::isnan(number)) return number;
      const auto nearest = static_cast<float>(number);
      if (!std::isfinite(nearest)) return std::nullopt;
      return static_cast<double>(nearest);
    }
  }
  return fits ? std::optional(number) : std::nullopt;
}

std::string FormText(std::uint32_t channels, PixelType type) {
  return std::to_string(channels) + " x " + std::string(NameOf(type));
}

namespace {

[[noreturn]] void ThrowBrokenNpy(const std::string& what) {
  throw Error(ErrorCode::kCorrupt, "broken NPY: " + what);
}

// The text after `'name':` in the header, which is the text of a Python dictionary.
std::string_view NpyMember(std::string_view header, std::string_view name) {
  const std::size_t at = header.find("'" + std::string(name) + "'");
  if (at == std::string_view::npos) ThrowBrokenNpy("its header has no " + std::string(name));
  std::string_view rest = header.substr(at + name.size() + 2);
  const std::size_t begin = rest.find_first_not_of(" :");
  return begin == std::string_view::npos ? std::string_view() : rest.substr(begin);
}

// '<f4'
NumberType NpyNumber(std::string_view text) {
  constexpr bool kLittle = std::endian::native == std::endian::little;
  const auto refuse = [&] {
    throw Error(ErrorCode::kUnsupported,
                "unsupported NPY: its values are no plain numbers of 1, 2, 4 or 8 bytes; write it "
                "as uint8, uint16, int16, float16 or float32");
  };
  if (text.size() < 5 || text[0] != '\'' || text[4] != '\'') refuse();
  const char order = text[1];
  NumberType number{text[2] == 'b' ? 'u' : text[2], static_cast<std::uint32_t>(text[3] - '0'),
                    order == (kLittle ? '>' : '<')};
  if (!PixelTypeFor(number)) refuse();
  return number;
}

// (480, 640, 3)
std::vector<std::uint64_t> NpyShape(std::string_view text) {
  std::vector<std::uint64_t> shape;
  if (!text.starts_with('(')) ThrowBrokenNpy("its shape cannot be read");
  text.remove_prefix(1);
  for (;;) {
    const std::size_t at = text.find_first_not_of(" ,");
    if (at == std::string_view::npos) ThrowBrokenNpy("its shape cannot be read");
    text.remove_prefix(at);
    if (text[0] == ')') return shape;
    const auto side = TakeNumber<std::uint64_t>(text);
    if (!side) ThrowBrokenNpy("its shape cannot be read");
    shape.push_back(*side);
  }
}

}  // namespace

ValuePicture NpyValues(Bytes file, std::uint64_t max_pixels) {
  const std::string_view text = AsText(file);
  constexpr std::size_t kBefore = 8;  // magic and version
  if (text.size() < kBefore + 4) ThrowBrokenNpy("it is cut short");
  const bool first = text[6] == '\1';
  const std::uint64_t header_bytes =
      first ? NumberAt<std::uint16_t>(&file[kBefore], std::endian::native == std::endian::big)
            : NumberAt<std::uint32_t>(&file[kBefore], std::endian::native == std::endian::big);
  const std::size_t begin = kBefore + (first ? 2 : 4);
  if (header_bytes > text.size() - begin) ThrowBrokenNpy("it is cut short");
  const std::string_view header = text.substr(begin, header_bytes);
  const NumberType number = NpyNumber(NpyMember(header, "descr"));
  const std::vector<std::uint64_t> shape = NpyShape(NpyMember(header, "shape"));
  if (shape.size() != 2 && shape.size() != 3) {
    throw Error(ErrorCode::kUnsupported, "unsupported NPY: its array has " +
                                             std::to_string(shape.size()) +
                                             " dimensions; an image is height x width, or height x "
                                             "width x channels");
  }
  const bool by_columns = NpyMember(header, "fortran_order").starts_with("True");
  const std::uint64_t height = shape[0], width = shape[1];
  const std::uint64_t channels = shape.size() == 3 ? shape[2] : 1;
  const PixelType type = *PixelTypeFor(number);
  CheckValues(width, height, channels, type, max_pixels);
  const Bytes content = file.subspan(begin + header_bytes);
  if (content.size() / number.bytes < width * height * channels)
    ThrowBrokenNpy("it is cut short: its header says that it has more values");
  ValuePicture picture = NewValues(width, height, channels, type, max_pixels);
  if (!by_columns) {
    StoreNumbers(content.data(), width * height * channels, number, picture.pixels.data(), 1);
    return picture;
  }
  const std::byte* from = content.data();
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t x = 0; x < width; ++x, from += height * number.bytes) {
      StoreNumbers(from, height, number,
                   picture.pixels.data() + (x * channels + c) * picture.value_bytes,
                   width * channels);
    }
  }
  return picture;
}

namespace {

// The header's next word.
std::string_view PfmWord(std::string_view& rest) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t begin = rest.find_first_not_of(kSpaces);
  const std::size_t end = rest.find_first_of(kSpaces, begin);
  if (begin == std::string_view::npos || end == std::string_view::npos)
    throw CutShort("broken PFM", "it ends in its header");
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

}  // namespace

// "PF" or "Pf", the sides, and a scale, whose sign says the byte order (negative: little-endian).
// The rows come from the bottom to the top.
ValuePicture PfmValues(Bytes file, std::uint64_t max_pixels) {
  std::string_view rest = AsText(file);
  const std::uint32_t channels = rest.starts_with("PF") ? 3 : 1;
  rest.remove_prefix(std::min<std::size_t>(rest.size(), 2));
  const auto side = [&rest] {
    const auto number = ParseNumber<std::uint64_t>(PfmWord(rest));
    if (!number) throw Error(ErrorCode::kCorrupt, "broken PFM: its sides are not numbers");
    return *number;
  };
  const std::uint64_t width = side(), height = side();
  const std::string_view scale = PfmWord(rest);
  if (!ParseNumber<double>(scale))
    throw Error(ErrorCode::kCorrupt, "broken PFM: its scale is not a number");
  const bool little = scale.starts_with('-');
  CheckValues(width, height, channels, PixelType::kFloat32, max_pixels);
  const std::size_t line = width * channels;
  const std::size_t bytes = line * height * sizeof(float);
  // One space before the values, or a line's end of two characters.
  if (rest.size() == bytes + 2 && rest.starts_with("\r\n")) rest.remove_prefix(1);
  rest.remove_prefix(1);
  if (rest.size() < bytes) throw CutShort("broken PFM", "its pixels end early");
  ValuePicture picture = NewValues(width, height, channels, PixelType::kFloat32, max_pixels);
  const NumberType number{'f', sizeof(float),
                          little != (std::endian::native == std::endian::little)};
  const Bytes content = AsBytes(rest);
  for (std::size_t y = 0; y < height; ++y) {
    StoreNumbers(&content[(height - 1 - y) * line * sizeof(float)], line, number,
                 picture.pixels.data() + y * line * sizeof(float), 1);
  }
  return picture;
}

}  // namespace sluice
