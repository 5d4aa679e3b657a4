// The files of a source in an object store: listed, looked into, and fetched ahead of their
// readers.
//
// A fault of the store itself (it cannot be reached, it refuses the credentials) is a StoreFault,
// which ends the conversion: only an object that is gone or has changed is left out.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/error.h>

#include "format/remote/object_store.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/look.h"

namespace sluice {

class StoreFault : public Error {
 public:
  explicit StoreFault(const Error& error) noexcept : Error(error) {}
};

// The most bytes of a source file. Larger files are left out, and no memory is taken for them.
inline constexpr std::uint64_t kMaxSourceBytes = 1'073'741'824;

// Thread-safe. Waiting ends with ThrowStopped() soon after a stop request.
class StoreFiles {
 public:
  StoreFiles(std::shared_ptr<ObjectStore> store, std::stop_token stop);
  StoreFiles(const StoreFiles&) = delete;
  StoreFiles& operator=(const StoreFiles&) = delete;

  const std::string& url() const noexcept { return store_->url(); }

  // The objects below the URL, as a folder's files. Throws Error(kNotFound) if it has none,
  // Error(kUnsupported) if the server cannot list objects, Error(kLimit) if the list would take
  // more than `max_bytes` of memory.
  FolderTree List(std::uint64_t max_bytes = kMaxListBytes) const;
  // About 40 million objects.
  static constexpr std::uint64_t kMaxListBytes = std::uint64_t{4} << 30;
  // As LookInto(path). `bytes`: the object's size, or kUnknownBytes.
  Look LookInto(const std::string& key, std::uint64_t bytes);
  // How many threads should call LookInto() at once: most of them wait for the store.
  static constexpr unsigned kLooking = 64;

  static constexpr std::uint64_t kMaxAhead = std::uint64_t{64} << 20;  // bytes fetched ahead

  // The source that is read as the n-th; nullptr: it is not read.
  using Wanted = std::function<const Source*(std::uint64_t)>;
  // Announces that the sources wanted(0), wanted(1), ..., `count` of them, will be read in about
  // this order. While this object lives, up to 64 MiB of them, or a single larger one, are fetched
  // before Read() asks for them. Only one Ahead may live at a time. Does nothing for a list without
  // a store.
  class Ahead {
   public:
    Ahead(const SourceList& list, std::uint64_t count, Wanted wanted);
    ~Ahead();
    Ahead(const Ahead&) = delete;
    Ahead& operator=(const Ahead&) = delete;

   private:
    StoreFiles* const files_;
  };
  // Reads an object. Throws Error(kNotFound), kIo (its size is no longer `bytes`), StoreFault.
  // `give_up`: as for ReadImageFile().
  void Read(const std::string& key, std::uint64_t bytes, std::vector<std::byte>& content,
            const std::atomic<bool>* give_up = nullptr);
  // The first bytes of an object. Throws what Read() throws.
  void ReadStart(const std::string& key, std::uint64_t bytes, std::vector<std::byte>& content);
  // Announces that Read() will be called for this object: fetches it when there is room. Does not
  // wait.
  void Expect(const std::string& key, std::uint64_t bytes);
  // Read() will not be called for that object, which may be expected.
  void Unexpect(const std::string& key, std::uint64_t bytes);
  // Cancels all Expect() so far.
  void ForgetExpected();

 private:
  // Shared by the store's thread and the waiting threads, because the store's thread may finish a
  // fetch after this object is gone.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
  };
  struct Fetch {
    std::uint64_t bytes = 0;
    std::shared_ptr<ObjectInfo> info = std::make_shared<ObjectInfo>();
    std::vector<std::byte> content;
    bool done = false;
    std::optional<Error> error;
    bool lost = false;  // `error` says that the object is gone or damaged
  };

  std::shared_ptr<Fetch> Begin(const std::string& key, std::uint64_t bytes);
  void BeginExpected();
  // Takes the fetch ahead of an object; null if none was begun. The object is then expected once
  // less.
  std::shared_ptr<Fetch> TakeExpected(const std::string& key, std::uint64_t bytes);
  void Await(const Fetch& fetch, const std::atomic<bool>* give_up = nullptr) const;

  const std::stop_token stop_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  // Guarded by the mutex:
  Wanted wanted_;
  std::uint64_t next_ = 0;  // index of the next source to begin
  std::uint64_t count_ = 0;
  std::multimap<std::string, std::shared_ptr<Fetch>> ahead_;  // begun, and not asked for
  std::uint64_t ahead_bytes_ = 0;
  // The objects of Expect() that are neither begun nor read: in order, and by key how often each is
  // expected.
  std::deque<std::pair<std::string, std::uint64_t>> expected_;
  std::map<std::string, std::uint64_t> expected_of_;

  const std::shared_ptr<ObjectStore> store_;
  const std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace sluice
