// Shared by the commands that make datasets from datasets: progress, signals, the account.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>

namespace CLI {
class App;
}

namespace sluice {

struct EditOutput {
  bool json = false;
  bool quiet = false;
  bool direct = false;
};

void AddOutputOptions(CLI::App& app, EditOutput& output);

// --direct, for commands that write shards.
void AddDirectOption(CLI::App& app, bool& direct);

// Runs `work` with progress shown and SIGINT turned into a stop; `activity` is a verb's -ing form,
// `title` the first line of a log. Returns false if it was interrupted, which has been said then.
bool RunEdit(const EditOutput& output, const std::string& activity, const std::string& title,
             const std::function<void(const EditHooks&)>& work);

// To standard error, unless they are in the JSON that is printed or nothing is to be said.
void PrintWarnings(const EditOutput& output, const EditSummary& summary);

// "data/new: 120 samples of 10 classes in 3 shards (2 linked), 12.1 MB"
std::string MadeLine(const std::string& dataset, const EditSummary& summary);
nlohmann::ordered_json MadeJson(const std::string& dataset, const EditSummary& summary);

}  // namespace sluice
