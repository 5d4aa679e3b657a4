// HTTP by libcurl. Nothing else includes curl's header.
//
// One thread drives curl's "multi" interface. Other threads give it tasks (Post) or wait for an
// answer (Call); curl_multi_wakeup() wakes it. HttpTransfer is one request: the options that curl
// gets, and the functions that curl calls. A transfer owns its curl handle, which is kept for the
// next transfer, together with its connection and TLS session. Exceptions must not pass through
// curl, so a receiver that runs out of memory ends its transfer.
// Order at the end of a loop: a thread inside of Call() uses the mutex and has its answer on its
// stack, so all such threads leave before the loop's thread does, and that one before the state
// goes.
#include "format/remote/http/http_loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>

#include <curl/curl.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/mutex.h"
#include "format/own_process.h"
#include "format/remote/http/link.h"

namespace sluice {

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using CurlHandle = std::unique_ptr<CURL, CurlDeleter>;

class HttpTransfer {
 public:
  // Takes over a used handle, or makes a new one if `handle` is null.
  HttpTransfer(CurlHandle handle, const HttpRequest& request, HttpReceiver receiver,
               const HttpLoop::Settings& settings, HttpLoop::Ticket ticket);

  CURL* handle() const noexcept { return handle_.get(); }
  CurlHandle TakeHandle() noexcept { return std::move(handle_); }
  HttpLoop::Ticket ticket() const noexcept { return ticket_; }
  bool linked() const noexcept { return linked_; }
  void MarkLinked() noexcept { linked_ = true; }
  // From now on the receiver is not called, and the transfer ends at the next byte.
  void Mute() noexcept { muted_ = true; }
  void Finish(CURLcode result);

 private:
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self);
  void SetRequest(const HttpRequest& request);
  void SetConnection(const HttpRequest& request, const HttpLoop::Settings& settings);
  void Header(std::string_view line);
  bool Body(Bytes bytes);
  std::size_t NoMemory() noexcept;
  bool Connected() const;
  void ReadTimes();

  CurlHandle handle_;
  std::unique_ptr<curl_slist, CurlDeleter> headers_;
  HttpReceiver receiver_;
  const HttpLoop::Ticket ticket_;
  const std::string url_;
  HttpReply reply_;
  bool linked_ = false;           // whether the handle was given to curl's "multi" interface
  bool muted_ = false;            // see Mute()
  std::size_t header_bytes_ = 0;  // received
  bool body_began_ = false;
  bool streamed_ = false;  // whether the body goes to receiver_.body; otherwise it is collected
  bool too_long_ = false;
  bool no_memory_ = false;
  std::array<char, CURL_ERROR_SIZE> why_{};
};

namespace {

// A peer that sends less than this per second counts as stalled.
constexpr long kStallBytesPerSecond = 1024;
constexpr std::size_t kLongestHeaderValue = 4096;
// After more bytes of headers than this, a receive error means that curl has refused to read more
// of them (its limit is 300 KB).
constexpr std::size_t kMaxReplyHeaderBytes = 200'000;

HttpFailure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_OK: return HttpFailure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return HttpFailure::kNoSuchHost;
    case CURLE_COULDNT_CONNECT: return HttpFailure::kNotReached;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return HttpFailure::kCertificate;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER: return HttpFailure::kTls;
    case CURLE_OPERATION_TIMEDOUT: return HttpFailure::kTimeout;
    case CURLE_URL_MALFORMAT: return HttpFailure::kBadUrl;
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:  // a header of more than 100 KB; older versions: CURLE_OUT_OF_MEMORY
#endif
    case CURLE_OUT_OF_MEMORY:
    // Only http and https are requested here, so this can only be an answer in HTTP/0.9.
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY: return HttpFailure::kNotHttp;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return HttpFailure::kCut;
    default: return HttpFailure::kOther;
  }
}

// Throws std::bad_alloc if curl lacks memory, so that no request is sent with some of its options
// missing.
template <class Value>
void SetOption(CURL* handle, CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(handle, option, value);
  if (result == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
}

}  // namespace

HttpTransfer::HttpTransfer(CurlHandle handle, const HttpRequest& request, HttpReceiver receiver,
                           const HttpLoop::Settings& settings, HttpLoop::Ticket ticket)
    : handle_(std::move(handle)),
      receiver_(std::move(receiver)),
      ticket_(ticket),
      url_(request.url) {
  if (handle_) {
    curl_easy_reset(handle_.get());  // keeps the connection
  } else {
    handle_.reset(curl_easy_init());
    if (!handle_) throw std::bad_alloc();
  }
  reply_.url = url_;
  SetRequest(request);
  SetConnection(request, settings);
}

void HttpTransfer::SetRequest(const HttpRequest& request) {
  CURL* const h = handle_.get();
  SetOption(h, CURLOPT_PRIVATE, static_cast<void*>(this));
  SetOption(h, CURLOPT_URL, request.url.c_str());
  SetOption(h, CURLOPT_PATH_AS_IS, 1L);  // an object's name may be a/../b
  if (request.method == "HEAD") {
    SetOption(h, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    if (!request.body.empty() || request.method != "DELETE") {
      SetOption(h, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      SetOption(h, CURLOPT_POSTFIELDS,
                request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
    }
    SetOption(h, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  const auto add = [&](const char* line) {
    curl_slist* const longer = curl_slist_append(headers_.get(), line);
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  };
  bool has_type = false;
  for (const std::string& line : request.headers) {
    has_type = has_type || line.starts_with("content-type:");
    add(line.c_str());
  }
  if (!has_type) add("Content-Type:");  // otherwise curl declares every body a form
  add("Expect:");                       // avoids a round trip before the body
  add("Accept-Encoding: identity");     // ranges and sizes are those of the object itself
  SetOption(h, CURLOPT_HTTPHEADER, headers_.get());
  SetOption(h, CURLOPT_HEADERFUNCTION, &HttpTransfer::OnHeader);
  SetOption(h, CURLOPT_HEADERDATA, static_cast<void*>(this));
  SetOption(h, CURLOPT_WRITEFUNCTION, &HttpTransfer::OnBody);
  SetOption(h, CURLOPT_WRITEDATA, static_cast<void*>(this));
  SetOption(h, CURLOPT_ERRORBUFFER, why_.data());
}

void HttpTransfer::SetConnection(const HttpRequest& request, const HttpLoop::Settings& settings) {
  CURL* const h = handle_.get();
  const auto or_default = [](std::chrono::milliseconds own, std::chrono::milliseconds general) {
    return own.count() > 0 ? own : general;
  };
  const auto stall = or_default(request.stall_timeout, settings.stall_timeout);
  SetOption(h, CURLOPT_NOSIGNAL, 1L);
  SetOption(h, CURLOPT_PROTOCOLS_STR, "http,https");
  SetOption(h, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  SetOption(h, CURLOPT_USERAGENT, "sluice/" SLUICE_VERSION);
  SetOption(h, CURLOPT_BUFFERSIZE, static_cast<long>(ConnectionCount::kReceiveBuffer));
  SetOption(h, CURLOPT_TCP_KEEPALIVE, 1L);
  SetOption(
      h, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(or_default(request.connect_timeout, settings.connect_timeout).count()));
  SetOption(h, CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  SetOption(h, CURLOPT_LOW_SPEED_TIME,
            static_cast<long>(std::chrono::ceil<std::chrono::seconds>(stall).count()));
  if (request.fresh_connection) SetOption(h, CURLOPT_FRESH_CONNECT, 1L);
  if (request.direct) SetOption(h, CURLOPT_NOPROXY, "*");
  if (!settings.ca_file.empty()) SetOption(h, CURLOPT_CAINFO, settings.ca_file.c_str());
  if (!settings.ca_folder.empty()) SetOption(h, CURLOPT_CAPATH, settings.ca_folder.c_str());
}

std::size_t HttpTransfer::OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  if (transfer.muted_) return 0;
  try {
    transfer.header_bytes_ += size * count;
    transfer.Header({data, size * count});
  } catch (const std::bad_alloc&) {
    return transfer.NoMemory();
  }
  return size * count;
}

std::size_t HttpTransfer::OnBody(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  bool wanted = false;
  try {
    wanted = !transfer.muted_ && transfer.Body(std::as_bytes(std::span(data, size * count)));
  } catch (const std::bad_alloc&) {
    return transfer.NoMemory();
  }
  // To signal failure, the function returns a count that differs from the received one. (0 would
  // mean success if `data` were empty, which it never is.)
  return wanted ? size * count : 0;
}

// Ends the transfer, because exceptions must not pass through curl.
std::size_t HttpTransfer::NoMemory() noexcept {
  no_memory_ = true;
  return 0;
}

void HttpTransfer::Header(std::string_view line) {
  if (line.starts_with("HTTP/")) {  // a new answer; an earlier one may have been 100 or a proxy's
    reply_ = {};
    reply_.url = url_;
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    std::from_chars(line.data() + space + 1, line.data() + line.size(), reply_.status);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = LowerCase(line.substr(0, colon));
  const std::string_view value = Trimmed(line.substr(colon + 1));
  if (value.size() > kLongestHeaderValue) return;
  if (name == "content-length") {
    if (const auto length = ParseNumber<std::uint64_t>(value)) reply_.length = *length;
    return;
  }
  if (name == "last-modified") {
    reply_.changed = std::max<std::int64_t>(curl_getdate(std::string(value).c_str(), nullptr), 0);
    return;
  }
  const std::pair<std::string_view, std::string*> kept[] = {
      {"etag", &reply_.etag},
      {"content-range", &reply_.content_range},
      {"location", &reply_.location},
      {"x-amz-bucket-region", &reply_.bucket_region},
      {"date", &reply_.date},
      {"retry-after", &reply_.retry_after},
      {"content-encoding", &reply_.content_encoding}};
  for (const auto& [kept_name, kept_value] : kept) {
    if (name == kept_name) *kept_value = value;
  }
}

bool HttpTransfer::Body(Bytes bytes) {
  if (!body_began_) {
    body_began_ = true;
    ReadTimes();
    // The receiver sees status and headers before the first byte, and decides whether it takes the
    // body piece by piece. Otherwise (an error's message, say) the body is collected in reply_.
    streamed_ = receiver_.head && receiver_.head(reply_);
    if (muted_) return false;
  }
  if (streamed_) return receiver_.body(bytes);
  if (reply_.body.size() + bytes.size() > receiver_.collect) {
    too_long_ = true;
    return false;
  }
  reply_.body += AsText(bytes);
  return true;
}

// Whether the request could be sent at all: its first byte waits for the connection, TLS included.
bool HttpTransfer::Connected() const {
  curl_off_t sent = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_PRETRANSFER_TIME_T, &sent);
  return sent > 0;
}

void HttpTransfer::ReadTimes() {
  curl_off_t first_byte = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
  reply_.first_byte = std::chrono::microseconds(first_byte);
}

void HttpTransfer::Finish(CURLcode result) {
  if (!body_began_) ReadTimes();
  reply_.failure = FailureOf(result);
  if (reply_.failure == HttpFailure::kTimeout && !Connected())
    reply_.failure = HttpFailure::kNotReached;
  // Some versions of curl report too many headers as a receive error.
  if (result == CURLE_RECV_ERROR && header_bytes_ > kMaxReplyHeaderBytes)
    reply_.failure = HttpFailure::kNotHttp;
  if (result == CURLE_WRITE_ERROR) {
    reply_.failure = too_long_ ? HttpFailure::kTooLong : HttpFailure::kRefusedByUs;
  }
  if (no_memory_) {
    reply_.failure = HttpFailure::kOther;
    reply_.why = "no memory is left";
  } else if (result != CURLE_OK) {
    reply_.why = why_.front() != '\0' ? why_.data() : curl_easy_strerror(result);
  }
  if (receiver_.end && !muted_) receiver_.end(std::move(reply_));
}

namespace {

// More idle connections than this are closed, the oldest first.
constexpr long kKeptConnections = 512;
// The longest time that the loop sleeps.
constexpr std::chrono::milliseconds kLongestSleep{1000};

}  // namespace

struct HttpLoop::State {
  explicit State(const Settings& all) : settings(all) {
    // Initialised once and never cleaned up: other code in this process may use the library, too.
    static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    multi.reset(ready == CURLE_OK ? curl_multi_init() : nullptr);
    if (!multi) throw Error(ErrorCode::kUnsupported, "libcurl could not be started");
    curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, kKeptConnections);
    curl_multi_setopt(multi.get(), CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    thread = std::thread([this] { Run(); });
  }

  void Run();
  template <class Task>
  static void Try(const Task& task);
  void RunPosted();
  void RunTimers();
  void Link();
  void Collect();
  int SleepTime();

  const Settings settings;
  const OwnProcess process;
  struct MultiDeleter {
    void operator()(CURLM* all) const noexcept { curl_multi_cleanup(all); }
  };
  std::unique_ptr<CURLM, MultiDeleter> multi;

  // Used only by the loop thread:
  std::unordered_map<Ticket, std::unique_ptr<HttpTransfer>> transfers;
  std::deque<Ticket> to_link;                         // made, not yet handed to curl
  std::deque<std::unique_ptr<HttpTransfer>> aborted;  // still to be taken from curl
  std::vector<CurlHandle> spare;                      // of ended transfers, with their connections
  std::multimap<Clock::time_point, std::function<void()>> timers;
  Ticket last_ticket = 0;

  // A Call() in progress; lies on the waiting thread's stack.
  struct Waiting {
    HttpReply reply;
    bool done = false;
    bool tidies_up = false;
  };
  static HttpReply StoppedReply();
  void Answer(Waiting& waiting, HttpReply&& reply);
  void EndCalls(HttpLoop& loop, bool all);
  void BeginCall(HttpLoop& loop, const HttpRequest& request, std::size_t limit, Waiting& waiting);
  std::unordered_map<Ticket, Waiting*> calls;  // used only by the loop thread, too
  Mutex mutex;
  Condition changed;
  std::deque<std::function<void()>> posted GUARDED_BY(mutex);
  bool stopping GUARDED_BY(mutex) = false;       // Call() and Sleep() do not wait any more
  bool calls_stopped GUARDED_BY(mutex) = false;  // the same, except for requests that tidy up
  bool Refuses(const HttpRequest& request) const REQUIRES(mutex) {
    return stopping || (calls_stopped && !request.tidies_up);
  }
  bool leaving GUARDED_BY(mutex) = false;  // the thread must return
  int callers GUARDED_BY(mutex) = 0;       // threads inside of Call() and Sleep()
  std::thread thread;
};

HttpLoop::Settings HttpLoop::SettingsFrom(const Environment& environment) {
  Settings settings;
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (settings.ca_file.empty()) settings.ca_file = environment(name);
  }
  if (settings.ca_file.empty()) settings.ca_folder = environment("SSL_CERT_DIR");
  return settings;
}

HttpLoop::HttpLoop(const Settings& settings) : state_(std::make_unique<State>(settings)) {}

HttpLoop::~HttpLoop() {
  State& state = *state_;
  if (!InOwnProcess()) {
    // The thread and its connections belong to the parent process.
    state.thread.detach();
    static_cast<void>(state_.release());
    return;
  }
  Stop();
  {
    const MutexLock lock(state.mutex);
    while (state.callers > 0)
      state.changed.Wait(state.mutex);
    state.leaving = true;
  }
  curl_multi_wakeup(state.multi.get());
  state.thread.join();
}

bool HttpLoop::InOwnProcess() const noexcept {
  return state_->process.IsThis();
}

bool HttpLoop::OnOwnThread() const noexcept {
  return std::this_thread::get_id() == state_->thread.get_id();
}

bool HttpLoop::Stopped() const {
  const MutexLock lock(state_->mutex);
  return state_->stopping;
}

bool HttpLoop::CallsStopped() const {
  const MutexLock lock(state_->mutex);
  return state_->calls_stopped;
}

void HttpLoop::Stop() {
  State& state = *state_;
  {
    const MutexLock lock(state.mutex);
    if (state.stopping) return;
    state.stopping = true;
    state.changed.NotifyAll();
  }
  Post([this] { state_->EndCalls(*this, true); });
}

void HttpLoop::StopCalls() {
  if (!InOwnProcess()) return;
  State& state = *state_;
  {
    const MutexLock lock(state.mutex);
    state.calls_stopped = true;
    state.changed.NotifyAll();
  }
  Post([this] { state_->EndCalls(*this, false); });
}

// Only the loop's thread may end a call, since it uses the call's request until then.
void HttpLoop::State::EndCalls(HttpLoop& loop, bool all) {
  std::erase_if(calls, [&](const auto& call) {
    const auto& [ticket, waiting] = call;
    if (!all && waiting->tidies_up) return false;
    loop.Abort(ticket);
    Answer(*waiting, StoppedReply());
    return true;
  });
}

HttpReply HttpLoop::State::StoppedReply() {
  HttpReply reply;
  reply.failure = HttpFailure::kStopped;
  return reply;
}

void HttpLoop::State::Answer(Waiting& waiting, HttpReply&& reply) {
  const MutexLock lock(mutex);
  waiting.reply = std::move(reply);
  waiting.done = true;
  changed.NotifyAll();
}

void HttpLoop::Post(std::function<void()> task) {
  State& state = *state_;
  if (!InOwnProcess()) {
    throw Error(ErrorCode::kState,
                "this process was made by fork() after the dataset at a URL had been opened, and "
                "connections do not survive a fork; open the dataset in the child");
  }
  {
    const MutexLock lock(state.mutex);
    state.posted.push_back(std::move(task));
  }
  if (!OnOwnThread()) curl_multi_wakeup(state.multi.get());
}

HttpReply HttpLoop::Call(const HttpRequest& request, std::size_t limit) {
  State& state = *state_;
  State::Waiting waiting;
  {
    const MutexLock lock(state.mutex);
    if (state.Refuses(request)) return State::StoppedReply();
    ++state.callers;
    waiting.tidies_up = request.tidies_up;
  }
  Post([this, &request, limit, &waiting] { state_->BeginCall(*this, request, limit, waiting); });
  const MutexLock lock(state.mutex);
  while (!waiting.done)
    state.changed.Wait(state.mutex);
  --state.callers;
  state.changed.NotifyAll();
  return std::move(waiting.reply);
}

void HttpLoop::State::BeginCall(HttpLoop& loop, const HttpRequest& request, std::size_t limit,
                                Waiting& waiting) {
  // Asked a second time: between Call()'s check and this task, Stop() may have run, and its
  // EndCalls() did not know this call yet.
  bool stopped = false;
  {
    const MutexLock lock(mutex);
    stopped = Refuses(request);
  }
  if (stopped) return Answer(waiting, StoppedReply());
  try {
    const auto ticket = std::make_shared<Ticket>(0);
    HttpReceiver receiver;
    receiver.collect = limit;
    // The ticket is known only after Start(). It is there in time: Start() only queues the
    // transfer, and curl calls back from Run() at the earliest.
    receiver.end = [this, ticket, &waiting](HttpReply&& reply) {
      calls.erase(*ticket);
      Answer(waiting, std::move(reply));
    };
    *ticket = loop.Start(request, std::move(receiver));
    calls[*ticket] = &waiting;
  } catch (const std::bad_alloc&) {
    HttpReply reply;
    reply.failure = HttpFailure::kOther;
    reply.why = "no memory";  // short enough to need no allocation
    Answer(waiting, std::move(reply));
  }
}

bool HttpLoop::Sleep(std::chrono::milliseconds time) {
  State& state = *state_;
  const auto until = Clock::now() + time;
  const MutexLock lock(state.mutex);
  ++state.callers;
  const auto ended = [&state]()
                         REQUIRES(state.mutex) { return state.stopping || state.calls_stopped; };
  for (auto now = Clock::now(); now < until && !ended(); now = Clock::now()) {
    state.changed.WaitFor(state.mutex, std::chrono::ceil<std::chrono::milliseconds>(until - now));
  }
  --state.callers;
  state.changed.NotifyAll();
  return !ended();
}

HttpLoop::Ticket HttpLoop::Start(const HttpRequest& request, HttpReceiver receiver) {
  State& state = *state_;
  CurlHandle handle;
  if (!state.spare.empty()) {
    handle = std::move(state.spare.back());
    state.spare.pop_back();
  }
  const Ticket ticket = ++state.last_ticket;
  state.transfers[ticket] = std::make_unique<HttpTransfer>(
      std::move(handle), request, std::move(receiver), state.settings, ticket);
  state.to_link.push_back(ticket);
  return ticket;
}

// Only marks the transfer: curl does not allow removing it from within one of its own callbacks.
void HttpLoop::Abort(Ticket ticket) {
  State& state = *state_;
  const auto found = state.transfers.find(ticket);
  if (found == state.transfers.end()) return;
  found->second->Mute();
  state.aborted.push_back(std::move(found->second));
  state.transfers.erase(found);
}

void HttpLoop::After(std::chrono::milliseconds time, std::function<void()> task) {
  state_->timers.emplace(Clock::now() + time, std::move(task));
}

// Runs a task. If memory runs out, the task's transfer makes no progress and its caller's wait
// times out; all other transfers continue.
template <class Task>
void HttpLoop::State::Try(const Task& task) {
  try {
    task();
  } catch (const std::bad_alloc&) {
    return;
  }
}

void HttpLoop::State::RunPosted() {
  std::deque<std::function<void()>> tasks;
  {
    const MutexLock lock(mutex);
    tasks.swap(posted);
  }
  for (auto& task : tasks)
    Try(task);
}

void HttpLoop::State::RunTimers() {
  const auto now = Clock::now();
  while (!timers.empty() && timers.begin()->first <= now) {
    const auto task = std::move(timers.begin()->second);
    timers.erase(timers.begin());
    Try(task);
  }
}

// Hands new transfers to curl, and takes aborted ones from it.
void HttpLoop::State::Link() {
  for (; !aborted.empty(); aborted.pop_front()) {
    HttpTransfer& transfer = *aborted.front();
    if (transfer.linked()) curl_multi_remove_handle(multi.get(), transfer.handle());
    Try([&] { spare.push_back(transfer.TakeHandle()); });
  }
  for (; !to_link.empty(); to_link.pop_front()) {
    const auto found = transfers.find(to_link.front());
    if (found == transfers.end()) continue;  // aborted meanwhile
    found->second->MarkLinked();
    curl_multi_add_handle(multi.get(), found->second->handle());
  }
}

// Ends the transfers that curl is done with.
void HttpLoop::State::Collect() {
  int more = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi.get(), &more)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode result = message->data.result;
    void* owner = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
    const auto found = transfers.find(static_cast<HttpTransfer*>(owner)->ticket());
    if (found == transfers.end()) continue;  // aborted: Link() removes it
    // Taken out of `transfers` first: the receiver that Finish() calls may start or abort
    // transfers, which changes the map.
    const std::unique_ptr<HttpTransfer> transfer = std::move(found->second);
    transfers.erase(found);
    curl_multi_remove_handle(multi.get(), easy);
    Try([&] { transfer->Finish(result); });
    Try([&] { spare.push_back(transfer->TakeHandle()); });
  }
}

int HttpLoop::State::SleepTime() {
  if (!to_link.empty() || !aborted.empty()) return 0;
  auto sleep = kLongestSleep;
  if (!timers.empty()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(timers.begin()->first - Clock::now());
    sleep = std::clamp(left, std::chrono::milliseconds(0), sleep);
  }
  return static_cast<int>(sleep.count());
}

void HttpLoop::State::Run() {
  for (;;) {
    RunPosted();
    RunTimers();
    Link();
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    Collect();
    {
      const MutexLock lock(mutex);
      if (leaving) break;
      if (!posted.empty()) continue;
    }
    // If a wakeup arrives between the check of `posted` and this call, curl keeps it.
    curl_multi_poll(multi.get(), nullptr, 0, SleepTime(), nullptr);
  }
  // Transfers that are left end without a call of their receivers: Link() takes them from curl.
  to_link.clear();
  for (auto& [ticket, transfer] : transfers) {
    transfer->Mute();
    if (transfer->linked()) curl_multi_remove_handle(multi.get(), transfer->handle());
  }
  Link();
  transfers.clear();
}

}  // namespace sluice
