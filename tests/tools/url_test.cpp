// The commands on datasets at URLs: how they show a URL, and how they end when a server hangs.
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "format/disk/file.h"
#include "tests/catch.h"
#include "tests/remote/bucket_server.h"
#include "tests/sanitized.h"
#include "tests/tools/edited_datasets.h"
#include "tests/working_directory.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kPassword = "pass-W0RD", kSignature = "s1gnatur3";

// The names that a help text lists: the first words of its lines that begin with `begin`. Of
// options, those that take a value.
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

// All commands except completion, which takes no path.
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

RunOptions Variables(const BucketServer& server) {
  RunOptions options;
  for (const auto& [name, value] : server.Variables())
    options.environment.push_back(name + "=" + value);
  return options;
}

// Puts the files of a folder into the bucket, below "source/".
void SetAll(BucketServer& server, const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = "source/" + entry.path().lexically_relative(folder).string();
    if (entry.is_regular_file()) server.Set(name, ContentOf(entry.path()));
  }
}

}  // namespace

TEST_CASE("no command shows the password or the signature of a URL, in any argument") {
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
        // Under a sanitizer, a process takes long to start.
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

TEST_CASE("no command mistakes a URL that it cannot open for a folder, as its source or target") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat", "dog"}, 3, 100);
  const std::string source = folders.At("data.src");
  const std::string whole = folders.Make("whole", {"cat"}, 1, 200);
  const WorkingDirectory inside(folders.folder.path());
  for (const std::string url : {"az://bucket/x", "S3://bucket/x", "file:///x"}) {
    for (const Words& words : {Words{"convert", url, "out"},
                               {"convert", url, url + "2", "out"},
                               {"convert", source, url},
                               {"convert", source, url, "--dry-run"},
                               {"convert", source, url, "--split", "a=0.5,b=0.5"},
                               {"convert", source, "out", "--classes-of", url},
                               {"plan", source, url},
                               {"convert", "--part", "0/1", url},
                               {"finish", url},
                               {"status", url},
                               {"append", url, data},
                               {"append", source, url},
                               {"inspect", url},
                               {"stats", url},
                               {"when", url, "--sample", "0"},
                               {"preview", url, "out.html"},
                               {"verify", url},
                               {"repair", url, "out"},
                               {"repair", data, url},
                               {"subset", url, "out", "--count", "1"},
                               {"subset", data, url, "--count", "1"},
                               {"merge", data, url, "out"},
                               {"merge", data, whole, url},
                               {"transcode", url, "out", "--image", "packed"},
                               {"transcode", data, url, "--image", "packed"},
                               {"copy", url, "out"},
                               {"copy", data, url},
                               {"column", "drop", url, "label"},
                               {"column", "add", data, "new", "--from", url},
                               {"delete", url, "--samples", source + "/none"},
                               {"log", url},
                               {"tag", url, "v1"},
                               {"restore", url, "v1"},
                               {"gc", url},
                               {"export", url, "out"},
                               {"export", data, url}}) {
      const Outcome outcome = Sluice(words);
      CAPTURE(words, outcome.out, outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK((outcome.err.find("URL") != std::string::npos ||
             outcome.err.find("local disk") != std::string::npos));
      CHECK_FALSE(std::filesystem::exists(url.substr(0, url.find('/'))));
      CHECK_FALSE(std::filesystem::exists("out"));
    }
  }
  CHECK(Sluice({"convert", source, "./az:/x"}).exit_code == 0);
  CHECK(Sluice({"verify", "./az://x"}).exit_code == 0);
}

TEST_CASE("sluice-bench epoch plays pictures in a bucket without a conversion") {
  if (std::string(SLUICE_BENCH_COMMAND).empty()) return;
  const Datasets folders;
  folders.Make("data", {"cat", "dog"}, 3, 100);
  BucketServer server;
  SetAll(server, folders.At("data.src"));
  const Outcome played = Run(SLUICE_BENCH_COMMAND,
                             {"epoch", "s3://bkt/source", "--batch-size", "2"}, Variables(server));
  INFO(played.err);
  CHECK(played.exit_code == 0);
  CHECK_THAT(played.out, ContainsSubstring("6 samples"));
  CHECK_THAT(played.out, ContainsSubstring("sluice convert s3://bkt/source"));
  const Outcome none = Run(SLUICE_BENCH_COMMAND, {"epoch", "s3://bkt/none"}, Variables(server));
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, ContainsSubstring("is not a dataset, and cannot be played as a source: "));
}

TEST_CASE("an interrupt ends each command at once, whatever request a server hangs at") {
  const Datasets folders;
  const std::string data = folders.Make("data", {"cat", "dog"}, 3, 100);
  const std::string source = folders.At("data.src");
  std::map<std::string, std::string> objects;
  {
    BucketServer server;
    REQUIRE(Sluice({"plan", source, "s3://bkt/planned"}, Variables(server)).exit_code == 0);
    REQUIRE(Sluice({"copy", data, "s3://bkt/data"}, Variables(server)).exit_code == 0);
    SetAll(server, source);
    objects = server.All();
  }
  const std::string url = "s3://bkt/data";
  const std::string numbers = folders.At("numbers.txt");
  WriteFile(numbers, AsBytes(std::string_view("1\n")));
  std::set<std::string> tried = {"cache", "repair"};  // they take no URL
  int number = 0;
  for (const Words& command : {Words{"verify", url},
                               {"subset", url, "OUT", "--count", "1"},
                               {"merge", data, url, "OUT"},
                               {"transcode", url, "OUT", "--image", "packed"},
                               {"copy", url, "OUT"},
                               {"copy", data, "s3://bkt/new"},
                               {"column", "replace", data, "label", "--from", url},
                               {"column", "replace", url, "label", "--from", data},
                               {"column", "drop", url, "label"},
                               {"delete", url, "--samples", numbers},
                               {"log", url},
                               {"tag", url, "v1"},
                               {"restore", url, "v1"},
                               {"gc", url},
                               {"export", url, "OUT"},
                               {"stats", url},
                               {"when", url, "--key", "none"},
                               {"preview", url, "OUT.html"},
                               {"inspect", url, "--key", "none"},
                               {"convert", source, "OUT", "--classes-of", url},
                               {"convert", "s3://bkt/source", "OUT"},
                               {"convert", source, "s3://bkt/new"},
                               {"plan", source, "s3://bkt/new"},
                               {"append", "s3://bkt/source", data},
                               {"append", source, data, "--classes-of", url},
                               {"convert", "--part", "0/1", "s3://bkt/planned"},
                               {"finish", "s3://bkt/planned"},
                               {"status", "s3://bkt/planned"},
                               {"sluice-bench epoch", url, "--epochs", "1"},
                               {"sluice-bench epoch", "s3://bkt/source", "--epochs", "1"},
                               {"sluice-bench epoch", url, "--cold", "--epochs", "1"},
                               {"sluice-bench epoch", url, "--stops", "1", "--epochs", "1"},
                               {"sluice-bench epoch", url, "--store-delay", "1ms"},
                               {"sluice-bench io", url, "--rounds", "1"},
                               {"sluice-bench decode", url}}) {
    const bool measures = command[0].starts_with("sluice-bench ");
    const std::string program = measures ? SLUICE_BENCH_COMMAND : SLUICE_COMMAND;
    if (program.empty()) continue;
    tried.insert(command[0]);
    for (const int answered : {0, 1, 2, 4}) {
      std::atomic<int> requests = 0;
      BucketServer server([&](const WebRequest&) -> std::optional<WebAnswer> {
        if (requests++ < answered) return std::nullopt;
        WebAnswer answer;
        answer.hang_after = 0;
        return answer;
      });
      for (const auto& [name, content] : objects)
        server.Set(name, content);
      Words words = command;
      if (measures) words[0].erase(0, std::string_view("sluice-bench ").size());
      for (std::string& word : words) {
        if (word.starts_with("OUT"))
          word = folders.At("out" + std::to_string(++number)) + word.substr(3);
      }
      CAPTURE(words, answered);
      std::chrono::steady_clock::time_point interrupted{};
      Running running(program, words, Variables(server));
      const Outcome outcome = running.Wait([&](const Outcome&) {
        if (interrupted != std::chrono::steady_clock::time_point{} || requests <= answered) return;
        running.Signal(SIGINT);
        interrupted = std::chrono::steady_clock::now();
      });
      CAPTURE(outcome.out, outcome.err);
      if (requests <= answered) continue;  // the command needed no more requests
      CHECK(std::chrono::steady_clock::now() - interrupted < std::chrono::seconds(4));
      // A command without anything to clean up leaves the signal to the system.
      static const std::set<std::string> kLeavesNothing = {"inspect", "when",    "delete", "log",
                                                           "tag",     "restore", "gc"};
      const bool cleans_up =
          !kLeavesNothing.contains(words[0]) && !(words[0] == "column" && words[1] == "drop");
      CHECK((outcome.exit_code == 130 || (!cleans_up && outcome.signal == SIGINT)));
    }
  }
  for (const std::string& command : CommandsOf(SLUICE_COMMAND)) {
    CAPTURE(command);
    CHECK(tried.contains(command));
  }
}

}  // namespace sluice::test
