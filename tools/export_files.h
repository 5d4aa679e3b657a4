// The files of an export: writing them, values as cells of a table, and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sluice/image.h>
#include <sluice/schema.h>

namespace sluice {

// A new file of an export, in a folder that is created if needed. If the path exists already, that
// is an error. The new file is removed again unless Close() succeeds, so that no incomplete file
// stays. The constructor, Write() and Close() throw Error(kIo).
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
// The image as a file of NumPy's format NPY 1.0: height x width, or height x width x channels.
std::vector<char> EncodeNpy(const Image& image);

// The image as a TIFF file without compression, its channels interleaved. `no_data`: the text for
// GDAL's tag, or empty. `geo`: a JSON object of tags that convert stored in a field "geo", or
// empty; members that are not such tags are left out.
std::vector<char> EncodeTiff(const Image& image, const std::string& no_data, std::string_view geo);

// A cell of a CSV file, in quotes if it needs them (RFC 4180).
std::string CsvCell(const std::string& text);

// The text, with a "'" before it if a spreadsheet would take it for a formula: a text that is not a
// number and begins with = + - @, a tab or a line break.
std::string NoFormula(const std::string& text);

// Class names as one text: "cat|dog". If a name would then be read as several names or as a
// different one, the text is a JSON list instead. The types "classes" and "box_classes" of `sluice
// convert --field` read both.
std::string NamesCell(const std::vector<std::string>& names);

// The samples to name. Samples whose key cannot be read (nullopt) get no name.
struct ExportSamples {
  std::uint64_t count = 0;
  std::function<std::optional<std::string>(std::uint64_t)> key;
  // The ending of the sample's first file, with its dot; called only if several samples would have
  // the same name.
  std::function<std::string(std::uint64_t)> ending;
};

// Names for the files of an export: safe to write to, and all different. They are chosen for all
// samples before the first file is written, so that they do not depend on the order of writing.
//
// A sample's name is its key without the ending, as a relative path that cannot leave the folder;
// all its files have it. Names that differ only in the case of A to Z count as the same, as on many
// file systems. If several samples have the same name, one of them gets it: the first whose first
// file is written with the same ending as its key (a JPEG with the key "0.jpg"), or, if there is
// none, the first of all. The others get "-1", "-2", ... at the end of the name. A sample whose
// file would lie where a folder must be also gets a number.
//
// Keeps some tens of bytes for each sample with a number; during construction, eight for every
// sample.
class ExportNames {
 public:
  explicit ExportNames(const ExportSamples& samples);

  // "cat/0.jpg" for the key "cat/0.png" and the ending ".jpg". Endings that mean the same (".jpeg",
  // ".JPG") stay as the key has them.
  std::string NameFor(std::uint64_t index, const std::string& key, const std::string& ending) const;

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of samples that have one
};

// The folders for the files of each field, by field number: "images" for `first_image`, and a name
// like the field's own for the others.
std::vector<std::string> ExportFolders(const Schema& schema,
                                       std::optional<std::size_t> first_image);

// The names of each field's file of classes, without their endings, by field number.
std::vector<std::string> ExportClassFiles(const Schema& schema);

// The table's headings for the fields: distinct, and never "path" or "key".
std::vector<std::string> ExportHeadings(const Schema& schema);

}  // namespace sluice
