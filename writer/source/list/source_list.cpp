#include "writer/source/list/source_list.h"

#include <algorithm>
#include <cstring>
#include <map>

#include <sys/stat.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "format/remote/object_store.h"
#include "writer/source/list/store_files.h"

namespace sluice {

namespace {

FileState StateIn(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
          static_cast<std::uint64_t>(info.st_size), info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
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
         feed == Feed::kPoints || feed == Feed::kValues || feed == Feed::kInstances;
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

FileState StateOf(const FileHandle& file) {
  struct stat info {};
  return fstat(file.get(), &info) == 0 ? StateIn(info) : FileState{};
}

void ReadExactly(const FileHandle& file, const std::filesystem::path& path, std::uint64_t offset,
                 std::span<std::byte> to) {
  if (ReadAt(file, path, offset, to) < to.size()) {
    throw Error(ErrorCode::kCorrupt, path.string(), "ends before its content does");
  }
}

bool SourceList::HasDrawn(std::size_t source) const {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!IsDrawn(fields[f].feed)) continue;
    const std::optional<Bytes> value = Value(source, f);
    if (value && !value->empty()) return true;
  }
  return false;
}

std::uint64_t SourceList::ImageBytesOf(std::size_t source) const {
  std::uint64_t bytes = sources[source].bytes;
  if (!archives.empty()) return bytes;
  for (const MaskFile& file : StackFilesOf(Value(source, 0).value_or(Bytes())))
    bytes += file.bytes;
  return bytes;
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

std::vector<MaskFile> StackFilesOf(Bytes value) {
  std::vector<MaskFile> files;
  while (!value.empty()) {
    const std::size_t end = AsText(value).find('\0', sizeof(std::uint64_t));
    files.push_back(MaskFileOf(value.first(end)));
    value = value.subspan(end + 1);
  }
  return files;
}

bool AreStackFiles(Bytes value) noexcept {
  while (!value.empty()) {
    const std::size_t end = AsText(value).find('\0', sizeof(std::uint64_t));
    if (end == std::string_view::npos) return false;
    value = value.subspan(end + 1);
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
