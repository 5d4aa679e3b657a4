// A file that is not an image is only passed over, unless its name ends like an image's: then it
// counts as broken. TakeOrLeave() decides that for folders, tables, label files and archives alike.
// RequireImages() and LookedForIn() only word an error: a source without images ends the
// conversion, so they may take time to find out what the user probably meant, such as the folder in
// which a list's files really lie.
#include "writer/source/list/look.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/store_files.h"
#include "writer/text.h"

namespace sluice {

Look LookInto(const std::filesystem::path& path) {
  Look look;
  try {
    const FileHandle file = OpenForReading(path);
    look.bytes = FileBytes(file, path);
    std::array<std::byte, kSniffBytes> start{};
    const std::size_t size = ReadAt(file, path, 0, start);
    look.sniffed = Sniff(Bytes(start).first(size));
  } catch (const Error& error) {
    if (IsShortage(error)) throw;
    look.trouble = error.sentence();
  }
  return look;
}

Look LookInto(const SourceList& list, const std::string& key, std::uint64_t bytes) {
  return list.store != nullptr ? list.store->LookInto(key, bytes) : LookInto(list.root / key);
}

void LookIntoAll(const SourceList& list, unsigned threads, std::size_t count,
                 const ConvertHooks& hooks, const std::function<void(std::size_t)>& look) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kReportEvery(200);
  if (list.store != nullptr) threads = std::max(threads, StoreFiles::kLooking);
  std::atomic<std::uint64_t> looked{0};
  std::mutex mutex;
  Clock::time_point last = Clock::now();
  ParallelFor(threads, count, hooks.stop, [&](unsigned, std::size_t i) {
    look(i);
    const std::uint64_t now = ++looked;
    if (!hooks.on_look || now % 64 != 0) return;
    const std::lock_guard lock(mutex);
    if (Clock::now() - last < kReportEvery) return;
    last = Clock::now();
    hooks.on_look(looked, count);
  });
  if (hooks.stop.stop_requested()) ThrowStopped();
}

bool IsImageEnding(std::string_view ending) {
  const std::string lower = LowerCase(ending);
  constexpr std::string_view kEndings[] = {
      "jpg",  "jpeg", "jpe",  "jfif", "png", "webp", "gif", "bmp", "tif", "tiff",
      "avif", "heic", "heif", "hif",  "jxl", "jp2",  "jpx", "j2k", "j2c", "ppm",
      "pgm",  "pbm",  "pnm",  "pam",  "tga", "ico",  "dds", "pcx", "sgi", "qoi"};
  return std::find(std::begin(kEndings), std::end(kEndings), lower) != std::end(kEndings);
}

bool TakeOrLeave(const Look& look, const std::string& name, SourceList& list) {
  if (!look.trouble.empty()) {
    list.broken.push_back({name, look.trouble});
  } else if (look.sniffed.kind == ImageKind::kNone) {
    const bool named_so = IsImageEnding(std::string_view(name).substr(name.rfind('.') + 1));
    if (named_so) {
      list.broken.push_back({name, look.bytes == 0 ? "is empty" : "is not an image"});
    } else {
      list.passed_over.push_back({name, look.bytes == 0 ? "empty" : "no image"});
    }
  } else if (std::string reason = WhyNotConverted(look.sniffed); !reason.empty()) {
    list.broken.push_back({name, std::move(reason)});
  } else {
    list.kinds.insert(look.sniffed.kind);
    return true;
  }
  return false;
}

namespace {

// Whether a file holds images, by its name. Such a file is a source itself; its folder is not.
bool HoldsImages(const LeftOut& file) {
  constexpr std::string_view kEndings[] = {".parquet", ".tfrecord", ".rec", ".beton", ".tar"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) {
    return std::string_view(file.path).ends_with(ending);
  });
}

// Of a list or table whose first file does not exist: where it was looked for, what is there, and
// the folder that was probably meant.
std::string LookedForIn(const SourceList& list) {
  constexpr std::uint64_t kMaxFiles = 10'000;
  std::error_code ignored;
  if (list.store != nullptr || !list.archives.empty() || list.broken.empty()) return {};
  const std::filesystem::path root = list.root.empty() ? "." : list.root;
  const std::filesystem::path missing = list.broken[0].path;
  if (std::filesystem::exists(root / missing, ignored)) return {};
  std::string text = "; paths are relative to the folder " + ToUtf8(root.native());
  if (!std::filesystem::exists(root, ignored)) return text + ", which does not exist";
  FolderTree tree;
  try {
    tree = WalkFolder(root, {.max_files = kMaxFiles}, {});
  } catch (const Error&) {
    return text;  // it cannot be listed
  }
  if (tree.files.empty()) return text + ", which holds no file";
  text += ", which holds " + std::string(tree.cut ? "more than " : "") +
          std::to_string(tree.files.size()) + " files, such as " + ToUtf8(tree.files[0].key);
  for (const WalkedFile& file : tree.files) {
    const std::string stem = std::filesystem::path(file.key).replace_extension().native();
    for (const std::string_view path : {std::string_view(file.key), std::string_view(stem)})
      if (path.ends_with("/" + missing.native()))
        return text + "; give the folder " +
               ToUtf8((root / path.substr(0, path.size() - missing.native().size() - 1)).native()) +
               ", which holds " + ToUtf8(file.key.substr(path.size() - missing.native().size()));
  }
  return text;
}

}  // namespace

void RequireImages(const std::filesystem::path& place, const SourceList& list) {
  if (!list.sources.empty()) return;
  const auto counted = [](std::size_t count, const char* one, const char* several) {
    return count == 1 ? "1 " + std::string(one) : std::to_string(count) + ' ' + several;
  };
  std::error_code ignored;
  const bool dataset = std::ranges::any_of(list.passed_over, [](const LeftOut& file) {
    return file.path.ends_with(".sluice") && file.path.find('/') == std::string::npos;
  });
  std::string sentence = "has no image that can be converted (" + ConvertedKinds() + ")";
  if (!list.broken.empty()) {
    sentence =
        "gives no sample: " +
        counted(list.broken.size(), "source was left out: ", "sources were left out, such as ") +
        ToUtf8(list.broken[0].path) + " (" + list.broken[0].reason + ")" + LookedForIn(list);
  } else if (dataset) {
    sentence =
        "is a dataset, not images; `sluice merge` joins datasets, `sluice transcode` stores the "
        "images of one differently, and `sluice copy` copies it";
  } else if (list.passed_over.empty()) {
    if (std::filesystem::is_directory(place, ignored)) sentence += "; it holds no file";
  } else {
    const auto holder = std::find_if(list.passed_over.begin(), list.passed_over.end(), HoldsImages);
    const LeftOut& one = holder == list.passed_over.end() ? list.passed_over[0] : *holder;
    sentence += "; " +
                counted(list.passed_over.size(),
                        "file was passed over: ", "files were passed over, such as ") +
                ToUtf8(one.path) + " (" + one.reason + ")";
    if (HoldsImages(one))
      sentence += "; give such files themselves as the sources, not their folder";
  }
  throw Error(ErrorCode::kNotFound, place.string(), sentence);
}

void WarnOfRepeats(SourceList& list, const std::string& advice) {
  std::vector<std::uint64_t> hashes;  // the keys themselves would take much more memory to sort
  hashes.reserve(list.sources.size());
  for (const Source& source : list.sources)
    hashes.push_back(Hash64(AsBytes(source.key)));
  std::sort(hashes.begin(), hashes.end());
  std::uint64_t images = 0;
  std::uint64_t repeated = 0;
  for (auto begin = hashes.begin(); begin != hashes.end();) {
    const auto end = std::upper_bound(begin, hashes.end(), *begin);
    if (end - begin > 1 && images++ == 0) repeated = *begin;
    begin = end;
  }
  if (images == 0) return;
  const auto first = std::find_if(
      list.sources.begin(), list.sources.end(),
      [repeated](const Source& source) { return Hash64(AsBytes(source.key)) == repeated; });
  list.warnings.push_back((images == 1 ? "an image is" : std::to_string(images) + " images are") +
                          std::string(" listed more than once, such as ") + ToUtf8(first->key) +
                          "; each occurrence becomes a sample" + advice);
}

}  // namespace sluice
