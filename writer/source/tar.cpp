#include "writer/source/tar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <sluice/error.h>

namespace sluice {

namespace {

using Header = std::array<std::byte, kTarBlock>;

// Longer names and records of extended headers are not read into memory.
constexpr std::uint64_t kMaxExtendedBytes = 1 << 20;

std::string_view FieldOf(const Header& header, std::size_t at, std::size_t size) {
  const std::string_view text = AsText(Bytes(header).subspan(at, size));
  return text.substr(0, std::min(text.find('\0'), text.size()));
}

// Octal digits between spaces, or GNU's binary form (the first bit set); nullopt for any other
// content.
std::optional<std::uint64_t> NumberOf(const Header& header, std::size_t at, std::size_t size) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(header[at + i]); };
  if ((byte(0) & 0x80) != 0) {
    std::uint64_t number = byte(0) & 0x7F;
    for (std::size_t i = 1; i < size; ++i) {
      if (number >> 54 != 0) return std::nullopt;
      number = number << 8 | byte(i);
    }
    return number;
  }
  std::string_view text = FieldOf(header, at, size);
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 8);
  if (text.empty()) return 0;
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The header's checksum: the sum of its bytes, with spaces in the checksum's place.
bool HasGoodChecksum(const Header& header) {
  constexpr std::size_t kAt = 148, kSize = 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    sum += i >= kAt && i < kAt + kSize ? ' ' : static_cast<std::uint8_t>(header[i]);
  }
  return NumberOf(header, kAt, kSize) == sum;
}

bool IsZero(const Header& header) {
  return std::all_of(header.begin(), header.end(), [](std::byte b) { return b == std::byte{}; });
}

// The values that extended headers give for the next member.
struct Extended {
  std::optional<std::string> path;
  std::optional<std::string> linked;
  std::optional<std::uint64_t> bytes;
};

// The records "SIZE NAME=VALUE\n" of an extended header that matter here. False if it is damaged.
bool ReadRecords(std::string_view text, Extended& extended) {
  while (!text.empty()) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || size > text.size() || size < digits + 2 || text[digits] != ' ' ||
        text[size - 1] != '\n') {
      return false;
    }
    const std::string_view record = text.substr(digits + 1, size - digits - 2);
    text.remove_prefix(size);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view value = record.substr(equals + 1);
    if (record.substr(0, equals) == "path") extended.path = value;
    if (record.substr(0, equals) == "linkpath") extended.linked = value;
    if (record.substr(0, equals) == "size") {
      std::uint64_t number = 0;
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
      if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) return false;
      extended.bytes = number;
    }
  }
  return true;
}

const char* CompressionOf(Bytes start) {
  const std::string_view text = AsText(start);
  if (text.starts_with("\x1f\x8b")) return "gzip";
  if (text.starts_with("\x28\xb5\x2f\xfd")) return "zstd";
  if (text.starts_with("BZh")) return "bzip2";
  if (text.starts_with("\xfd"
                       "7zXZ"))
    return "xz";
  return nullptr;
}

class TarWalk {
 public:
  TarWalk(const std::string& name, const TarRead& read,
          const std::function<void(const TarMember&)>& visit)
      : name_(name), read_(read), visit_(visit) {}

  TarEnd Run() {
    while (NextHeader())
      Take();
    return end_;
  }

 private:
  [[noreturn]] void Fail(const std::string& sentence) const {
    throw Error(ErrorCode::kCorrupt, name_, "byte " + std::to_string(at_), sentence);
  }

  // False at the end of the last archive: at the end of the file, or if no archive follows a block
  // of zeros.
  bool NextHeader() {
    const std::size_t got = read_(at_, header_);
    if (at_ == 0) {
      if (const char* compression = CompressionOf(Bytes(header_).first(got))) {
        throw Error(ErrorCode::kUnsupported, name_,
                    std::string("is compressed by ") + compression + "; unpack it first");
      }
    }
    if (got == 0 && at_ != 0) return false;
    if (got != kTarBlock) Fail("is not a tar archive, or was cut short");
    if (IsZero(header_)) return NextArchive();
    if (!HasGoodChecksum(header_)) Fail("is not a tar archive, or is damaged here");
    return true;
  }

  // Whether another archive begins after the zeros that end the current one.
  bool NextArchive() {
    end_.marked = true;
    std::size_t got = kTarBlock;
    while (got == kTarBlock && IsZero(header_)) {
      at_ += kTarBlock;
      got = read_(at_, header_);
    }
    if (got == kTarBlock && HasGoodChecksum(header_)) {
      end_.marked = false;
      return true;
    }
    const Bytes rest = Bytes(header_).first(got);
    end_.unread =
        std::any_of(rest.begin(), rest.end(), [](std::byte b) { return b != std::byte{}; });
    return false;
  }

  void Take() {
    std::optional<std::uint64_t> bytes = NumberOf(header_, 124, 12);
    if (!bytes) Fail("a member's size cannot be read");
    const char type = static_cast<char>(header_[156]);
    const bool extended = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    if (!extended && extended_.bytes) bytes = extended_.bytes;
    const std::uint64_t content = at_ + kTarBlock;
    if (*bytes > (std::uint64_t{1} << 60) || !Reaches(content + *bytes)) {
      Fail("the archive ends inside of a member");
    }
    if (extended) {
      ReadExtended(type, content, *bytes);
    } else {
      TarMember member;
      member.name = extended_.path ? *extended_.path : NameOf();
      if (type == '1') {
        member.linked =
            extended_.linked ? *extended_.linked : std::string(FieldOf(header_, 157, 100));
      }
      member.regular = (type == '0' || type == 0 || type == '7') && !member.name.ends_with('/');
      member.offset = content;
      member.bytes = *bytes;
      visit_(member);
      extended_ = {};
    }
    at_ = AlignUp(content + *bytes, kTarBlock);
  }

  bool Reaches(std::uint64_t end) const {
    std::array<std::byte, 1> last{};
    return end == 0 || read_(end - 1, last) == 1;
  }

  void ReadExtended(char type, std::uint64_t content, std::uint64_t bytes) {
    if (type == 'g') return;  // for all members: it has nothing that matters here
    if (bytes > kMaxExtendedBytes) Fail("an extended header is too large");
    std::vector<std::byte> text(bytes);
    if (read_(content, text) != bytes) Fail("the archive ends inside of a header");
    if (type == 'L' || type == 'K') {
      const std::string_view name = AsText(text);
      (type == 'L' ? extended_.path : extended_.linked) =
          name.substr(0, std::min(name.find('\0'), name.size()));
    } else if (!ReadRecords(AsText(text), extended_)) {
      Fail("an extended header is damaged");
    }
  }

  std::string NameOf() const {
    const std::string name(FieldOf(header_, 0, 100));
    if (FieldOf(header_, 257, 5) != "ustar" || FieldOf(header_, 257, 8) == "ustar  ") return name;
    const std::string prefix(FieldOf(header_, 345, 155));
    return prefix.empty() ? name : prefix + "/" + name;
  }

  const std::string& name_;
  const TarRead& read_;
  const std::function<void(const TarMember&)>& visit_;
  std::uint64_t at_ = 0;  // of the current header
  Header header_{};
  Extended extended_;
  TarEnd end_;
};

}  // namespace

TarEnd ForEachTarMember(const std::string& name, const TarRead& read,
                        const std::function<void(const TarMember&)>& visit) {
  return TarWalk(name, read, visit).Run();
}

}  // namespace sluice
