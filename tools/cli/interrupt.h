// SIGINT and SIGTERM as a stop token.
//
// While an Interrupt lives, the first of these signals requests a stop, and a second one ends the
// process at once, as if it had not been caught. A signal that was already ignored when the program
// began (as under nohup) stays ignored. Make the Interrupt before any other thread: threads inherit
// the blocked signals.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace sluice::cli {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const noexcept { return stop_.get_token(); }
  bool requested() const noexcept { return stop_.stop_requested(); }

 private:
  void Wait(int signals, int finished);

  sigset_t previous_{};
  std::stop_source stop_;
  int signals_ = -1;   // signalfd of the two signals
  int finished_ = -1;  // eventfd that ends the thread
  std::thread thread_;
};

}  // namespace sluice::cli
