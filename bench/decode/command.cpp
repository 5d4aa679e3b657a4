#include <algorithm>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/parse_pipeline.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/decode/bandwidth.h"
#include "bench/decode/measure.h"
#include "bench/machine/machine.h"
#include "bench/report/measurement.h"
#include "bench/report/measuring_command.h"
#include "bench/report/statistics.h"
#include "reader/transform/step_kind.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

using cli::AddNumber;
using cli::AddOption;

constexpr const char* kDecodeDescription =
    "Decodes crops in several ways, side by side, on one thread.\n\n"
    "Reads every k-th JPEG of the dataset into memory (for packed images, the JPEGs they were\n"
    "made from; JPEGs are packed as well), draws one region for each, and decodes all of them\n"
    "in each way in turn, round after round. Prints each way's median time for a picture, its\n"
    "ratio to the first way (the median of the ratios within a round), and the quality: mean\n"
    "PSNR against the accurate inverse DCT and the transform's filter in double precision.\n"
    "(FFCV's way always has the area filter: compare its quality with --transform\n"
    "rrc:224:area.)\n";

constexpr const char* kDecodeExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench decode data/photos\n"
    "  sluice-bench decode data/photos --transform short:256,center:224 --rounds 9\n"
    "  sluice-bench decode data/photos --stages --bandwidth\n\n";

constexpr const char* kDecodeTransformHelp =
    "the steps of `sluice-bench epoch --transform` that crop,\nresize and flip left to right, "
    "joined by commas\n(default rrc:224; half of all pictures are flipped)";

struct DecodeArguments {
  std::string dataset;
  std::string transform_text = "rrc:224";
  Pipeline transform = ParsePipeline("rrc:224");
  std::uint64_t images = 200;
  std::uint64_t rounds = 7;
  std::uint64_t quality_images = 50;
  std::uint64_t seed = 0;
  std::string only;
  bool stages = false;
  bool bandwidth = false;
  unsigned threads = AvailableCpus();
  ResultOptions output;
};

struct DecodeMeasured {
  std::vector<DecodeFigures> ways, stages, packed_stages;
  std::optional<BandwidthFigures> bandwidth;
  std::vector<std::string> warnings;
};

void MeasureQuality(std::vector<NamedVariant>& variants, const std::vector<DecodeItem>& items,
                    std::uint64_t count, std::vector<DecodeFigures>& figures) {
  std::vector<double> sums(variants.size());
  const std::size_t used = std::min<std::size_t>(count, items.size());
  for (std::size_t i = 0; i < used; ++i) {
    const DecodeItem& item = items[i * items.size() / used];
    DecodeItem unflipped = item;
    unflipped.region.flip = false;
    const std::vector<double> reference = ReferencePixels(unflipped);
    std::vector<std::uint8_t> rgb(reference.size());
    for (std::size_t v = 0; v < variants.size(); ++v) {
      if (variants[v].name == "to-planes") continue;
      variants[v].variant->Decode(unflipped, rgb.data());
      sums[v] += PeakSignalToNoise(reference, rgb);
    }
  }
  for (std::size_t v = 0; v < variants.size() && used > 0; ++v) {
    figures[v].decibels = sums[v] / static_cast<double>(used);
  }
}

// The first way's time divided by this way's: the median over rounds.
double RatioToFirst(const DecodeFigures& first, const DecodeFigures& figures) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < figures.milliseconds.size(); ++r) {
    ratios.push_back(first.milliseconds[r] / figures.milliseconds[r]);
  }
  return Median(ratios);
}

// Of the stored pictures, on average.
struct FormBytes {
  explicit FormBytes(const std::vector<DecodeItem>& items) {
    for (const DecodeItem& item : items) {
      jpeg += double(item.payload.bytes.size()) / double(items.size());
      packed += double(item.packed.bytes.size()) / double(items.size());
    }
  }
  double jpeg = 0, packed = 0;
};

std::string TableOf(const DecodeArguments& arguments, const std::vector<DecodeItem>& items,
                    const std::vector<DecodeFigures>& figures) {
  const FormBytes bytes(items);
  std::string out = cli::Format("%-12s %10s %10s %7s %8s  %s\n", "way", "ms/image", "fastest",
                                "ratio", "PSNR dB", "what it is");
  for (const DecodeFigures& f : figures) {
    out += cli::Format("%-12s %10.4f %10.4f %7.2f ", f.name.c_str(), Median(f.milliseconds),
                       *std::min_element(f.milliseconds.begin(), f.milliseconds.end()),
                       RatioToFirst(figures.front(), f));
    out += f.decibels > 0 ? cli::Format("%8.2f", f.decibels) : std::string(8, ' ');
    out += "  " + f.description + "\n";
  }
  out += cli::Format(
      "%zu JPEGs of %.0f bytes on average, packed %.0f; transform %s,flip; medians of %llu "
      "rounds\n",
      items.size(), bytes.jpeg, bytes.packed, arguments.transform_text.c_str(),
      static_cast<unsigned long long>(arguments.rounds));
  return out;
}

std::string StageTableOf(const char* of, const std::vector<DecodeFigures>& stages) {
  const std::vector<double> added = AddedByStage(stages);
  const double whole = Median(stages.back().milliseconds);
  std::string out = cli::Format("\n%-10s %10s %7s  %s\n", of, "ms/image", "share", "what it is");
  for (std::size_t s = 0; s < stages.size(); ++s) {
    out += cli::Format("%-10s %10.4f %6.1f%%  %s\n", stages[s].name.c_str(), added[s],
                       100 * added[s] / whole, stages[s].description.c_str());
  }
  return out;
}

nlohmann::ordered_json StagesJson(const std::vector<DecodeFigures>& stages) {
  const std::vector<double> added = AddedByStage(stages);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    list.push_back({{"name", stages[s].name},
                    {"description", stages[s].description},
                    {"milliseconds_per_image", added[s]}});
  }
  return list;
}

nlohmann::ordered_json JsonOf(const DecodeArguments& arguments,
                              const std::vector<DecodeItem>& items,
                              const DecodeMeasured& measured) {
  const std::vector<DecodeFigures>& figures = measured.ways;
  nlohmann::ordered_json ways = nlohmann::ordered_json::array();
  for (const DecodeFigures& f : figures) {
    nlohmann::ordered_json way{{"name", f.name},
                               {"description", f.description},
                               {"milliseconds_per_image", Median(f.milliseconds)},
                               {"ratio", RatioToFirst(figures.front(), f)},
                               {"rounds", f.milliseconds}};
    if (f.decibels > 0) way["psnr_db"] = f.decibels;
    ways.push_back(std::move(way));
  }
  std::vector<Measurement> measurements;
  for (const DecodeFigures& f : figures)
    measurements.push_back({"milliseconds_per_image." + f.name, "ms", false, f.milliseconds});
  nlohmann::ordered_json answer = ResultOf("decode", measurements, measured.warnings);
  const FormBytes bytes(items);
  answer.update({{"dataset", ShownPath(arguments.dataset)},
                 {"rounds", arguments.rounds},
                 {"seed", arguments.seed},
                 {"images", items.size()},
                 {"jpeg_bytes_per_image", bytes.jpeg},
                 {"packed_bytes_per_image", bytes.packed},
                 {"transform", arguments.transform_text + ",flip"},
                 {"ways", std::move(ways)}});
  if (!measured.stages.empty()) {
    answer["stages"] = StagesJson(measured.stages);
    answer["packed_stages"] = StagesJson(measured.packed_stages);
  }
  if (measured.bandwidth) answer["bandwidth"] = JsonOf(*measured.bandwidth);
  return answer;
}

Answer DecodeAnswer(const DecodeArguments& arguments, const std::stop_token& stop) {
  const Dataset dataset = Dataset::Open(arguments.dataset);
  const std::vector<DecodeItem> items =
      ChooseDecodeItems(dataset, arguments.transform, arguments.images, arguments.seed, true);
  std::vector<NamedVariant> variants = DecodeVariants();
  if (!arguments.only.empty()) {
    std::erase_if(variants, [&](const NamedVariant& v) { return v.name != arguments.only; });
    if (variants.empty()) throw cli::UsageError("--only: there is no such way for this dataset");
  }
  const LoadWatch others;
  DecodeMeasured measured;
  measured.ways = MeasureDecoding(variants, items, arguments.rounds, stop);
  MeasureQuality(variants, items, arguments.quality_images, measured.ways);
  if (arguments.stages) {
    std::vector<NamedVariant> parts = DecodeStages(false), packed_parts = DecodeStages(true);
    measured.stages = MeasureDecoding(parts, items, arguments.rounds, stop);
    measured.packed_stages = MeasureDecoding(packed_parts, items, arguments.rounds, stop);
  }
  if (arguments.bandwidth) {
    measured.bandwidth =
        MeasureBandwidth(items, {.threads = arguments.threads, .rounds = arguments.rounds}, stop);
  }
  WarnOfLoad(others.OtherCpus(), measured.warnings);
  std::string text = TableOf(arguments, items, measured.ways);
  if (arguments.stages) {
    text += StageTableOf("JPEG", measured.stages) + StageTableOf("packed", measured.packed_stages);
  }
  if (measured.bandwidth) text += TextOf(*measured.bandwidth);
  return {text + WarningsText(measured.warnings), JsonOf(arguments, items, measured), {}};
}

}  // namespace

cli::Command AddDecodeCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("decode", kDecodeDescription);
  const auto arguments = std::make_shared<DecodeArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset,
                   "folder of a dataset of JPEGs or packed images");
  AddOption(
      *app, "--transform", "STEPS", kDecodeTransformHelp, [arguments](const std::string& text) {
        arguments->transform = ParsePipeline(text);
        if (!std::all_of(arguments->transform.begin(), arguments->transform.end(), IsGeometric)) {
          throw cli::UsageError("decode measures only steps that crop, resize and flip");
        }
        arguments->transform_text = text;
      });
  AddNumber(*app, "--images", "N", "pictures to decode (default 200)", arguments->images, 1,
            1'000'000);
  AddNumber(*app, "--rounds", "N", "rounds to measure (default 7)", arguments->rounds, 1, 10'000);
  AddNumber(*app, "--quality-images", "N",
            "pictures whose quality is measured (default 50; 0: none)", arguments->quality_images,
            0, 1'000'000);
  AddNumber(*app, "--seed", "N", "seed of the crops (default 0)", arguments->seed, 0, UINT64_MAX);
  app->add_option("--only", arguments->only, "only this way, for a profiler")->type_name("WAY");
  app->add_flag("--stages", arguments->stages, "also measure each stage of our decoders");
  CLI::Option* const bandwidth =
      app->add_flag("--bandwidth", arguments->bandwidth,
                    "also measure how much of memory's bandwidth packed\n"
                    "images use, beside a copy's rate");
  AddNumber(*app, "--threads", "N",
            "threads of --bandwidth, which measures one and this\n"
            "many (default: one for each CPU)",
            arguments->threads, 1, 1024)
      ->needs(bandwidth);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kDecodeExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunMeasuring(
                arguments->output, "decoding",
                "decoding pictures of " + cli::Printable(ShownPath(arguments->dataset)),
                [&](const std::stop_token& stop, cli::Progress&) {
                  return DecodeAnswer(*arguments, stop);
                });
          }};
}

}  // namespace sluice::bench
