// Put() needs no lock. An entry goes from kNone to kTaken by a compare-and-exchange, so that one
// thread writes it; its place is stored last, and Get() reads the place first. A picture that does
// not fit gives its entry back, and makes the cache full for good, even for smaller pictures.
//
// A file has no name, so it vanishes with the process. Its space is allocated at once, so that a
// full disk is an error at the start and not in an epoch. Bytes from a file are compared with a
// checksum, bytes from memory are not.
#include "reader/reading/decoded_picture_cache.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "reader/reading/memory.h"

namespace sluice {

namespace {

FileHandle NamelessFile(const std::filesystem::path& folder, std::uint64_t bytes) {
  FileHandle file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR)) {
    std::string name = (folder / "sluice-decoded-XXXXXX").string();
    file = FileHandle(mkostemp(name.data(), O_CLOEXEC));
    if (file) unlink(name.c_str());
  }
  if (!file) {
    throw Error(ErrorCode::kIo, folder.string(),
                "cannot create a file for decoded pictures there: " + SystemErrorText(errno));
  }
  const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) {
    throw Error(
        ErrorCode::kIo, folder.string(),
        "has no room for " + std::to_string(bytes) +
            " bytes of decoded pictures (DecodedPictures::bytes): " + SystemErrorText(error));
  }
  return file;
}

// Returns `samples` if there is memory for so many entries, and else throws: a manifest may claim
// any number of samples.
std::uint64_t WithRoom(std::uint64_t samples, std::uint64_t entry_bytes) {
  const std::uint64_t available = AvailableMemory();
  if (samples <= available / entry_bytes) return samples;
  throw Error(ErrorCode::kLimit, "LoaderOptions::keep needs " + std::to_string(entry_bytes) +
                                     " bytes for each of " + std::to_string(samples) +
                                     " samples, and there are " + std::to_string(available) +
                                     " bytes of memory left; leave LoaderOptions::keep empty");
}

}  // namespace

bool PictureCache::HasAll(const DatasetShape& shape, std::uint64_t block) const noexcept {
  const std::uint64_t first = shape.Record(block, 0).index;
  const std::uint64_t end = first + shape.SamplesIn(block);
  for (std::uint64_t sample = first; sample < end; ++sample) {
    if (!Has(sample)) return false;
  }
  return true;
}

DecodedPictureCache::DecodedPictureCache(std::uint64_t samples, std::uint64_t budget,
                                         const std::filesystem::path& folder)
    : budget_(budget), entries_(std::make_unique<Entry[]>(WithRoom(samples, sizeof(Entry)))) {
  if (!folder.empty()) {
    file_ = NamelessFile(folder, budget);
    return;
  }
  const std::uint64_t available = AvailableMemory();
  if (budget > available) {
    throw Error(ErrorCode::kLimit, "DecodedPictures::bytes is " + std::to_string(budget) +
                                       ", and there are " + std::to_string(available) +
                                       " bytes of memory left; lower it, or set "
                                       "DecodedPictures::folder to a folder on a local disk");
  }
  memory_ = HostBuffer(budget);
}

Bytes DecodedPictureCache::Get(std::uint64_t sample, std::vector<std::byte>& scratch) const {
  const Entry& entry = entries_[sample];
  const std::uint64_t place = entry.place.load(std::memory_order_acquire);
  if (place >= kTaken) return {};
  if (!file_) return {memory_.data() + place, entry.bytes};
  scratch.resize(entry.bytes);
  if (!ReadWhole(file_, place, scratch) || Hash64(scratch) != entry.checksum) return {};
  return scratch;
}

void DecodedPictureCache::Put(std::uint64_t sample, Bytes picture) {
  Entry& entry = entries_[sample];
  std::uint64_t expected = kNone;
  if (full() || !entry.place.compare_exchange_strong(expected, kTaken, std::memory_order_acquire)) {
    return;
  }
  const std::uint64_t room = AlignUp(picture.size(), 64);
  const std::uint64_t place = used_.fetch_add(room, std::memory_order_relaxed);
  bool written = place + room <= budget_;
  if (written) {
    entry.bytes = picture.size();
    if (file_) {
      entry.checksum = Hash64(picture);
      written = WriteWhole(file_, place, picture);
    } else {
      std::memcpy(memory_.data() + place, picture.data(), picture.size());
    }
  }
  if (!written) full_.store(true, std::memory_order_relaxed);
  entry.place.store(written ? place : kNone, std::memory_order_release);
  if (!written) return;
  kept_.fetch_add(1, std::memory_order_relaxed);
  kept_bytes_.fetch_add(picture.size(), std::memory_order_relaxed);
}

}  // namespace sluice
