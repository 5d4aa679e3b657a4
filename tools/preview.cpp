#include <algorithm>
#include <cmath>
#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/read_limits.h"
#include "tools/cli/whole_file.h"
#include "tools/commands.h"
#include "tools/edit_command.h"
#include "tools/export_files.h"
#include "tools/preview_page.h"
#include "tools/thumbnail.h"

namespace sluice {
namespace {

constexpr const char* kPreviewDescription =
    "Shows a dataset at a glance.\n\n"
    "OUT.html is a page in one file: pictures with their labels, the number of samples in\n"
    "each class, and the images' sizes and shapes. OUT.png is a sheet of the pictures alone,\n"
    "row by row. Pictures are spread evenly over the dataset, equally many of each class, in\n"
    "the order of the classes, with their masks, boxes and key points. At most 4096 samples\n"
    "are looked at, however large the dataset is.\n";

constexpr const char* kPreviewExamples =
    "\nExamples:\n"
    "  sluice preview data/photos photos.html\n"
    "  sluice preview data/photos sheet.png --count 400 --side 64\n\n";

// A sheet and its PNG stay below a few hundred megabytes, a page below some tens.
constexpr std::uint64_t kMostPixels = 64'000'000;

struct PreviewArguments {
  std::string dataset;
  std::string out;
  PreviewOptions options;
  std::uint32_t columns = 0;
  EditOutput output;
  ReadLimits limits;
};

bool IsPage(const std::string& out) {
  return out.ends_with(".html") || out.ends_with(".htm");
}

void CheckPreview(const PreviewArguments& arguments) {
  if (!IsPage(arguments.out) && !arguments.out.ends_with(".png")) {
    throw cli::UsageError("\"" + arguments.out + "\" must end in .html or .png");
  }
  if (IsPage(arguments.out) && arguments.columns != 0) {
    throw cli::UsageError("--columns is for OUT.png; a page fits its pictures to the window");
  }
  const PreviewOptions& options = arguments.options;
  if (options.count * options.side * options.side > kMostPixels) {
    throw cli::UsageError("--count " + std::to_string(options.count) + " pictures of --side " +
                          std::to_string(options.side) +
                          " are more than 64 million pixels; lower one of them");
  }
}

void WriteSheet(const PreviewArguments& arguments, Preview& preview) {
  std::vector<Image> pictures;
  pictures.reserve(preview.pictures.size());
  for (PreviewPicture& picture : preview.pictures)
    pictures.push_back(std::move(picture.thumbnail));
  std::uint32_t columns = arguments.columns;
  if (columns == 0) {  // wider than high, as screens are
    columns = static_cast<std::uint32_t>(
        std::ceil(std::sqrt(static_cast<double>(pictures.size()) * 16 / 10)));
  }
  columns = std::min(columns, static_cast<std::uint32_t>(pictures.size()));
  const std::vector<char> png = EncodePng(ContactSheet(pictures, columns, arguments.options.side));
  cli::WriteWholeFile(arguments.out, {png.data(), png.size()});
}

int RunPreview(PreviewArguments& arguments) {
  CheckPreview(arguments);
  const Dataset dataset = Dataset::Open(arguments.dataset, arguments.limits);
  if (dataset.images().empty() || dataset.size() == 0) {
    throw Error(ErrorCode::kInvalidArgument, ShownPath(arguments.dataset), "has no image");
  }
  Preview preview;
  const bool done = RunEdit(
      arguments.output, "decoding", "looking at " + cli::Printable(ShownPath(arguments.dataset)),
      [&](const EditHooks& hooks) {
        preview =
            TakePreview(dataset, arguments.options, [&hooks](std::uint64_t i, std::uint64_t of) {
              if (hooks.stop.stop_requested()) throw Error(ErrorCode::kState, "stopped");
              hooks.on_progress(i, of);
            });
      });
  if (!done) return cli::kInterrupted;
  std::vector<std::string> damaged;
  for (const PreviewPicture& picture : preview.pictures) {
    if (!picture.trouble.empty() && picture.trouble != kNoImage) damaged.push_back(picture.trouble);
  }
  const std::size_t count = preview.pictures.size();
  if (IsPage(arguments.out)) {
    const std::string page = PreviewPage(dataset, preview);
    cli::WriteWholeFile(arguments.out, page);
  } else {
    WriteSheet(arguments, preview);
  }
  if (arguments.output.json) {
    cli::PrintJson({{"dataset", ShownPath(arguments.dataset)},
                    {"out", ShownPath(arguments.out)},
                    {"samples", dataset.size()},
                    {"probed", preview.probed},
                    {"pictures", count},
                    {"damaged", damaged}});
  } else if (!arguments.output.quiet) {
    std::string text = cli::Printable(arguments.out) + ": " +
                       cli::CountText(count, "picture", "pictures") + " of " +
                       cli::CountText(dataset.size(), "sample", "samples") + "\n";
    for (const std::string& one : damaged)
      text += "  damaged: " + cli::Printable(one) + "\n";
    cli::PrintOut(text);
  }
  return damaged.empty() ? cli::kDone : cli::kFailed;
}

}  // namespace

cli::Command AddPreviewCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("preview", kPreviewDescription);
  const auto arguments = std::make_shared<PreviewArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  cli::AddArgument(*app, "OUT", arguments->out,
                   "file to write, .html or .png; one that exists is\nreplaced");
  cli::AddNumber(*app, "--count", "N", "pictures to show, 1 to 10000 (default 100)",
                 arguments->options.count, 1, 10'000);
  cli::AddNumber(*app, "--side", "N",
                 "pixels of a picture's longer side, 16 to 1024 (default\n128)",
                 arguments->options.side, 16, 1024);
  cli::AddNumber(*app, "--columns", "N",
                 "pictures in a row of a sheet (default: a sheet that is\n"
                 "a little wider than high)",
                 arguments->columns, 1, 1000);
  cli::AddMaxPixels(*app, arguments->limits.max_pixels);
  cli::AddMaxValueBytes(*app, arguments->limits.max_value_bytes);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kPreviewExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunPreview(*arguments); }};
}

}  // namespace sluice
