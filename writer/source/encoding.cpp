#include "writer/source/encoding.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <iconv.h>

#include <sluice/error.h>

#include "writer/text.h"

namespace sluice {

namespace {

// Not whatever the system knows: converters of rare encodings have had holes.
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

std::string FromEncoding(std::string_view text, std::string encoding) {
  std::transform(encoding.begin(), encoding.end(), encoding.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const iconv_t none = reinterpret_cast<iconv_t>(-1);  // POSIX's, of a failure
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
                                         " is none of its characters");
  }
  return converted;
}

}  // namespace sluice
