// Both programs: wrong usage, --help and --version.
#include <cmath>
#include <regex>
#include <set>

#include <sluice/convert_option_list.h>

#include "bench/epoch/run.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"
#include "tools/cli/declared.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// The flags of all options that a struct declares, except `without`, and then `more`.
template <class Declared>
Words DeclaredFlags(const std::set<std::string>& without, Words more) {
  const Declared usual;
  option_list::ForEachOption(usual, [&](const auto& option, const auto&, const std::string&) {
    if (!without.contains(option.name)) more.push_back(cli::FlagOf(option.name, option.facts));
  });
  return more;
}

// The flags of all declared options of `sluice-bench epoch`, and then `more`.
Words EpochFlags(Words more) {
  const auto add = [&more](const auto&... options) {
    (more.push_back(cli::FlagOf(options.name, options.facts)), ...);
  };
  std::apply(add, bench::kEpochSettings.options);
  std::apply(add, bench::kStepSettings.options);
  LoaderOptions loader;
  bench::ForEachSetting(loader, [&](auto&, auto member) { add(option_list::OptionAt(member)); });
  return more;
}

}  // namespace

TEST_CASE("wrong usage of convert ends with 2, says what is wrong and writes nothing") {
  const TemporaryFolder folder;
  WriteJpeg(folder / "source/a.jpg", MakePicture(20, 20));
  const std::string data = (folder / "data").string();
  const auto [options, named] = GENERATE(table<Words, std::string>({
      {{"--max-side", "100", "--short-side", "100"}, "--short-side"},
      {{"--max-side", "100", "--size", "100"}, "--size"},
      {{"--short-side", "100", "--size", "100x90"}, "--size"},
      {{"--no-resize", "--max-side", "100"}, "--max-side"},
      {{"--no-resize", "--short-side", "100"}, "--short-side"},
      {{"--no-resize", "--size", "100"}, "--size"},
      {{"--fit", "pad"}, "--size"},
      {{"--size", "100", "--fit", "squeeze"}, "crop, stretch, pad"},
      {{"--size", "100x"}, "--size"},
      {{"--size", "0x100"}, "--size"},
      {{"--max-side", "0"}, "--max-side"},
      {{"--max-side", "-5"}, "--max-side"},
      {{"--short-side", "70000"}, "65535"},
      {{"--image", "webp"}, "jpeg, packed, raw"},
      {{"--quality", "0"}, "--quality"},
      {{"--quality", "101"}, "--quality"},
      {{"--quality", "keep:0"}, "--quality"},
      {{"--quality", "keeper"}, "--quality"},
      {{"--image", "raw", "--quality", "90"}, "--quality"},
      {{"--image", "raw", "--no-restart-markers"}, "--no-restart-markers"},
      {{"--image", "raw", "--subsampling", "420"}, "--subsampling"},
      {{"--subsampling", "422"}, "420, 444"},
      {{"--pixels", "uint16"}, "uint8, keep"},
      {{"--pixels", "keep", "--size", "64x64"}, "--size is for 8-bit pictures"},
      {{"--stack", "B02,B03"}, "--stack needs --pixels keep"},
      {{"--pixels", "keep", "--stack-resize", "linear"}, "--stack"},
      {{"--channels", "2"}, "--channels"},
      {{"--shard-bytes", "999999"}, "1MB to 128MB"},
      {{"--shard-bytes", "128MiB"}, "1MB to 128MB"},
      {{"--shard-bytes", "64 parsecs"}, "64MiB"},
      {{"--background", "white"}, "0 to 255"},
      {{"--background", "1,2"}, "0 to 255"},
      {{"--background", "1,2,256"}, "0 to 255"},
      {{"--background", "1,2,3,4"}, "0 to 255"},
      {{"--icc", "keep"}, "drop, convert"},
      {{"--truncated", "skip"}, "refuse, warn, accept"},
      {{"--block-samples", "0"}, "--block-samples"},
      {{"--block-samples", "many"}, "--block-samples"},
      {{"--seed", "1", "--keep-order"}, "--keep-order"},
      {{"--seed", "18446744073709551616"}, "--seed"},
      {{"--threads", "0"}, "--threads"},
      {{"--threads", "2", "--threads", "3"}, "--threads"},
      {{"--on-error", "ignore"}, "skip, fail"},
      {{"--max-pixels", "0"}, "--max-pixels"},
      {{"--no-such-option"}, "--no-such-option"},
      {{"--split", "train"}, "NAME=FRACTION"},
      {{"--split", "train=0.9,val=0.2"}, "more than 1"},
      {{"--split", "a=0.5,a=0.5"}, "twice"},
      {{"--split", "../x=0.5"}, "usable name"},
      {{"--split", "a=0"}, "a fraction must be above 0"},
      {{"--split-seed", "1"}, "--split"},
      {{"--split-by", "sender"}, "--split"},
      {{"--split", "a=0.5,b=0.5", "--split-by", "sender"}, "needs a table"},
  }));
  CAPTURE(options);
  Words words = {"convert", (folder / "source").string(), data};
  words.insert(words.end(), options.begin(), options.end());
  const Outcome outcome = Sluice(words);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, ContainsSubstring("sluice: "));
  CHECK_THAT(outcome.err, ContainsSubstring(named));
  CHECK_THAT(outcome.err, ContainsSubstring("sluice convert --help"));
  CHECK_FALSE(std::filesystem::exists(data));
}

TEST_CASE("wrong usage of the other commands ends with 2") {
  const auto [program, words] = GENERATE(table<std::string, Words>({
      {SLUICE_COMMAND, {}},
      {SLUICE_COMMAND, {"frobnicate"}},
      {SLUICE_COMMAND, {"convert"}},
      {SLUICE_COMMAND, {"convert", "only-a-source"}},
      {SLUICE_COMMAND, {"inspect"}},
      {SLUICE_COMMAND, {"inspect", "data", "--sample", "first"}},
      {SLUICE_COMMAND, {"inspect", "data", "--sample", "1", "--key", "a"}},
      {SLUICE_COMMAND, {"verify"}},
      {SLUICE_COMMAND, {"merge", "only-one"}},
      {SLUICE_COMMAND, {"subset", "data"}},
      {SLUICE_COMMAND, {"subset", "data", "new", "--count", "0"}},
      {SLUICE_COMMAND, {"append", "only-one"}},
      {SLUICE_COMMAND, {"repair"}},
      {SLUICE_COMMAND, {"copy", "only-one"}},
      {SLUICE_COMMAND, {"cache"}},
      {SLUICE_COMMAND, {"plan", "only-a-source"}},
      {SLUICE_COMMAND, {"plan", "-", "data"}},
      {SLUICE_COMMAND, {"finish"}},
      {SLUICE_COMMAND, {"status"}},
      {SLUICE_COMMAND, {"when"}},
      {SLUICE_COMMAND, {"when", "data"}},
      {SLUICE_COMMAND, {"column", "data", "field"}},
      {SLUICE_COMMAND, {"column", "add", "data", "field"}},
      {SLUICE_COMMAND, {"column", "drop", "data", "field", "--from", "other"}},
      {SLUICE_COMMAND, {"column", "drop", "data"}},
      {SLUICE_COMMAND, {"delete", "data"}},
      {SLUICE_COMMAND, {"log"}},
      {SLUICE_COMMAND, {"tag", "data"}},
      {SLUICE_COMMAND, {"restore", "data"}},
      {SLUICE_COMMAND, {"gc", "data", "--keep-days", "-1"}},
      {SLUICE_COMMAND, {"convert", "--part", "3/3", "data"}},
      {SLUICE_COMMAND, {"convert", "--part", "0/2", "source", "data"}},
      {SLUICE_COMMAND, {"convert", "--part", "0/2", "--quality", "80", "data"}},
      {SLUICE_COMMAND, {"export", "data"}},
      {SLUICE_COMMAND, {"stats"}},
      {SLUICE_COMMAND, {"verify", "data", "--threads", "none"}},
      {SLUICE_BENCH_COMMAND, {}},
      {SLUICE_BENCH_COMMAND, {"epoch"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--batch-size", "0"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--epochs", "0"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--transform", "rrc"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--transform", "smudge:3"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--shuffle", "yes"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--layout", "chwn"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--verify", "sometimes"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--step-ms", "-1"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "data", "--cold", "--warm-up", "1"}},
      {SLUICE_BENCH_COMMAND, {"epoch", "http://localhost:9/data", "--floor"}},
      {SLUICE_BENCH_COMMAND, {"compare", "http://localhost:9/data"}},
  }));
  CAPTURE(program, words);
  const Outcome outcome = Run(program, words);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.out.empty());
  CHECK_FALSE(outcome.err.empty());
}

TEST_CASE("a mistyped command or option is named, with the one that was probably meant") {
  const auto [program, words, named] = GENERATE(table<std::string, Words, std::string>({
      {SLUICE_COMMAND, {"convrt", "a", "b"}, "no command \"convrt\"; did you mean \"convert\"?"},
      {SLUICE_COMMAND, {"convrt", "--help"}, "did you mean \"convert\"?"},
      {SLUICE_COMMAND, {"help", "convrt"}, "did you mean \"convert\"?"},
      {SLUICE_COMMAND, {"info", "a"}, "no command \"info\"; the commands are: convert, append,"},
      {SLUICE_COMMAND, {"--versoin"}, "no option --versoin; did you mean --version?"},
      {SLUICE_COMMAND,
       {"convert", "--qualty", "80", "a", "b"},
       "no option --qualty; did you mean --quality?"},
      {SLUICE_COMMAND, {"convert", "--tabel=x.csv", "a", "b"}, "did you mean --table?"},
      {SLUICE_COMMAND, {"inspect", "--jsn"}, "no option --jsn; did you mean --json?"},
      {SLUICE_COMMAND, {"inspect", "a", "b"}, "\"b\" is one argument more"},
      {SLUICE_COMMAND, {"convert", "a", "b", "--quality"}, "--quality needs a value: --quality Q"},
      {SLUICE_COMMAND, {"convert", "a", "b", "--table", "--json"}, "--table needs a value"},
      {SLUICE_COMMAND,
       {"convert", "a", "b", "--threads", "1", "--threads", "2"},
       "--threads may be given only once"},
      {SLUICE_BENCH_COMMAND, {"epochs", "a"}, "did you mean \"epoch\"?"},
      {SLUICE_BENCH_COMMAND, {"epoch", "a", "--epoch", "3"}, "did you mean --epochs?"},
      {SLUICE_BENCH_COMMAND, {"epoch", "a", "--step", "50"}, "did you mean --step-ms?"},
      {SLUICE_BENCH_COMMAND, {"epoch", "a", "--html", "--json"}, "--html needs a value"},
      {SLUICE_COMMAND,
       {"convert", "a", "b", "--quality", "--threads", "2"},
       "--quality needs a value"},
      {SLUICE_COMMAND, {"convert", "a", "b", "--table", "--jsn"}, "--table needs a value"},
      {SLUICE_COMMAND, {"verify", "a", "--threads", "--json"}, "--threads needs a value"},
      {SLUICE_BENCH_COMMAND, {"epoch", "a", "--transform", "--json"}, "--transform needs a value"},
      {SLUICE_BENCH_COMMAND, {"epoch", "a", "--seed", "-1"}, "--seed: \"-1\" is not"},
  }));
  CAPTURE(program, words);
  const Outcome outcome = Run(program, words);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring(named));
}

TEST_CASE("a dataset's folder that does not exist is said not to exist") {
  for (const char* const command : {"inspect", "verify", "stats"}) {
    const Outcome outcome = Sluice({command, "/nowhere/data"});
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("/nowhere/data: there is no dataset here: the folder "
                                              "does not exist\n"));
  }
}

TEST_CASE("help and version are also words, and usage names all arguments") {
  for (const std::string program : {SLUICE_COMMAND, SLUICE_BENCH_COMMAND}) {
    CHECK(Run(program, {"help"}).out == Run(program, {"--help"}).out);
    CHECK(Run(program, {"help", "convert"}).out == Run(program, {"convert", "--help"}).out);
    CHECK(Run(program, {"-help"}).out == Run(program, {"--help"}).out);
    CHECK(Run(program, {"version"}).out == Run(program, {"--version"}).out);
  }
  CHECK_THAT(Sluice({"help", "convert"}).out,
             ContainsSubstring("Usage: sluice convert [OPTIONS] SOURCE ... DATASET\n"));
  CHECK_THAT(Sluice({"help", "merge"}).out,
             ContainsSubstring("Usage: sluice merge [OPTIONS] DATASET ... NEW\n"));
}

TEST_CASE("--help calls options by their flags, and nothing by a name of C++") {
  for (const std::string command : {"convert", "plan", "append", "cache", "inspect", "verify"}) {
    INFO(command);
    const std::string help = Sluice({command, "--help"}).out;
    const ConvertOptions usual;
    option_list::ForEachOption(usual, [&](const auto& option, const auto&, const std::string&) {
      const std::string name = option.name;
      if (name.find('_') != std::string::npos) CHECK(help.find(name) == std::string::npos);
      CHECK(help.find("`" + name + "`") == std::string::npos);
    });
    CHECK(help.find("::") == std::string::npos);
  }
}

TEST_CASE("option --help of each command shows its options, defaults and exit codes") {
  const auto [program, words, shown] = GENERATE(table<std::string, Words, Words>({
      {SLUICE_COMMAND,
       {"--help"},
       {"convert", "append",    "inspect", "stats", "verify",  "repair", "subset",  "merge",
        "export",  "transcode", "copy",    "cache", "plan",    "finish", "status",  "when",
        "column",  "delete",    "log",     "tag",   "restore", "gc",     "Examples"}},
      {SLUICE_COMMAND,
       {"plan", "--help"},
       DeclaredFlags<ConvertOptions>({"keep", "direct", "check"},
                                     {"--coco", "finish", "Examples"})},
      {SLUICE_COMMAND, {"finish", "--help"}, {"DATASET", "--threads", "--json", "Examples"}},
      {SLUICE_COMMAND, {"status", "--help"}, {"DATASET", "--watch", "--json", "Examples"}},
      {SLUICE_COMMAND, {"append", "--help"}, {"--table", "--threads", "--direct", "Examples"}},
      {SLUICE_COMMAND,
       {"when", "--help"},
       {"--sample", "--key", "--epochs", "--batch-size", "--world-size", "--json", "Examples"}},
      {SLUICE_COMMAND,
       {"column", "--help"},
       {"replace", "--from", "--by-key", "--missing", "--type", "--note", "--json", "Examples"}},
      {SLUICE_COMMAND, {"delete", "--help"}, {"--keys", "--samples", "--note", "Examples"}},
      {SLUICE_COMMAND, {"log", "--help"}, {"DATASET", "--json", "Examples"}},
      {SLUICE_COMMAND, {"tag", "--help"}, {"NAME", "--version", "Examples"}},
      {SLUICE_COMMAND, {"restore", "--help"}, {"VERSION", "--note", "--json", "Examples"}},
      {SLUICE_COMMAND, {"gc", "--help"}, {"--keep-days", "--yes", "--json", "Examples"}},
      {SLUICE_COMMAND, {"stats", "--help"}, {"--threads", "--json", "Examples"}},
      {SLUICE_COMMAND, {"repair", "--help"}, {"NEW", "--json", "Examples"}},
      {SLUICE_COMMAND,
       {"subset", "--help"},
       {"--class", "--samples", "--count", "--per-class", "--seed", "--direct", "Examples"}},
      {SLUICE_COMMAND, {"merge", "--help"}, {"NEW", "--direct", "--json", "Examples"}},
      {SLUICE_COMMAND,
       {"transcode", "--help"},
       DeclaredFlags<TranscodeOptions>({}, {"--json", "Examples"})},
      {SLUICE_COMMAND, {"copy", "--help"}, {"TARGET", "--threads", "--json", "Examples"}},
      {SLUICE_COMMAND, {"cache", "--help"}, {"DIR", "--clear", "--json", "Examples"}},
      {SLUICE_COMMAND,
       {"export", "--help"},
       DeclaredFlags<ReadLimits>({}, {"FOLDER", "--json", "Examples"})},
      {SLUICE_COMMAND,
       {"convert", "--help"},
       DeclaredFlags<ConvertOptions>(
           {"keep"},
           {"500", "--no-resize", "default 90", "64MB", "178M", "--part", "--json", "--quiet",
            "--table", "--field", "--path-column", "--paths", "--classes", "--mask-folder",
            "--upright", "--split", "--split-seed", "--as-stored", "Examples"})},
      {SLUICE_COMMAND,
       {"inspect", "--help"},
       {"--sample", "--key", "--shards", "--json", "Examples"}},
      {SLUICE_COMMAND,
       {"verify", "--help"},
       {"--decode", "--threads", "--json", "--quiet", "Examples"}},
      {SLUICE_BENCH_COMMAND, {"--help"}, {"epoch", "advise", "transforms", "Examples"}},
      {SLUICE_BENCH_COMMAND,
       {"transforms", "--help"},
       {"--steps", "--side", "--rounds", "--ms", "--json-file", "--json", "Examples"}},
      {SLUICE_BENCH_COMMAND,
       {"advise", "--help"},
       {"--step-ms", "--batch-size", "--gpus", "--profile", "--transform", "--quality", "--sample",
        "--threads", "--scratch", "--json", "Examples"}},
      {SLUICE_BENCH_COMMAND, {"decode", "--help"}, {"--stages", "--rounds", "--only"}},
      {SLUICE_BENCH_COMMAND,
       {"epoch", "--help"},
       EpochFlags({"default 256", "--threads", "--epochs", "--transform", "rrc:", "--prefetch",
                   "--warm-up", "--floor", "--profile", "--html", "--trace", "--json-file",
                   "--json", "--quiet", "Examples"})},
  }));
  CAPTURE(program, words);
  const Outcome outcome = Run(program, words);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (const std::string& text : shown)
    CHECK_THAT(outcome.out, ContainsSubstring(text));
  CHECK_THAT(outcome.out, ContainsSubstring("Exit codes: 0 done; 1 failed"));
  for (std::size_t begin = 0; begin < outcome.out.size();) {
    const std::size_t end = std::min(outcome.out.find('\n', begin), outcome.out.size());
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}

TEST_CASE("a range in an option's help is the one that is checked") {
  const std::regex range("[0-9]\\w* to [0-9]\\w*");
  int ranges = 0;
  const auto check = [&](const auto& option, const auto&, const std::string& path) {
    const std::string help = option.help;
    std::smatch found;
    if (std::isinf(option.facts.most) || !std::regex_search(help, found, range)) return;
    option_list::OptionFacts facts = option.facts;
    if (facts.zero != nullptr) facts.least = 1;  // 0 has a word of its own
    INFO(path);
    CHECK(found.str() == option_list::RangeText(facts));
    ++ranges;
  };
  const ConvertOptions convert;
  const TranscodeOptions transcode;
  const LoaderOptions loader;
  option_list::ForEachOption(convert, check);
  option_list::ForEachOption(transcode, check);
  option_list::ForEachOption(loader, check);
  CHECK(ranges >= 4);
}

TEST_CASE("option --version names the program") {
  CHECK_THAT(Sluice({"--version"}).out, Catch::Matchers::StartsWith("sluice 0."));
  CHECK_THAT(Bench({"--version"}).out, Catch::Matchers::StartsWith("sluice-bench 0."));
}

}  // namespace sluice::test
