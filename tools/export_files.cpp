// Files, cells and names of an export.
//
// Keys are paths that a stranger may have chosen, and several of them may become the same file:
// "a.png" and "a.bmp" both become "a.png" or "a.jpg", and some file systems do not tell "A" from
// "a". So all names are chosen before anything is written: one pass over the keys finds the names
// that occur several times, a second one the samples that have them. Then all but one sample of
// each such name get a number.
#include "tools/export_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spng.h>
#include <unistd.h>

#include <sluice/error.h>

#include "tools/cli/output.h"

namespace sluice {

namespace {

void Check(int result) {
  if (result == SPNG_OK) return;
  throw Error(ErrorCode::kIo, std::string("a PNG file cannot be made: ") + spng_strerror(result));
}

}  // namespace

NewFile::NewFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) Fail(error.value());
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) Fail(errno);
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!whole_) unlink(path_.c_str());
}

void NewFile::Write(std::string_view bytes) {
  if (!cli::WriteAll(file_, bytes)) Fail(errno);
}

void NewFile::Close() {
  const int file = std::exchange(file_, -1);
  if (close(file) != 0) Fail(errno);
  whole_ = true;
}

void NewFile::Fail(int error) const {
  throw Error(ErrorCode::kIo, path_.string(),
              error == EEXIST ? "exists already: this file system takes two of the names for the "
                                "same one; export to another file system"
                              : "cannot be written: " + std::generic_category().message(error) +
                                    "; run the same command again to begin again");
}

std::vector<char> EncodePng(const Image& image) {
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(spng_ctx_new(SPNG_CTX_ENCODER),
                                                               &spng_ctx_free);
  if (!context) throw std::bad_alloc();
  Check(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
  constexpr std::uint8_t kTypes[] = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                     SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
  spng_ihdr header{};
  header.width = image.width;
  header.height = image.height;
  header.bit_depth = image.pixel_type == PixelType::kUint16 ? 16 : 8;
  header.color_type = kTypes[image.channels - 1];
  Check(spng_set_ihdr(context.get(), &header));
  Check(spng_encode_image(context.get(), image.pixels.data(), image.pixels.size(), SPNG_FMT_PNG,
                          SPNG_ENCODE_FINALIZE));
  std::size_t size = 0;
  int error = 0;
  const std::unique_ptr<void, void (*)(void*)> file(
      spng_get_png_buffer(context.get(), &size, &error), &std::free);
  Check(error);
  const auto* begin = static_cast<const char*>(file.get());
  return {begin, begin + size};
}

std::vector<char> EncodeNpy(const Image& image) {
  const auto letter_of = [](PixelType type) {
    switch (type) {
      case PixelType::kUint8:
      case PixelType::kUint16: return 'u';
      case PixelType::kInt16: return 'i';
      case PixelType::kFloat16:
      case PixelType::kFloat32: break;
    }
    return 'f';
  };
  const std::size_t bytes = SizeOf(image.pixel_type);
  std::string header = "{'descr': '" + std::string(bytes == 1 ? "|" : "<") +
                       letter_of(image.pixel_type) + std::to_string(bytes) +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(image.height) +
                       ", " + std::to_string(image.width) +
                       (image.channels == 1 ? "" : ", " + std::to_string(image.channels)) + "), }";
  // The magic, the version 1.0 and the header's size of two bytes; the pixels begin at a multiple
  // of 64.
  constexpr std::size_t kBefore = 10;
  header.append((64 - (kBefore + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  std::vector<char> out(file.begin(), file.end());
  out.insert(out.end(), image.pixels.begin(), image.pixels.end());
  return out;
}

namespace {

// The parts of a TIFF file in its directory's order, which is that of the tags' numbers. All
// numbers are little-endian.
class TiffDirectory {
 public:
  enum Type : std::uint16_t { kAscii = 2, kShort = 3, kLong = 4, kDouble = 12 };

  template <class T>
  void Add(std::uint16_t tag, Type type, const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    entries_[tag] = {type,
                     static_cast<std::uint32_t>(values.size()),
                     {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
  }
  void Text(std::uint16_t tag, const std::string& text) {
    if (!text.empty())
      Add(tag, kAscii, std::vector<char>(text.c_str(), text.c_str() + text.size() + 1));
  }

  // The file, with the pixels at its end, whose place becomes the tag 273.
  std::vector<char> File(std::span<const std::byte> pixels) {
    constexpr std::uint16_t kStripOffsets = 273;
    constexpr std::size_t kHeader = 8, kEntry = 12;
    Add(kStripOffsets, kLong, std::vector<std::uint32_t>{0});
    const std::size_t values_at = kHeader + 2 + entries_.size() * kEntry + 4;
    std::string values;
    for (const auto& [tag, entry] : entries_) {
      if (entry.bytes.size() > 4) values += entry.bytes + std::string(entry.bytes.size() % 2, '\0');
    }
    values.append((16 - (values_at + values.size()) % 16) % 16, '\0');
    Add(kStripOffsets, kLong,
        std::vector<std::uint32_t>{static_cast<std::uint32_t>(values_at + values.size())});
    std::string file("II*\0", 4);
    Put(std::uint32_t{kHeader}, file);
    Put(static_cast<std::uint16_t>(entries_.size()), file);
    std::size_t at = values_at;
    for (const auto& [tag, entry] : entries_) {
      Put(tag, file);
      Put(static_cast<std::uint16_t>(entry.type), file);
      Put(entry.count, file);
      if (entry.bytes.size() > 4) {
        Put(static_cast<std::uint32_t>(at), file);
        at += entry.bytes.size() + entry.bytes.size() % 2;
      } else {
        file += entry.bytes + std::string(4 - entry.bytes.size(), '\0');
      }
    }
    Put(std::uint32_t{0}, file);
    file += values;
    std::vector<char> out(file.begin(), file.end());
    const auto* const first = reinterpret_cast<const char*>(pixels.data());
    out.insert(out.end(), first, first + pixels.size());
    return out;
  }

 private:
  struct Entry {
    Type type = kShort;
    std::uint32_t count = 0;
    std::string bytes;
  };
  template <class T>
  static void Put(T number, std::string& to) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  std::map<std::uint16_t, Entry> entries_;
};

void AddGeoTags(std::string_view geo, TiffDirectory& directory) {
  const nlohmann::json tags = nlohmann::json::parse(geo, nullptr, false);
  if (!tags.is_object()) return;
  const auto numbers = [&](const char* name, std::uint16_t tag, TiffDirectory::Type type,
                           auto zero) {
    const auto found = tags.find(name);
    if (found == tags.end() || !found->is_array() ||
        !std::all_of(found->begin(), found->end(), [](const auto& n) { return n.is_number(); })) {
      return;
    }
    directory.Add(tag, type, found->get<std::vector<decltype(zero)>>());
  };
  const auto text = [&](const char* name, std::uint16_t tag) {
    const auto found = tags.find(name);
    if (found != tags.end() && found->is_string()) directory.Text(tag, found->get<std::string>());
  };
  numbers("ModelPixelScale", 33'550, TiffDirectory::kDouble, double{});
  numbers("ModelTiepoint", 33'922, TiffDirectory::kDouble, double{});
  numbers("ModelTransformation", 34'264, TiffDirectory::kDouble, double{});
  numbers("GeoKeyDirectory", 34'735, TiffDirectory::kShort, std::uint16_t{});
  numbers("GeoDoubleParams", 34'736, TiffDirectory::kDouble, double{});
  text("GeoAsciiParams", 34'737);
  text("GDAL_METADATA", 42'112);
}

}  // namespace

std::vector<char> EncodeTiff(const Image& image, const std::string& no_data, std::string_view geo) {
  const auto format = [](PixelType type) -> std::uint16_t {
    switch (type) {
      case PixelType::kUint8:
      case PixelType::kUint16: return 1;
      case PixelType::kInt16: return 2;
      case PixelType::kFloat16:
      case PixelType::kFloat32: break;
    }
    return 3;
  };
  const auto channels = std::uint16_t{image.channels};
  const std::size_t further = channels - 1U;  // grey, and channels that are not colours
  using Shorts = std::vector<std::uint16_t>;
  using Longs = std::vector<std::uint32_t>;
  TiffDirectory directory;
  directory.Add(256, TiffDirectory::kLong, Longs{image.width});
  directory.Add(257, TiffDirectory::kLong, Longs{image.height});
  directory.Add(258, TiffDirectory::kShort,
                Shorts(channels, static_cast<std::uint16_t>(8 * SizeOf(image.pixel_type))));
  directory.Add(259, TiffDirectory::kShort, Shorts{1});  // no compression
  directory.Add(262, TiffDirectory::kShort, Shorts{1});  // 0 is black
  directory.Add(277, TiffDirectory::kShort, Shorts{channels});
  directory.Add(278, TiffDirectory::kLong, Longs{image.height});  // rows per strip
  directory.Add(279, TiffDirectory::kLong, Longs{static_cast<std::uint32_t>(image.pixels.size())});
  directory.Add(284, TiffDirectory::kShort, Shorts{1});  // interleaved
  if (further > 0) directory.Add(338, TiffDirectory::kShort, Shorts(further, 0));
  directory.Add(339, TiffDirectory::kShort, Shorts(channels, format(image.pixel_type)));
  AddGeoTags(geo, directory);
  directory.Text(42'113, no_data);
  return directory.File(std::as_bytes(std::span(image.pixels)));
}

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char letter : text) {
    if (letter == '"') cell += '"';
    cell += letter;
  }
  return cell + '"';
}

std::string NoFormula(const std::string& text) {
  if (text.find_first_of("=+-@\t\r\n") != 0) return text;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? text : "'" + text;
}

std::string NamesCell(const std::vector<std::string>& names) {
  const auto is_plain = [](const std::string& name) {
    constexpr const char* kBlank = " \t\r\n";
    return !name.empty() && name.find_first_of(",;|") == std::string::npos && name[0] != '[' &&
           name.find_first_of(kBlank) != 0 && name.find_last_of(kBlank) != name.size() - 1;
  };
  // For an empty list, an empty cell would mean an absent value.
  if (names.empty() || !std::all_of(names.begin(), names.end(), is_plain)) {
    return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : "|") + name;
  return text;
}

namespace {

namespace fs = std::filesystem;

std::string Folded(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
  }
  return text;
}

// Makes a text usable as one part of a path: replaces bytes that a path cannot contain, and leaves
// room for a number and an ending.
std::string SafePart(std::string name) {
  constexpr std::size_t kMaxBytes = 200;
  std::replace(name.begin(), name.end(), '\0', '_');
  if (name.size() > kMaxBytes) {
    std::size_t end = kMaxBytes;
    while (end > kMaxBytes - 3 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80)
      --end;  // not within a character
    name.resize(end);
  }
  return name == ".." ? "__" : name;
}

// The key as a relative path, without parts that lead out of the folder or that a path cannot
// contain.
fs::path Safe(const std::string& key) {
  fs::path safe;
  for (const fs::path& part : fs::path(key).relative_path()) {
    if (!part.empty() && part != ".") safe /= SafePart(part.native());
  }
  constexpr std::size_t kMaxPathBytes = 1500;  // the folder's own path comes before it
  if (safe.native().size() > kMaxPathBytes) safe = safe.filename();
  return safe.empty() ? "sample" : safe;
}

std::string WithoutEnding(const fs::path& path) {
  return (path.parent_path() / path.stem()).native();
}

// The path's ending in its common form; "" for an ending that an export does not write.
std::string OurEnding(const fs::path& path) {
  const std::string own = Folded(path.extension().native());
  if (own == ".jpeg" || own == ".jpe") return ".jpg";
  const bool ours =
      own == ".jpg" || own == ".png" || own == ".bin" || own == ".npy" || own == ".tif";
  return ours ? own : "";
}

std::string Numbered(const std::string& name, std::uint32_t number) {
  return number == 0 ? name : name + "-" + std::to_string(number);
}

// Finds the samples whose names need a number. Names are kept as hashes, to save memory; if two
// names share a hash, a sample gets a number without need.
class NumberChooser {
 public:
  explicit NumberChooser(const ExportSamples& samples) : samples_(samples) {}

  std::unordered_map<std::uint64_t, std::uint32_t> Run() {
    ReadNames();
    const std::vector<std::uint64_t> contenders = FindContenders();
    for (const std::uint64_t index : contenders)
      Claim(index);
    for (const std::uint64_t index : contenders)
      Number(index);
    return std::move(numbers_);
  }

 private:
  using Hash = std::size_t;

  // A name that several samples, or a sample and a folder, would have.
  struct Wanted {
    std::optional<std::uint64_t> keeper;  // the sample that gets the name without a number
    bool by_ending = false;               // `keeper`'s file gets the ending that its key has
    std::uint32_t next = 1;               // number to try
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

  // The samples whose name another sample or a folder would have, too.
  std::vector<std::uint64_t> FindContenders() {
    std::vector<std::uint64_t> contenders;
    if (wanted_.empty() && folders_.empty()) return contenders;
    for (std::uint64_t i = 0; i < samples_.count; ++i) {
      const std::optional<std::string> key = samples_.key(i);
      if (!key) continue;
      const Hash name = HashOf(WithoutEnding(Safe(*key)));
      if (wanted_.count(name) > 0 || folders_.count(name) > 0) contenders.push_back(i);
    }
    return contenders;
  }

  // Makes the sample the keeper of its name, if its claim is better than the present keeper's.
  void Claim(std::uint64_t index) {
    const fs::path path = PathOf(index);
    const Hash name = HashOf(WithoutEnding(path));
    Wanted& wanted = wanted_[name];
    if (wanted.by_ending || folders_.count(name) > 0) return;
    wanted.by_ending = OurEnding(path) == samples_.ending(index);
    if (wanted.by_ending || !wanted.keeper) wanted.keeper = index;
  }

  // Gives the sample a number, unless it is the keeper of its name.
  void Number(std::uint64_t index) {
    const std::string name = WithoutEnding(PathOf(index));
    Wanted& wanted = wanted_[HashOf(name)];
    if (wanted.keeper == index) return;
    while (!Take(HashOf(Numbered(name, wanted.next))))
      ++wanted.next;
    numbers_.emplace(index, wanted.next++);
  }

  // Reserves a name with a number. Returns false if a sample or a folder has that name.
  bool Take(Hash name) {
    return !std::binary_search(names_.begin(), names_.end(), name) && folders_.count(name) == 0 &&
           numbered_.insert(name).second;
  }

  const ExportSamples& samples_;
  std::vector<Hash> names_;           // the hashes of all samples' names, sorted
  std::unordered_set<Hash> folders_;  // of folders' names such as "a.jpg", without the ending
  std::unordered_map<Hash, Wanted> wanted_;
  std::unordered_set<Hash> numbered_;  // names with a number that are in use
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
};

// The field's name, made usable as one part of a path.
std::string PartOf(const Field& field) {
  std::string name = field.name;
  std::replace(name.begin(), name.end(), '/', '_');
  return name == "." ? "_" : SafePart(std::move(name));
}

// Returns `name`, or the name with the first number that makes it differ from all of `taken`. Adds
// the result to `taken`.
std::string Unlike(std::set<std::string>& taken, const std::string& name) {
  for (std::uint32_t number = 0;; ++number) {
    std::string numbered = Numbered(name, number);
    if (taken.insert(Folded(numbered)).second) return numbered;
  }
}

}  // namespace

ExportNames::ExportNames(const ExportSamples& samples) : numbers_(NumberChooser(samples).Run()) {}

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
