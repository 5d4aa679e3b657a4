#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/parse_pipeline.h>

#include "bench/commands.h"
#include "bench/machine/machine.h"
#include "bench/machine/process_usage.h"
#include "bench/report/measurement.h"
#include "bench/report/measuring_command.h"
#include "bench/report/statistics.h"
#include "bench/upload/upload.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

using cli::AddChoice;
using cli::AddNumber;
using cli::AddOption;
using cli::Format;

constexpr const char* kUploadDescription =
    "Measures how fast batches come to a GPU.\n\n"
    "Each round only copies batches out of page-locked memory, which is the limit. Then it\n"
    "delivers as many as a loader does, with conversion, events and a stream that waits for\n"
    "each. The pixels are made up, and nothing is decoded (`sluice-bench epoch` measures\n"
    "that). The JSON ends with a timeline of some batches: when each was copied and\n"
    "converted, in seconds.\n";

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

std::string UploadText(const UploadRates& rates, bool converts) {
  std::string text = Format("%-34s %9s   %s\n", "to the device", "GB/s", "least to most");
  const auto row = [&](const char* name, const std::vector<double>& values) {
    const Spread spread = SpreadOf(values);
    text += Format("%-34s %9.2f   %.2f to %.2f\n", name, 1e-9 * spread.median, 1e-9 * spread.least,
                   1e-9 * spread.most);
  };
  row("copies alone", rates.limit);
  row("a loader's batches", rates.uploads);
  const double uploads = Median(rates.uploads);
  text +=
      Format("%.1f%% of the limit; %s and %.3g ms a batch\n", 100 * uploads / Median(rates.limit),
             cli::BytesText(rates.batch_bytes).c_str(), 1e3 * double(rates.batch_bytes) / uploads);
  if (converts) {
    text += Format(
        "converting a batch there takes %s us; %.0f%% of that time overlapped copies of other "
        "batches\n",
        cli::RateText(1e6 * ConversionSeconds(rates.timeline)).c_str(),
        100 * ShareBesideCopies(rates.timeline));
  }
  text += "CPUs: " + CpusText(rates.cpus_busy, AvailableCpus()) + "\n";
  return text + "GPU: " + GpuText(rates.gpu) + "\n";
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
                "no CUDA device: there is no GPU, no driver, or this build has no CUDA");
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
                 {"cpus_busy", rates.cpus_busy},
                 {"timeline", TimelineOf(rates)}});
  if (rates.gpu) result["gpu_busy"] = rates.gpu->busy;
  const bool converts = arguments.shape.type || !arguments.shape.steps.empty();
  if (converts) result["conversion_seconds"] = ConversionSeconds(rates.timeline);
  return {UploadText(rates, converts) + WarningsText(warnings), std::move(result), {}};
}

}  // namespace

cli::Command AddUploadCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("upload", kUploadDescription);
  const auto arguments = std::make_shared<UploadArguments>();
  AddNumber(*app, "--device", "N", "the GPU, counted from 0 (default 0)", arguments->device, 0,
            1023);
  AddNumber(*app, "--batch-size", "N", "samples in a batch (default 256)",
            arguments->shape.batch_size, 1, 1 << 20);
  AddNumber(*app, "--side", "N", "side of the square RGB images, in pixels (default 224)",
            arguments->shape.side, 1, 8192);
  AddNumber(*app, "--batches", "N", "batches in a round (default 100)", arguments->batches, 1,
            1'000'000);
  AddNumber(*app, "--rounds", "N", "rounds to measure (default 5)", arguments->rounds, 1, 10'000);
  AddOption(*app, "--transform", "STEPS",
            "steps that the GPU runs, as for `sluice-bench epoch`: all\n"
            "that change pixels, such as jitter, blur, randaug or erase;\n"
            "none that move them, such as crops and flips (default none)",
            [arguments](const std::string& text) {
              arguments->transform = text;
              arguments->shape.steps = ParsePipeline(text);
            });
  AddOption(*app, "--normalize", "TYPE",
            "the type pixels are converted to on the GPU: none, f32,\n"
            "f16 or bf16 (default none)",
            [arguments](const std::string& text) {
              arguments->shape.type = cli::ParseChoice<std::optional<FloatType>>(
                  text, {{"none", std::nullopt},
                         {"f32", FloatType::kFloat32},
                         {"f16", FloatType::kFloat16},
                         {"bf16", FloatType::kBFloat16}});
              arguments->normalize = text;
            });
  AddChoice(*app, "--layout", "LAYOUT", "layout of the result: nhwc or nchw (default nhwc)",
            arguments->shape.layout, {{"nhwc", Layout::kNHWC}, {"nchw", Layout::kNCHW}});
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
