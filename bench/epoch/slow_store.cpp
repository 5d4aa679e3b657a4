// One thread (Run) simulates the link for all reads. A read waits in `waiting_` for a connection;
// then `due_` has the time of its next step: the first byte, and then each piece of its content.
// The link itself is a single moment, `link_free_`: a piece arrives once the link has carried all
// pieces before it, so all reads share the rate. At the first byte, the whole range is fetched from
// the real store, and every other read waits meanwhile; only handing over is spread over time.
// `take` and `done` run without the mutex, and `serving_` keeps their request alive until they
// return. The other calls (Get, Head, Put, ...) sleep in their callers' threads, and share neither
// the connections nor the rate.
#include "bench/epoch/slow_store.h"

#include <algorithm>
#include <utility>

#include "format/random.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// The size of the pieces in which a request's content comes over the link.
constexpr std::size_t kLinkPieceBytes = std::size_t{64} << 10;
// The pause before a failed request is sent again.
constexpr std::chrono::milliseconds kBeforeRepeat{5};

const SlowLink& Checked(const SlowLink& link) {
  if (!(link.errors >= 0 && link.errors < 1)) {
    throw Error(ErrorCode::kInvalidArgument, "SlowLink::errors must be at least 0 and below 1");
  }
  if (link.connections == 0) {
    throw Error(ErrorCode::kInvalidArgument, "SlowLink::connections must be at least 1");
  }
  return link;
}

}  // namespace

SlowStore::SlowStore(std::shared_ptr<ObjectStore> store, const SlowLink& link)
    : store_(std::move(store)), link_(Checked(link)), thread_([this] { Run(); }) {}

SlowStore::~SlowStore() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

bool SlowStore::Fails() {
  // By a fixed seed, so that every run has the same failures.
  RandomStream draw(7, Purpose::kSampleFunction, draws_++);
  return draw.Uniform() < link_.errors;
}

// Waits as long as a request and its repeats would take to the first byte. For functions that then
// let the store itself answer.
void SlowStore::WaitDelay() {
  bool fails = false;
  do {
    {
      const MutexLock lock(mutex_);
      ++counts_.requests;
      fails = Fails();
      if (fails) ++counts_.repeated;
    }
    std::this_thread::sleep_for(link_.delay);
  } while (fails);
}

std::vector<std::byte> SlowStore::Get(std::string_view object, std::uint64_t limit,
                                      ObjectInfo* info) {
  WaitDelay();
  std::vector<std::byte> content = store_->Get(object, limit, info);
  if (link_.bytes_per_second > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(
        static_cast<double>(content.size()) / static_cast<double>(link_.bytes_per_second)));
  }
  const MutexLock lock(mutex_);
  counts_.bytes += content.size();
  return content;
}

ObjectInfo SlowStore::Head(std::string_view object) {
  WaitDelay();
  return store_->Head(object);
}

std::uint64_t SlowStore::Read(RangeRead read) {
  std::uint64_t ticket = 0;
  {
    const MutexLock lock(mutex_);
    ticket = ++tickets_;
    const std::pair key{read.urgency, ticket};
    waiting_.emplace(key, std::move(read));
  }
  changed_.NotifyAll();
  return ticket;
}

void SlowStore::Cancel(std::uint64_t ticket) {
  const MutexLock lock(mutex_);
  std::erase_if(waiting_, [ticket](const auto& one) { return one.first.second == ticket; });
  while (serving_ == ticket)
    changed_.Wait(mutex_);
  requests_.erase(ticket);
}

// The bytes that should be under way: twice the amount that the link carries in the time to a first
// byte, since half of the requests are waiting for that byte; plus the amount that it carries while
// this machine is busy with something else.
std::uint64_t SlowStore::EnoughOutstanding() const noexcept {
  if (link_.bytes_per_second == 0) return UINT64_MAX;
  constexpr std::chrono::duration<double> kBusy = std::chrono::milliseconds(20);
  const std::chrono::duration<double> delay = link_.delay;
  return static_cast<std::uint64_t>(static_cast<double>(link_.bytes_per_second) *
                                    (2 * delay + kBusy).count());
}

std::uint64_t SlowStore::Outstanding() const {
  std::uint64_t bytes = 0;
  for (const auto& [ticket, request] : requests_)
    bytes += request.read.bytes - request.given;
  return bytes;
}

// Starts requests as RangeReads (format/remote/server/) does for a real store. A request is sent
// before earlier ones have ended, so that the link is not idle during the time to its first byte.
// No more are sent than fill the link, since further ones would delay more urgent requests.
void SlowStore::Begin() {
  while (!waiting_.empty() && requests_.size() < link_.connections &&
         (requests_.empty() || Outstanding() < EnoughOutstanding())) {
    auto first = waiting_.extract(waiting_.begin());
    const std::uint64_t ticket = first.key().second;
    requests_.emplace(ticket, Request{std::move(first.mapped()), {}, 0, {}});
    due_.emplace(Clock::now() + link_.delay, ticket);
    ++counts_.requests;
  }
}

void SlowStore::Run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    Begin();
    if (due_.empty()) {
      changed_.Wait(mutex_);
      continue;
    }
    const auto [when, ticket] = *due_.begin();
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now());
    if (wait.count() > 0) {
      changed_.WaitFor(mutex_, wait);
      continue;
    }
    due_.erase(due_.begin());
    if (requests_.count(ticket) == 0) continue;  // the request was cancelled
    serving_ = ticket;
    Step(ticket);
    serving_ = 0;
    changed_.NotifyAll();
  }
}

// Fetches the whole range from the store itself.
void SlowStore::Fetch(std::uint64_t ticket) {
  Request& request = requests_.at(ticket);  // the entry stays while it is being served
  RangeRead read = request.read;
  bool done = false;
  Mutex mutex;
  Condition arrived;
  read.take = [&](Bytes bytes) {
    request.content.insert(request.content.end(), bytes.begin(), bytes.end());
  };
  read.done = [&](const Error* error) {
    if (error != nullptr) request.error = *error;
    const MutexLock lock(mutex);
    done = true;
    arrived.NotifyAll();
  };
  const MutexUnlock unlocked(mutex_);
  request.content.reserve(read.bytes);
  store_->Read(std::move(read));
  const MutexLock lock(mutex);
  while (!done)
    arrived.Wait(mutex);
}

void SlowStore::Step(std::uint64_t ticket) {
  Request& request = requests_.at(ticket);
  if (request.content.empty() && !request.error) {
    if (Fails()) {
      ++counts_.repeated;
      ++counts_.requests;
      due_.emplace(Clock::now() + kBeforeRepeat + link_.delay, ticket);
      return;
    }
    Fetch(ticket);
  } else if (!request.error) {
    // Hands over the next piece, as if it had come over the link.
    const std::size_t part = std::min(kLinkPieceBytes, request.content.size() - request.given);
    const Bytes piece = Bytes(request.content).subspan(request.given, part);
    counts_.bytes += part;
    request.given += part;
    const MutexUnlock unlocked(mutex_);
    request.read.take(piece);
  }
  if (request.error || request.given == request.content.size()) {
    {
      const MutexUnlock unlocked(mutex_);
      request.read.done(request.error ? &*request.error : nullptr);
    }
    requests_.erase(ticket);
    return;
  }
  Time arrives = Clock::now();
  if (link_.bytes_per_second > 0) {
    const std::size_t next = std::min(kLinkPieceBytes, request.content.size() - request.given);
    link_free_ = std::max(link_free_, arrives) +
                 std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                     static_cast<double>(next) / static_cast<double>(link_.bytes_per_second)));
    arrives = link_free_;
  }
  due_.emplace(arrives, ticket);
}

std::uint64_t SlowStore::UsefulBytesInFlight() const noexcept {
  constexpr double kLeast = 16 << 20;
  constexpr double kMax = 512 << 20;
  const double rate =
      link_.bytes_per_second > 0 ? static_cast<double>(link_.bytes_per_second) : 1e9;
  // Twice the bytes under way (as in EnoughOutstanding(), 2 * delay * rate), so that as many again
  // wait to follow them.
  return static_cast<std::uint64_t>(
      std::clamp(4 * rate * std::chrono::duration<double>(link_.delay).count(), kLeast, kMax));
}

void SlowStore::Put(std::string_view object, Bytes content, bool only_new) {
  WaitDelay();
  store_->Put(object, content, only_new);
}

void SlowStore::PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) {
  WaitDelay();
  store_->PutLarge(object, bytes, fill);
}

void SlowStore::Remove(std::string_view object) {
  WaitDelay();
  store_->Remove(object);
}

void SlowStore::List(std::string_view prefix, const Each& each) {
  WaitDelay();
  store_->List(prefix, each);
}

std::vector<std::string> SlowStore::ListFolder(std::string_view folder, const Each& each) {
  WaitDelay();
  return store_->ListFolder(folder, each);
}

ObjectStore::Counts SlowStore::counts() const noexcept {
  const MutexLock lock(mutex_);
  return counts_;
}

}  // namespace sluice
