// One thread that drives all of a store's transfers over HTTP/1.1, on as many connections as there
// are transfers, which are kept for those that follow.
//
// The functions that belong to the thread alone say so, and need no lock. Certificates are checked
// against the system's authorities, or those of AWS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE or
// SSL_CERT_DIR, the first of these that is set; proxies are those of http_proxy, https_proxy,
// all_proxy and no_proxy. A redirect is an answer like others: nothing is followed.
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
  // Ends all transfers: those of Call() with kStopped, those of Start() without a call. What was
  // posted and has not run is dropped. Not on the loop's own thread.
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  // Any thread: has the function called on the loop's thread. It must not throw.
  void Post(std::function<void()> task);
  // Any thread but the loop's: sends a request and waits for the answer, whose body is collected up
  // to `limit` bytes (else kTooLong).
  HttpReply Call(const HttpRequest& request, std::size_t limit);
  // Any thread but the loop's: waits that long, or until Stop(). False if it is stopped.
  bool Sleep(std::chrono::milliseconds time);
  // Any thread: ends Call() and Sleep() of all threads, now and later. The destructor does it, too.
  void Stop();
  // Any thread: the same, but requests that tidy up are still sent. No-op in a child made by
  // fork().
  void StopCalls();
  bool Stopped() const;
  bool CallsStopped() const;
  bool OnOwnThread() const noexcept;
  bool InOwnProcess() const noexcept;  // not in a child made by fork()

  // On the loop's thread only:
  using Ticket = std::uint64_t;  // above 0
  Ticket Start(const HttpRequest& request, HttpReceiver receiver);
  // No function of its receiver is called any more. No-op if it has ended.
  void Abort(Ticket ticket);
  void After(std::chrono::milliseconds time, std::function<void()> task);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
