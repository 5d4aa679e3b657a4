// Samples as files: images as standard files, values as cells of a table.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/image.h>

namespace sluice {

// A file of an export: one that was not there, in a folder that is made if need be. Removed again
// unless Close() succeeds, so that no file is left that is cut short. All throw Error(kIo).
class NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void Write(std::string_view bytes);
  void Close();

 private:
  [[noreturn]] void Fail(int error) const;

  const std::filesystem::path path_;
  int file_ = -1;
  bool whole_ = false;
};

// Decoded pixels as a PNG file: grey, grey and alpha, RGB or RGBA, of 8 or 16 bits.
std::vector<char> EncodePng(const Image& image);

// A cell of a CSV file, in quotes if it needs them (RFC 4180).
std::string CsvCell(const std::string& text);

// The text with a "'" before it if a spreadsheet would take it for a formula: one that begins with
// = + - @, a tab or a line's end, and is no number.
std::string NoFormula(const std::string& text);

// Names of classes as one text: "cat|dog" or, if a name would be read as several or as another one,
// a JSON list. The types classes and box-classes of `sluice convert --field` read both.
std::string NamesCell(const std::vector<std::string>& names);

}  // namespace sluice
