// Finished rows that several loaders share, also across processes (LoaderOptions::share): the
// loader that needs a row first makes it, and the others copy it.
//
// The cache is a file in memory, divided into equal places. A row is named by its epoch, its
// position there and its sample, and each position has one place. There are fewer places than
// positions, so a row stays until a row that is played later takes its place. The first word of a
// place says which row the place is for, whether the row is there or is being made, and by whom.
//
// Any process may be killed at any time. Each loader holds a lock on a byte of the file, which the
// kernel drops when its process ends, so that others see which makers are gone. As long as a maker
// lives, nobody else uses the place that it is filling, so no row is ever written by two loaders. A
// reader looks at the word before and after it copies, so it notices if the row was replaced
// meanwhile.
#pragma once

#include <atomic>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/disk/shared_folder.h"

namespace sluice {

class SharedRowCache {
 public:
  using Word = std::uint64_t;

  struct RowName {
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
    std::uint64_t sample = 0;
  };
  enum class Found {
    kRow,        // the row was read
    kToMake,     // the caller is to make the row, and then calls Put() or GiveUp()
    kBeingMade,  // another loader or thread is making it
    kNotShared,  // the row cannot be shared: mostly because its place is in use for another row
  };

  // Copies the parts of a row out of its place, in the order in which they were put there.
  class Reader {
   public:
    void Get(void* to, std::size_t bytes) noexcept;
    std::uint64_t left() const noexcept { return words_.size() * sizeof(Word); }
    bool whole() const noexcept { return whole_; }  // whether all parts were there

   private:
    friend class SharedRowCache;
    explicit Reader(std::span<Word> words) noexcept : words_(words) {}
    std::span<Word> words_;
    bool whole_ = true;
  };
  // Copies the parts of a row into its place.
  class Writer {
   public:
    void Put(const void* from, std::size_t bytes) noexcept;
    bool whole() const noexcept { return whole_; }  // whether all parts had room

   private:
    friend class SharedRowCache;
    explicit Writer(std::span<Word> words) noexcept : words_(words) {}
    std::span<Word> words_;
    bool whole_ = true;
  };
  // The bytes of the cache that a part of that size takes.
  static constexpr std::uint64_t PartBytes(std::uint64_t bytes) noexcept {
    return AlignUp(bytes, sizeof(Word));
  }

  // Opens the cache of that identity in the folder. If no loader uses it, makes a new one of
  // `bytes` bytes; otherwise it keeps the size that its maker gave it. `row_bytes`: the size of the
  // largest row. `epoch_rows`: about how many positions an epoch has, so that rows of two epochs
  // rarely meet in a place. Throws Error.
  SharedRowCache(const std::filesystem::path& folder, const Id128& identity, std::uint64_t bytes,
                 std::uint64_t row_bytes, std::uint64_t epoch_rows);
  // The last loader that leaves removes the file.
  ~SharedRowCache();
  SharedRowCache(const SharedRowCache&) = delete;
  SharedRowCache& operator=(const SharedRowCache&) = delete;

  // If the row is there, calls `read(Reader&)`, again if the row was replaced meanwhile. Use what
  // it has read only if the result is kRow.
  template <class Read>
  Found Take(const RowName& name, const Read& read) {
    for (;;) {
      const Sight sight = Look(name);
      if (sight.found != Found::kRow) return sight.found;
      Reader reader(sight.row);
      read(reader);
      if (!IsStillThere(sight)) continue;
      if (!reader.whole()) return Found::kNotShared;
      taken_.fetch_add(1, std::memory_order_relaxed);
      return Found::kRow;
    }
  }
  // After Take() returned kToMake: stores the row. `write(Writer&)` writes its parts; a row that
  // does not fit is not stored.
  template <class Write>
  void Put(const RowName& name, const Write& write) {
    Writer writer(RowAt(name));
    const std::uint64_t room = writer.words_.size();
    write(writer);
    Finish(name, writer.whole_ ? room - writer.words_.size() : 0);
  }
  void GiveUp(const RowName& name) noexcept { Finish(name, 0); }

  std::uint64_t bytes() const noexcept { return memory_.size(); }
  std::uint64_t places() const noexcept { return places_; }
  // Where in a batch this loader is to begin, as a share of the batch. Loaders that play the same
  // batches begin at different rows, so each makes rows that the others then take.
  double batch_begin() const noexcept;
  // Rows that this loader has taken from others.
  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

 private:
  struct Place;
  // A row as Take() found it.
  struct Sight {
    Found found;
    Place* place = nullptr;
    Word word = 0;
    std::span<Word> row = {};
  };

  bool OpenOrMake(const SharedFolder& folder, const std::string& name, std::uint64_t bytes);
  void RequireRoom(const SharedFolder& folder, std::uint64_t bytes) const;
  void Make(const SharedFolder& folder, const std::string& name, std::uint64_t bytes);
  bool Map(std::uint64_t bytes);
  bool IsBeingMade() const noexcept;
  bool IsRemoved() const noexcept;
  void RemoveUnused(const SharedFolder& folder) const noexcept;
  // Takes a number that no living loader of the cache has.
  void TakeNumber();
  bool Lives(unsigned loader) const noexcept;
  // The word for a row that this loader makes; nullopt if numbers are too large.
  std::optional<Word> MakingWord(const RowName& name) const noexcept;
  Place& PlaceOf(const RowName& name) const noexcept;
  std::span<Word> RowAt(const RowName& name) const noexcept;
  Sight Look(const RowName& name) noexcept;
  static bool IsStillThere(const Sight& sight) noexcept;
  void Finish(const RowName& name, std::uint64_t words) noexcept;

  const SharedFolder folder_;
  const std::string name_;
  const std::uint64_t place_bytes_;
  const std::uint64_t epoch_rows_;
  FileHandle file_;
  std::span<std::byte> memory_;  // the mapped file
  std::uint64_t places_ = 0;
  std::atomic<std::uint64_t> taken_{0};
  unsigned number_ = 0;  // this loader's, among those that use the store
};

}  // namespace sluice
