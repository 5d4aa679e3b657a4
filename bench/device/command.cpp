#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/parse_pipeline.h>

#include "bench/commands.h"
#include "bench/device/upload.h"
#include "bench/machine/machine.h"
#include "bench/report/figures.h"
#include "bench/report/measurement.h"
#include "bench/report/measuring_command.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

using cli::AddOption;
using cli::Format;

constexpr const char* kUploadDescription =
    "Measures how fast batches come to a GPU.\n\n"
    "Each round copies batches out of page-locked memory, and nothing else: the limit; then takes\n"
    "as many over as a loader does, with conversion, events and a stream that waits for each. The\n"
    "pixels are made up; decoding, which `sluice-bench epoch` measures, is left out. Last comes a\n"
    "timeline of some batches: when each was copied and converted (seconds, in the JSON).\n";

constexpr const char* kUploadExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench upload\n"
    "  sluice-bench upload --normalize bf16 --layout nchw --batch-size 512 --json-file "
    "upload.json\n"
    "  sluice-bench upload --transform jitter:0.4/0.4/0.4/0.1,gray:0.2 --normalize bf16\n\n";

struct UploadArguments {
  int device = 0;
  UploadShape shape;
  std::uint64_t batches = 100, rounds = 5;
  std::string transform = "none", normalize = "none";
  ResultOptions output;
};

void SetUploadType(UploadArguments& arguments, const std::string& text) {
  arguments.normalize = text;
  arguments.shape.type.reset();
  if (text == "f32") arguments.shape.type = FloatType::kFloat32;
  if (text == "f16") arguments.shape.type = FloatType::kFloat16;
  if (text == "bf16") arguments.shape.type = FloatType::kBFloat16;
  if (text != "none" && !arguments.shape.type) {
    throw cli::UsageError("--normalize is none, f32, f16 or bf16");
  }
}

void SetUploadLayout(UploadArguments& arguments, const std::string& text) {
  if (text != "nhwc" && text != "nchw") throw cli::UsageError("--layout is nhwc or nchw");
  arguments.shape.layout = text == "nhwc" ? Layout::kNHWC : Layout::kNCHW;
}

std::string UploadText(const UploadRates& rates, bool converts) {
  std::string text = Format("%-34s %9s   %s\n", "to the device", "GB/s", "least to most");
  const auto row = [&](const char* name, const std::vector<double>& values) {
    const Spread spread = SpreadOf(values);
    text += Format("%-34s %9.2f   %.2f to %.2f\n", name, 1e-9 * spread.median, 1e-9 * spread.least,
                   1e-9 * spread.most);
  };
  row("copies alone", rates.limit);
  row("a loader's batches", rates.uploads);
  text +=
      Format("%.1f%% of the limit; %s a batch\n", 100 * Median(rates.uploads) / Median(rates.limit),
             cli::BytesText(rates.batch_bytes).c_str());
  if (converts) {
    text += Format("%.0f%% of the conversions' time was beside copies of other batches\n",
                   100 * ShareBesideCopies(rates.timeline));
  }
  return text;
}

nlohmann::json TimelineOf(const UploadRates& rates) {
  auto timeline = nlohmann::json::array();
  for (const UploadMoments& batch : rates.timeline) {
    timeline.push_back({{"copy_begin", batch.copy_begin},
                        {"copy_end", batch.copy_end},
                        {"converted", batch.converted}});
  }
  return timeline;
}

Answer MeasureUploads(const UploadArguments& arguments, const std::stop_token& stop) {
  if (Device::CudaCount() == 0) {
    throw Error(ErrorCode::kUnsupported,
                "no CUDA device: there is no card, no driver, or this build has no CUDA");
  }
  const LoadWatch others;
  const UploadRates rates =
      MeasureUpload(Device::Cuda(arguments.device), OpenCuda(arguments.device), arguments.shape,
                    arguments.batches, arguments.rounds, stop);
  std::vector<std::string> warnings;
  WarnOfLoad(others.OtherCpus(), warnings);
  auto result = ResultOf("upload",
                         {{"copies_bytes_per_second", "B/s", true, rates.limit},
                          {"uploads_bytes_per_second", "B/s", true, rates.uploads}},
                         warnings);
  result.update({{"device", Device::Cuda(arguments.device).name()},
                 {"gpus", GpuNames()},
                 {"batch_size", arguments.shape.batch_size},
                 {"side", arguments.shape.side},
                 {"batch_bytes", rates.batch_bytes},
                 {"batches", arguments.batches},
                 {"rounds", arguments.rounds},
                 {"transform", arguments.transform},
                 {"normalize", arguments.normalize},
                 {"layout", arguments.shape.layout == Layout::kNHWC ? "nhwc" : "nchw"},
                 {"timeline", TimelineOf(rates)}});
  const bool converts = arguments.shape.type || !arguments.shape.steps.empty();
  return {UploadText(rates, converts) + WarningsText(warnings), std::move(result), {}};
}

}  // namespace

cli::Command AddUploadCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("upload", kUploadDescription);
  const auto arguments = std::make_shared<UploadArguments>();
  const auto number = [&](const char* name, const char* help, std::uint64_t least,
                          std::uint64_t most, auto set) {
    AddOption(*app, name, "N", help, [least, most, set](const std::string& text) {
      set(cli::ParseInteger(text, least, most));
    });
  };
  number("--device", "the GPU, counted from 0 (default 0)", 0, 1023,
         [arguments](std::uint64_t n) { arguments->device = static_cast<int>(n); });
  number("--batch-size", "samples a batch (default 256)", 1, 1 << 20,
         [arguments](std::uint64_t n) { arguments->shape.batch_size = n; });
  number("--side", "pixels, of square RGB images (default 224)", 1, 8192,
         [arguments](std::uint64_t n) { arguments->shape.side = n; });
  number("--batches", "batches a round (default 100)", 1, 1'000'000,
         [arguments](std::uint64_t n) { arguments->batches = n; });
  number("--rounds", "rounds to measure (default 5)", 1, 10'000,
         [arguments](std::uint64_t n) { arguments->rounds = n; });
  AddOption(
      *app, "--transform", "STEPS",
      "what changes pixels on the GPU, as `sluice-bench epoch`\ntakes it: jitter, gray, solarize, "
      "posterize, invert, erase\n(default none)",
      [arguments](const std::string& text) {
        arguments->transform = text;
        arguments->shape.steps = ParsePipeline(text);
      });
  AddOption(*app, "--normalize", "TYPE",
            "what pixels become on the GPU: none, f32, f16 or\nbf16 (default none)",
            [arguments](const std::string& text) { SetUploadType(*arguments, text); });
  AddOption(*app, "--layout", "LAYOUT", "of what the GPU makes: nhwc or nchw (default nhwc)",
            [arguments](const std::string& text) { SetUploadLayout(*arguments, text); });
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kUploadExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunMeasuring(arguments->output, "uploading", "uploading made-up batches",
                                [&](const std::stop_token& stop, cli::Progress&) {
                                  return MeasureUploads(*arguments, stop);
                                });
          }};
}

}  // namespace sluice::bench
