// Netpbm's formats: PBM, PGM and PPM (P1 to P6, as text or binary) and PAM (P7) with grey or RGB,
// with or without opacity. If a file has several pictures, the first is used.
//
// A picture is decoded line by line into 16-bit RGBA, whatever its kind: then one function
// (StoreRgbaLine()) rounds to 8 bits and applies colour profile and background for all of them.
// Values are scaled from the file's own largest value, which need not be a power of two less one.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <sluice/error.h>

#include "format/ascii.h"
#include "writer/source/images/pixel_source.h"
#include "writer/source/images/values.h"

namespace sluice {

namespace {

class PnmSource : public PixelSource {
 public:
  explicit PnmSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;
  // The values as they are stored, not scaled; of one bit: 1 is white.
  ValuePicture Values(std::uint64_t max_pixels);

 private:
  enum class Coding { kText, kDigits, kBits, kBytes };  // kDigits: text, one digit per pixel

  void ReadHeader();
  void ReadPamHeader();
  // The next number in a header or in the pixels of a text, after spaces and comments; nullopt at
  // the end of the file.
  std::optional<std::uint32_t> NextNumber();
  std::uint32_t HeaderNumber();
  // The next pixel of kDigits; nullopt at the end of the file.
  std::optional<std::uint32_t> NextDigit();
  // Reads the values of the next row, each at most most_. If the file ends first, sets the rest of
  // the row to zero and returns false.
  bool ReadLine(std::vector<std::uint32_t>& row);
  std::uint64_t LineBytes() const noexcept;  // for kBits and kBytes

  Bytes file_;
  std::size_t at_ = 2;  // what is read next; the kind, such as "P6", comes before
  Coding coding_ = Coding::kBytes;
  std::uint32_t most_ = 1;    // the value of white
  std::uint32_t values_ = 1;  // values per pixel. 1: grey; 2: grey, opacity; 3: RGB; 4: RGBA
};

constexpr const char* kBrokenPnm = "broken PPM";
constexpr std::string_view kPnmSpaces = " \t\r\n\v\f";

[[noreturn]] void ThrowBrokenPnm(const char* what) {
  throw Error(ErrorCode::kCorrupt, std::string(kBrokenPnm) + ": " + what);
}

PnmSource::PnmSource(Bytes file) : file_(file) {
  const char kind = AsText(file)[1];
  if (kind == '1') coding_ = Coding::kDigits;
  if (kind == '2' || kind == '3') coding_ = Coding::kText;
  if (kind == '4') coding_ = Coding::kBits;
  if (kind == '3' || kind == '6') values_ = 3;
  if (kind == '7')
    ReadPamHeader();
  else
    ReadHeader();
  if (most_ == 0 || most_ > 65'535) ThrowBrokenPnm("its largest value is not from 1 to 65535");
  grey_ = values_ <= 2;
}

void PnmSource::ReadHeader() {
  width_ = HeaderNumber();
  height_ = HeaderNumber();
  if (coding_ != Coding::kDigits && coding_ != Coding::kBits) most_ = HeaderNumber();
  // Exactly one, and not all spaces that follow: the first pixels may be bytes that look like
  // spaces.
  ++at_;  // one space before the pixels
}

// Each line has a word and its value; the last line is ENDHDR.
void PnmSource::ReadPamHeader() {
  const std::string_view text = AsText(file_);
  values_ = 0;
  for (;;) {
    const std::size_t begin = std::min(text.find_first_not_of(kPnmSpaces, at_), text.size());
    const std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) throw CutShort(kBrokenPnm, "it ends in its header");
    const std::string_view line = text.substr(begin, end - begin);
    if (line == "ENDHDR") {
      at_ = end + 1;
      break;
    }
    std::uint32_t* number = nullptr;
    if (line.starts_with("WIDTH ")) number = &width_;
    if (line.starts_with("HEIGHT ")) number = &height_;
    if (line.starts_with("DEPTH ")) number = &values_;
    if (line.starts_with("MAXVAL ")) number = &most_;
    if (number != nullptr) {
      at_ = begin + line.find(' ');
      *number = HeaderNumber();
    }
    at_ = end + 1;  // other lines: comments, and the kind of tuples, which follows from DEPTH
  }
  if (values_ < 1 || values_ > 4) {
    throw Error(ErrorCode::kUnsupported,
                "unsupported PAM: it has " + std::to_string(values_) + " values a pixel");
  }
}

std::optional<std::uint32_t> PnmSource::NextNumber() {
  const std::string_view text = AsText(file_);
  for (;;) {
    at_ = std::min(text.find_first_not_of(kPnmSpaces, at_), text.size());
    if (at_ == text.size()) return std::nullopt;
    if (text[at_] != '#') break;
    at_ = std::min(text.find('\n', at_), text.size());
  }
  std::string_view rest = text.substr(at_);
  const auto number = TakeNumber<std::uint32_t>(rest);
  if (!number) ThrowBrokenPnm("a number is missing");
  at_ = text.size() - rest.size();
  return number;
}

std::uint32_t PnmSource::HeaderNumber() {
  const std::optional<std::uint32_t> number = NextNumber();
  if (!number) throw CutShort(kBrokenPnm, "it ends in its header");
  return *number;
}

std::optional<std::uint32_t> PnmSource::NextDigit() {
  const std::string_view text = AsText(file_);
  at_ = std::min(text.find_first_not_of(kPnmSpaces, at_), text.size());
  if (at_ == text.size()) return std::nullopt;
  const char digit = text[at_++];
  if (digit != '0' && digit != '1') ThrowBrokenPnm("a pixel is neither 0 nor 1");
  return digit == '0' ? 1 : 0;  // 1 is black
}

std::uint64_t PnmSource::LineBytes() const noexcept {
  if (coding_ == Coding::kBits) return (std::uint64_t{width_} + 7) / 8;
  return std::uint64_t{width_} * values_ * (most_ > 255 ? 2 : 1);
}

bool PnmSource::ReadLine(std::vector<std::uint32_t>& row) {
  if (coding_ == Coding::kText || coding_ == Coding::kDigits) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::optional<std::uint32_t> value =
          coding_ == Coding::kText ? NextNumber() : NextDigit();
      if (!value) {
        std::fill(row.begin() + static_cast<std::ptrdiff_t>(i), row.end(), 0);
        return false;
      }
      // A larger value than the header allows is taken as white.
      row[i] = std::min(*value, most_);
    }
    return true;
  }
  std::fill(row.begin(), row.end(), 0);
  const std::size_t begin = std::min(at_, file_.size());
  const Bytes bytes = file_.subspan(
      begin, static_cast<std::size_t>(std::min<std::uint64_t>(LineBytes(), file_.size() - begin)));
  const auto byte = [&bytes](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  at_ = begin + bytes.size();
  if (coding_ == Coding::kBits) {
    for (std::size_t x = 0; x < std::min(row.size(), bytes.size() * 8); ++x)
      // The highest bit is the leftmost pixel; 1 is black.
      row[x] = (byte(x / 8) >> (7 - x % 8) & 1) ^ 1;
  } else if (most_ > 255) {
    for (std::size_t i = 0; i < bytes.size() / 2; ++i)
      row[i] = std::min(byte(2 * i) << 8 | byte(2 * i + 1), most_);
  } else {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      row[i] = std::min(byte(i), most_);
  }
  return bytes.size() == LineBytes();
}

Picture PnmSource::Decode(const ColorRules& rules) {
  const bool opaque = values_ % 2 == 1;
  Picture picture = MakePicture(PictureChannels(grey_, opaque, rules));
  std::vector<std::uint32_t> values(std::size_t{width_} * values_);
  std::vector<std::uint16_t> rgba(std::size_t{width_} * 4, 65'535);
  bool whole = true;
  deep_ = most_ > 255;
  for (std::uint32_t y = 0; y < height_ && whole; ++y) {
    whole = ReadLine(values);
    for (std::size_t i = 0; i < rgba.size(); ++i) {
      const std::size_t c = i % 4;
      if (c == 3 && opaque) continue;
      const std::size_t from = c == 3 ? values_ - 1 : grey_ ? 0 : c;
      const std::uint64_t value = values[i / 4 * values_ + from];
      // Rounded to the nearest.
      rgba[i] = static_cast<std::uint16_t>((value * 65'535 + most_ / 2) / most_);
    }
    StoreRgbaLine(rgba.data(), width_, picture.channels, rules, picture.Line(y));
  }
  if (!whole) EndsEarly(kBrokenPnm, "its pixels end early");
  return picture;
}

ValuePicture PnmSource::Values(std::uint64_t max_pixels) {
  const PixelType type = most_ > 255 ? PixelType::kUint16 : PixelType::kUint8;
  CheckValues(width_, height_, values_, type, max_pixels);
  const std::uint64_t least =  // a text has at least a digit for each value
      coding_ == Coding::kText || coding_ == Coding::kDigits ? std::uint64_t{width_} * values_
                                                             : LineBytes();
  if ((file_.size() - std::min(at_, file_.size())) / height_ < least)
    throw CutShort(kBrokenPnm, "its pixels end early");
  ValuePicture picture = NewValues(width_, height_, values_, type, max_pixels);
  std::vector<std::uint32_t> line(std::size_t{width_} * values_);
  std::uint8_t* out = picture.pixels.data();
  for (std::uint32_t y = 0; y < height_; ++y) {
    if (!ReadLine(line)) throw CutShort(kBrokenPnm, "its pixels end early");
    for (const std::uint32_t value : line) {
      const auto both = static_cast<std::uint16_t>(value);
      const auto one = static_cast<std::uint8_t>(value);
      std::memcpy(out, most_ > 255 ? static_cast<const void*>(&both) : &one, picture.value_bytes);
      out += picture.value_bytes;
    }
  }
  return picture;
}

}  // namespace

ValuePicture PnmValues(Bytes file, std::uint64_t max_pixels) {
  return PnmSource(file).Values(max_pixels);
}

std::unique_ptr<PixelSource> OpenPnm(Bytes file, bool) {
  return std::make_unique<PnmSource>(file);
}

}  // namespace sluice
