// A folder of files as an object store: for a stage (LoaderOptions::stage), for file systems that
// cannot map files, for simulated stores (bench/epoch/slow_store.h), and for tests.
#pragma once

#include <deque>
#include <filesystem>
#include <thread>
#include <unordered_map>
#include <vector>

#include "format/mutex.h"
#include "format/remote/object_store.h"

namespace sluice {

// Several threads read ranges, the most urgent first, as a store's connections would. One is
// started at once, and each further one when a read finds all others at work. An object's etag
// consists of its file's inode number, size and time of its last write.
class LocalStore : public ObjectStore {
 public:
  explicit LocalStore(const std::filesystem::path& folder, std::size_t threads = 16);
  ~LocalStore() override;

  const std::string& url() const noexcept override { return url_; }
  std::vector<std::byte> Get(std::string_view object, std::uint64_t limit,
                             ObjectInfo* info) override;
  ObjectInfo Head(std::string_view object) override;
  std::uint64_t Read(RangeRead read) override;
  void Cancel(std::uint64_t ticket) override;
  std::uint64_t UsefulBytesInFlight() const noexcept override { return std::uint64_t{32} << 20; }
  std::uint64_t BufferBytes() const noexcept override { return max_threads_ * kPieceBytes; }
  void Put(std::string_view object, Bytes content, bool only_new) override;
  void PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) override;
  void Remove(std::string_view object) override;
  void List(std::string_view prefix, const Each& each) override;
  std::vector<std::string> ListFolder(std::string_view folder, const Each& each) override;
  Counts counts() const noexcept override;

 private:
  // A thread reads, and hands over, that much at a time.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  struct Asked {
    std::uint64_t ticket = 0;
    RangeRead read;
  };
  std::filesystem::path PathOf(std::string_view object) const;
  void Run();
  void Serve(const Asked& asked);
  bool Cancelled(std::uint64_t ticket) const;

  const std::string url_;
  const std::filesystem::path folder_;
  const std::size_t max_threads_;
  mutable Mutex mutex_;
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::deque<Asked> queue_ GUARDED_BY(mutex_);  // sorted by urgency
  std::uint64_t tickets_ GUARDED_BY(mutex_) = 0;
  // The reads that are being served, by ticket: whether each was cancelled.
  std::unordered_map<std::uint64_t, bool> serving_ GUARDED_BY(mutex_);
  Counts counts_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
};

// If a dataset's file system cannot map files, opens its folder as a store, so that single blocks
// are read into memory when they are needed, and not whole shards. Null for any other dataset.
std::shared_ptr<ObjectStore> StoreIfUnmappable(const std::filesystem::path& dataset);

}  // namespace sluice
