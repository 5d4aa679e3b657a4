// Shows how far a long command is, on standard error.
//
// On a terminal, one line is redrawn; in a log, there is a line at the start and then one a minute;
// with --json or --quiet, nothing. Calls may come from different threads, one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::cli {

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

// kSilent if asked for, else by whether standard error is a terminal.
ProgressStyle ProgressStyleFor(bool silent);

class Progress {
 public:
  // `activity` is a verb's -ing form; `title` is the log's first line.
  Progress(ProgressStyle style, std::string activity, const std::string& title);
  ~Progress() { Erase(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The activity that the next Update() shows. A new activity counts from its own beginning.
  void SetActivity(const std::string& activity);
  void Update(std::uint64_t done, std::uint64_t total, std::uint64_t bytes = 0);
  // Takes the line off the terminal, so that something else can be printed; the next Update()
  // brings it back.
  void Erase();

 private:
  using Clock = std::chrono::steady_clock;

  ProgressStyle style_;
  ProgressFigures figures_;
  bool begun_ = false;
  std::uint64_t first_done_ = 0;  // done already (by an earlier run) at the first Update()
  Clock::time_point first_;
  Clock::time_point last_drawn_;
  bool on_screen_ = false;
};

}  // namespace sluice::cli
