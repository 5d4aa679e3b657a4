// There are two protocols, neither with a server. Users of the file hold a shared lock on its first
// byte. The loader that makes or removes the file holds it exclusively. A loader that gets neither,
// or finds the file removed or incomplete, tries again.
//
// A place's first word goes from kEmpty or kReady to kMaking by a compare-and-exchange, then to
// kReady or kEmpty. The row's words are relaxed atomics, and fences order them with that word, as
// in a sequence lock. A loader that takes the number of one that was killed first frees the places
// which that one was filling.
#include "reader/reading/shared_row_cache.h"

#include <cerrno>
#include <cmath>
#include <ctime>
#include <thread>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/disk/file_lock.h"
#include "format/disk/system_error.h"
#include "reader/reading/memory.h"

namespace sluice {

namespace {

using Word = SharedRowCache::Word;

const std::string kNamePrefix = "sluice-rows-";
constexpr std::uint64_t kHeaderBytes = 4096;
constexpr Word kMagic = 0x31774f5265636c53;  // changes with the layout of the file
// Each loader holds a shared lock on this byte of the file, and loader N the exclusive lock of byte
// N.
constexpr std::uint64_t kUsersByte = 0;
constexpr unsigned kMostLoaders = 250;
// For this long, a row's place is not given to a row that is played earlier. After that it may be,
// so that a training that has begun anew can use the places of one that has ended.
constexpr Word kKeptSeconds = 30;
constexpr int kMostTries = 500;
constexpr std::chrono::milliseconds kBetweenTries{10};

// The first word of a place, from its low bits on: 34 bits of the position, 20 of the epoch, 8 of
// the maker's number, 2 of the state. So the later one of two rows has the larger RowBits().
constexpr unsigned kPositionBits = 34, kEpochBits = 20, kMakerBits = 8;
constexpr unsigned kRowBits = kPositionBits + kEpochBits;
enum State : Word { kEmpty = 0, kMaking = 1, kReady = 2 };

constexpr Word RowBits(Word word) noexcept {
  return word & ((Word{1} << kRowBits) - 1);
}
constexpr unsigned MakerOf(Word word) noexcept {
  return static_cast<unsigned>(word >> kRowBits) & ((1U << kMakerBits) - 1);
}
constexpr State StateOf(Word word) noexcept {
  return static_cast<State>(word >> (kRowBits + kMakerBits));
}
constexpr Word WithState(Word word, State state) noexcept {
  constexpr unsigned kShift = kRowBits + kMakerBits;
  return (word & ((Word{1} << kShift) - 1)) | (Word{state} << kShift);
}

Word Load(Word& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}
void Store(Word& word, Word value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

// Keeps the copying of a row's words in order with the accesses to its place's first word.
// ThreadSanitizer does not know fences, and needs none: all these words are atomic.
void Fence([[maybe_unused]] std::memory_order order) noexcept {
#if !defined(__SANITIZE_THREAD__)
  std::atomic_thread_fence(order);
#endif
}

Word Seconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<Word>(now.tv_sec);
}

// Whether the name is that of a cache of this user.
bool IsStoreName(std::string_view name) {
  constexpr std::size_t kIdDigits = 32;
  const std::string begin = kNamePrefix + std::to_string(geteuid()) + "-";
  return name.starts_with(begin) && name.size() == begin.size() + kIdDigits &&
         name.find_first_not_of("0123456789abcdef", begin.size()) == std::string_view::npos;
}

// Whether the file begins as a cache does. The magic word is written last, so the file of a loader
// that was killed before is empty or begins with zeros.
bool BeginsAsStore(const FileHandle& file) noexcept {
  Word word = 0;
  const ssize_t got = pread(file.get(), &word, sizeof word, 0);
  return got == 0 || (got == sizeof word && (word == kMagic || word == 0));
}

}  // namespace

struct SharedRowCache::Place {
  Word word;
  Word sample;
  Word words;    // how many the row has
  Word seconds;  // when the row was put here
  Word unused[4];
};

namespace {

// The first words of the file.
struct Header {
  Word magic;
  Word places;
  Word place_bytes;
};

}  // namespace

void SharedRowCache::Reader::Get(void* to, std::size_t bytes) noexcept {
  if (PartBytes(bytes) > left()) {
    whole_ = false;
    words_ = {};
    return;
  }
  auto* out = static_cast<std::byte*>(to);
  Word* from = words_.data();
  words_ = words_.subspan(PartBytes(bytes) / sizeof(Word));
#pragma GCC unroll 4
  for (; bytes >= sizeof(Word); bytes -= sizeof(Word), out += sizeof(Word)) {
    const Word word = Load(*from++);
    std::memcpy(out, &word, sizeof(Word));
  }
  if (bytes > 0) {
    const Word word = Load(*from);
    std::memcpy(out, &word, bytes);
  }
}

void SharedRowCache::Writer::Put(const void* from, std::size_t bytes) noexcept {
  if (PartBytes(bytes) > words_.size() * sizeof(Word)) {
    whole_ = false;
    words_ = {};
    return;
  }
  const auto* in = static_cast<const std::byte*>(from);
  Word* to = words_.data();
  words_ = words_.subspan(PartBytes(bytes) / sizeof(Word));
  Word word = 0;
#pragma GCC unroll 4
  for (; bytes >= sizeof(Word); bytes -= sizeof(Word), in += sizeof(Word)) {
    std::memcpy(&word, in, sizeof(Word));
    Store(*to++, word);
  }
  if (bytes > 0) {
    word = 0;
    std::memcpy(&word, in, bytes);
    Store(*to, word);
  }
}

SharedRowCache::SharedRowCache(const std::filesystem::path& folder, const Id128& identity,
                               std::uint64_t bytes, std::uint64_t row_bytes,
                               std::uint64_t epoch_rows)
    : folder_(SharedFolder::Open(folder)),
      name_(kNamePrefix + std::to_string(geteuid()) + "-" + ToHex(identity)),
      place_bytes_(AlignUp(sizeof(Place) + row_bytes, sizeof(Place))),
      epoch_rows_(epoch_rows) {
  RemoveUnused(folder_);
  if (bytes < kHeaderBytes + place_bytes_) {
    throw Error(ErrorCode::kLimit, "SharedRows::bytes is " + std::to_string(bytes) +
                                       ", and one row takes " +
                                       std::to_string(kHeaderBytes + place_bytes_) +
                                       "; make it large enough for several batches of rows");
  }
  for (int tries = 0; !OpenOrMake(folder_, name_, bytes); ++tries) {
    // A lock on the first byte proves that its holder lives. Making a large cache takes its maker a
    // second for every few GB, so this waits for as long as the maker works.
    if (IsBeingMade()) tries = 0;
    if (tries == kMostTries) {
      throw Error(
          ErrorCode::kIo, (folder_.path() / name_).string(),
          "cannot be used: it keeps being removed, or its content is incomplete; remove it");
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  TakeNumber();
}

SharedRowCache::~SharedRowCache() {
  munmap(memory_.data(), memory_.size());
  if (LockByte(file_, kUsersByte, FileHold::kExclusive) && !IsRemoved()) folder_.Remove(name_);
}

// Whether another process holds the lock that a maker has.
bool SharedRowCache::IsBeingMade() const noexcept {
  return OtherHold(file_, kUsersByte, FileHold::kShared) == FileHold::kExclusive;
}

bool SharedRowCache::IsRemoved() const noexcept {
  struct stat info {};
  return fstat(file_.get(), &info) != 0 || info.st_nlink == 0;
}

// Removes caches that no loader uses: those of processes that were killed. A file of the user may
// have a name that begins like a cache's, so the whole name and the first word must be a cache's.
void SharedRowCache::RemoveUnused(const SharedFolder& folder) const noexcept {
  try {
    for (const std::string& name : folder.Names()) {
      if (!IsStoreName(name) || name == name_) continue;
      try {
        const FileHandle file = folder.OpenPrivate(name);
        // Another loader may have removed the file before this one got the lock, and a third one
        // may have made a new cache of the name.
        struct stat info {};
        if (LockByte(file, kUsersByte, FileHold::kExclusive) && fstat(file.get(), &info) == 0 &&
            info.st_nlink > 0 && BeginsAsStore(file)) {
          folder.Remove(name);
        }
      } catch (const Error&) {  // somebody else's
      }
    }
  } catch (const Error&) {
  }
}

// Returns false if the file has just been removed, or is being made by another process.
bool SharedRowCache::OpenOrMake(const SharedFolder& folder, const std::string& name,
                                std::uint64_t bytes) {
  file_ = folder.OpenPrivate(name);
  if (LockByte(file_, kUsersByte, FileHold::kExclusive)) {  // nobody else uses it
    if (IsRemoved()) return false;
    Make(folder, name, bytes);
    return LockByte(file_, kUsersByte, FileHold::kShared);
  }
  if (!LockByte(file_, kUsersByte, FileHold::kShared) || IsRemoved()) return false;
  struct stat info {};
  if (fstat(file_.get(), &info) != 0 || info.st_size < static_cast<off_t>(kHeaderBytes))
    return false;
  return Map(static_cast<std::uint64_t>(info.st_size));
}

// Throws if the memory would not suffice: a system that limits a process's memory kills it.
void SharedRowCache::RequireRoom(const SharedFolder& folder, std::uint64_t bytes) const {
  struct statfs system {};
  if (fstatfs(file_.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) return;
  const std::uint64_t available = AvailableMemory();
  if (bytes <= available) return;
  throw Error(ErrorCode::kLimit, folder.path().string(),
              "has no room for " + std::to_string(bytes) +
                  " bytes of shared rows: " + std::to_string(available) +
                  " bytes of memory are left for this process; lower SharedRows::bytes");
}

void SharedRowCache::Make(const SharedFolder& folder, const std::string& name,
                          std::uint64_t bytes) {
  try {
    RequireRoom(folder, bytes);
  } catch (const Error&) {
    folder.Remove(name);
    throw;
  }
  const auto size = static_cast<off_t>(bytes);
  int error = ftruncate(file_.get(), 0) == 0 ? 0 : errno;
  if (error == 0) error = posix_fallocate(file_.get(), 0, size);
  if (error != 0) {
    folder.Remove(name);
    throw Error(
        error == ENOSPC || error == ENOMEM || error == EFBIG ? ErrorCode::kLimit : ErrorCode::kIo,
        folder.path().string(),
        "has no room for " + std::to_string(bytes) +
            " bytes of shared rows: " + SystemErrorText(error) +
            "; lower SharedRows::bytes, or set SharedRows::folder to another folder in "
            "memory");
  }
  auto* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) throw OutOfMemory();
  memory_ = {static_cast<std::byte*>(memory), bytes};
  places_ = (bytes - kHeaderBytes) / place_bytes_;
  auto& header = *reinterpret_cast<Header*>(memory_.data());
  Store(header.places, places_);
  Store(header.place_bytes, place_bytes_);
  std::atomic_ref(header.magic).store(kMagic, std::memory_order_release);
}

// Returns false if the process that was making the file was killed before the file was complete.
bool SharedRowCache::Map(std::uint64_t bytes) {
  auto* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) throw OutOfMemory();
  memory_ = {static_cast<std::byte*>(memory), bytes};
  auto& header = *reinterpret_cast<Header*>(memory_.data());
  places_ = (bytes - kHeaderBytes) / place_bytes_;
  if (std::atomic_ref(header.magic).load(std::memory_order_acquire) == kMagic &&
      Load(header.places) == places_ && Load(header.place_bytes) == place_bytes_ && places_ > 0) {
    return true;
  }
  munmap(memory_.data(), memory_.size());
  return false;
}

void SharedRowCache::TakeNumber() {
  for (number_ = 1; number_ <= kMostLoaders; ++number_)
    if (LockByte(file_, number_, FileHold::kExclusive)) break;
  if (number_ > kMostLoaders) {
    munmap(memory_.data(), memory_.size());
    throw Error(ErrorCode::kLimit, (folder_.path() / name_).string(),
                std::to_string(kMostLoaders) +
                    " loaders already share it, and no more can; leave LoaderOptions::share empty "
                    "for the others");
  }
  // An earlier loader of this number may have been killed while it made rows.
  for (std::uint64_t p = 0; p < places_; ++p) {
    Word& word = *reinterpret_cast<Word*>(memory_.data() + kHeaderBytes + p * place_bytes_);
    const std::atomic_ref first(word);
    Word seen = first.load(std::memory_order_relaxed);
    if (StateOf(seen) == kMaking && MakerOf(seen) == number_)
      first.compare_exchange_strong(seen, 0, std::memory_order_acq_rel);
  }
}

bool SharedRowCache::Lives(unsigned loader) const noexcept {
  if (loader == number_) return true;
  return OtherHold(file_, loader, FileHold::kExclusive) != FileHold::kNone;
}

double SharedRowCache::batch_begin() const noexcept {
  constexpr double kGoldenRatio = 0.6180339887;  // its multiples are spread evenly, however many
  const double turns = kGoldenRatio * number_;
  return turns - std::floor(turns);
}

std::optional<Word> SharedRowCache::MakingWord(const RowName& name) const noexcept {
  if (name.position >> kPositionBits != 0 || name.epoch >> kEpochBits != 0) return std::nullopt;
  return WithState((Word{number_} << kRowBits) | (name.epoch << kPositionBits) | name.position,
                   kMaking);
}

SharedRowCache::Place& SharedRowCache::PlaceOf(const RowName& name) const noexcept {
  const std::uint64_t place = (name.epoch * epoch_rows_ + name.position) % places_;
  return *reinterpret_cast<Place*>(memory_.data() + kHeaderBytes + place * place_bytes_);
}

std::span<Word> SharedRowCache::RowAt(const RowName& name) const noexcept {
  auto* const first = reinterpret_cast<Word*>(&PlaceOf(name) + 1);
  return {first, (place_bytes_ - sizeof(Place)) / sizeof(Word)};
}

SharedRowCache::Sight SharedRowCache::Look(const RowName& name) noexcept {
  const std::optional<Word> making = MakingWord(name);
  if (!making) return {Found::kNotShared};
  Place& place = PlaceOf(name);
  const std::atomic_ref first(place.word);
  Word word = first.load(std::memory_order_acquire);
  for (;;) {
    const bool same = RowBits(word) == RowBits(*making);
    switch (StateOf(word)) {
      case kMaking:
        if (Lives(MakerOf(word))) return {same ? Found::kBeingMade : Found::kNotShared};
        break;
      case kReady:
        if (same) {
          const std::span<Word> row = RowAt(name);
          const Word words = Load(place.words);
          if (Load(place.sample) != name.sample || words > row.size()) return {Found::kNotShared};
          return {Found::kRow, &place, word, row.first(words)};
        }
        if (RowBits(word) > RowBits(*making) && Seconds() - Load(place.seconds) < kKeptSeconds)
          return {Found::kNotShared};
        break;
      case kEmpty: break;
    }
    if (first.compare_exchange_weak(word, *making, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      Fence(std::memory_order_release);
      return {Found::kToMake};
    }
  }
}

bool SharedRowCache::IsStillThere(const Sight& sight) noexcept {
  Fence(std::memory_order_acquire);
  return Load(sight.place->word) == sight.word;
}

// `words`: of the row; 0 if it was not stored.
void SharedRowCache::Finish(const RowName& name, std::uint64_t words) noexcept {
  Place& place = PlaceOf(name);
  Store(place.sample, name.sample);
  Store(place.words, words);
  Store(place.seconds, Seconds());
  Word making = *MakingWord(name);
  const Word done = words > 0 ? WithState(making, kReady) : 0;
  std::atomic_ref(place.word)
      .compare_exchange_strong(making, done, std::memory_order_release, std::memory_order_relaxed);
}

}  // namespace sluice
