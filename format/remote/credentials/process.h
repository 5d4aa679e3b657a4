// A program that hands out credentials (credential_process of a profile).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The words of a command line, as POSIX shells split them: by spaces, with '...', "..." and \. No
// shell runs, so nothing is expanded. Returns nullopt if a quote is not closed.
std::optional<std::vector<std::string>> CommandWords(std::string_view command);

struct ProcessResult {
  enum class End { kExited, kKilled, kTooSlow, kTooLong, kStopped, kNotStarted };
  End end = End::kNotStarted;
  int status = 0;  // exit status, signal number, or errno of kNotStarted
  std::string output;
};

// Runs a program, found by PATH, with nothing on its standard input and this process's standard
// error, and collects its standard output up to `limit` bytes. A program that takes longer than
// `most`, prints more than `limit` bytes, or still runs when `stopped` becomes true is killed, with
// all of its process group.
ProcessResult RunProcess(const std::vector<std::string>& words, std::size_t limit,
                         std::chrono::milliseconds most, const std::function<bool()>& stopped);

}  // namespace sluice
