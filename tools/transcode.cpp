// `sluice transcode`: makes a new dataset with the same samples, their images in another form. The
// options are declared in a list (convert_option_list.h), with two exceptions: --image must be
// given although the library has a default, and restart markers, which are on by default, have a
// flag that turns them off. CheckTogether() looks at the flags that were typed and not at values,
// since a default quality does not contradict --image raw.
#include <memory>

#include <sluice/convert_option_list.h>
#include <sluice/error.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

constexpr const char* kTranscodeDescription =
    "Makes a copy of a dataset with the images in a different form.\n\n"
    "From jpeg to packed and back, the JPEG bytes stay the same. raw stores the pixels that a "
    "reader would decode. JPEGs are made from raw pixels with --quality. Images that the form "
    "cannot hold stay as they are and are counted. Masks and other fields are copied.\n";

constexpr const char* kTranscodeExamples =
    "\nExamples:\n"
    "  sluice transcode data/photos data/photos-fast --image packed\n"
    "  sluice transcode data/photos-fast data/photos-small --image jpeg\n\n";

struct TranscodeArguments {
  std::string dataset;
  std::string out;
  TranscodeOptions options;
  EditOutput output;
};

void CheckTogether(const CLI::App& app, const TranscodeArguments& arguments) {
  if (arguments.options.image != ImageCodec::kRaw) return;
  for (const char* name : {"--quality", "--no-restart-markers", "--subsampling"}) {
    if (app.count(name) > 0) {
      throw cli::UsageError(std::string(name) +
                            " applies to JPEGs only, and --image raw stores none");
    }
  }
}

int RunTranscode(const CLI::App& app, TranscodeArguments& arguments) {
  CheckTogether(app, arguments);
  TranscodeSummary summary;
  const bool done = RunEdit(
      arguments.output, "transcoding", "transcoding into " + cli::Printable(arguments.out),
      [&](const EditHooks& hooks) {
        summary = TranscodeDataset(arguments.dataset, arguments.out, arguments.options, hooks);
      });
  if (!done) return cli::kInterrupted;
  PrintWarnings(arguments.output, summary.made);
  if (arguments.output.json) {
    nlohmann::ordered_json json = MadeJson(arguments.out, summary.made);
    json["images"] = summary.images;
    json["left_as_they_were"] = summary.left_as_they_were;
    cli::PrintJson(json);
  } else if (!arguments.output.quiet) {
    std::string text = MadeLine(arguments.out, summary.made);
    if (summary.left_as_they_were > 0) {
      text += cli::CountText(summary.left_as_they_were, "image", "images") +
              " cannot be stored in this form, and stayed as before\n";
    }
    cli::PrintOut(text);
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddTranscodeCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("transcode", kTranscodeDescription);
  const auto arguments = std::make_shared<TranscodeArguments>();
  TranscodeOptions& options = arguments->options;
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  cli::AddArgument(*app, "NEW", arguments->out, "folder to create");
  const auto add_restart_markers = [app, &options] {
    return app->add_flag_callback(
        "--no-restart-markers", [&options] { options.restart_markers = false; },
        "JPEGs made from pixels have no restart markers");
  };
  cli::AddDeclared(*app, options, {{"restart_markers", add_restart_markers}});
  app->get_option("--image")->required()->description(
      "jpeg, packed or raw: see `sluice convert --help`");
  AddMetaOption(*app, arguments->output.meta, kMetaHelp);
  AddDirectOption(*app, arguments->output.direct);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kTranscodeExamples) + cli::kExitCodeHelp);
  return {app, [app, arguments] { return RunTranscode(*app, *arguments); }};
}

}  // namespace sluice
