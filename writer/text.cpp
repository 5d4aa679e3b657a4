// ToUtf8() and EscapeBytes() accept any bytes, since a file's name may have any. Only EscapeBytes()
// can be undone, since a name may contain the text "\x41" itself.
// NaNFilter holds back characters while they may be the beginning of a word that is not JSON, and
// only outside of strings. FromEncoding() converts in pieces and accepts only the encodings on a
// list.
#include "writer/text.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <iconv.h>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/bytes.h"
#include "format/utf8.h"

namespace sluice {

namespace {

std::string ToText(std::string_view bytes, bool escape_backslash) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = Utf8SequenceLength(bytes);
    if (escape_backslash && bytes[0] == '\\') text += '\\';
    if (length == 0) {
      const auto byte = static_cast<std::uint8_t>(bytes[0]);
      text += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

}  // namespace

std::string ToUtf8(std::string_view bytes) {
  return ToText(bytes, false);
}

bool IsUtf8(std::string_view bytes) noexcept {
  return Utf8Prefix(bytes) == bytes.size();
}

std::string EscapeBytes(std::string_view bytes) {
  return ToText(bytes, true);
}

std::string UnescapeBytes(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\\') {
      ++i;
    } else if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' &&
               text.substr(i + 2, 2).find_first_not_of(kHexDigits) == std::string_view::npos) {
      bytes += static_cast<char>(*ParseNumber<std::uint8_t>(text.substr(i + 2, 2), 16));
      i += 3;
      continue;
    }
    bytes += text[i];
  }
  return bytes;
}

std::string ToTsvCell(std::string_view bytes) {
  std::string cell;
  for (const char c : bytes) {
    switch (c) {
      case '\t': cell += "\\t"; break;
      case '\n': cell += "\\n"; break;
      case '\r': cell += "\\r"; break;
      case '\\': cell += "\\\\"; break;
      default: cell += c;
    }
  }
  return cell;
}

namespace {

// Only these encodings, not all that the system knows: converters of rare encodings have had
// security holes.
bool IsOfLabelFiles(std::string_view name) {
  constexpr std::array<std::string_view, 14> kBeginnings = {
      "ISO-8859-", "ISO8859-",  "LATIN1",    "WINDOWS-12", "CP12", "CP93",  "GB",
      "BIG5",      "SHIFT_JIS", "SHIFT-JIS", "SJIS",       "EUC-", "KOI8-", "UTF-16"};
  return name.size() < 16 && name.find('/') == std::string_view::npos &&
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [name](std::string_view begin) { return name.starts_with(begin); });
}

struct CloseConverter {
  void operator()(void* converter) const { iconv_close(converter); }
};

}  // namespace

void NaNFilter::Add(char c, std::string& made) {
  constexpr std::string_view kNotJson[] = {"NaN", "Infinity", "-Infinity"};
  if (!in_text_) {
    held_ += c;
    for (const std::string_view word : kNotJson) {
      if (!word.starts_with(held_)) continue;
      if (word.size() > held_.size()) return;
      made += "null";
      held_.clear();
      return;
    }
    held_.pop_back();
    const bool again = !held_.empty();  // another word may begin with `c`
    Finish(made);
    if (again) return Add(c, made);
  }
  made += c;
  if (c == '"' && !escaped_) in_text_ = !in_text_;
  escaped_ = in_text_ && c == '\\' && !escaped_;
}

void NaNFilter::Finish(std::string& made) {
  made += held_;
  held_.clear();
}

std::string NullForNaN(std::string_view json) {
  std::string made;
  NaNFilter filter;
  for (const char c : json)
    filter.Add(c, made);
  filter.Finish(made);
  return made;
}

std::string FromEncoding(std::string_view text, std::string encoding) {
  for (char& c : encoding) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  const iconv_t none = reinterpret_cast<iconv_t>(-1);  // the value of iconv_open() for a failure
  const iconv_t opened = IsOfLabelFiles(encoding) ? iconv_open("UTF-8", encoding.c_str()) : none;
  if (opened == none) {
    throw Error(ErrorCode::kUnsupported, "is written in the encoding " + ToUtf8(encoding) +
                                             ", which is not read; write it in UTF-8");
  }
  const std::unique_ptr<void, CloseConverter> converter(opened);
  std::string converted;
  std::array<char, 4096> piece{};
  char* in = const_cast<char*>(text.data());  // iconv() does not write there
  std::size_t left = text.size();
  while (left > 0) {
    char* out = piece.data();
    std::size_t room = piece.size();
    const std::size_t result = iconv(opened, &in, &left, &out, &room);
    const int why = errno;
    converted.append(piece.data(), piece.size() - room);
    if (result != static_cast<std::size_t>(-1) || why == E2BIG) continue;
    throw Error(ErrorCode::kCorrupt, "says that it is written in the encoding " + encoding +
                                         ", but byte " + std::to_string(text.size() - left) +
                                         " is not valid in this encoding");
  }
  return converted;
}

// The first letter of a text is of ASCII. So if there is no byte order mark, a NUL before or after
// that letter shows that the text is UTF-16.
void DecodeUtf16(std::vector<std::byte>& text) {
  const std::string_view shown = AsText(text);
  if (shown.size() < 2) return;
  const bool marked = shown.starts_with("\xff\xfe") || shown.starts_with("\xfe\xff");
  if (!marked && (shown[0] == '\0') == (shown[1] == '\0')) return;
  const std::string decoded = FromEncoding(shown, marked             ? "UTF-16"
                                                  : shown[0] == '\0' ? "UTF-16BE"
                                                                     : "UTF-16LE");
  const Bytes bytes = AsBytes(decoded);
  text.assign(bytes.begin(), bytes.end());
}

}  // namespace sluice
