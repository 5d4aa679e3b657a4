// sluice-bench gate, run as a user would.
#include <fstream>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// Writes a result of `sluice-bench epoch` whose epochs had the rates `values`. Returns its path.
std::string WriteRates(const TemporaryFolder& folder, const std::string& name, int threads,
                       const std::vector<double>& values,
                       const nlohmann::json& options = nlohmann::json::object()) {
  const nlohmann::json rates{
      {"name", "images_per_second"}, {"unit", "1/s"}, {"better", "higher"}, {"values", values}};
  const nlohmann::json result{{"schema", "sluice-bench/1"},
                              {"command", "epoch"},
                              {"threads", threads},
                              {"options", options},
                              {"measurements", {rates}}};
  const std::string path = (folder / name).string();
  std::ofstream(path) << result;
  return path;
}

}  // namespace

TEST_CASE("sluice-bench gate ends with 1 if the new result is worse, otherwise with 0") {
  const TemporaryFolder folder;
  const std::string before = WriteRates(folder, "before", 2, {100, 102, 98});
  const std::string worse = WriteRates(folder, "worse", 2, {70, 72, 71});
  const std::string same = WriteRates(folder, "same", 2, {99, 101, 103});
  const Outcome failed = Bench({"gate", before, worse});
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.out, ContainsSubstring("WORSE"));
  CHECK_THAT(failed.out, ContainsSubstring("-29.0%"));
  CHECK_THAT(Bench({"gate", before, before + "s"}).err,
             ContainsSubstring("cannot be opened: No such file or directory\n"));
  CHECK(Bench({"gate", before, same}).exit_code == 0);
  CHECK(Bench({"gate", before, worse, "--tolerance", "40"}).exit_code == 0);
  const nlohmann::json answer = nlohmann::json::parse(Bench({"gate", before, worse, "--json"}).out);
  CHECK(answer["worse"] == true);
  CHECK(answer["measurements"][0]["judgement"] == "worse");
}

TEST_CASE("sluice-bench gate refuses results with other settings, and files that are not results") {
  const TemporaryFolder folder;
  const std::string before = WriteRates(folder, "before", 2, {100, 102, 98});
  const std::string other = WriteRates(folder, "other", 4, {100, 102, 98});
  const Outcome refused = Bench({"gate", before, other});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("threads: 2 and 4"));
  CHECK(Bench({"gate", before, other, "--anyway"}).exit_code == 0);
  std::ofstream(folder / "text") << "{}";
  const Outcome broken = Bench({"gate", before, (folder / "text").string()});
  CHECK(broken.exit_code == 1);
  CHECK_THAT(broken.err, ContainsSubstring("not a result of sluice-bench"));
  CHECK(Bench({"gate", before, "/nowhere.json"}).exit_code == 1);
  CHECK(Bench({"gate", before, other, "--anyway", "--only", "nothing"}).exit_code == 2);
}

TEST_CASE("sluice-bench gate asks the command that made a result which options may differ") {
  const TemporaryFolder folder;
  const std::vector<double> values = {100, 102, 98};
  const std::string plain = WriteRates(folder, "plain", 2, values);
  for (const char* option : {"--epochs", "--json-file", "--html"}) {
    CAPTURE(option);
    const std::string given = WriteRates(folder, "given", 2, values, {{option, {"x"}}});
    CHECK(Bench({"gate", plain, given}).exit_code == 0);
  }
  for (const char* option : {"--transform", "--store-delay", "--lanes", "--unheard-of"}) {
    CAPTURE(option);
    const std::string given = WriteRates(folder, "given", 2, values, {{option, {"x"}}});
    const Outcome refused = Bench({"gate", plain, given});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring(option));
  }
}

TEST_CASE("sluice-bench gate names a file that it cannot interpret") {
  const TemporaryFolder folder;
  const std::string good = WriteRates(folder, "good", 2, {100, 102, 98});
  const std::string bad = (folder / "bad").string();
  for (const char* text :
       {"", "[]", "7", "{\"schema\": 1}",
        "{\"schema\": \"sluice-bench/1\", \"command\": \"epoch\"}",
        "{\"schema\": \"sluice-bench/1\", \"command\": \"epoch\", \"threads\": 2, "
        "\"measurements\": [{\"name\": \"images_per_second\", \"unit\": \"1/s\", \"better\": "
        "\"higher\", \"values\": [1, null]}]}"}) {
    CAPTURE(text);
    std::ofstream(bad) << text;
    for (const Words& words :
         {Words{"gate", good, bad, "--anyway"}, {"gate", bad, good, "--anyway"}}) {
      const Outcome outcome = Bench(words);
      CHECK(outcome.exit_code == 1);
      CHECK(outcome.out.empty());
      CHECK_THAT(outcome.err, ContainsSubstring(bad));
    }
  }
}

TEST_CASE("sluice-bench gate refuses real results whose options differ, and names the option") {
  const TemporaryFolder folder;
  const std::string dataset = (folder / "dataset").string();
  WriteClasses(folder / "source", 4);
  REQUIRE(Sluice({"convert", (folder / "source").string(), dataset}).exit_code == 0);
  const auto measured = [&](const std::string& name, const Words& options) {
    const std::string path = (folder / name).string();
    Words words = {"epoch",       dataset,  "--batch-size", "4",  "--epochs", "1", "--warm-up", "0",
                   "--transform", "rrc:16", "--json-file",  path, "--quiet"};
    words.insert(words.end(), options.begin(), options.end());
    REQUIRE(Bench(words).exit_code == 0);
    return path;
  };
  const std::string plain = measured("plain.json", {});
  for (const Words& options : {Words{"--store-delay", "1ms"},
                               {"--store-errors", "0.01"},
                               {"--lanes", "8"},
                               {"--image-sizes", "padded"},
                               {"--pretend-decode", "1"},
                               {"--with", dataset},
                               {"--with", dataset, "--weights", "1,2"}}) {
    CAPTURE(options);
    const Outcome refused = Bench({"gate", plain, measured("other.json", options)});
    CHECK(refused.exit_code == 2);
    // A further dataset changes the number of samples, which is named before any option.
    const bool more = options.front() == "--with";
    CHECK_THAT(refused.err, ContainsSubstring(more ? "samples:" : options.front() + ":"));
  }
  CHECK(Bench({"gate", plain, measured("same.json", {"--seed", "3", "--lanes", "192"}),
               "--tolerance", "99"})
            .exit_code == 0);
}

}  // namespace sluice::test
