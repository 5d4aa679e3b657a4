// Publishes figures of loaders: a thread that writes a file now and then, or one that answers
// requests on a socket.
//
// A scrape is a small GET and one answer, so the thread serves one client at a time, and takes the
// next from the listener's queue. Everything that a client can do is bounded: the size of its
// request, and the time until it has sent it and has taken the answer. Each wait also watches an
// eventfd that ends the thread.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <list>
#include <optional>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/metrics.h>
#include <sluice/shown_path.h>

#include "format/ascii.h"
#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/disk/system_error.h"
#include "format/mutex.h"
#include "reader/decoding/stage_clock.h"

namespace sluice {

namespace {

[[noreturn]] void Refuse(const std::string& where, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "Metrics: \"" + where + "\" " + why);
}
[[noreturn]] void Fail(const std::string& where, const std::string& what, int error_number) {
  throw SystemError(ErrorCode::kIo, where, what + ": " + std::strerror(error_number), error_number);
}

}  // namespace

// Lets one thread end the waits of another.
class StopSignal {
 public:
  StopSignal() : event_(eventfd(0, EFD_CLOEXEC)) {
    if (!event_) Fail("Metrics", "cannot create an eventfd", errno);
  }
  void Send() noexcept { eventfd_write(event_.get(), 1); }
  // Waits until `fd` has one of the events, and returns true; or returns false after `until` or
  // Send(). A negative `fd` has none. Without `until`, there is no limit.
  bool Wait(int fd, short events, std::optional<Clock::time_point> until) const noexcept {
    std::array<pollfd, 2> both = {pollfd{event_.get(), POLLIN, 0}, pollfd{fd, events, 0}};
    for (;;) {
      int milliseconds = -1;
      if (until) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now());
        milliseconds = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
      }
      const int found = poll(both.data(), both.size(), milliseconds);
      if (found < 0 && errno == EINTR) continue;
      return found > 0 && both[0].revents == 0;
    }
  }
  bool sent() const noexcept {
    pollfd one{event_.get(), POLLIN, 0};
    return poll(&one, 1, 0) > 0;
  }

 private:
  const FileHandle event_;
};

namespace {

// --- A client of the socket.

constexpr std::size_t kMaxRequest = 8192;    // bytes
constexpr std::chrono::seconds kMaxTime{2};  // for a client to send, and again to take the answer
constexpr std::string_view kEndOfHeaders = "\r\n\r\n";

// The request up to the end of its headers; shorter if the client stops sending, is too slow or
// sends too much.
std::string Receive(int client, const StopSignal& stop) {
  std::string request;
  const Clock::time_point until = Clock::now() + kMaxTime;
  std::array<char, 1024> part{};
  while (request.size() < kMaxRequest && request.find(kEndOfHeaders) == std::string::npos) {
    if (!stop.Wait(client, POLLIN, until)) break;
    const ssize_t got = recv(client, part.data(), part.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) break;
    request.append(part.data(), static_cast<std::size_t>(got));
  }
  return request;
}

void Send(int client, std::string_view answer, const StopSignal& stop) {
  const Clock::time_point until = Clock::now() + kMaxTime;
  while (!answer.empty() && stop.Wait(client, POLLOUT, until)) {
    const ssize_t sent = send(client, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
    answer.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
}

std::string Answer(const char* status, const char* type, const std::string& body) {
  return std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
         "; charset=utf-8\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

// The answer to a request. `text` makes the figures' text.
template <class Text>
std::string AnswerTo(const std::string& request, const Text& text) {
  const auto refuse = [](const char* status) {
    return Answer(status, "text/plain", std::string(status) + "\n");
  };
  const std::size_t end = request.find(kEndOfHeaders);
  if (end == std::string::npos) {
    return refuse(request.size() < kMaxRequest ? "408 Request Timeout"
                                               : "431 Request Header Fields Too Large");
  }
  const std::string_view line = std::string_view(request).substr(0, request.find("\r\n"));
  const std::size_t method = std::min(line.find(' '), line.size());  // where each of them ends
  const std::size_t target = std::min(line.find(' ', method + 1), line.size());
  if (!line.substr(target).starts_with(" HTTP/1.")) return refuse("400 Bad Request");
  if (line.substr(0, method) != "GET") return refuse("405 Method Not Allowed");
  std::string_view path = line.substr(method + 1, target - method - 1);
  path = path.substr(0, path.find('?'));
  if (path != "/metrics" && path != "/") return refuse("404 Not Found");
  const std::string headers = LowerCase(request.substr(0, end));
  if (headers.find("application/openmetrics-text") != std::string::npos) {
    return Answer("200 OK", "application/openmetrics-text; version=1.0.0",
                  text(MetricsFormat::kOpenMetrics));
  }
  return Answer("200 OK", "text/plain; version=0.0.4", text(MetricsFormat::kPrometheus));
}

// --- Sockets that listen.

FileHandle Listening(const std::string& where, int family, const sockaddr* address,
                     socklen_t bytes) {
  FileHandle listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) Fail(where, "cannot create a socket", errno);
  const int yes = 1;
  if (family != AF_UNIX)
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  else
    fchmod(listener.get(), 0600);  // Linux gives the file this mode when the socket is bound
  if (bind(listener.get(), address, bytes) != 0 || listen(listener.get(), 16) != 0) {
    const int number = errno;
    Fail(where,
         number == EADDRINUSE
             ? "another process or Metrics serves there; give each its own address, or several "
               "loaders of this process the same Metrics"
             : "cannot listen there",
         number);
  }
  return listener;
}

// "127.0.0.1:9464", "localhost:9464" or "[::1]:9464". `shown` becomes the address with its port.
FileHandle ListenAtPort(const std::string& where, bool beyond_loopback, std::string& shown) {
  std::string host = where.substr(0, where.rfind(':'));
  const std::string port = where.substr(host.size() + 1);
  if (ParseNumber<std::uint16_t>(port) == std::nullopt)
    Refuse(where, "has a port that is not a number from 0 to 65535");
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string numeric = host == "localhost" ? "127.0.0.1" : host;
  if (getaddrinfo(numeric.c_str(), port.c_str(), &hints, &found) != 0 || found == nullptr) {
    Refuse(where,
           "is not an address of this machine: write localhost or an IP address in numbers, "
           "(IPv6 in []), or ./ before the name of a file");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, &freeaddrinfo);
  const bool is_v6 = address->ai_family == AF_INET6;
  const bool loopback =
      is_v6 ? IN6_IS_ADDR_LOOPBACK(
                  &reinterpret_cast<const sockaddr_in6*>(address->ai_addr)->sin6_addr)
            : (ntohl(reinterpret_cast<const sockaddr_in*>(address->ai_addr)->sin_addr.s_addr) >>
               24) == 127;
  if (!loopback && !beyond_loopback) {
    Refuse(where,
           "can be reached from other machines, which could read the datasets' paths; use "
           "127.0.0.1, or set MetricsOptions::beyond_loopback if the network is trusted");
  }
  FileHandle listener = Listening(where, address->ai_family, address->ai_addr, address->ai_addrlen);
  sockaddr_in6 bound{};  // for IPv4 as well, whose address is smaller
  socklen_t bytes = sizeof bound;
  if (getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &bytes) != 0)
    Fail(where, "cannot find the socket's port", errno);
  shown = (is_v6 ? "[" + host + "]" : host) + ":" +
          std::to_string(ntohs(bound.sin6_port));  // at the same place for IPv4
  return listener;
}

// Deletes a socket that a killed process left: nobody answers there.
void RemoveDeadSocket(const std::string& where, const sockaddr_un& address) {
  std::error_code ignored;
  const std::filesystem::file_status status =
      std::filesystem::symlink_status(address.sun_path, ignored);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_socket(status)) Refuse(where, "names a file that is not a socket");
  const FileHandle probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED) {
    unlink(address.sun_path);
  }
}

FileHandle ListenAtPath(const std::string& where, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    Refuse(where, "must name a socket by a path of at most " +
                      std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  path.copy(address.sun_path, path.size());
  RemoveDeadSocket(where, address);
  return Listening(where, AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

class Metrics::State {
 public:
  State(const std::string& where, MetricsOptions options)
      : options_(options), address_(where), process_(getpid()) {
    if (options.every < std::chrono::milliseconds(10) || options.every > std::chrono::hours(24))
      Refuse(where, "cannot be written so: MetricsOptions::every must be from 10 ms to a day");
    Open(where);
    if (!file_.empty()) WriteFileNow();
    try {
      if (listener_) thread_ = std::thread([this] { Serve(); });
      if (!file_.empty()) thread_ = std::thread([this] { WriteNowAndThen(); });
    } catch (const std::system_error& error) {
      throw Error(ErrorCode::kLimit,
                  "Metrics: its thread cannot be started: " + std::string(error.what()) +
                      "; raise `ulimit -u` or `ulimit -v`");
    }
  }
  ~State() {
    if (!thread_.joinable()) return;
    if (!InOwnProcess()) {
      thread_.detach();
      return;
    }
    stop_.Send();
    thread_.join();
    std::error_code ignored;
    if (std::filesystem::is_socket(socket_, ignored)) std::filesystem::remove(socket_, ignored);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const std::string& address() const noexcept { return address_; }
  std::string last_error() const {
    RequireOwnProcess();
    const MutexLock lock(mutex_);
    return last_error_;
  }

  std::string Text(MetricsFormat format) const {
    RequireOwnProcess();
    const MutexLock lock(mutex_);
    std::vector<LabelledStats> loaders;
    for (const Entry& entry : entries_)
      loaders.push_back({entry.stats(), entry.labels});
    return MetricsText(loaders, format);
  }

  struct Entry {
    MetricLabels labels;
    std::function<LoaderStats()> stats;
  };
  using Place = std::list<Entry>::iterator;

  Place Add(MetricLabels labels, std::function<LoaderStats()> stats) {
    RequireOwnProcess();
    OpenMetricsText({}, labels);  // throws if a name is not allowed
    const MutexLock lock(mutex_);
    const std::string name = labels["loader"];
    for (unsigned number = 2; Has(labels); ++number)
      labels["loader"] = name + "-" + std::to_string(number);
    entries_.push_back({std::move(labels), std::move(stats)});
    return std::prev(entries_.end());
  }
  void Remove(Place place) noexcept {
    if (!InOwnProcess()) return;
    if (!file_.empty()) TryToWrite();
    std::list<Entry> removed;
    const MutexLock lock(mutex_);
    removed.splice(removed.begin(), entries_, place);
  }

 private:
  // A fork copies the object, but not its thread, and another thread may hold the mutex for ever.
  bool InOwnProcess() const noexcept { return getpid() == process_; }
  void RequireOwnProcess() const {
    if (InOwnProcess()) return;
    throw Error(ErrorCode::kState,
                "Metrics: this object was made before the process forked, and its thread is in the "
                "parent; make a Metrics with an address or a file of its own in the child");
  }

  bool Has(const MetricLabels& labels) const REQUIRES(mutex_) {
    return std::ranges::any_of(entries_,
                               [&](const Entry& entry) { return entry.labels == labels; });
  }

  void Open(const std::string& where) {
    constexpr std::string_view kUnix = "unix:";
    if (where.empty()) return;
    if (where.starts_with(kUnix)) {
      listener_ = ListenAtPath(where, where.substr(kUnix.size()));
      socket_ = std::filesystem::absolute(where.substr(kUnix.size()));
    } else if (IsStoreUrl(where)) {
      Refuse(where, "is a URL; give the path of a file, or an address such as localhost:9464");
    } else if (where.find('/') == std::string::npos && where.find(':') != std::string::npos) {
      listener_ = ListenAtPort(where, options_.beyond_loopback, address_);
    } else {
      file_ = std::filesystem::absolute(where);
    }
  }

  void WriteFileNow() {
    const MutexLock lock(writing_);  // so that an older text never replaces a newer one
    const std::string text = Text(MetricsFormat::kPrometheus);
    WriteFile(file_, AsBytes(text));
  }
  void TryToWrite() noexcept {
    try {
      std::string error;
      try {
        WriteFileNow();
      } catch (const Error& thrown) {
        error = thrown.what();
      }
      const MutexLock lock(mutex_);
      last_error_ = std::move(error);
    } catch (const std::exception&) {
      return;  // no memory: the next time may succeed
    }
  }
  void WriteNowAndThen() {
    Clock::time_point next = Clock::now();
    for (;;) {
      next = std::max(next + options_.every, Clock::now());
      stop_.Wait(-1, 0, next);
      if (stop_.sent()) return;
      TryToWrite();
    }
  }

  void Serve() {
    const auto text = [this](MetricsFormat format) { return Text(format); };
    while (stop_.Wait(listener_.get(), POLLIN, std::nullopt)) {
      const FileHandle client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) {
        // The client is gone. Or there is no descriptor for it: this waits before it tries again.
        if (errno != EAGAIN && errno != ECONNABORTED)
          stop_.Wait(-1, 0, Clock::now() + std::chrono::milliseconds(100));
        continue;
      }
      try {
        const std::string request = Receive(client.get(), stop_);
        if (!request.empty()) Send(client.get(), AnswerTo(request, text), stop_);
      } catch (const std::exception&) {
        continue;  // no memory for the answer: the client finds its connection closed
      }
    }
  }

  const MetricsOptions options_;
  std::string address_;
  const pid_t process_;
  std::filesystem::path file_, socket_;  // empty if there is none
  FileHandle listener_;
  StopSignal stop_;
  std::thread thread_;

  mutable Mutex writing_;  // locked before mutex_
  mutable Mutex mutex_;
  std::list<Entry> entries_ GUARDED_BY(mutex_);
  std::string last_error_ GUARDED_BY(mutex_);
};

Metrics::Metrics(const std::string& where, MetricsOptions options)
    : state_(std::make_shared<State>(where, options)) {}

Metrics::~Metrics() = default;

std::string Metrics::Text(MetricsFormat format) const {
  return state_->Text(format);
}

const std::string& Metrics::address() const noexcept {
  return state_->address();
}

std::string Metrics::last_error() const {
  return state_->last_error();
}

std::shared_ptr<void> Metrics::Add(MetricLabels labels, std::function<LoaderStats()> stats) {
  const auto remove = [state = state_](State::Place* place) {
    state->Remove(*place);
    delete place;
  };
  return std::shared_ptr<State::Place>(
      new State::Place(state_->Add(std::move(labels), std::move(stats))), remove);
}

}  // namespace sluice
