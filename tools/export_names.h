// Names for the files of an export: safe to write to, and all different. They are chosen for all
// samples before the first file is written, so that a sample's name does not depend on the order of
// writing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sluice/schema.h>

namespace sluice {

// The samples to name. Samples whose key cannot be read (nullopt) get no name.
struct ExportSamples {
  std::uint64_t count = 0;
  std::function<std::optional<std::string>(std::uint64_t)> key;
  // The ending of the sample's first file, with its dot; called only if several samples want one
  // name.
  std::function<std::string(std::uint64_t)> ending;
};

// A sample's name is its key, as a relative path that leads nowhere else, up to the ending; all its
// files have it. Names count as the same if they differ in the case of A to Z alone, as on many
// file systems. Of several samples with one name the first whose file keeps its key's very ending
// has it, or else the first of all; the others get "-1", "-2", ..., and so does one in whose file's
// place a folder must lie.
//
// Keeps some tens of bytes for each sample with a number; while it is made, eight for every sample.
class ExportNames {
 public:
  explicit ExportNames(const ExportSamples& samples);

  // "cat/0.jpg" for the key "cat/0.png" and the ending ".jpg". Endings that mean the same (".jpeg",
  // ".JPG") stay as the key has them.
  std::string NameFor(std::uint64_t index, const std::string& key, const std::string& ending) const;

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of samples that have one
};

// The folders for the fields' files, by the fields' numbers: "images" for `first_image`, and names
// like the fields' own for the others.
std::vector<std::string> ExportFolders(const Schema& schema,
                                       std::optional<std::size_t> first_image);

// The names of the fields' files of classes, without their ending, by the fields' numbers.
std::vector<std::string> ExportClassFiles(const Schema& schema);

// The headings of the fields, which are no two alike and none "path" or "key".
std::vector<std::string> ExportHeadings(const Schema& schema);

}  // namespace sluice
