// One thread that drives all of a store's transfers over HTTP/1.1. There are as many connections as
// transfers; connections are kept for later transfers.
//
// Functions that only this thread may call say so, and need no lock. Certificates are checked
// against the system's authorities, or against those of the first of AWS_CA_BUNDLE, CURL_CA_BUNDLE,
// SSL_CERT_FILE and SSL_CERT_DIR that is set. Proxies come from http_proxy,
// https_proxy, all_proxy and no_proxy. A redirect is an answer like any other: it is not followed.
//
// A child made by fork() has no such thread: Post() and Call() throw Error(kState) there, and
// destruction leaves everything as it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "format/remote/http/environment.h"
#include "format/remote/http/http_answer.h"

namespace sluice {

class HttpLoop {
 public:
  using Clock = std::chrono::steady_clock;

  struct Settings {
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds stall_timeout{20'000};
    std::string ca_file, ca_folder;  // empty: the system's
  };
  static Settings SettingsFrom(const Environment& environment);

  explicit HttpLoop(const Settings& settings);
  // Ends all transfers: those of Call() with kStopped, those of Start() without calling their
  // receivers. Drops posted tasks that have not run. Must not be called on the loop's own thread.
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // Any thread: runs the task on the loop's thread. The task must not throw.
  void Post(std::function<void()> task);
  // Any thread but the loop's: sends a request and waits for the answer. Collects up to `limit`
  // bytes of the body (more: kTooLong).
  HttpReply Call(const HttpRequest& request, std::size_t limit);
  // Any thread but the loop's: waits for `time`, or until Stop(). Returns false if stopped.
  bool Sleep(std::chrono::milliseconds time);
  // Any thread: ends the running Call() and Sleep() of all threads, and all later ones. The
  // destructor does this, too.
  void Stop();
  // Any thread: like Stop(), but requests that tidy up are still sent. No-op in a child made by
  // fork().
  void StopCalls();
  bool Stopped() const;
  bool CallsStopped() const;
  bool OnOwnThread() const noexcept;
  bool InOwnProcess() const noexcept;  // false in a child made by fork()

  // On the loop's thread only:
  using Ticket = std::uint64_t;  // above 0
  // Begins a request, whose answer `receiver` gets. The ticket is for Abort().
  Ticket Start(const HttpRequest& request, HttpReceiver receiver);
  // After this, no function of the transfer's receiver is called. No-op if the transfer has ended.
  void Abort(Ticket ticket);
  // Runs the task when `time` has passed.
  void After(std::chrono::milliseconds time, std::function<void()> task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
