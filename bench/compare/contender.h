// A loader that is compared: a process of its own, which says on standard output, a JSON object a
// line, how far it is. bench/peers/contend.py describes the lines.
#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

namespace sluice::bench {

struct Contender {
  std::string name;
  std::vector<std::string> command;  // program and what stands before the action
  bool packs = false;                // it has a format of its own
  std::string missing;               // why it cannot run here; empty: it can
};

// One process's run. What is not said stays 0.
struct ContenderRun {
  std::string error;                // empty: it did all it was asked for
  std::string about;                // its version and settings
  double first_batch_seconds = 0;   // from the process's start
  double images_per_second = 0;     // over the measured epochs together
  double cpu_seconds_per_1000 = 0;  // of them, children included
  std::uint64_t peak_bytes = 0;     // children included
  std::uint64_t images = 0;         // in a measured epoch
  std::uint64_t distinct = 0;       // samples in one
  double packed_seconds = 0;
};

// Runs `contender.command` and `arguments` and waits for its end. Its standard error goes to `log`.
// It and its children are killed after `limit`, and where `stop` asks for it.
ContenderRun RunContender(const Contender& contender, const std::vector<std::string>& arguments,
                          const std::filesystem::path& log, std::chrono::seconds limit,
                          const std::stop_token& stop);

// What its lines so far say; `cpu_seconds` is the tree's now. For RunContender and its test.
class ContenderLines {
 public:
  void Take(const std::string& line, double seconds_since_start, double cpu_seconds);
  ContenderRun Result() const;
  bool begun() const noexcept { return begun_; }
  bool ended() const noexcept { return ended_; }

 private:
  ContenderRun run_;
  std::uint64_t images_ = 0;
  double seconds_ = 0;
  double cpu_begin_ = 0, cpu_end_ = 0;
  bool begun_ = false, ended_ = false;
};

}  // namespace sluice::bench
