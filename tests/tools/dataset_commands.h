// The commands that take a dataset, for tests that run all of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/run.h"

namespace sluice::test {

struct DatasetCommand {
  struct Paths {
    std::filesystem::path data;    // DATA
    std::filesystem::path whole;   // WHOLE: another dataset, undamaged
    std::filesystem::path source;  // SOURCE: a folder of pictures
    std::filesystem::path out;     // OUT: an unused name
  };

  const char* program;
  Words words;  // the command and its arguments, in which the names above stand for paths

  // The words, with these paths instead of the names.
  Words With(const Paths& paths) const {
    Words with = words;
    for (std::string& word : with) {
      if (word == "DATA") word = paths.data.string();
      if (word == "WHOLE") word = paths.whole.string();
      if (word == "SOURCE") word = paths.source.string();
      if (word.starts_with("OUT")) word = paths.out.string() + word.substr(3);
    }
    return with;
  }
};

inline const std::vector<DatasetCommand>& DatasetCommands() {
  static const std::vector<DatasetCommand> commands = [] {
    std::vector<DatasetCommand> all = {
        {SLUICE_COMMAND, {"inspect", "DATA", "--shards"}},
        {SLUICE_COMMAND, {"inspect", "DATA", "--sample", "1", "--json"}},
        {SLUICE_COMMAND, {"inspect", "DATA", "--key", "dog/3.jpg"}},
        {SLUICE_COMMAND, {"stats", "DATA", "--threads", "1"}},
        {SLUICE_COMMAND, {"when", "DATA", "--key", "dog/3.jpg", "--world-size", "2"}},
        {SLUICE_COMMAND, {"preview", "DATA", "OUT.html"}},
        {SLUICE_COMMAND, {"verify", "DATA", "--decode", "--threads", "1"}},
        {SLUICE_COMMAND, {"verify", "DATA", "--json", "--threads", "1"}},
        {SLUICE_COMMAND, {"repair", "DATA", "OUT"}},
        {SLUICE_COMMAND, {"subset", "DATA", "OUT", "--count", "3"}},
        {SLUICE_COMMAND, {"subset", "DATA", "OUT", "--class", "cat", "--json"}},
        {SLUICE_COMMAND, {"merge", "WHOLE", "DATA", "OUT"}},
        {SLUICE_COMMAND, {"export", "DATA", "OUT"}},
        {SLUICE_COMMAND, {"transcode", "DATA", "OUT", "--image", "packed", "--threads", "1"}},
        {SLUICE_COMMAND, {"append", "SOURCE", "DATA", "--threads", "1"}},
        {SLUICE_COMMAND, {"append", "DATA", "--repack"}},
        {SLUICE_COMMAND, {"log", "DATA"}},
        {SLUICE_BENCH_COMMAND,
         {"epoch", "DATA", "--epochs", "1", "--warm-up", "0", "--threads", "1", "--batch-size",
          "3"}},
        {SLUICE_BENCH_COMMAND,
         {"decode", "DATA", "--images", "2", "--quality-images", "1", "--rounds", "1"}},
        {SLUICE_BENCH_COMMAND, {"io", "DATA", "--rounds", "1", "--threads", "1"}},
        {SLUICE_BENCH_COMMAND, {"upload", "DATA", "--rounds", "1", "--batches", "1"}},
        {SLUICE_BENCH_COMMAND,
         {"compare", "DATA", "--work", "OUT", "--seconds", "0.01", "--rounds", "1"}},
        {SLUICE_BENCH_COMMAND,
         {"advise", "DATA", "--scratch", "OUT", "--sample", "2", "--seconds", "0.01"}},
    };
    // The path of sluice-bench is empty if it is not built, as in sanitized builds.
    std::erase_if(all, [](const DatasetCommand& one) { return *one.program == '\0'; });
    return all;
  }();
  return commands;
}

}  // namespace sluice::test
