// Runs a program as a user would, and collects its output.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace sluice::test {

using Words = std::vector<std::string>;

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out;
  std::string err;
};

struct RunOptions {
  // Standard error is a terminal with this many columns; 0: a pipe, as in a log.
  unsigned short terminal_columns = 0;
  // A person's input at that terminal: standard input is the terminal, too.
  std::string typed = {};
  std::filesystem::path out_file = {};  // standard output goes to this file, not into Outcome::out
  std::filesystem::path in_file = {};   // standard input comes from this file; empty: no input
  Words environment = {};               // "NAME=value", in addition to this process's own
};

// A program that has been started. Kills it (SIGKILL) when destroyed, unless Wait() or Interrupt()
// was called.
class Running {
 public:
  Running(const std::string& program, const Words& arguments, const RunOptions& options = {});
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void Signal(int signal) const;
  // Its current number of threads; 0 once it has ended.
  std::size_t Threads() const;
  // Whether the program has prepared for interrupts; before that, SIGINT would kill it.
  bool WaitsForInterrupts() const;
  bool Ended() const;
  bool Stopped() const;  // by SIGSTOP or the like
  // Reads the program's output until it ends. Calls `meanwhile` every few milliseconds.
  Outcome Wait(const std::function<void(const Outcome& so_far)>& meanwhile = {});
  // Interrupts the program (SIGINT) as soon as it is ready for that, and waits for its end.
  Outcome Interrupt();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
};

Outcome Run(const std::string& program, const Words& arguments, const RunOptions& options = {});

// The programs under test.
Outcome Sluice(const Words& arguments, const RunOptions& options = {});
Outcome Bench(const Words& arguments, const RunOptions& options = {});

}  // namespace sluice::test
