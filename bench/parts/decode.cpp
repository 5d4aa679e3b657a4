// `sluice-bench decode`: chooses pictures and their crops, times all ways of decoding in turn, and
// judges the pixels.
//
// A machine's speed changes while it is measured: clocks, other processes, heat. So the ways take
// turns, with the same pictures in each round, and ratios are taken within a round before their
// median is: what slows one round slows all ways in it. The pictures are in memory before the first
// round, which is not counted.
//
// Quality is judged on pictures that are not flipped, because a flip changes no value, against a
// reference in double precision.
#include "bench/parts/decode.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/parse_pipeline.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "format/pixels/packed/pack.h"
#include "reader/transform/geometry.h"
#include "reader/transform/steps.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

using option_list::Option;
using option_list::Options;

std::vector<std::uint8_t> RoomFor(const std::vector<DecodeItem>& items) {
  std::size_t bytes = 0;
  for (const DecodeItem& item : items) {
    bytes = std::max(bytes, std::size_t{item.region.x.target} * item.region.y.target * 3);
  }
  return std::vector<std::uint8_t>(bytes);
}

// Adds a JPEG's packed form, or the JPEG that a packed image stands for.
void AddOtherForm(DecodeItem& item) {
  item.packed = item.payload;
  item.stored_packed = item.payload.codec == Codec::kPacked;
  if (item.payload.codec == Codec::kPacked) {
    item.other_form = JpegFileOf(item.payload);
    item.payload.codec = Codec::kJpeg;
    item.payload.bytes = item.other_form;
  } else if (item.payload.codec == Codec::kJpeg) {
    packed::Coefficients coefficients;
    std::string why;
    if (packed::ReadCoefficients(item.payload.bytes, coefficients, why) == packed::Taken::kYes) {
      item.other_form = packed::Pack(coefficients);
      item.packed.codec = Codec::kPacked;
      item.packed.bytes = item.other_form;
    }
  }
}

}  // namespace

std::vector<DecodeItem> ChooseDecodeItems(const Dataset& dataset, Pipeline transform,
                                          std::uint64_t count, std::uint64_t seed,
                                          bool both_forms) {
  // Half of all pictures are flipped, as in most trainings.
  transform.push_back(HorizontalFlip());
  const Geometry geometry(transform);
  // Spread over the dataset, whose order may be by size or by class.
  const std::uint64_t step = std::max<std::uint64_t>(1, dataset.size() / count);
  std::vector<DecodeItem> items;
  for (std::uint64_t i = 0; i < dataset.size() && items.size() < count; i += step) {
    DecodeItem item;
    item.sample = dataset[i];
    item.payload = item.sample->Payload();  // also reads it, so that it is in memory
    if (std::uint64_t{item.payload.width} * item.payload.height > ReadLimits().max_pixels) continue;
    if (both_forms) AddOtherForm(item);
    if (item.payload.codec != Codec::kJpeg) continue;
    const Frame frame =
        geometry.FrameFor(item.payload.width, item.payload.height, DrawSeed(seed, 0), i);
    item.region = frame.region;
    if (frame.warped || item.region.flip_y || item.region.transpose) {
      throw cli::UsageError(
          "--transform: decode measures only crops, resizes and flips left to right");
    }
    if (item.region.bordered()) {
      throw cli::UsageError("--transform: decode cannot measure steps that leave a border");
    }
    items.push_back(std::move(item));
  }
  if (items.empty()) throw Error(ErrorCode::kUnsupported, dataset.path().string(), "has no JPEG");
  return items;
}

std::vector<DecodeFigures> MeasureDecoding(std::vector<NamedVariant>& variants,
                                           const std::vector<DecodeItem>& items,
                                           std::uint64_t rounds, const std::stop_token& stop) {
  std::vector<DecodeFigures> figures;
  for (const NamedVariant& v : variants)
    figures.push_back({v.name, v.description, {}, 0});
  std::vector<std::uint8_t> rgb = RoomFor(items);
  // The first round warms caches and memory; it is not counted.
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      ThrowIfStopped(stop);
      const auto start = std::chrono::steady_clock::now();
      for (const DecodeItem& item : items)
        variants[v].variant->Decode(item, rgb.data());
      const std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - start;
      if (round > 0) figures[v].milliseconds.push_back(taken.count() / double(items.size()));
    }
  }
  return figures;
}

std::vector<double> AddedByStage(const std::vector<DecodeFigures>& stages) {
  std::vector<double> added;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    std::vector<double> differences = stages[s].milliseconds;
    for (std::size_t r = 0; s > 0 && r < differences.size(); ++r)
      // Each stage is measured together with all before it; differences are taken within a round.
      differences[r] -= stages[s - 1].milliseconds[r];
    added.push_back(Median(differences));
  }
  return added;
}

namespace {

constexpr const char* kDecodeDescription =
    "Decodes crops in several ways, side by side, on one thread.\n\n"
    "Reads every k-th JPEG or packed image of the dataset into memory, and makes its other form "
    "too: the JPEG of a packed image, or a JPEG's packed form. Draws one region for each image, "
    "and decodes all of them in each way in turn, round after round. Prints each way's median time "
    "for a picture, its ratio to the first way (the median of the ratios within a round), and the "
    "quality: mean PSNR against the accurate inverse DCT and the transform's filter in double "
    "precision. (FFCV's way always has the area filter: compare its quality with --transform "
    "rrc:224:area.)\n";

constexpr const char* kDecodeExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench decode data/photos\n"
    "  sluice-bench decode data/photos --transform short:256,center:224 --rounds 9\n"
    "  sluice-bench decode data/photos --stages\n\n";

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
  ResultOptions output;
};

constexpr auto kDecodeOptions = Options<DecodeArguments>(
    "decode", "",
    Option("images", &DecodeArguments::images, "pictures to decode", {.least = 1, .most = 1e6}),
    Option("rounds", &DecodeArguments::rounds, "rounds to measure",
           {.least = 1, .most = 10'000, .comparable = true}),
    Option("quality_images", &DecodeArguments::quality_images,
           "pictures whose quality is measured; 0: none", {.most = 1e6, .comparable = true}),
    Option("seed", &DecodeArguments::seed, "seed of the crops", {.comparable = true}),
    Option("only", &DecodeArguments::only, "only this way, for a profiler", {.value = "WAY"}),
    Option("stages", &DecodeArguments::stages, "also measure each stage of our decoders",
           {.comparable = true}));

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
      // This way ends with planes, which are no RGB pixels to compare.
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

// The average bytes of a picture in each form.
struct FormBytes {
  explicit FormBytes(const std::vector<DecodeItem>& items) {
    for (const DecodeItem& item : items) {
      jpeg += double(item.payload.bytes.size()) / double(items.size());
      packed += double(item.packed.bytes.size()) / double(items.size());
    }
  }
  double jpeg = 0, packed = 0;
};

void ReportWays(const std::vector<DecodeFigures>& figures, PartResult& part) {
  TextTable table({"way", "ms/image", "<least to most", "ratio", "PSNR dB", "<what it is"});
  auto ways = nlohmann::ordered_json::array();
  for (const DecodeFigures& f : figures) {
    const double ratio = RatioToFirst(figures.front(), f);
    part.Add(table, f.name, {"milliseconds_per_image." + f.name, "ms", false, f.milliseconds},
             {.digits = 4},
             {cli::Format("%.2f", ratio), f.decibels > 0 ? cli::Format("%.2f", f.decibels) : "",
              f.description});
    ways.push_back({{"name", f.name},
                    {"description", f.description},
                    {"milliseconds_per_image", Median(f.milliseconds)},
                    {"ratio", ratio},
                    {"rounds", f.milliseconds}});
    if (f.decibels > 0) ways.back()["psnr_db"] = f.decibels;
  }
  part.text += table.Text();
  part.members["ways"] = std::move(ways);
}

void ReportStages(const char* form, const char* member, const std::vector<DecodeFigures>& stages,
                  PartResult& part) {
  const std::vector<double> added = AddedByStage(stages);
  const double whole = Median(stages.back().milliseconds);
  TextTable table({form, "ms/image", "share", "<what it is"});
  auto list = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    table.Add({stages[s].name, cli::Format("%.4f", added[s]),
               cli::Format("%.1f%%", 100 * added[s] / whole), stages[s].description});
    list.push_back({{"name", stages[s].name},
                    {"description", stages[s].description},
                    {"milliseconds_per_image", added[s]}});
  }
  part.text += "\n" + table.Text();
  part.members[member] = std::move(list);
}

void MeasureDecode(const DecodeArguments& arguments, PartResult& part,
                   const std::stop_token& stop) {
  const Dataset dataset = Dataset::Open(arguments.dataset, {}, stop);
  const std::vector<DecodeItem> items =
      ChooseDecodeItems(dataset, arguments.transform, arguments.images, arguments.seed, true);
  std::vector<NamedVariant> variants = DecodeVariants();
  if (!arguments.only.empty()) {
    std::string names;
    for (const NamedVariant& variant : variants)
      names += (names.empty() ? "" : ", ") + variant.name;
    std::erase_if(variants, [&](const NamedVariant& v) { return v.name != arguments.only; });
    if (variants.empty())
      throw cli::UsageError("--only: \"" + arguments.only + "\" is not one of " + names);
  }
  std::vector<DecodeFigures> ways = MeasureDecoding(variants, items, arguments.rounds, stop);
  MeasureQuality(variants, items, arguments.quality_images, ways);
  const FormBytes bytes(items);
  part.members = {{"dataset", ShownPath(arguments.dataset)},
                  {"rounds", arguments.rounds},
                  {"seed", arguments.seed},
                  {"images", items.size()},
                  {"jpeg_bytes_per_image", bytes.jpeg},
                  {"packed_bytes_per_image", bytes.packed},
                  {"transform", arguments.transform_text + ",flip"}};
  ReportWays(ways, part);
  part.AddNote(cli::Format(
      "%zu JPEGs of %.0f bytes on average, packed %.0f; transform %s,flip; medians of %llu rounds",
      items.size(), bytes.jpeg, bytes.packed, arguments.transform_text.c_str(),
      static_cast<unsigned long long>(arguments.rounds)));
  if (arguments.stages) {
    std::vector<NamedVariant> jpeg = DecodeStages(false), packed = DecodeStages(true);
    ReportStages("JPEG", "stages", MeasureDecoding(jpeg, items, arguments.rounds, stop), part);
    ReportStages("packed", "packed_stages", MeasureDecoding(packed, items, arguments.rounds, stop),
                 part);
  }
}

}  // namespace

cli::Command AddDecodeCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("decode", kDecodeDescription);
  const auto arguments = std::make_shared<DecodeArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset,
                   "folder of a dataset of JPEGs or packed images");
  cli::AddOption(
      *app, "--transform", "STEPS",
      "the steps of `sluice-bench epoch --transform` that crop, resize and flip left to right, "
      "joined by commas (default rrc:224; half of all pictures are flipped)",
      [arguments](const std::string& text) {
        arguments->transform = ParsePipeline(text);
        if (!std::all_of(arguments->transform.begin(), arguments->transform.end(), IsGeometric)) {
          throw cli::UsageError("decode measures only steps that crop, resize and flip");
        }
        arguments->transform_text = text;
      });
  cli::AddDeclared(*app, *arguments, kDecodeOptions);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kDecodeExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunPart(arguments->output, "decoding",
                           "decoding pictures of " + cli::Printable(ShownPath(arguments->dataset)),
                           [&](PartResult& part, const std::stop_token& stop, cli::Progress&) {
                             MeasureDecode(*arguments, part, stop);
                           });
          }};
}

}  // namespace sluice::bench
