// Conversions of text from users' files: file names are bytes, JSON and tables are UTF-8, label
// files may have older encodings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// `bytes` as UTF-8: valid sequences stay, each other byte becomes "\xNN".
std::string ToUtf8(std::string_view bytes);

// Whether ToUtf8() leaves `bytes` unchanged.
bool IsUtf8(std::string_view bytes) noexcept;

// As ToUtf8(), with each backslash doubled, so that UnescapeBytes() gives the same bytes back.
std::string EscapeBytes(std::string_view bytes);
std::string UnescapeBytes(std::string_view text);

// A cell of a table of tab-separated values: tab, newline, carriage return and backslash become
// "\t", "\n", "\r" and "\\"; every other byte stays.
std::string ToTsvCell(std::string_view bytes);

// Puts null in the place of NaN, Infinity and -Infinity in JSON that is read piece by piece. Many
// programs write them, although JSON does not have them.
class NaNFilter {
 public:
  // Appends `c` to `made`, unless it may be a part of such a word.
  void Add(char c, std::string& made);
  // Call it at the end of the text.
  void Finish(std::string& made);

 private:
  std::string held_;  // the beginning of such a word
  bool in_text_ = false, escaped_ = false;
};

// The same for a whole text.
std::string NullForNaN(std::string_view json);

// Converts `text` from the named encoding to UTF-8. Throws Error(kUnsupported) if the encoding is
// not one that label files have (ISO-8859, Windows', GB, Big5, Shift_JIS, EUC, KOI8, UTF-16), or if
// the system cannot convert it; Error(kCorrupt) if the text is not valid in the encoding.
std::string FromEncoding(std::string_view text, std::string encoding);

// Converts a text in UTF-16, which spreadsheets and editors of Windows write, to UTF-8; leaves any
// other text as it is. Throws as FromEncoding() does.
void DecodeUtf16(std::vector<std::byte>& text);

}  // namespace sluice
