// A simulated slow link in front of another store: a time to the first byte, a rate that all
// requests share, and requests that fail. A failed request is sent again, as with a real store.
//
// One thread plays the link for all requests. A request's next step has a time at which it is due:
// its first byte after the delay, and each piece when the link, which all requests share, has
// carried the pieces before it. So the rate holds for all of them together, as on a real link.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "format/mutex.h"
#include "format/remote/object_store.h"

namespace sluice {

struct SlowLink {
  std::chrono::microseconds delay{0};  // from a request to its first byte
  std::uint64_t bytes_per_second = 0;  // 0: as fast as the store
  double errors = 0;                   // the share of requests that fail, 0 to below 1
  unsigned connections = 64;           // requests under way at once, at most
};

class SlowStore : public ObjectStore {
 public:
  SlowStore(std::shared_ptr<ObjectStore> store, const SlowLink& link);
  ~SlowStore() override;

  const std::string& url() const noexcept override { return store_->url(); }
  std::vector<std::byte> Get(std::string_view object, std::uint64_t limit,
                             ObjectInfo* info) override;
  ObjectInfo Head(std::string_view object) override;
  void StopCalls() override { store_->StopCalls(); }
  std::uint64_t Read(RangeRead read) override;
  void Cancel(std::uint64_t ticket) override;
  std::uint64_t UsefulBytesInFlight() const noexcept override;
  std::uint64_t BufferBytes() const noexcept override { return store_->BufferBytes(); }
  void Put(std::string_view object, Bytes content, bool only_new) override;
  void PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) override;
  void Remove(std::string_view object) override;
  void List(std::string_view prefix, const Each& each) override;
  std::vector<std::string> ListFolder(std::string_view folder, const Each& each) override;
  Counts counts() const noexcept override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Request {
    RangeRead read;
    std::vector<std::byte> content;  // the bytes that the store returned
    std::size_t given = 0;           // bytes of `content` handed over so far
    std::optional<Error> error;
  };
  // The thread: starts requests while connections are free, and takes each request's next step when
  // it is due.
  void Run();
  void Begin() REQUIRES(mutex_);
  std::uint64_t EnoughOutstanding() const noexcept;
  std::uint64_t Outstanding() const REQUIRES(mutex_);
  // Fails the request (it is repeated later), fetches its content, or hands over the next piece.
  void Step(std::uint64_t ticket) REQUIRES(mutex_);
  void Fetch(std::uint64_t ticket) REQUIRES(mutex_);
  bool Fails() REQUIRES(mutex_);
  void WaitDelay();

  const std::shared_ptr<ObjectStore> store_;
  const SlowLink link_;
  mutable Mutex mutex_;
  Condition changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::uint64_t tickets_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Request> requests_ GUARDED_BY(mutex_);  // under way, by ticket
  std::map<std::pair<std::uint64_t, std::uint64_t>, RangeRead> waiting_
      GUARDED_BY(mutex_);                                      // by urgency and ticket
  std::multimap<Time, std::uint64_t> due_ GUARDED_BY(mutex_);  // tickets, by next step
  std::uint64_t serving_ GUARDED_BY(mutex_) = 0;               // ticket in Step(); 0: none
  // When the link will have carried all pieces that were begun.
  Time link_free_ GUARDED_BY(mutex_) = std::chrono::steady_clock::now();
  std::uint64_t draws_ GUARDED_BY(mutex_) = 0;  // calls of Fails()
  Counts counts_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sluice
