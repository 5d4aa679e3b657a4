#include "format/remote/http_loop.h"

#include <atomic>
#include <deque>
#include <map>
#include <thread>
#include <unordered_map>

#include <curl/curl.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/mutex.h"
#include "format/remote/http_transfer.h"

namespace sluice {

namespace {

// More idle connections than this are closed, the oldest first.
constexpr long kKeptConnections = 512;
// How long the loop may sleep at most.
constexpr std::chrono::milliseconds kLongestSleep{1000};

}  // namespace

struct HttpLoop::State {
  explicit State(const Settings& all) : settings(all) {
    // Once, and never undone: others in this process may use the library, too.
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
  const pid_t process = getpid();
  struct MultiDeleter {
    void operator()(CURLM* all) const noexcept { curl_multi_cleanup(all); }
  };
  std::unique_ptr<CURLM, MultiDeleter> multi;

  // The loop thread's own:
  std::unordered_map<Ticket, std::unique_ptr<HttpTransfer>> transfers;
  std::deque<Ticket> to_link;  // made, not yet handed to curl
  std::deque<std::unique_ptr<HttpTransfer>> aborted;
  std::vector<CurlHandle> spare;
  std::multimap<Clock::time_point, std::function<void()>> timers;
  Ticket last_ticket = 0;

  // Of Call(), on the waiting thread's stack.
  struct Waiting {
    HttpReply reply;
    bool done = false;
    bool tidies_up = false;
  };
  static HttpReply StoppedReply();
  void Answer(Waiting& waiting, HttpReply&& reply);
  void EndCalls(HttpLoop& loop, bool all);
  void BeginCall(HttpLoop& loop, const HttpRequest& request, std::size_t limit, Waiting& waiting);
  std::unordered_map<Ticket, Waiting*> calls;  // the loop thread's own, too
  Mutex mutex;
  Condition changed;
  std::deque<std::function<void()>> posted GUARDED_BY(mutex);
  bool stopping GUARDED_BY(mutex) = false;       // Call() and Sleep() wait for nothing any more
  bool calls_stopped GUARDED_BY(mutex) = false;  // but for requests that tidy up
  bool Refuses(const HttpRequest& request) const REQUIRES(mutex) {
    return stopping || (calls_stopped && !request.tidies_up);
  }
  bool leaving GUARDED_BY(mutex) = false;  // the thread returns
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
    // The thread and its connections are the parent's.
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
  return getpid() == state_->process;
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

// A call is ended by the loop's thread, which uses its request until then.
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
                "connections "
                "do not survive that; open the dataset in the child");
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
    receiver.end = [this, ticket, &waiting](HttpReply&& reply) {
      calls.erase(*ticket);
      Answer(waiting, std::move(reply));
    };
    *ticket = loop.Start(request, std::move(receiver));
    calls[*ticket] = &waiting;
  } catch (const std::bad_alloc&) {
    HttpReply reply;
    reply.failure = HttpFailure::kOther;
    reply.why = "no memory";  // short enough to take none
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

// Only marks it: curl refuses to lose a transfer from inside one of its calls of ours.
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

// What a task was to do for its transfer is not done if there is no memory for it: whoever waits
// for that gives up in time. Everybody else's transfers go on.
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
    if (found == transfers.end()) continue;  // aborted: Link() takes it away
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
    // A wakeup from between the look at `posted` and this call is kept by curl.
    curl_multi_poll(multi.get(), nullptr, 0, SleepTime(), nullptr);
  }
  to_link.clear();
  for (auto& [ticket, transfer] : transfers) {
    transfer->Mute();
    if (transfer->linked()) curl_multi_remove_handle(multi.get(), transfer->handle());
  }
  Link();
  transfers.clear();
}

}  // namespace sluice
