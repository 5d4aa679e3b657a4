// Samples as files: names that are safe to write to, and images as standard files.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <sluice/image.h>

namespace sluice {

// Turns keys into paths below a folder, each another one.
class ExportNames {
 public:
  // The key as a relative path that leads nowhere else, with `ending` (such as ".jpg") in place of
  // its own. A name that is taken already, by this object's account, gets "-1", "-2", ... before
  // the ending; one in what is a file already lies beside that.
  std::string NameFor(const std::string& key, const std::string& ending);

 private:
  bool LiesInFile(std::filesystem::path path) const;

  std::set<std::string> taken_;    // files
  std::set<std::string> folders_;  // that they lie in
};

// Decoded pixels as a PNG file: grey, grey and alpha, RGB or RGBA, of 8 or 16 bits.
std::vector<char> EncodePng(const Image& image);

// A cell of a CSV file, in quotes where it needs them (RFC 4180).
std::string CsvCell(const std::string& text);

// Names of classes as one text: "cat|dog" or, where a name would be read as several or as another
// one, a JSON list. The types classes and box-classes of `sluice convert --field` read both.
std::string NamesCell(const std::vector<std::string>& names);

}  // namespace sluice
