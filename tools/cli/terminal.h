// The person or shell in front of a program: signals, standard input, questions, and progress.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace sluice::cli {

// Turns SIGINT and SIGTERM into a stop token.
//
// While an Interrupt lives, the first of these signals requests a stop, and a second one ends the
// process at once, as if it had not been caught. A signal that was already ignored when the program
// began (as under nohup) stays ignored. Make the Interrupt before any other thread: threads inherit
// the blocked signals.
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

// Reads standard input to its end, and calls `take` with each piece as it arrives. A stop request
// ends the wait. Throws Error: kIo, or kState if a stop was requested.
void ReadStandardInput(const std::stop_token& stop,
                       const std::function<void(std::string_view piece)>& take);

// Whether a person can be asked: standard input and standard error are terminals.
bool CanAsk();

// Asks on standard error and reads a line. Only "y", "Y" and "yes" mean yes. Throws like
// ReadStandardInput().
bool Ask(const std::string& question, const std::stop_token& stop);

struct ProgressFigures {
  std::string activity;     // "converting"
  std::uint64_t done = 0;   // images
  std::uint64_t total = 0;  // 0: not known yet
  std::uint64_t bytes = 0;  // 0: not shown
  double per_second = 0;    // images; 0: not known yet
};

// The line for a terminal: at most `columns` long, with a bar where there is room for one.
std::string ProgressLine(const ProgressFigures& figures, std::size_t columns);
// The sentence for a log.
std::string ProgressSentence(const ProgressFigures& figures);

enum class ProgressStyle { kTerminal, kLog, kSilent };

// The style: kSilent if `silent`, else by whether standard error is a terminal.
ProgressStyle ProgressStyleFor(bool silent);

// Shows how far a long command is, on standard error.
//
// On a terminal, one line is redrawn; in a log, there is a line at the start and then one a minute;
// with --json or --quiet, nothing. Calls may come from different threads, one at a time.
class Progress {
 public:
  // `activity` is a verb's -ing form; `title` is the log's first line.
  Progress(ProgressStyle style, std::string activity, const std::string& title);
  ~Progress() { Erase(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the activity that the next Update() shows. The rate of a new activity counts from that
  // Update() on.
  void SetActivity(const std::string& activity);
  void Update(std::uint64_t done, std::uint64_t total, std::uint64_t bytes = 0);
  // Removes the line from the terminal, so that something else can be printed; the next Update()
  // draws it again.
  void Erase();

 private:
  using Clock = std::chrono::steady_clock;

  ProgressStyle style_;
  ProgressFigures figures_;
  bool begun_ = false;
  std::uint64_t first_done_ = 0;  // images done at the activity's first Update()
  Clock::time_point first_;       // the time of that Update()
  Clock::time_point last_drawn_;
  bool on_screen_ = false;
};

}  // namespace sluice::cli
