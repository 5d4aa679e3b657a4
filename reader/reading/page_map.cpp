// There are two ways to ask the kernel which pages are mapped. PAGEMAP_SCAN answers for a whole
// range by one call, and stops at the first page that is missing. Older kernels lack it; its first
// failure makes PageMap read a word for each page from then on.
//
// LockInMemory() checks what it can before it reads anything. If mlock() fails because the file was
// cut or cannot be read, that is a fault of the shard, which `pass_over` may skip. Any other
// failure is a limit of this process and always throws.
#include "reader/reading/page_map.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "reader/reading/memory.h"

namespace sluice {

namespace {

// /proc/PID/pagemap (Linux: Documentation/admin-guide/mm/pagemap.rst) has one word for each page.
// The word's highest bit says that the page is in memory and mapped.
constexpr std::uint64_t kPresentBit = std::uint64_t{1} << 63;
constexpr std::size_t kEntries = 512;  // words read at once

// The argument of PAGEMAP_SCAN on the same file (Linux 6.7), which examines only the page tables.
// Older headers lack it.
struct ScanArguments {
  std::uint64_t size = sizeof(ScanArguments);
  std::uint64_t flags = 0;
  std::uint64_t start = 0;  // page-aligned addresses
  std::uint64_t end = 0;
  std::uint64_t walk_end = 0;  // output
  std::uint64_t regions = 0;   // address of the array to fill in
  std::uint64_t region_count = 0;
  std::uint64_t max_pages = 0;
  std::uint64_t inverted = 0;  // a set of page categories, like the next three
  std::uint64_t all_of = 0;
  std::uint64_t any_of = 0;
  std::uint64_t returned = 0;
};
struct ScannedPages {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t categories = 0;
};
constexpr std::uint64_t kPresentCategory = std::uint64_t{1} << 3;
const unsigned long kScan = _IOWR('f', 16, ScanArguments);

}  // namespace

PageMap::PageMap(bool by_range)
    : file_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)), by_range_(by_range) {}

bool PageMap::HasAll(Bytes bytes) {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (!file_ || bytes.empty()) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uint64_t begin = address / page;
  const std::uint64_t end = (address + bytes.size() + page - 1) / page;
  if (by_range_) {
    const std::optional<bool> scanned = Scan(begin * page, end * page);
    if (scanned) return *scanned;
    by_range_ = false;
  }
  return ReadEntries(begin, end);
}

std::optional<bool> PageMap::Scan(std::uint64_t begin, std::uint64_t end) const {
  ScannedPages missing;  // the first page that is not in memory
  ScanArguments scan;
  scan.start = begin;
  scan.end = end;
  scan.regions = reinterpret_cast<std::uintptr_t>(&missing);
  scan.region_count = 1;
  scan.max_pages = 1;
  scan.inverted = scan.all_of = scan.returned = kPresentCategory;
  const int found = ioctl(file_.get(), kScan, &scan);
  if (found < 0) return std::nullopt;
  return found == 0;
}

bool PageMap::ReadEntries(std::uint64_t begin, std::uint64_t end) {
  entries_.resize(kEntries);
  while (begin < end) {
    const std::size_t wanted = std::min<std::uint64_t>(end - begin, entries_.size());
    if (!ReadWhole(file_, begin * sizeof(entries_[0]),
                   std::as_writable_bytes(std::span(entries_).first(wanted)))) {
      return false;
    }
    const auto there = [](std::uint64_t entry) { return (entry & kPresentBit) != 0; };
    if (!std::all_of(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(wanted),
                     there)) {
      return false;
    }
    begin += wanted;
  }
  return true;
}

namespace {

// A size in KiB, the unit of `ulimit -l`, or in MiB; rounded up.
std::string Binary(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024;
  constexpr std::uint64_t kMiB = kKiB * 1024;
  const auto in = [bytes](std::uint64_t unit) {
    return std::to_string(bytes / unit + (bytes % unit != 0 ? 1 : 0));
  };
  return bytes < 10 * kMiB ? in(kKiB) + " KiB" : in(kMiB) + " MiB";
}

// Locks a shard's pages. If the shard cannot be read, returns why. Throws Error(kLimit) if this
// process may not lock them.
std::optional<Error> Lock(DatasetState& dataset, std::uint32_t shard) {
  std::shared_ptr<const Error> fault;
  const ShardUse file = dataset.table.Shard(shard, fault);
  if (file == nullptr) return *fault;
  if (mlock(file->bytes().data(), file->bytes().size()) == 0) return std::nullopt;
  const int error = errno;
  if (error == EAGAIN || file->CutOff(file->bytes())) return file->Unreadable({});
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  throw Error(ErrorCode::kLimit, dataset.facts->folder.string(),
              "has " + Binary(dataset.facts->shape.bytes()) + ", and this process may lock " +
                  Binary(limit.rlim_cur) + " in memory (" + SystemErrorText(error) +
                  "); raise `ulimit -l`, or set LoaderOptions::storage = Mapped");
}

}  // namespace

void LockInMemory(DatasetState& dataset, bool pass_over) {
  if (!dataset.table.keeps_all()) {
    throw Error(ErrorCode::kLimit, dataset.facts->folder.string(),
                "has " + std::to_string(dataset.facts->shards.size()) +
                    " shards, but Sluice keeps at most " +
                    std::to_string(dataset.table.max_mapped()) +
                    " mapped, so the dataset cannot be locked in memory (LoaderOptions::storage = "
                    "Locked); convert again with a larger --shard-bytes, or set storage = Mapped");
  }
  const std::uint64_t bytes = dataset.facts->shape.bytes();
  const std::uint64_t available = AvailableMemory();
  if (bytes > available) {
    throw Error(ErrorCode::kLimit, dataset.facts->folder.string(),
                "has " + Binary(bytes) + ", and there are " + Binary(available) +
                    " of memory left, so it cannot be locked (LoaderOptions::storage = Locked); "
                    "set storage = Mapped");
  }
  for (std::uint32_t shard = 0; shard < dataset.facts->shards.size(); ++shard) {
    const std::optional<Error> failure = Lock(dataset, shard);
    if (failure && !pass_over) throw *failure;
  }
  for (const std::shared_ptr<DatasetState>& column : dataset.columns)
    LockInMemory(*column, pass_over);
  for (const MixedDataset& part : dataset.facts->parts)
    for (const std::shared_ptr<DatasetState>& column : part.dataset->columns)
      LockInMemory(*column, pass_over);
}

}  // namespace sluice
