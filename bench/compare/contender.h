// A loader to compare: a process of its own, which reports its progress on standard output, one
// JSON object a line. bench/peers/contend.py describes the lines.
#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace sluice::bench {

struct Contender {
  std::string name;
  std::vector<std::string> command;  // program, and arguments before the action ("play", ...)
  bool packs = false;   // whether the pictures are first packed into a format of its own
  std::string missing;  // why it cannot run here; empty: it can
};

// One process's run. Figures that it did not report stay 0.
struct ContenderRun {
  std::string error;                // why it failed; empty: it did all that it was asked to do
  std::string missing;              // why it says that it cannot run on this machine
  std::string about;                // its version and settings
  double first_batch_seconds = 0;   // from the process's start
  double images_per_second = 0;     // over all measured epochs together
  double cpu_seconds_per_1000 = 0;  // CPU time in these epochs; children included
  std::uint64_t peak_bytes = 0;     // memory; children included
  std::uint64_t images = 0;         // images in a measured epoch
  std::uint64_t distinct = 0;       // distinct samples in a measured epoch
  double packed_seconds = 0;        // time to write its own format
};

// Runs `contender.command` with `arguments` and waits for its end. Its standard error goes to
// `log`. Kills it and its children after `limit`, or if `stop` is requested.
ContenderRun RunContender(const Contender& contender, const std::vector<std::string>& arguments,
                          const std::filesystem::path& log, std::chrono::seconds limit,
                          const std::stop_token& stop);

// Collects the figures from the lines that a process prints. Take() gets each line with the time
// and the process tree's CPU time at which it came. For RunContender and its test.
class ContenderLines {
 public:
  void Take(const std::string& line, double seconds_since_start, double cpu_seconds);
  ContenderRun Result() const;
  bool begun() const noexcept { return begun_; }
  bool ended() const noexcept { return ended_; }

 private:
  ContenderRun run_;
  std::uint64_t images_ = 0;            // in all measured epochs
  double seconds_ = 0;                  // of all measured epochs
  double cpu_begin_ = 0, cpu_end_ = 0;  // CPU seconds before and after them
  bool begun_ = false, ended_ = false;
};

}  // namespace sluice::bench
