// `sluice append`: adds the samples of a source to a dataset, in new shards after the others. With
// --repack, all samples are then written again in a new random order. Both steps resume if they
// were interrupted.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <sluice/convert_option_list.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/terminal.h"
#include "tools/commands.h"
#include "tools/convert.h"
#include "tools/convert_source.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kAppendDescription =
    "Adds samples to a dataset.\n\n"
    "SOURCE is converted with the dataset's own options; the new shards follow the old ones.\n"
    "The old manifest stays, as manifest-ID.json, so programs that have the dataset open are not\n"
    "disturbed. Every class of SOURCE must be a class of the dataset; if not, convert SOURCE\n"
    "to a dataset of its own, and merge the two. Run an interrupted command again to resume;\n"
    "a command that was finished adds nothing a second time.\n\n"
    "With --repack, append then writes all samples, old and new, in a new random order into\n"
    "new shards. The old shards stay for programs that read them. With --repack but without\n"
    "SOURCE, append adds no samples and only writes the new order.\n";

constexpr const char* kAppendExamples =
    "\nExamples:\n"
    "  sluice append new-photos/ data/photos\n"
    "  sluice append new-photos/ data/photos --repack\n"
    "  sluice append --repack --seed 1 data/photos\n\n";

struct AppendArguments {
  SourceArguments source;
  ConvertOptions options;
  bool repack = false;
  std::uint64_t seed = 0;
  std::optional<double> missing;
  EditOutput output;
};

// Converts the source and adds its samples. Returns nullopt after an interruption, which a message
// on standard error has reported.
std::optional<AppendSummary> AddSource(AppendArguments& arguments, const std::string& dataset) {
  const std::string name = NameOf(arguments.source);
  const cli::Interrupt interrupt;
  std::optional<PipedArchive> piped;
  if (!StorePipedInput(arguments.source, interrupt, piped, RequireFolder)) return std::nullopt;
  cli::Progress progress(cli::ProgressStyleFor(arguments.output.json || arguments.output.quiet),
                         "converting",
                         "appending " + cli::Printable(name) + " to " + cli::Printable(dataset));
  ConvertHooks hooks;
  hooks.stop = interrupt.token();
  hooks.on_progress = [&progress](const ConvertProgress& now) {
    progress.Update(now.samples_done, now.samples_total, now.bytes_out);
  };
  AppendSummary summary;
  try {
    arguments.options.run.direct = arguments.output.direct;
    arguments.options.shards.meta = arguments.output.meta;
    const std::vector<std::string>& places = arguments.source.places;
    if (places.size() > 2 && KindOf(places[0]) == PlaceKind::kFolder) {
      throw cli::UsageError("\"" + places[1] + "\": only one folder can be added at a time");
    }
    // A split cannot be appended, so this makes one part.
    const PartsMade made =
        MakeParts(arguments.source, "", 0, arguments.options.run.threads, interrupt.token());
    summary =
        AppendToDataset(dataset, made.parts[0].source, arguments.options, hooks, arguments.missing);
  } catch (const Error& error) {
    progress.Erase();
    if (!interrupt.requested() || error.code() != ErrorCode::kState) {
      throw NamedAsInput(error, piped);
    }
    std::fprintf(stderr,
                 "sluice: interrupted; %s is unchanged. Run the same command again to resume.\n",
                 cli::Printable(dataset).c_str());
    return std::nullopt;
  }
  progress.Erase();
  return summary;
}

// Writes all samples in a new order. Returns false after an interruption, which a message on
// standard error has reported.
bool RunRepack(const AppendArguments& arguments, const std::string& dataset, EditSummary& made) {
  const bool done = RunEdit(
      arguments.output, "repacking", "repacking " + cli::Printable(dataset),
      [&](const EditHooks& hooks) { made = RepackDataset(dataset, arguments.seed, hooks); });
  if (!done) {
    std::fprintf(
        stderr,
        "sluice: %s is in its old order; `sluice append --repack %s` puts it in a new one\n",
        cli::Printable(dataset).c_str(), cli::Printable(dataset).c_str());
  }
  return done;
}

void PrintAppend(const AppendArguments& arguments, const std::string& dataset,
                 const AppendSummary& summary, bool added) {
  if (arguments.output.json) {
    nlohmann::ordered_json json = MadeJson(dataset, summary.made);
    // The samples were converted again to see that they are there; none of them is new.
    json["added"] = summary.already_there ? 0 : summary.converted.samples;
    json["already_there"] = summary.already_there;
    json["repacked"] = arguments.repack;
    json["skipped"] = summary.converted.skipped.size();
    json["skipped_list"] = LeftOutJson(summary.converted.skipped);
    return cli::PrintJson(json);
  }
  if (arguments.output.quiet) return;
  std::string text;
  if (added) {
    text =
        cli::CountText(summary.converted.samples, "sample", "samples") +
        (summary.already_there ? ", all already in the dataset: nothing was added\n" : " added\n");
  }
  text += MadeLine(dataset, summary.made);
  if (arguments.repack) {
    text += "  in a new order; the old manifest is kept as manifest-ID.json, with its shards\n";
  }
  if (!summary.converted.skipped.empty()) {
    text += "  LEFT OUT   " +
            cli::CountText(summary.converted.skipped.size(), "source", "sources") + ":\n" +
            ReasonLines(summary.converted.skipped);
  }
  cli::PrintOut(text);
}

int RunAppend(AppendArguments& arguments) {
  const std::string dataset = arguments.source.places.back();
  // Without a source, --repack alone only writes a new order.
  const bool adds = arguments.source.places.size() > 1 || !arguments.repack ||
                    !arguments.source.table.empty() || !arguments.source.paths.empty();
  AppendSummary summary;
  if (adds) {
    std::optional<AppendSummary> appended = AddSource(arguments, dataset);
    if (!appended) return cli::kInterrupted;
    summary = std::move(*appended);
  }
  if (arguments.repack && !RunRepack(arguments, dataset, summary.made)) return cli::kInterrupted;
  PrintWarnings(arguments.output, summary.made);
  PrintAppend(arguments, dataset, summary, adds);
  return summary.converted.skipped.empty() ? cli::kDone : cli::kSomeLeftOut;
}

}  // namespace

cli::Command AddAppendCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("append", kAppendDescription);
  const auto arguments = std::make_shared<AppendArguments>();
  AddSourceOptions(*app, arguments->source);
  app->get_option("SOURCE")->description(
      "one folder of images, or its URL in an object store, or files that hold images, as "
      "`sluice convert` takes them; then DATASET, to which they are added");
  cli::AddDeclared(*app, arguments->options.run, &RunOptions::threads);
  cli::AddDeclared(*app, arguments->options.run, &RunOptions::on_error);
  app->add_flag("--repack", arguments->repack,
                "after appending, write all samples in a new random order into new shards; needs "
                "as much free disk space as the dataset takes");
  cli::AddDeclared(*app, *arguments,
                   option_list::Option("seed", &AppendArguments::seed, "seed of the new order"))
      ->needs("--repack");
  cli::AddOption(
      *app, "--missing", "NUMBER",
      "the value of the new samples in columns of numbers (`sluice column`)",
      [arguments](const std::string& text) { arguments->missing = cli::ParseAnyNumber(text); });
  AddMetaOption(*app, arguments->output.meta, kMetaHelp);
  AddDirectOption(*app, arguments->output.direct);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kAppendExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunAppend(*arguments); }};
}

}  // namespace sluice
