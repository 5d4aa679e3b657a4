// Every command on every damaged dataset: it ends with a documented exit code, and its message
// names the dataset or a file of it, and is never a message of a library.
#include "tests/tools/damaged.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <regex>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/sanitized.h"
#include "tests/temporary_folder.h"
#include "tests/tools/dataset_commands.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

// Texts that only a library produces.
const std::regex& Foreign() {
  static const std::regex pattern(
      "std::|_M_|basic_string|\\bsto(i|l|ul|ull|f|d)\\b|bad_alloc|bad_\\w+_?|filesystem error|"
      "json\\.exception|\\[json|terminate called|what\\(\\)|vector|out_of_range|map::at|deque|"
      "unordered|nlohmann|CLI::|fault of its own|Sanitizer|Assertion");
  return pattern;
}

std::string Joined(const Words& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

// The fault in how a command ended; empty if it ended well.
std::string Complaint(const Outcome& outcome, const fs::path& folder, bool in_time, bool json) {
  const std::string said = outcome.out + outcome.err;
  if (!in_time) return "did not end";
  if (outcome.signal != 0) return "was ended by signal " + std::to_string(outcome.signal);
  if (outcome.exit_code < 0 || outcome.exit_code > 3) {
    return "ended with " + std::to_string(outcome.exit_code);
  }
  if (std::smatch found; std::regex_search(said, found, Foreign())) {
    return "said \"" + found.str() + "\"";
  }
  if (json && outcome.exit_code == 0 && !nlohmann::json::accept(outcome.out)) return "is not JSON";
  if (outcome.exit_code == 0) return {};
  const bool names = said.find((folder / "data").string()) != std::string::npos ||
                     said.find("shard-0000") != std::string::npos ||
                     said.find("manifest.json") != std::string::npos;
  return names ? std::string() : "named no file";
}

// Runs each command line on each damaged dataset, four at a time, and collects the faults.
class Trials {
 public:
  explicit Trials(const fs::path& folder) : folder_(folder) {
    WriteSpecimen(folder_ / "whole");
    WriteJpeg(folder_ / "source/cat/a.jpg", MakePicture(20, 20));
  }
  fs::path specimen() const { return folder_ / "whole"; }

  std::vector<std::string> Run(const std::vector<Damage>& damages,
                               const std::vector<DatasetCommand>& lines) {
    std::atomic<std::size_t> next{0};
    const std::size_t total = damages.size() * lines.size();
    std::vector<std::jthread> workers;
    for (int w = 0; w < 4; ++w) {
      workers.emplace_back([&, w] {
        for (std::size_t i = next++; i < total; i = next++)
          Try(damages[i / lines.size()], lines[i % lines.size()], folder_ / std::to_string(w));
      });
    }
    workers.clear();
    return complaints_;
  }

 private:
  void Try(const Damage& damage, const DatasetCommand& line, const fs::path& folder) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    fs::copy(specimen(), folder / "data");
    damage.apply(folder / "data");
    const Words words =
        line.With({folder / "data", specimen(), folder_ / "source", folder / "out"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    bool in_time = true;
    Running running(line.program, words);
    const Outcome outcome = running.Wait([&](const Outcome&) {
      if (std::chrono::steady_clock::now() < deadline) return;
      in_time = false;
      running.Signal(SIGKILL);
    });
    const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
    const std::string complaint = Complaint(outcome, folder, in_time, json);
    if (complaint.empty()) return;
    const std::lock_guard lock(mutex_);
    complaints_.push_back(damage.name + ": " + Joined(line.words) + " " + complaint + " (" +
                          std::to_string(outcome.exit_code) +
                          "): " + (outcome.err + outcome.out).substr(0, 400));
  }

  fs::path folder_;
  std::mutex mutex_;
  std::vector<std::string> complaints_;
};

void RequireNone(const std::vector<std::string>& complaints) {
  for (const std::string& complaint : complaints)
    UNSCOPED_INFO(complaint);
  CHECK(complaints.empty());
}

std::vector<DatasetCommand> EveryNth(std::size_t n) {
  std::vector<DatasetCommand> lines;
  for (std::size_t i = 0; i < DatasetCommands().size(); i += n)
    lines.push_back(DatasetCommands()[i]);
  return lines;
}

}  // namespace

// The tests that are not [slow] try every nth command or every nth forgery. Under a sanitizer they
// try still fewer: there a process takes many times as long to start, and the fuzz tests read such
// datasets, too.
constexpr std::size_t kNthCommand = kSanitized ? 7 : 2;
constexpr std::size_t kNthForgery = kSanitized ? 401 : 101;

TEST_CASE("commands say in their own words what is wrong with a damaged dataset") {
  const TemporaryFolder folder;
  Trials trials(folder.path());
  RequireNone(trials.Run({{"nothing", [](const fs::path&) {}}}, DatasetCommands()));
  RequireNone(trials.Run(Accidents(trials.specimen()), EveryNth(kNthCommand)));
}

TEST_CASE("every command says in its own words what is wrong with a falsified dataset") {
  const TemporaryFolder folder;
  Trials trials(folder.path());
  RequireNone(trials.Run(Forgeries(trials.specimen(), kNthForgery), DatasetCommands()));
}

TEST_CASE("every command copes with all kinds of damage and falsification", "[slow]") {
  const TemporaryFolder folder;
  Trials trials(folder.path());
  RequireNone(trials.Run(Accidents(trials.specimen()), DatasetCommands()));
  RequireNone(trials.Run(Forgeries(trials.specimen(), 3), DatasetCommands()));
}

}  // namespace sluice::test
