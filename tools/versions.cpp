// `sluice log`, `tag`, `restore` and `gc`: the versions of a dataset. `sluice delete`: a version
// without some samples.
//
// Only `gc --yes` removes files, and never those of the current version or of a version with a tag.
// The other commands write one more manifest and leave what was there, so each can be undone. A
// version is named by its id or by a tag; its manifest's path is for commands that open datasets.
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/convert.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/convert_source.h"
#include "tools/samples.h"

namespace sluice {
namespace {

// One for all five commands; each uses the members that its options fill.
struct VersionArguments {
  std::string dataset;
  std::string name;
  std::string version;
  std::string note;
  std::string keys;
  std::string samples;
  double keep_days = 7;
  bool yes = false;
  bool json = false;
};

void AddCommon(CLI::App& app, VersionArguments& arguments) {
  cli::AddArgument(app, "DATASET", arguments.dataset, "folder or URL of the dataset");
}

void AddJson(CLI::App& app, VersionArguments& arguments) {
  app.add_flag("--json", arguments.json, "print one JSON object to standard output");
}

void AddNote(CLI::App& app, VersionArguments& arguments) {
  app.add_option("--note", arguments.note, "a sentence for `sluice log`")->type_name("TEXT");
}

int RunLog(const VersionArguments& arguments) {
  const std::vector<DatasetVersion> versions = ListVersions(arguments.dataset);
  if (arguments.json) {
    auto list = nlohmann::ordered_json::array();
    for (const DatasetVersion& version : versions) {
      list.push_back({{"id", version.id},
                      {"file", version.file},
                      {"current", version.current},
                      {"tags", version.tags},
                      {"parent", version.parent},
                      {"parent_is_kept", version.parent_is_kept},
                      {"by", version.by},
                      {"note", version.note},
                      {"samples", version.samples},
                      {"deleted", version.deleted},
                      {"changes", version.changes}});
    }
    cli::PrintJson({{"dataset", ShownPath(arguments.dataset)}, {"versions", list}});
    return cli::kDone;
  }
  std::string text;
  for (const DatasetVersion& version : versions) {
    text += version.id;
    if (version.current) text += "  (current)";
    for (const std::string& tag : version.tags)
      text += "  " + cli::Printable(tag);
    text += "\n  " + cli::CountText(version.samples, "sample", "samples");
    if (version.deleted > 0) text += ", " + std::to_string(version.deleted) + " of them deleted";
    if (!version.by.empty()) text += "; " + cli::Printable(version.by);
    text += "\n";
    for (const std::string& change : version.changes)
      text += "  " + cli::Printable(change) + "\n";
    if (!version.parent.empty() && !version.parent_is_kept)
      text += "  the version before, " + version.parent + ", is not kept\n";
    if (!version.note.empty()) text += "  \"" + cli::Printable(version.note) + "\"\n";
  }
  cli::PrintOut(text);
  return cli::kDone;
}

// Removing needs --yes, so the same text serves as a rehearsal: only its last line differs.
int RunGc(const VersionArguments& arguments) {
  const OldVersions old = RemoveOldVersions(arguments.dataset, arguments.keep_days, arguments.yes);
  if (arguments.json) {
    cli::PrintJson({{"dataset", ShownPath(arguments.dataset)},
                    {"removed", arguments.yes},
                    {"versions", old.versions},
                    {"files", old.files},
                    {"bytes", old.bytes}});
    return cli::kDone;
  }
  std::string text;
  for (const std::string& id : old.versions)
    text += "version " + id + "\n";
  for (const std::string& file : old.files)
    text += "  " + cli::Printable(file) + "\n";
  if (old.versions.empty()) {
    text += "no version without a tag was replaced more than " +
            cli::CountText(static_cast<std::uint64_t>(arguments.keep_days), "day", "days") +
            " ago\n";
  } else {
    text += cli::CountText(old.versions.size(), "version", "versions") + " and " +
            cli::BytesText(old.bytes) + " of shards " +
            (arguments.yes ? "removed\n" : "would be removed; --yes removes them\n");
  }
  cli::PrintOut(text);
  return cli::kDone;
}

// Deleting hides samples and leaves their bytes, which a user who must erase data has to know: the
// places where they may still be are part of the output.
int RunDelete(const VersionArguments& arguments) {
  RequirePlace(arguments.dataset);  // before the list of samples is read
  Deletion deletion;
  deletion.note = arguments.note;
  if (!arguments.keys.empty()) deletion.keys = ReadLines(arguments.keys, {});
  if (!arguments.samples.empty()) deletion.samples = ReadSampleNumbers(arguments.samples);
  const DeletionSummary summary = DeleteSamples(arguments.dataset, deletion);
  if (arguments.json) {
    cli::PrintJson({{"dataset", ShownPath(arguments.dataset)},
                    {"id", summary.made.id},
                    {"before", summary.made.before},
                    {"deleted", summary.deleted},
                    {"remains", summary.remains}});
    return cli::kDone;
  }
  std::string text = cli::Printable(arguments.dataset) + ": ";
  if (summary.deleted == 0)
    text += "these samples were deleted already\n  version ";
  else
    text += cli::CountText(summary.deleted, "sample", "samples") +
            " deleted: no reader of this version gives them any more\n  version ";
  text += summary.made.id;
  if (!summary.made.before.empty()) text += "; the one before is " + summary.made.before;
  text += "\nTheir bytes may still be in:\n";
  for (const std::string& place : summary.remains)
    text += "  " + cli::Printable(place) + "\n";
  cli::PrintOut(text);
  return cli::kDone;
}

}  // namespace

cli::Command AddLogCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "log",
      "Lists the versions of a dataset, the current one first.\n\n"
      "For each, it says which command made it, and what differs from the version before it. The\n"
      "path of a version's manifest, DATASET/manifest-ID.json or manifest-TAG.json, opens that\n"
      "version in every loader and every command that changes nothing in the folder.\n");
  const auto arguments = std::make_shared<VersionArguments>();
  AddCommon(*app, *arguments);
  AddJson(*app, *arguments);
  app->footer(std::string("\nExamples:\n  sluice log data/photos\n\n") + cli::kExitCodeHelp);
  return {app, [arguments] { return RunLog(*arguments); }};
}

cli::Command AddTagCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "tag",
      "Gives a version of a dataset a name.\n\n"
      "The name is a copy of the version's manifest, DATASET/manifest-NAME.json. Every loader "
      "opens\n"
      "the version by that path, and so does every command that changes nothing in the folder;\n"
      "`sluice gc` keeps it. To take the name away, remove that file.\n");
  const auto arguments = std::make_shared<VersionArguments>();
  AddCommon(*app, *arguments);
  cli::AddArgument(*app, "NAME", arguments->name, "letters, digits, '.', '_' and '-'");
  app->add_option("--version", arguments->version,
                  "the version, by its id or another name (default: the current one)")
      ->type_name("VERSION");
  app->footer(std::string("\nExamples:\n  sluice tag data/photos v1\n\n") + cli::kExitCodeHelp);
  return {app, [arguments] {
            TagVersion(arguments->dataset, arguments->name, arguments->version);
            return cli::kDone;
          }};
}

cli::Command AddRestoreCommand(CLI::App& program) {
  CLI::App* const app =
      program.add_subcommand("restore",
                             "Makes a new version of a dataset that equals an older one.\n\n"
                             "No version is lost: the current one stays as manifest-ID.json.\n");
  const auto arguments = std::make_shared<VersionArguments>();
  AddCommon(*app, *arguments);
  cli::AddArgument(*app, "VERSION", arguments->version, "the id of a version, or its tag");
  AddNote(*app, *arguments);
  AddJson(*app, *arguments);
  app->footer(std::string("\nExamples:\n  sluice restore data/photos v1\n\n") + cli::kExitCodeHelp);
  return {app, [arguments] {
            const VersionSummary made =
                RestoreVersion(arguments->dataset, arguments->version, arguments->note);
            if (arguments->json) {
              cli::PrintJson({{"dataset", ShownPath(arguments->dataset)},
                              {"id", made.id},
                              {"before", made.before},
                              {"samples", made.samples}});
            } else {
              const std::string before =
                  made.before.empty() ? "" : "; the one before is " + made.before;
              cli::PrintOut(cli::Printable(arguments->dataset) + ": version " + made.id + before +
                            "\n");
            }
            return cli::kDone;
          }};
}

cli::Command AddGcCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "gc",
      "Shows which old versions of a dataset could go; --yes removes them.\n\n"
      "Versions go that have no tag, are not the current one, and were replaced more than\n"
      "--keep-days days ago. Their shards go first, except those that a version that stays names.\n"
      "No other file is touched. A process that still reads an old version fails.\n");
  const auto arguments = std::make_shared<VersionArguments>();
  AddCommon(*app, *arguments);
  cli::AddOption(
      *app, "--keep-days", "DAYS",
      "keep versions that were replaced less than so many days ago (default: 7)",
      [arguments](const std::string& text) { arguments->keep_days = cli::ParseNumber(text, 1e6); });
  app->add_flag("--yes", arguments->yes, "remove them");
  AddJson(*app, *arguments);
  app->footer(
      std::string("\nExamples:\n  sluice gc data/photos\n  sluice gc data/photos --yes\n\n") +
      cli::kExitCodeHelp);
  return {app, [arguments] { return RunGc(*arguments); }};
}

cli::Command AddDeleteCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "delete",
      "Deletes samples: no reader of the new version gives them any more.\n\n"
      "All other samples keep their numbers, and their places in every epoch. The rows of deleted\n"
      "samples are left out of their batches, or other samples take them (order.deleted). Their\n"
      "bytes stay in the shards; the command lists what may hold them.\n");
  const auto arguments = std::make_shared<VersionArguments>();
  AddCommon(*app, *arguments);
  app->add_option("--keys", arguments->keys, "a file of keys, one a line")->type_name("FILE");
  app->add_option("--samples", arguments->samples, "a file of sample numbers (from 0), one a line")
      ->type_name("FILE");
  AddNote(*app, *arguments);
  AddJson(*app, *arguments);
  app->footer(
      std::string(
          "\nExamples:\n  sluice delete data/photos --keys takedown.txt --note \"#812\"\n\n") +
      cli::kExitCodeHelp);
  return {app, [arguments] {
            if (arguments->keys.empty() && arguments->samples.empty())
              throw cli::UsageError("name the samples: --keys or --samples");
            return RunDelete(*arguments);
          }};
}

}  // namespace sluice
