// Shared by commands that go through a whole dataset: progress, signals, common options and, for
// those that make a dataset from datasets, the summary.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>

namespace CLI {
class App;
}

namespace sluice {

// Options that these commands share, as typed.
struct EditOutput {
  bool json = false;
  bool quiet = false;
  bool direct = false;
  std::map<std::string, std::string> meta;
};

// Adds --json and --quiet.
void AddOutputOptions(CLI::App& app, EditOutput& output);

// Adds --meta, which may be given several times.
void AddMetaOption(CLI::App& app, std::map<std::string, std::string>& meta, const char* help);
// The help of --meta for commands that make datasets from datasets.
inline constexpr const char* kMetaHelp =
    "change a fact stored about the dataset, such as license=CC-BY-4.0; may be given several "
    "times. NAME= removes NAME. The other facts are taken from the inputs";

// Adds --direct, for commands that write shards.
void AddDirectOption(CLI::App& app, bool& direct);

// Runs `work`, shows its progress, and turns SIGINT and SIGTERM into a stop. `activity` is a verb's
// -ing form, `title` the first line of a log. Returns false after an interruption, which a message
// has reported.
bool RunEdit(const EditOutput& output, const std::string& activity, const std::string& title,
             const std::function<void(const EditHooks&)>& work);

// Prints the warnings to standard error, unless --quiet or --json is given. (The JSON has them.)
void PrintWarnings(const EditOutput& output, const EditSummary& summary);

// "data/new: 120 samples of 10 classes in 3 shards (2 taken over unchanged), 12.1 MB"
std::string MadeLine(const std::string& dataset, const EditSummary& summary);
nlohmann::ordered_json MadeJson(const std::string& dataset, const EditSummary& summary);

}  // namespace sluice
