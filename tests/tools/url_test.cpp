// The commands on datasets at URLs: how they show a URL, and how they end when a server hangs.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "tests/catch.h"
#include "tests/remote/bucket_server.h"
#include "tests/sanitized.h"
#include "tests/tools/edited_datasets.h"
#include "tests/working_directory.h"

namespace sluice::test {
namespace {

const std::string kPassword = "pass-W0RD", kSignature = "s1gnatur3";

// The names in a help text: the first words of its lines that begin like this.
std::vector<std::string> Listed(const std::string& help, const std::string& begin) {
  std::vector<std::string> names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  " + begin)) continue;
    const std::string name = line.substr(2, line.find_first_of(" ,", 2) - 2);
    const bool has_value = line.size() > 2 + name.size() + 1 && line[2 + name.size()] == ' ' &&
                           line[2 + name.size() + 1] != ' ';
    if (begin.empty() || has_value) names.push_back(name);
  }
  return names;
}

std::vector<std::string> CommandsOf(const std::string& program) {
  const std::string help = Run(program, {"--help"}).out;
  const std::size_t begin = help.find("Subcommands:");
  REQUIRE(begin != std::string::npos);
  std::vector<std::string> names = Listed(help.substr(begin, help.find("\n\n", begin) - begin), "");
  std::erase(names, "completion");
  CHECK(names.size() > 8);
  return names;
}

void CheckTellsNoSecret(const std::string& program, const Words& words) {
  const Outcome outcome = Run(program, words);
  CAPTURE(words, outcome.out, outcome.err);
  CHECK(outcome.exit_code != 0);
  CHECK(outcome.signal == 0);
  for (const std::string& said : {outcome.out, outcome.err}) {
    CHECK(said.find(kPassword) == std::string::npos);
    CHECK(said.find(kSignature) == std::string::npos);
  }
}

}  // namespace

TEST_CASE("no command shows the password or the signature of a URL, in whatever argument") {
  const TemporaryFolder folder;
  const WorkingDirectory inside(folder.path());
  BucketServer empty;  // it has no objects
  std::string url = empty.plain_url() + "/data?sig=" + kSignature;
  url.insert(url.find("//") + 2, "me:" + kPassword + "@");
  for (const std::string program : {SLUICE_COMMAND, SLUICE_BENCH_COMMAND}) {
    if (program.empty()) continue;
    std::size_t options = 0;
    for (const std::string& command : CommandsOf(program)) {
      const std::string help = Run(program, {command, "--help"}).out;
      const bool json = help.find("\n  --json") != std::string::npos;
      Words words = {command};
      for (int given = 0; given < 3; ++given) {
        words.push_back(url);
        CheckTellsNoSecret(program, words);
        if (json) CheckTellsNoSecret(program, {words.front(), "--json", words.back(), url});
      }
      for (const std::string& option : Listed(help, "--")) {
        // A process takes long to begin under a sanitizer.
        if (options++ % 4 == 0 || !kSanitized)
          CheckTellsNoSecret(program, {command, url, option, url});
      }
    }
    CHECK(options > 20);
  }
  CheckTellsNoSecret(SLUICE_COMMAND, {url});
  CheckTellsNoSecret(SLUICE_COMMAND, {"convert", "--" + url});
  CheckTellsNoSecret(SLUICE_COMMAND, {"convert", "-", url});
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    CHECK(entry.path().string().find(kPassword) == std::string::npos);
}

TEST_CASE("an interrupt at once ends each command that waits for a hanging server") {
  const Datasets folders;
  folders.Make("data", {"cat", "dog"}, 3, 100);
  for (const std::string hangs : {"manifest.json", "shard-00000.sluice"}) {
    int number = 0;
    for (Words words :
         {Words{"verify"}, Words{"subset", "OUT", "--count", "1"}, Words{"merge", "OUT"},
          Words{"transcode", "OUT", "--image", "packed"}, Words{"copy", "OUT"},
          Words{"export", "OUT"}, Words{"stats"}, Words{"preview", "OUT.html"}, Words{"inspect"}}) {
      // Each command gets its own server: a request of the previous one may still be under way.
      std::atomic<int> hanging = 0;
      BucketServer server([&](const WebRequest& request) -> std::optional<WebAnswer> {
        if (!request.path.ends_with(hangs)) return std::nullopt;
        ++hanging;
        WebAnswer answer;
        answer.hang_after = 0;
        return answer;
      });
      for (const char* const name : {"manifest.json", "shard-00000.sluice"})
        server.Set(std::string("data/") + name, ContentOf(folders.At("data") + "/" + name));
      const std::string url = server.plain_url() + "/data";
      if (words[0] == "inspect" && hangs != "manifest.json") continue;  // it reads nothing else
      words.insert(words.begin() + 1, url);
      for (std::string& word : words) {
        if (word.starts_with("OUT"))
          word = folders.At("out" + std::to_string(++number)) + word.substr(3);
      }
      if (words[0] == "merge") words.insert(words.begin() + 1, folders.At("data"));
      CAPTURE(hangs, words);
      bool sent = false;
      Running running(SLUICE_COMMAND, words);
      const Outcome outcome = running.Wait([&](const Outcome&) {
        if (sent || hanging == 0) return;
        running.Signal(SIGINT);
        sent = true;
      });
      CAPTURE(outcome.out, outcome.err);
      // Commands without anything to clean up leave the signal to the system.
      const bool only_reads = words[0] == "export" || words[0] == "stats" ||
                              words[0] == "preview" || words[0] == "inspect";
      CHECK((outcome.exit_code == 130 || (only_reads && outcome.signal == SIGINT)));
    }
  }
}

}  // namespace sluice::test
