// A file that is not an image is only passed over, unless its name ends like an image's: then it
// counts as broken. TakeOrLeave() decides that for folders, tables, label files and archives alike.
#include "writer/source/list/look.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/file.h"
#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/list/store_files.h"

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
  Look look = list.store != nullptr ? list.store->LookInto(key, bytes) : LookInto(list.root / key);
  if (list.keeps_pixels && look.sniffed.only_values) look.sniffed.kind = ImageKind::kUnsupported;
  return look;
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

bool IsImageName(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot != std::string_view::npos && IsImageEnding(path.substr(dot + 1));
}

bool TakeOrLeave(const Look& look, const std::string& name, SourceList& list) {
  if (!look.trouble.empty()) {
    list.broken.push_back({name, look.trouble});
  } else if (look.sniffed.kind == ImageKind::kNone) {
    if (IsImageName(name)) {
      list.broken.push_back({name, look.bytes == 0 ? "is empty" : "is not an image"});
    } else {
      list.passed_over.push_back({name, look.sniffed.only_values ? WhyNotConverted(look.sniffed)
                                        : look.bytes == 0        ? "empty"
                                                                 : "no image"});
    }
  } else if (list.keeps_pixels && !HasValues(look.sniffed)) {
    list.broken.push_back({name, WhyNoValues(look.sniffed)});
  } else if (std::string reason = list.keeps_pixels ? "" : WhyNotConverted(look.sniffed);
             !reason.empty()) {
    list.broken.push_back({name, std::move(reason)});
  } else {
    if (!look.sniffed.only_values) list.kinds.insert(look.sniffed.kind);
    return true;
  }
  return false;
}

}  // namespace sluice
