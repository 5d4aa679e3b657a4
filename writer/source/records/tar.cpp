// Tar archives with WebDataset's names.
//
// ForEachTarMember() reads headers and leaves the content where it is. A member's name is split at
// the first dot after its last slash. Consecutive members with the same part before the dot are one
// sample, and that part is its key. The part after the dot says what the member is: the image (jpg,
// png, ...), the class ("cls"), a text ("txt"), JSON ("json") or a mask ("mask.png", "seg.png").
// Other members and hidden files are passed over.
//
// Tar has no end that can be relied on: two blocks of zeros should end an archive, but archives may
// be joined by `cat`, so after zeros another header may follow (NextArchive()). A header has a
// checksum, and its size fields are compared with the file before anything is read, so damage is
// noticed where it lies. Names and sizes that do not fit a header come in extended headers before
// it, of two kinds (pax and GNU), which hold for the next member alone.
#include "writer/source/records/tar.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/file.h"
#include "format/parallel.h"
#include "writer/source/list/class_names.h"
#include "writer/source/list/list_checks.h"
#include "writer/source/list/look.h"
#include "writer/source/records/records.h"
#include "writer/text.h"

namespace sluice {

namespace {

using Header = std::array<std::byte, kTarBlock>;

// The limit for long names and extended headers, which are read into memory.
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
      // The next shift must not lose bits; no file is that large.
      if (number >> 54 != 0) return std::nullopt;
      number = number << 8 | byte(i);
    }
    return number;
  }
  const std::string_view text = Trimmed(FieldOf(header, at, size), " ");
  if (text.empty()) return 0;
  return ParseNumber<std::uint64_t>(text, 8);
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

// Reads the records of an extended header, "SIZE NAME=VALUE\n". False if it is damaged.
bool ReadRecords(std::string_view text, Extended& extended) {
  while (!text.empty()) {
    std::string_view rest = text;
    const std::size_t size = TakeNumber<std::size_t>(rest).value_or(0);
    const std::size_t digits = text.size() - rest.size();
    if (size > text.size() || size < digits + 2 || text[digits] != ' ' || text[size - 1] != '\n') {
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
      extended.bytes = ParseNumber<std::uint64_t>(value);
      if (!extended.bytes) return false;
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

  // Reads the next header. False at the end of the file, or after a block of zeros that no further
  // archive follows.
  bool NextHeader() {
    const std::size_t got = read_(at_, header_);
    if (at_ == 0) {
      if (const char* compression = CompressionOf(Bytes(header_).first(got))) {
        throw Error(ErrorCode::kUnsupported, name_,
                    std::string("is compressed by ") + compression + "; unpack it first");
      }
      if (AsText(Bytes(header_).first(got)).starts_with("SLUICESH")) {
        throw Error(ErrorCode::kInvalidArgument, name_,
                    "is a shard of a Sluice dataset, not images; give the folder of the whole "
                    "dataset to `sluice merge` or `sluice copy`");
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
    // A size that pax gives replaces the header's, which has room for 8 GiB only.
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

  // Asks for the last byte, because `read_` is all that is known of the archive.
  bool Reaches(std::uint64_t end) const {
    std::array<std::byte, 1> last{};
    return end == 0 || read_(end - 1, last) == 1;
  }

  void ReadExtended(char type, std::uint64_t content, std::uint64_t bytes) {
    if (type == 'g') return;  // a header for all members; nothing in it matters here
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
    // GNU's own form ends its mark with spaces, and has other fields where ustar has the prefix.
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

namespace {

enum Part : std::size_t { kImagePart, kClassPart, kTextPart, kJsonPart, kMaskPart, kParts };
constexpr std::uint64_t kMaxClassBytes = 4096;

// A sample as it is stored in an archive.
struct Grouped {
  std::string key;
  std::array<std::optional<Extent>, kParts> parts;
  Sniffed sniffed;         // of the image
  std::string class_name;  // trimmed
};

// An image whose name has more than an ending after its first dot: "view.left.png".
struct Dotted {
  std::string key;     // up to the dot
  std::string ending;  // after it
  std::string name;    // the member's
};

// The contents of one archive.
struct Scanned {
  std::vector<Grouped> samples;
  std::vector<Dotted> dotted;
  std::vector<LeftOut> passed_over;
  TarEnd end;
};

// Finds keys whose members are not all next to each other in the archive. Counts them when first
// asked.
class PartedKeys {
 public:
  explicit PartedKeys(const Scanned& archive) : archive_(archive) {}
  bool Has(std::string_view key) {
    if (counts_.empty()) {
      for (const Grouped& sample : archive_.samples)
        ++counts_[sample.key];
    }
    return counts_.at(key) > 1;
  }

 private:
  const Scanned& archive_;
  std::map<std::string_view, std::size_t> counts_;
};

constexpr const char* kLiesApart =
    "; other members with its name lie elsewhere in the archive, but only members that follow each "
    "other make a sample";

std::optional<Part> PartOf(std::string_view member_ending) {
  const std::string ending = LowerCase(member_ending);
  if (IsImageEnding(ending) || ending == "image" || ending == "img") return kImagePart;
  if (ending == "cls") return kClassPart;
  if (ending == "txt") return kTextPart;
  if (ending == "json") return kJsonPart;
  if (ending == "mask.png" || ending == "seg.png") return kMaskPart;
  return std::nullopt;
}

class ArchiveScan {
 public:
  ArchiveScan(const std::filesystem::path& path, std::uint64_t number, std::string place,
              const std::stop_token& stop)
      : path_(path),
        number_(number),
        place_(std::move(place)),
        stop_(stop),
        file_(OpenForReading(path)) {}

  Scanned Run() {
    scanned_.end = Walk([this](const TarMember& member) { Take(member); });
    if (targets_.empty()) return std::move(scanned_);
    // Locates the targets of hard links. Most archives have none and need no second walk.
    Walk([this](const TarMember& member) {
      const auto target = targets_.find(member.name);
      if (member.regular && target != targets_.end()) target->second = member;
    });
    // The third walk takes the members in their order again, now with the positions of all targets.
    resolving_ = true;
    scanned_ = {};
    ignored_ = {};
    scanned_.end = Walk([this](const TarMember& member) { Take(member); });
    return std::move(scanned_);
  }

 private:
  TarEnd Walk(const std::function<void(const TarMember&)>& visit) const {
    return ForEachTarMember(
        path_.string(),
        [this](std::uint64_t offset, std::span<std::byte> to) { return Read(offset, to); }, visit);
  }

  // Every read of an archive goes through here, and checks for a stop request.
  std::size_t Read(std::uint64_t offset, std::span<std::byte> to) const {
    if (stop_.stop_requested()) ThrowStopped();
    return ReadAt(file_, path_, offset, to);
  }

  void PassOver(const TarMember& member, const std::string& reason) {
    scanned_.passed_over.push_back({place_ + member.name, reason});
  }

  void Take(const TarMember& member) {
    if (!member.linked.empty()) return TakeLink(member);
    if (!member.regular) {
      if (!member.name.ends_with('/')) PassOver(member, "not a regular file");
      return;
    }
    TakeFile(member);
  }

  // A hard link: tar writes one for a file that it has stored under another name already.
  void TakeLink(const TarMember& member) {
    if (!resolving_) {
      targets_[member.linked];
      return;
    }
    const TarMember& target = targets_[member.linked];
    if (!target.regular) return PassOver(member, "links to a file that is not in the archive");
    TakeFile({member.name, true, target.offset, target.bytes});
  }

  void TakeFile(const TarMember& member) {
    std::string_view name = member.name;
    while (name.starts_with("./"))
      name.remove_prefix(2);
    const std::size_t slash = name.rfind('/');
    const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
    if (ignored_.Take(name, scanned_.passed_over, place_)) return;
    const std::size_t dot = name.find('.', base);
    if (dot == std::string_view::npos) return PassOver(member, "its name has no extension");
    const std::string ending(name.substr(dot + 1));
    const std::optional<Part> part = PartOf(ending);
    const std::string_view key = name.substr(0, dot);
    if (!part && PartOf(ending.substr(ending.rfind('.') + 1)) == kImagePart) {
      scanned_.dotted.push_back({std::string(key), ending, member.name});
      return;
    }
    if (!part) return PassOver(member, "there is no field for ." + ending);
    // Only the last sample is compared: the members of a sample must follow each other, as for
    // WebDataset.
    if (scanned_.samples.empty() || scanned_.samples.back().key != key) {
      scanned_.samples.push_back({std::string(key), {}, {}, {}});
    }
    Add(member, *part, scanned_.samples.back());
  }

  void Add(const TarMember& member, Part part, Grouped& sample) {
    if (sample.parts[part]) return PassOver(member, "the sample has one already");
    sample.parts[part] = Extent{member.offset, member.bytes, number_};
    if (part == kImagePart) {
      std::array<std::byte, kSniffBytes> start{};
      const auto size =
          static_cast<std::size_t>(std::min<std::uint64_t>(member.bytes, kSniffBytes));
      const std::size_t got = Read(member.offset, std::span(start).first(size));
      sample.sniffed = Sniff(Bytes(start).first(got));
    } else if (part == kClassPart) {
      std::vector<std::byte> text(std::min(member.bytes, kMaxClassBytes));
      text.resize(Read(member.offset, text));
      sample.class_name = Trimmed(AsText(text));
    }
  }

  const std::filesystem::path& path_;
  std::uint64_t number_;
  std::string place_;  // "0.tar: "
  const std::stop_token& stop_;
  FileHandle file_;
  Scanned scanned_;
  IgnoredFiles ignored_;
  std::map<std::string, TarMember, std::less<>> targets_;  // of hard links, by name
  bool resolving_ = false;                                 // targets_ has their positions
};

// The fields that at least one sample with an image has, and the part that each comes from.
std::vector<Part> FieldsOf(const std::vector<Scanned>& archives, bool labels, SourceList& list) {
  std::array<bool, kParts> has{};
  for (const Scanned& archive : archives) {
    for (const Grouped& sample : archive.samples) {
      if (!sample.parts[kImagePart]) continue;
      for (std::size_t part = 0; part < kParts; ++part)
        has[part] = has[part] || sample.parts[part].has_value();
    }
  }
  std::vector<Part> parts = {kImagePart};
  list.fields.push_back({Field::Image(), Feed::kImage});
  const auto add = [&](Part part, Field field, Feed feed) {
    if (!has[part]) return;
    parts.push_back(part);
    list.fields.push_back({std::move(field), feed});
    list.fields.back().located = true;
  };
  has[kClassPart] = has[kClassPart] && labels;
  add(kClassPart, Field::Label(), Feed::kLabel);
  add(kTextPart, Field::Bytes("text", Role::kText), Feed::kText);
  add(kJsonPart, Field::Bytes("json", Role::kJson), Feed::kText);
  add(kMaskPart, Field::Mask("mask", "image"), Feed::kMask);
  list.labelled = has[kClassPart];
  return parts;
}

// Why the sample cannot be converted; empty if it can. Also numbers its class.
std::string TroubleOf(const Grouped& sample, bool labelled, ClassNames& names,
                      std::int32_t& label) {
  if (!sample.parts[kImagePart]) return "has no image";
  if (!labelled) return {};
  if (!sample.parts[kClassPart]) return "has no .cls, but others have one";
  if (sample.class_name.empty()) return "its .cls is empty";
  const std::optional<std::int32_t> number = names.Add(sample.class_name);
  if (!number) {
    return "its class \"" + ToUtf8(sample.class_name) + "\" is not one of the given classes";
  }
  label = *number;
  return {};
}

void AddSamples(const std::vector<Scanned>& archives, const ConvertSource& source,
                SourceList& list) {
  const std::vector<Part> parts = FieldsOf(archives, source.label.store, list);
  ClassNames names(source.label.classes);
  for (std::size_t a = 0; a < archives.size(); ++a) {
    const std::string place = list.archive_names[a] + ": ";
    PartedKeys parted(archives[a]);
    for (const Grouped& sample : archives[a].samples) {
      Source taken;
      taken.key = sample.key;
      std::string trouble = TroubleOf(sample, list.labelled, names, taken.label);
      if (!trouble.empty()) {
        if (parted.Has(sample.key)) trouble += kLiesApart;
        list.broken.push_back({place + sample.key, trouble});
        continue;
      }
      Look look;
      look.sniffed = sample.sniffed;
      look.bytes = taken.bytes = sample.parts[kImagePart]->bytes;
      if (look.sniffed.kind == ImageKind::kNone) {
        list.broken.push_back({place + sample.key, "its image file is not an image"});
        continue;
      }
      if (!TakeOrLeave(look, place + sample.key, list)) continue;
      for (const Part part : parts) {
        const std::optional<Extent>& extent = sample.parts[part];
        list.values.Add(extent && part != kClassPart
                            ? std::optional(std::as_bytes(std::span(&*extent, 1)))
                            : std::nullopt);
      }
      list.sources.push_back(std::move(taken));
    }
  }
  const auto of_class = [&list](std::int32_t added) {
    const auto first = std::find_if(list.sources.begin(), list.sources.end(),
                                    [added](const Source& one) { return one.label == added; });
    return first == list.sources.end()
               ? std::string()
               : list.KeyForPeople(static_cast<std::size_t>(first - list.sources.begin()));
  };
  names.Settle(
      {source.archives.front(), "the field .cls",
       "such samples or their .cls, or name the classes in their order (--classes)", of_class},
      list.warnings);
  if (!list.labelled && !source.label.classes.empty()) {
    list.warnings.push_back(
        "no sample has a class (.cls), and the names that were given (--classes) are not used");
  }
  if (!list.labelled) return;
  list.classes = names.Names();
  for (Source& taken : list.sources)
    taken.label = names.NumberOf(taken.label);
}

// Decides about images such as "view.left.png". If the sample "view" has an image of its own, this
// one is passed over, since the schema lacks a field for "left". If not, the first dot was probably
// meant as part of the name, and this one is listed as broken, with advice.
void AddDotted(Scanned& archive, const std::string& place, SourceList& list) {
  if (archive.dotted.empty()) return;
  std::set<std::string_view> complete;
  for (const Grouped& sample : archive.samples) {
    if (sample.parts[kImagePart]) complete.insert(sample.key);
  }
  for (Dotted& image : archive.dotted) {
    if (complete.count(image.key) > 0) {
      archive.passed_over.push_back({place + image.name, "there is no field for ." + image.ending});
      continue;
    }
    std::string better = image.ending;
    std::replace(better.begin(), better.begin() + static_cast<std::ptrdiff_t>(better.rfind('.')),
                 '.', '_');
    list.broken.push_back(
        {place + image.name, "a sample's name ends at its first dot, and there is no field for ." +
                                 image.ending + "; name it without that dot (" + image.key + "_" +
                                 better + ")"});
  }
}

// Warns of signs that part of an archive is missing.
void AddEndWarnings(const std::vector<Scanned>& archives, SourceList& list) {
  const auto warn = [&](const auto& is_odd, const char* one, const char* several) {
    const auto first = std::find_if(archives.begin(), archives.end(), is_odd);
    if (first == archives.end()) return;
    const auto count = std::count_if(first, archives.end(), is_odd);
    const auto number = static_cast<std::size_t>(first - archives.begin());
    const std::string name = ToUtf8(list.archive_names[number]);
    list.warnings.push_back(count == 1 ? name + one
                                       : std::to_string(count) + several + ", such as " + name);
  };
  warn([](const Scanned& archive) { return archive.end.unread; },
       ": bytes after the archive's end are not an archive and were not read",
       " archives have bytes after their end that are not an archive and were not read");
  warn([](const Scanned& archive) { return !archive.end.marked; },
       ": ends without an end-of-archive mark; the rest may be missing",
       " archives end without an end-of-archive mark; the rest may be missing");
}

}  // namespace

SourceList ReadTars(const ConvertSource& source, unsigned threads, const std::stop_token& stop) {
  SourceList list;
  list.SetArchives(source.archives);
  std::vector<Scanned> archives(source.archives.size());
  ParallelFor(threads, archives.size(), stop, [&](unsigned, std::size_t i) {
    archives[i] = ArchiveScan(source.archives[i], i, list.archive_names[i] + ": ", stop).Run();
  });
  if (stop.stop_requested()) ThrowStopped();
  list.root = source.archives.front().parent_path();
  for (std::size_t a = 0; a < archives.size(); ++a) {
    Scanned& archive = archives[a];
    AddDotted(archive, list.archive_names[a] + ": ", list);
    std::move(archive.passed_over.begin(), archive.passed_over.end(),
              std::back_inserter(list.passed_over));
  }
  AddEndWarnings(archives, list);
  AddSamples(archives, source, list);
  RequireImages(source.archives.front(), list);
  return list;
}

}  // namespace sluice
