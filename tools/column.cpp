// `sluice column`: adds, replaces and drops fields of a dataset without touching its image shards.
//
// The three actions are one command, since they share the dataset, the names of the fields and the
// output. CLI11 cannot say that --from belongs to two of the three, so the function at the end
// checks that. Dropping needs no hooks: it writes a manifest and reads no samples, so there is
// nothing to show the progress of.
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>
#include <sluice/shown_path.h>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kColumnDescription =
    "Adds, replaces or drops fields of a dataset; no picture is touched.\n\n"
    "  add       takes fields that the dataset does not have from --from\n"
    "  replace   puts fields from --from in the place of those of the same names\n"
    "  drop      hides fields from readers\n\n"
    "--from is another dataset, or a table (.csv, .tsv, .jsonl or .parquet). Its row n belongs to\n"
    "sample n; with --by-key, a row belongs to the sample that has its key. The change is a new\n"
    "version of the dataset: one new manifest. The version before it stays, and `sluice restore`\n"
    "brings it back. If anything does not fit, nothing is changed.\n";

constexpr const char* kColumnExamples =
    "\nExamples:\n"
    "  sluice column replace data/photos label --from mended.csv --by-key=path --note "
    "\"relabelled\"\n"
    "  sluice column add data/photos embedding --from data/embeddings\n"
    "  sluice column add data/photos score --from scores.csv --by-key=path --missing 0\n"
    "  sluice column drop data/photos caption\n\n";

enum class ColumnAction { kAdd, kReplace, kDrop };

struct ColumnArguments {
  ColumnAction action = ColumnAction::kAdd;
  std::string dataset;
  std::string from;
  ColumnOptions options;
  EditOutput output;
};

nlohmann::ordered_json VersionJson(const std::string& dataset, const VersionSummary& made) {
  return {{"dataset", ShownPath(dataset)},
          {"id", made.id},
          {"before", made.before},
          {"samples", made.samples},
          {"missing", made.missing},
          {"shards", made.shards},
          {"bytes", made.bytes}};
}

int RunColumn(const ColumnArguments& arguments) {
  VersionSummary made;
  const bool drops = arguments.action == ColumnAction::kDrop;
  if (drops) {
    made = DropFields(arguments.dataset, arguments.options.fields, arguments.options.note);
  } else {
    const bool done = RunEdit(
        arguments.output, "writing", "writing fields of " + cli::Printable(arguments.dataset),
        [&](const EditHooks& hooks) {
          const auto change = arguments.action == ColumnAction::kAdd ? AddColumns : ReplaceColumns;
          made = change(arguments.dataset, arguments.from, arguments.options, hooks);
        });
    if (!done) return cli::kInterrupted;
  }
  if (arguments.output.json) {
    cli::PrintJson(VersionJson(arguments.dataset, made));
    return cli::kDone;
  }
  if (arguments.output.quiet) return cli::kDone;
  std::string names;
  for (const std::string& field : arguments.options.fields)
    names += (names.empty() ? "" : ", ") + cli::Printable(field);
  std::string text =
      cli::Printable(arguments.dataset) + ": " + (drops ? "dropped " : "wrote ") + names;
  if (!drops) {
    text += " for " + cli::CountText(made.samples - made.missing, "sample", "samples");
    if (made.missing > 0) text += " (" + std::to_string(made.missing) + " without a row)";
    text +=
        " in " + cli::CountText(made.shards, "shard", "shards") + ", " + cli::BytesText(made.bytes);
  }
  text += "\n  version " + made.id + "; the one before is " + made.before + "\n";
  cli::PrintOut(text);
  return cli::kDone;
}

}  // namespace

cli::Command AddColumnCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("column", kColumnDescription);
  const auto arguments = std::make_shared<ColumnArguments>();
  const auto parse = [arguments](const std::string& text) {
    arguments->action = cli::ParseChoice<ColumnAction>(text, {{"add", ColumnAction::kAdd},
                                                              {"replace", ColumnAction::kReplace},
                                                              {"drop", ColumnAction::kDrop}});
  };
  app->add_option_function<std::string>("ACTION", parse, "add, replace or drop")
      ->required()
      ->type_name("")
      ->check(cli::Choices("add replace drop"));
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder or URL of the dataset");
  cli::AddArgument(*app, "FIELD", arguments->options.fields, "names of fields");
  app->add_option("--from", arguments->from, "a dataset or a table that has the fields")
      ->type_name("SOURCE");
  app->add_option_function<std::string>(
         "--by-key", [arguments](const std::string& column) { arguments->options.by_key = column; },
         "match rows by the samples' keys. COLUMN: a table's column of keys")
      ->expected(0, 1)
      ->type_name("COLUMN");
  cli::AddOption(*app, "--missing", "NUMBER", "the value of numbers for samples without a row",
                 [arguments](const std::string& text) {
                   arguments->options.missing = cli::ParseAnyNumber(text);
                 });
  const auto take_types = [arguments](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const std::size_t at = text.find('=');
      if (at == std::string::npos || at == 0)
        throw cli::UsageError("--type: \"" + text + "\" is not FIELD=TYPE");
      arguments->options.types[text.substr(0, at)] = text.substr(at + 1);
    }
  };
  app->add_option_function<std::vector<std::string>>(
         "--type", take_types,
         "how a table's field is stored: int8 to int64, uint8, uint16, float16 to float64, with "
         "the "
         "extents of arrays as in float16[768], text, json or class; may be given several times")
      ->allow_extra_args(false)
      ->type_name("FIELD=TYPE");
  app->add_option("--note", arguments->options.note, "a sentence for `sluice log`")
      ->type_name("TEXT");
  AddDirectOption(*app, arguments->output.direct);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kColumnExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            const bool drops = arguments->action == ColumnAction::kDrop;
            if (drops && !arguments->from.empty())
              throw cli::UsageError("--from: drop takes no source");
            if (!drops && arguments->from.empty())
              throw cli::UsageError("name the source of the fields: --from");
            return RunColumn(*arguments);
          }};
}

}  // namespace sluice
