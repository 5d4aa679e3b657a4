// Publishes figures of loaders: a thread writes a file now and then.
//
// A loader adds a function that returns its figures, and keeps the result of Add(). Dropping that
// result writes the file a last time and removes the entry. Writing locks writing_ and then mutex_,
// never the other way; mutex_ is held while loaders are asked for their figures. A forked child has
// the object but not the thread: calls throw there, and destructors leave the parent's file alone.
#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include <sluice/error.h>
#include <sluice/metrics.h>
#include <sluice/shown_path.h>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/mutex.h"
#include "format/own_process.h"
#include "reader/decoding/stage_clock.h"

namespace sluice {

namespace {

[[noreturn]] void Refuse(const std::string& where, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "Metrics: \"" + where + "\" " + why);
}
}  // namespace

class Metrics::State {
 public:
  State(const std::string& where, MetricsOptions options) : options_(options) {
    if (options.every < std::chrono::milliseconds(10) || options.every > std::chrono::hours(24))
      Refuse(where, "cannot be written so: MetricsOptions::every must be from 10 ms to a day");
    Open(where);
    if (file_.empty()) return;
    WriteFileNow();
    try {
      thread_ = std::jthread([this](const std::stop_token& stop) { WriteNowAndThen(stop); });
    } catch (const std::system_error& error) {
      throw Error(ErrorCode::kLimit,
                  "Metrics: its thread cannot be started: " + std::string(error.what()) +
                      "; raise `ulimit -u` or `ulimit -v`");
    }
  }
  ~State() {
    // A forked child has no such thread to join.
    if (!process_.IsThis() && thread_.joinable()) thread_.detach();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

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
    // Two loaders with equal labels would be one series to Prometheus, so the later one gets a
    // number.
    for (unsigned number = 2; Has(labels); ++number)
      labels["loader"] = name + "-" + std::to_string(number);
    entries_.push_back({std::move(labels), std::move(stats)});
    return std::prev(entries_.end());
  }
  void Remove(Place place) noexcept {
    if (!process_.IsThis()) return;
    // The last figures of a loader, before its entry goes.
    if (!file_.empty()) TryToWrite();
    std::list<Entry> removed;
    const MutexLock lock(mutex_);
    // `removed` is destroyed after the lock is released, with whatever the entry's function holds.
    removed.splice(removed.begin(), entries_, place);
  }

 private:
  void RequireOwnProcess() const {
    if (process_.IsThis()) return;
    throw Error(ErrorCode::kState,
                "Metrics: this object was made before the process forked, and its thread is in the "
                "parent; make a Metrics with a file of its own in the child");
  }

  bool Has(const MetricLabels& labels) const REQUIRES(mutex_) {
    return std::ranges::any_of(entries_,
                               [&](const Entry& entry) { return entry.labels == labels; });
  }

  void Open(const std::string& where) {
    if (where.empty()) return;
    // Only numbers and dots, such as 9464 and 127.0.0.1, are an address as well.
    const bool in_folder = where.find('/') != std::string::npos;
    if (IsStoreUrl(where) ||
        (!in_folder && (where.find(':') != std::string::npos || where == "localhost" ||
                        where.find_first_not_of("0123456789.") == std::string::npos))) {
      Refuse(where,
             "is an address; give the path of a file, such as metrics/train.prom, or ./ before its "
             "name. A server of your own can answer with Text()");
    }
    file_ = std::filesystem::absolute(where);
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
  void WriteNowAndThen(const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    for (Clock::time_point next = Clock::now();;) {
      // At even distances; writings that came due while one took long are left out.
      next = std::max(next + options_.every, Clock::now());
      never.wait_until(lock, stop, next, [] { return false; });
      if (stop.stop_requested()) return;
      TryToWrite();
    }
  }

  const MetricsOptions options_;
  const OwnProcess process_;
  std::filesystem::path file_;  // empty: no file is written

  mutable Mutex writing_;  // locked before mutex_
  mutable Mutex mutex_;
  std::list<Entry> entries_ GUARDED_BY(mutex_);
  std::string last_error_ GUARDED_BY(mutex_);
  std::jthread thread_;  // ends before what it uses
};

Metrics::Metrics(const std::string& where, MetricsOptions options)
    : state_(std::make_shared<State>(where, options)) {}

Metrics::~Metrics() = default;

std::string Metrics::Text(MetricsFormat format) const {
  return state_->Text(format);
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
