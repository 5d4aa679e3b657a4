#include "tools/export_names.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <unordered_set>

namespace sluice {

namespace {

namespace fs = std::filesystem;

std::string Folded(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
  }
  return text;
}

// One part of a path: no byte that cannot stand in one, and room for a number and an ending.
std::string SafePart(std::string name) {
  constexpr std::size_t kMostBytes = 200;
  std::replace(name.begin(), name.end(), '\0', '_');
  if (name.size() > kMostBytes) {
    std::size_t end = kMostBytes;
    while (end > kMostBytes - 3 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80)
      --end;  // not within a character
    name.resize(end);
  }
  return name == ".." ? "__" : name;
}

// The key without what would lead out of the folder, or cannot stand in a path.
fs::path Safe(const std::string& key) {
  fs::path safe;
  for (const fs::path& part : fs::path(key).relative_path()) {
    if (!part.empty() && part != ".") safe /= SafePart(part.native());
  }
  constexpr std::size_t kMostPathBytes = 1500;  // the folder's own path comes before it
  if (safe.native().size() > kMostPathBytes) safe = safe.filename();
  return safe.empty() ? "sample" : safe;
}

std::string WithoutEnding(const fs::path& path) {
  return (path.parent_path() / path.stem()).native();
}

// "" for what is no ending of ours.
std::string OurEnding(const fs::path& path) {
  const std::string own = Folded(path.extension().native());
  if (own == ".jpeg" || own == ".jpe") return ".jpg";
  return own == ".jpg" || own == ".png" || own == ".bin" ? own : "";
}

std::string Numbered(const std::string& name, std::uint32_t number) {
  return number == 0 ? name : name + "-" + std::to_string(number);
}

// Finds the files that need a number. Names are kept as hashes, to save memory; if two names share
// a hash, a file gets a number without need.
class Settling {
 public:
  explicit Settling(const ExportSamples& samples) : samples_(samples) {}

  std::unordered_map<std::uint64_t, std::uint32_t> Run() {
    ReadNames();
    const std::vector<std::uint64_t> wanting = FindWanting();
    for (const std::uint64_t index : wanting)
      Claim(index);
    for (const std::uint64_t index : wanting)
      Number(index);
    return std::move(numbers_);
  }

 private:
  using Hash = std::size_t;

  struct Wanted {
    std::optional<std::uint64_t> keeper;
    bool by_ending = false;
    std::uint32_t next = 1;  // number to try
  };

  static Hash HashOf(const std::string& name) { return std::hash<std::string>()(Folded(name)); }

  fs::path PathOf(std::uint64_t index) const {
    return Safe(samples_.key(index).value_or(std::string()));
  }

  void ReadNames() {
    for (std::uint64_t i = 0; i < samples_.count; ++i) {
      const std::optional<std::string> key = samples_.key(i);
      if (!key) continue;
      fs::path path = Safe(*key);
      names_.push_back(HashOf(WithoutEnding(path)));
      for (path = path.parent_path(); !path.empty(); path = path.parent_path()) {
        if (!OurEnding(path).empty()) folders_.insert(HashOf(WithoutEnding(path)));
      }
    }
    std::sort(names_.begin(), names_.end());
    for (std::size_t i = 1; i < names_.size(); ++i) {
      if (names_[i] == names_[i - 1]) wanted_.try_emplace(names_[i]);
    }
  }

  std::vector<std::uint64_t> FindWanting() {
    std::vector<std::uint64_t> wanting;
    if (wanted_.empty() && folders_.empty()) return wanting;
    for (std::uint64_t i = 0; i < samples_.count; ++i) {
      const std::optional<std::string> key = samples_.key(i);
      if (!key) continue;
      const Hash name = HashOf(WithoutEnding(Safe(*key)));
      if (wanted_.count(name) > 0 || folders_.count(name) > 0) wanting.push_back(i);
    }
    return wanting;
  }

  void Claim(std::uint64_t index) {
    const fs::path path = PathOf(index);
    const Hash name = HashOf(WithoutEnding(path));
    Wanted& wanted = wanted_[name];
    if (wanted.by_ending || folders_.count(name) > 0) return;
    wanted.by_ending = OurEnding(path) == samples_.ending(index);
    if (wanted.by_ending || !wanted.keeper) wanted.keeper = index;
  }

  void Number(std::uint64_t index) {
    const std::string name = WithoutEnding(PathOf(index));
    Wanted& wanted = wanted_[HashOf(name)];
    if (wanted.keeper == index) return;
    while (!Take(HashOf(Numbered(name, wanted.next))))
      ++wanted.next;
    numbers_.emplace(index, wanted.next++);
  }

  bool Take(Hash name) {
    return !std::binary_search(names_.begin(), names_.end(), name) && folders_.count(name) == 0 &&
           numbered_.insert(name).second;
  }

  const ExportSamples& samples_;
  std::vector<Hash> names_;           // of all samples, sorted
  std::unordered_set<Hash> folders_;  // that are called like files; without their endings
  std::unordered_map<Hash, Wanted> wanted_;
  std::unordered_set<Hash> numbered_;  // names with their numbers
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

// The field's name as one part of a path.
std::string PartOf(const Field& field) {
  std::string name = field.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name == "." ? "_" : SafePart(std::move(name));
}

// `name`, or with the first number that makes it none of `taken`; it is then among them.
std::string Unlike(std::set<std::string>& taken, const std::string& name) {
  for (std::uint32_t number = 0;; ++number) {
    std::string numbered = Numbered(name, number);
    if (taken.insert(Folded(numbered)).second) return numbered;
  }
}

}  // namespace

ExportNames::ExportNames(const ExportSamples& samples) : numbers_(Settling(samples).Run()) {}

std::string ExportNames::NameFor(std::uint64_t index, const std::string& key,
                                 const std::string& ending) const {
  const fs::path path = Safe(key);
  const auto number = numbers_.find(index);
  return Numbered(WithoutEnding(path), number == numbers_.end() ? 0 : number->second) +
         (OurEnding(path) == ending ? path.extension().native() : ending);
}

std::vector<std::string> ExportFolders(const Schema& schema,
                                       std::optional<std::size_t> first_image) {
  std::set<std::string> taken = {"labels.csv", "classes.txt", "classes"};
  if (first_image) taken.insert("images");
  std::vector<std::string> folders;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const std::string name = PartOf(schema.fields[f]);
    folders.push_back(f == first_image ? "images" : Unlike(taken, name));
  }
  return folders;
}

std::vector<std::string> ExportClassFiles(const Schema& schema) {
  std::set<std::string> taken;
  std::vector<std::string> files;
  for (const Field& field : schema.fields)
    files.push_back(Unlike(taken, PartOf(field)));
  return files;
}

std::vector<std::string> ExportHeadings(const Schema& schema) {
  std::set<std::string> taken = {"path", "key"};
  for (const Field& field : schema.fields)
    taken.insert(field.name);
  std::vector<std::string> headings;
  for (const Field& field : schema.fields) {
    const bool ours = field.name == "path" || field.name == "key";
    headings.push_back(ours ? Unlike(taken, field.name + "-field") : field.name);
  }
  return headings;
}

}  // namespace sluice
