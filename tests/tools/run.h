// Running a program as a user would, and looking at what it said.
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
  // Standard error is a terminal of this many columns; 0: a pipe, as in a log.
  unsigned short terminal_columns = 0;
  // What a person at that terminal types: standard input is the terminal, too.
  std::string typed = {};
  std::filesystem::path out_file = {};  // standard output goes there, not into Outcome::out
  std::filesystem::path in_file = {};   // standard input comes from there; empty: nothing
  Words environment = {};               // "NAME=value", beside this process's own
};

// A program that has been started; ended by SIGKILL if nobody waited for it.
class Running {
 public:
  Running(const std::string& program, const Words& arguments, const RunOptions& options = {});
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void Signal(int signal) const;
  // Threads it has now; 0 once it has ended.
  std::size_t Threads() const;
  // It has set up how it ends when it is interrupted; before that SIGINT kills it.
  bool WaitsForInterrupts() const;
  bool Ended() const;
  bool Stopped() const;  // by SIGSTOP or the like
  // Reads what it writes until it ends. `meanwhile` is called every few milliseconds.
  Outcome Wait(const std::function<void(const Outcome& so_far)>& meanwhile = {});
  // Interrupts it (SIGINT) as soon as it is ready for that, and waits for its end.
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
