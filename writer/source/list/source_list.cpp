// The bytes of a source come from a file below the root, from an object in a store, from a run of
// bytes of an archive (Extent), or from a page of an archive that is unpacked first.
//
// The list may be hours old when a source is read, and sources may have changed meanwhile. A file
// must still have its listed size; an archive must still be the same file, with the same
// modification time, because the list's offsets hold for it alone. What is different becomes an
// Error, and never another picture under the old name. The list may have been read from a plan, so
// the bounds of a run are compared with the archive before memory is taken for it.
//
// RequirePlaces() tells a folder or archive that is gone, which ends the conversion, from a single
// source that is gone, which is left out.
#include "writer/source/list/source_list.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include <sys/stat.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "format/disk/system_error.h"
#include "format/remote/object_store.h"
#include "writer/source/list/store_files.h"

namespace sluice {

namespace {

[[noreturn]] void ThrowTooLarge(std::uint64_t bytes) {
  throw Error(ErrorCode::kLimit, "has " + std::to_string(bytes) +
                                     " bytes; Sluice reads images of " +
                                     std::to_string(kMaxSourceBytes) + " bytes at most");
}

// Reads a file below the list's root, or below another folder.
void ReadFileOf(const SourceList& list, const std::filesystem::path& folder, const std::string& key,
                std::uint64_t expected, std::vector<std::byte>& content,
                const std::atomic<bool>* give_up) {
  if (list.store != nullptr && folder == list.root) {
    if (expected > kMaxSourceBytes) ThrowTooLarge(expected);
    return list.store->Read(key, expected, content, give_up);
  }
  ReadFile(folder / key, kMaxSourceBytes, content);
  if (content.size() != expected) {
    throw Error(ErrorCode::kIo, "changed its size from " + std::to_string(expected) + " to " +
                                    std::to_string(content.size()) +
                                    " bytes since the conversion was planned");
  }
}

constexpr const char* kArchiveChanged =
    "the archive was changed or replaced after it was listed; restore it, or start again (if there "
    "is an index, remove it)";

FileState StateIn(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
          static_cast<std::uint64_t>(info.st_size), info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

// Reads a run of an archive. Takes memory only for bytes that are there: a plan may claim more.
void ReadRun(const SourceList& list, std::size_t archive, std::uint64_t offset, std::uint64_t bytes,
             std::vector<std::byte>& content) {
  const std::filesystem::path& path = list.archives.at(archive);
  const FileHandle file = OpenForReading(path);
  const std::uint64_t there = FileBytes(file, path);
  const bool whole = offset <= there && bytes <= there - offset;
  content.resize(whole ? bytes : 0);
  if (!whole || ReadAt(file, path, offset, content) < bytes)
    throw Error(ErrorCode::kIo, "the archive became shorter after the sources were listed");
  // The list's offsets hold for the archive that was listed: in another one, the same run may be
  // another picture. This is checked after reading, so that the bytes were not changed before.
  struct stat info {};
  if (fstat(file.get(), &info) == 0 && StateIn(info) != list.archive_states.at(archive))
    throw Error(ErrorCode::kIo, kArchiveChanged);
}

// Reads a run of bytes of an archive, and at most `most` of them.
void ReadExtent(const SourceList& list, const Extent& extent, std::vector<std::byte>& content,
                std::uint64_t most, UnpackedPage& kept) {
  if (extent.bytes > kMaxSourceBytes) ThrowTooLarge(extent.bytes);
  const std::uint64_t wanted = std::min(extent.bytes, most);
  if ((extent.archive & kInPage) == 0)
    return ReadRun(list, extent.archive, extent.offset, wanted, content);
  const std::uint64_t number = extent.archive & ~kInPage;
  const PackedPage& page = list.pages.at(number);
  bool whole = kept.number == number;
  if (!whole) {
    std::vector<std::byte> stored;
    ReadRun(list, page.archive, page.offset, page.stored, stored);
    // Before the page is overwritten: if unpacking fails, `kept` must not count as this or the old
    // page.
    kept.number = UnpackedPage::kNone;
    kept.content.resize(page.plain);
    whole = UnpackPage(page, stored, kept.content);
    if (whole) kept.number = number;
  }
  if (!whole || extent.offset > kept.content.size() ||
      extent.bytes > kept.content.size() - extent.offset) {
    throw Error(ErrorCode::kCorrupt, page.codec == PageCodec::kChecked
                                         ? "the archive is damaged: a checksum is wrong"
                                         : "the archive changed after the sources were listed");
  }
  const Bytes taken = Bytes(kept.content).subspan(extent.offset, wanted);
  content.assign(taken.begin(), taken.end());
}

void ReadExtent(const SourceList& list, const Extent& extent, std::vector<std::byte>& content) {
  UnpackedPage page;
  ReadExtent(list, extent, content, UINT64_MAX, page);
}

// Why no byte of the file can be read; empty if one can, or the file is empty.
std::string WhyUnreadable(const std::filesystem::path& path) {
  try {
    std::byte first{};
    ReadAt(OpenForReading(path), path, 0, {&first, 1});
    return {};
  } catch (const Error& error) {
    return error.code() == ErrorCode::kNotFound ? "was removed after the sources were listed"
                                                : error.sentence();
  }
}

}  // namespace

// A value ends where the next one begins. The highest bit of its end says that it is absent, so
// that an absent value differs from an empty one without memory of its own.
void SourceValues::Add(std::optional<Bytes> value) {
  if (value) bytes_.insert(bytes_.end(), value->begin(), value->end());
  ends_.push_back(bytes_.size() | (value ? 0 : kAbsent));
}

std::optional<Bytes> SourceValues::Get(std::size_t source, std::size_t field,
                                       std::size_t fields) const {
  const std::size_t index = source * fields + field;
  const std::uint64_t end = ends_[index];
  if ((end & kAbsent) != 0) return std::nullopt;
  const std::uint64_t begin = index == 0 ? 0 : ends_[index - 1] & ~kAbsent;
  return Bytes(bytes_).subspan(begin, end - begin);
}

std::span<std::byte> SourceValues::Mutable(std::size_t source, std::size_t field,
                                           std::size_t fields) {
  const std::optional<Bytes> value = Get(source, field, fields);
  if (!value || value->empty()) return {};
  return std::span(bytes_).subspan(static_cast<std::size_t>(value->data() - bytes_.data()),
                                   value->size());
}

std::pair<Bytes, Bytes> SourceValues::Memory() const {
  return {std::as_bytes(std::span(ends_)), Bytes(bytes_)};
}

void SourceList::SetArchives(std::vector<std::filesystem::path> files) {
  archives = std::move(files);
  archive_names.clear();
  archive_states.clear();
  std::vector<std::filesystem::path> above;  // the folders that the names do not have yet
  for (const std::filesystem::path& file : archives) {
    archive_names.push_back(file.filename().string());
    archive_states.push_back(StateOf(file));
    above.push_back(file.lexically_normal().parent_path());
  }
  // Archives of the same name get the folder above it, and the next one, until all names differ or
  // no folder is left: "train/a.tar" and "val/a.tar".
  for (bool longer = true; longer;) {
    longer = false;
    std::map<std::string, std::size_t> counts;
    for (const std::string& name : archive_names)
      ++counts[name];
    for (std::size_t a = 0; a < archives.size(); ++a) {
      const std::filesystem::path folder = above[a].filename();
      if (counts[archive_names[a]] == 1 || folder.empty() || folder == "..") continue;
      archive_names[a] = (folder / archive_names[a]).string();
      above[a] = above[a].parent_path();
      longer = true;
    }
  }
}

void SourceList::RequirePlaces() const {
  constexpr std::size_t kLookedFor = 16;  // files, spread over the list
  const auto require = [](const std::string& trouble, const std::filesystem::path& place) {
    if (!trouble.empty()) throw Error(ErrorCode::kIo, place.string(), trouble);
  };
  for (const std::filesystem::path& archive : archives)
    require(WhyUnreadable(archive), archive);
  for (std::size_t a = 0; a < archives.size(); ++a)
    require(StateOf(archives[a]) == archive_states[a] ? "" : kArchiveChanged, archives[a]);
  if (!archives.empty() || store != nullptr) return;  // a store's faults are a StoreFault
  for (std::size_t f = 0; f < fields.size(); ++f) {
    std::size_t readable = 0;
    std::string trouble;  // of the last file tried
    for (std::size_t i = 0; i < std::min(kLookedFor, sources.size()); ++i) {
      // Spread over the list, because neighbours often lie in one folder.
      const std::size_t source = i * sources.size() / std::min(kLookedFor, sources.size());
      std::filesystem::path file;
      if (fields[f].feed == Feed::kImage) file = root / sources[source].key;
      if (fields[f].feed == Feed::kMask) {
        const std::optional<Bytes> mask = Value(source, f);
        if (mask) file = fields[f].folder / MaskFileOf(*mask).path;
      }
      if (file.empty()) continue;
      const std::string why = WhyUnreadable(file);
      if (why.empty()) {
        ++readable;
        break;
      }
      trouble = why;
    }
    if (readable == 0) require(trouble, fields[f].feed == Feed::kImage ? root : fields[f].folder);
  }
}

void SourceList::SetRoot(const std::filesystem::path& place, const std::stop_token& stop) {
  root = place;
  if (!IsStoreUrl(place.native())) return;
  store = std::make_shared<StoreFiles>(OpenStore(place.native()), stop);
  root = store->url();  // without what is secret
  std::string given = place.native();
  while (given.ends_with('/'))
    given.pop_back();
  secret_root = given != store->url();
}

Schema SourceList::MakeSchema() const {
  Schema schema;
  for (const SourceField& field : fields) {
    schema.fields.push_back(field.field);
    if (field.feed == Feed::kLabel) schema.fields.back().classes = classes;
  }
  return schema;
}

namespace {
bool IsDrawn(Feed feed) noexcept {
  return feed == Feed::kBoxes || feed == Feed::kMask || feed == Feed::kShapes ||
         feed == Feed::kPoints;
}
}  // namespace

bool SourceList::HasDrawn() const noexcept {
  return std::any_of(fields.begin(), fields.end(),
                     [](const SourceField& field) { return IsDrawn(field.feed); });
}

std::string FileState::Words() const {
  std::string words = std::to_string(inode);
  for (const auto number : {static_cast<std::int64_t>(bytes), seconds, nanoseconds})
    words += ' ' + std::to_string(number);
  return words;
}

FileState StateOf(const std::filesystem::path& file) {
  struct stat info {};
  return stat(file.c_str(), &info) == 0 ? StateIn(info) : FileState{};
}

bool SourceList::HasDrawn(std::size_t source) const {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!IsDrawn(fields[f].feed)) continue;
    const std::optional<Bytes> value = Value(source, f);
    if (value && !value->empty()) return true;
  }
  return false;
}

Extent SourceList::ExtentOf(std::size_t source, std::size_t field) const {
  const std::optional<Bytes> value = Value(source, field);
  return value ? LoadAt<Extent>(*value, 0) : Extent{};
}

std::size_t SourceList::ArchiveOf(std::size_t source) const {
  const std::uint64_t archive = ExtentOf(source, 0).archive;
  return (archive & kInPage) != 0 ? pages.at(archive & ~kInPage).archive : archive;
}

std::string SourceList::NameOf(std::size_t source) const {
  if (archives.empty()) return (root / sources[source].key).string();
  return archives.at(ArchiveOf(source)).string() + ": " + sources[source].key;
}

std::string SourceList::KeyForPeople(std::size_t source) const {
  if (archives.empty()) return sources[source].key;
  return archive_names.at(ArchiveOf(source)) + ": " + sources[source].key;
}

std::vector<std::byte> MaskValue(std::uint64_t bytes, std::string_view path) {
  std::vector<std::byte> value(sizeof bytes + path.size());
  std::memcpy(value.data(), &bytes, sizeof bytes);
  std::memcpy(value.data() + sizeof bytes, path.data(), path.size());
  return value;
}

MaskFile MaskFileOf(Bytes value) {
  return {LoadAt<std::uint64_t>(value, 0), std::string(AsText(value.subspan(8)))};
}

void ReadImageFile(const SourceList& list, std::size_t source, std::vector<std::byte>& content,
                   const std::atomic<bool>* give_up) {
  if (!list.archives.empty()) return ReadExtent(list, list.ExtentOf(source, 0), content);
  const Source& one = list.sources[source];
  ReadFileOf(list, list.root, one.key, one.bytes, content, give_up);
}

void ReadImageStart(const SourceList& list, std::size_t source, std::uint64_t most,
                    std::vector<std::byte>& content, UnpackedPage& page) {
  if (!list.archives.empty())
    return ReadExtent(list, list.ExtentOf(source, 0), content, most, page);
  const Source& one = list.sources[source];
  const std::uint64_t wanted = std::min(one.bytes, most);
  if (list.store != nullptr) return list.store->ReadStart(one.key, wanted, content);
  const std::filesystem::path path = list.root / one.key;
  content.resize(wanted);
  // The file may have become shorter; reading it whole will say so.
  content.resize(ReadAt(OpenForReading(path), path, 0, content));
}

bool ReadMaskFile(const SourceList& list, std::size_t source, std::size_t field,
                  std::vector<std::byte>& content, const std::atomic<bool>* give_up) {
  const std::optional<Bytes> value = list.Value(source, field);
  if (!value) return false;
  if (list.fields[field].located) {
    ReadExtent(list, list.ExtentOf(source, field), content);
    return true;
  }
  const MaskFile mask = MaskFileOf(*value);
  ReadFileOf(list, list.fields[field].folder, mask.path, mask.bytes, content, give_up);
  return true;
}

bool ReadStored(const SourceList& list, std::size_t source, std::size_t field,
                std::vector<std::byte>& content) {
  const std::optional<Bytes> value = list.Value(source, field);
  if (!value) return false;
  if (!list.fields[field].located) {
    content.assign(value->begin(), value->end());
  } else {
    ReadExtent(list, list.ExtentOf(source, field), content);
  }
  return true;
}

Error StoppedError() {
  return {ErrorCode::kState, "the conversion was stopped; run the same command again to resume"};
}

void ThrowStopped() {
  throw StoppedError();
}

}  // namespace sluice
