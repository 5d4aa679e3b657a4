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
#include "writer/source/read_source.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/source/list/store_files.h"
#include "writer/source/records/packed_page.h"

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
  if (const FileState now = StateOf(file);
      now != FileState{} && now != list.archive_states.at(archive))
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
  content.resize(ReadAt(OpenForReading(path), path, 0, content));
}

void ReadStackFile(const SourceList& list, const MaskFile& file, std::vector<std::byte>& content,
                   const std::atomic<bool>* give_up) {
  ReadFileOf(list, list.root, file.path, file.bytes, content, give_up);
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

void RequirePlaces(const SourceList& list) {
  constexpr std::size_t kLookedFor = 16;  // files, spread over the list
  const auto require = [](const std::string& trouble, const std::filesystem::path& place) {
    if (!trouble.empty()) throw Error(ErrorCode::kIo, place.string(), trouble);
  };
  for (const std::filesystem::path& archive : list.archives)
    require(WhyUnreadable(archive), archive);
  for (std::size_t a = 0; a < list.archives.size(); ++a)
    require(StateOf(list.archives[a]) == list.archive_states[a] ? "" : kArchiveChanged,
            list.archives[a]);
  if (!list.archives.empty() || list.store != nullptr) return;  // a store's faults are a StoreFault
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    std::size_t readable = 0;
    std::string trouble;  // of the last file tried
    for (std::size_t i = 0; i < std::min(kLookedFor, list.sources.size()); ++i) {
      const std::size_t source =
          i * list.sources.size() / std::min(kLookedFor, list.sources.size());
      std::filesystem::path file;
      if (list.fields[f].feed == Feed::kImage) file = list.root / list.sources[source].key;
      if (list.fields[f].feed == Feed::kMask || list.fields[f].feed == Feed::kValues) {
        const std::optional<Bytes> mask = list.Value(source, f);
        if (mask) file = list.fields[f].folder / MaskFileOf(*mask).path;
      }
      if (file.empty()) continue;
      const std::string why = WhyUnreadable(file);
      if (why.empty()) {
        ++readable;
        break;
      }
      trouble = why;
    }
    if (readable == 0)
      require(trouble, list.fields[f].feed == Feed::kImage ? list.root : list.fields[f].folder);
  }
}

}  // namespace sluice
