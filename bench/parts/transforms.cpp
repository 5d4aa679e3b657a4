// The cost of each step of a transform, on raw pixels.
//
// The steps run through the loader's own row writer, on one picture again and again, with random
// numbers drawn again each time. Each round measures all steps, so that a disturbance of the
// machine does not fall on a single step.
#include "bench/parts/transforms.h"

#include <algorithm>
#include <memory>

#include <sluice/parse_pipeline.h>

#include "bench/commands.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "format/random.h"
#include "reader/decoding/picture_painter.h"
#include "reader/transform/batch_mix.h"
#include "reader/transform/pixel_program.h"
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

// A ramp in each channel (from left to right, from top to bottom, and diagonal), with some noise.
std::vector<std::byte> MakePixels(std::uint32_t side) {
  RandomStream draws(1, Purpose::kTransform, 0);
  std::vector<std::byte> pixels;
  pixels.reserve(std::size_t{side} * side * 3);
  for (std::uint32_t y = 0; y < side; ++y) {
    for (std::uint32_t x = 0; x < side; ++x) {
      for (std::uint32_t c = 0; c < 3; ++c) {
        const double smooth = 40 + 150.0 * (c == 0 ? x : c == 1 ? y : x + y) / (2 * side);
        pixels.push_back(static_cast<std::byte>(smooth + double(draws.Below(24))));
      }
    }
  }
  return pixels;
}

// Runs one step (or several joined by commas) again and again.
class StepRunner {
 public:
  StepRunner(const std::string& text, std::uint32_t side, const std::vector<std::byte>& pixels)
      : payload_{Codec::kRaw, PixelType::kUint8, 3, side, side, pixels} {
    LoaderOptions options;
    options.transform = ParsePipeline(text);
    TakeMixes(text, options.transform);
    views_ = ViewsOf(options);
    const Region region = FrameOf(0).region;
    pixels_out_ = std::size_t{region.width()} * region.height();
    views_[0].pixels.CheckSize(region.width(), region.height(), 3);
    // A step that mixes needs a batch; for all others, one row is written over and over.
    shape_ = {nullptr,       mixes_.empty() ? 1 : kBatch, region.height(), region.width(), 3,
              Layout::kNHWC, views_[0].pixels.type()};
    rows_.resize(shape_.samples * shape_.sample_bytes());
  }

  // Writes the row of `position`. After the last row of a batch, mixes the batch.
  void WriteRow(std::uint64_t position) {
    const auto decode = [&](const Region& region, const PixelTarget& target) {
      return decoder_.Decode(payload_, region, target);
    };
    const Defect defect =
        view_painter_.Paint(decode, FrameOf(position), views_[0].pixels, {DrawSeed(1, 0), position},
                            {rows_.data() + position % shape_.samples * shape_.sample_bytes(), 3,
                             PixelOrder::kInterleaved});
    if (defect != nullptr) throw cli::UsageError(std::string("--steps: ") + defect);
    if ((position + 1) % shape_.samples != 0) return;
    for (const MixStep& mix : mixes_) {
      RandomStream draws = DrawsOf(mix, DrawSeed(1, 0), position);
      if (!IsMixed(mix, draws)) continue;
      if (mix.kind == MixKind::kPaste)
        PasteRows(mix.flip);
      else
        MixImages(rows_.data(), shape_, DrawMix(mix, shape_.width, shape_.height, draws), saved_);
    }
  }
  std::size_t pixels_out() const noexcept { return pixels_out_; }

  // Nanoseconds per output pixel.
  double Measure(double seconds) {
    for (std::size_t i = 0; i < shape_.samples; ++i)
      WriteRow(i);  // untimed: allocates the buffers
    // CPU time: other programs on the machine must not change a step's figure.
    const double begin = ThreadCpuSeconds();
    std::uint64_t times = 0;
    double taken = 0;
    do {
      for (std::size_t i = 0; i < kBatch; ++i)
        WriteRow(times++);
      taken = ThreadCpuSeconds() - begin;
    } while (taken < seconds || taken <= 0);
    return 1e9 * taken / (double(times) * double(pixels_out_));
  }

 private:
  static constexpr std::size_t kBatch = 16;  // rows, if a batch is mixed

  // Pastes the middle quarter of each row, in place of objects, into the row after it or into
  // itself, mirrored.
  void PasteRows(bool flip) {
    if (covered_.empty()) {
      covered_.resize(pixels_out_);
      for (std::size_t i = 0; i < pixels_out_; ++i) {
        const std::size_t x = i % shape_.width, y = i / shape_.width;
        const bool middle = x >= shape_.width / 4 && x < shape_.width - shape_.width / 4 &&
                            y >= shape_.height / 4 && y < shape_.height - shape_.height / 4;
        covered_[i] = middle ? 1 : 0;
      }
    }
    for (std::size_t row = shape_.samples; row-- > 1;) {
      std::uint8_t* const own = rows_.data() + row * shape_.sample_bytes();
      const std::uint8_t* partner = own - shape_.sample_bytes();
      if (flip) {
        saved_.assign(own, own + shape_.sample_bytes());
        MirrorImage(saved_.data(), shape_);
        partner = saved_.data();
      }
      PasteImage(own, partner, shape_, covered_);
    }
  }

  // Takes out the steps that mix the images of a batch; they must come last. Refuses the other
  // steps on batches, which change only labels.
  void TakeMixes(const std::string& text, Pipeline& steps) {
    for (const Transform& step : steps) {
      if (const std::optional<MixStep> mix = MixStepOf(step)) {
        mixes_.push_back(*mix);
      } else if (ConcernsBatch(step)) {
        throw cli::UsageError("--steps: \"" + text + "\" has a step that only changes labels");
      } else if (!mixes_.empty()) {
        throw cli::UsageError("--steps: \"" + text +
                              "\" has another step after one that mixes images; steps that mix "
                              "images come last");
      }
    }
    steps.resize(steps.size() - mixes_.size());
  }

  Frame FrameOf(std::uint64_t position) const {
    return views_[0].geometry.FrameFor(payload_.width, payload_.height, DrawSeed(1, 0), position);
  }

  ImagePayload payload_;
  std::vector<ViewProgram> views_;
  std::vector<MixStep> mixes_;
  std::size_t pixels_out_ = 0;
  ImageBatch shape_;  // sizes and type of the rows
  std::vector<std::uint8_t> rows_;
  std::vector<std::uint8_t> saved_;    // memory for MixImages()
  std::vector<std::uint8_t> covered_;  // the pixels that are pasted
  PayloadDecoder decoder_;
  ViewPainter view_painter_;
};

}  // namespace

std::vector<StepCost> MeasureSteps(const std::vector<std::string>& steps, std::uint32_t side,
                                   std::uint64_t rounds, double seconds_each,
                                   const std::stop_token& stop) {
  const std::vector<std::byte> pixels = MakePixels(side);
  std::vector<std::unique_ptr<StepRunner>> runners;
  std::vector<StepCost> costs;
  for (const std::string& step : steps) {
    runners.push_back(std::make_unique<StepRunner>(step, side, pixels));
    costs.push_back({step, runners.back()->pixels_out(), {}});
  }
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t s = 0; s < runners.size(); ++s) {
      ThrowIfStopped(stop);
      costs[s].ns_per_pixel.push_back(runners[s]->Measure(seconds_each));
    }
  }
  return costs;
}

std::vector<std::string> EveryStep(std::uint32_t side) {
  const std::string s = std::to_string(side);
  std::vector<std::string> steps = {"none",
                                    "flip:1",
                                    "vflip:1",
                                    "turns:1",
                                    "center:" + s,
                                    "crop:" + s + "+8",
                                    "crop:" + s + "+8:reflect",
                                    "translate:8",
                                    "translate:8:reflect",
                                    "resize:" + s,
                                    "short:" + s,
                                    "crc:" + s,
                                    "rrc:" + s,
                                    "affine:15",
                                    "affine:0/0.1/0.5/1.5/0+" + s,
                                    "letterbox:" + s,
                                    "zoomout:1/4@1,resize:" + s,
                                    "scalejitter:" + s + ",fixedcrop:" + s,
                                    "shortest:" + s + ",center:" + s,
                                    "perspective:0.5@1",
                                    "mosaic:" + s + ",crop:" + s,
                                    "ioucrop",  // without boxes: what drawing costs
                                    "jitter:0.4",
                                    "jitter:0/0.4",
                                    "jitter:0/0/0.4",
                                    "jitter:0/0/0/0.1",
                                    "hsv",
                                    "distort:1",
                                    "gray:1",
                                    "invert:1",
                                    "solarize:128",
                                    "posterize:4",
                                    "equalize:1",
                                    "autocontrast:1",
                                    "sharpness:2",
                                    "blur:3/1",
                                    "blur:23/2",
                                    "erase:1",
                                    "randaug",
                                    "trivialaug",
                                    "normalize",
                                    "normalize:f16",
                                    "mixup",
                                    "cutmix",
                                    "copypaste:1",
                                    "normalize:f16,mixup"};
  if (side < 32) {  // the blur kernel or the border would not fit
    std::erase(steps, "blur:23/2");
    std::erase_if(steps, [](const std::string& step) { return step.starts_with("crop"); });
  }
  return steps;
}

namespace {

constexpr const char* kTransformsDescription =
    "Measures what each step of a transform costs.\n\n"
    "Figures are nanoseconds of CPU time per output pixel, on one thread. Each step reads raw "
    "pixels and writes a row of a batch, so every figure includes one copy of the row (the step "
    "\"none\") and no decoding; no dataset is needed. The steps take turns, and random numbers are "
    "drawn anew each time, as in an epoch; mixup, cutmix and copypaste mix 16 rows (of copypaste, "
    "without instances). A crop or resize that is "
    "fused with decoding a JPEG costs less than the same step does here on raw pixels.\n";

constexpr const char* kTransformsExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench transforms\n"
    "  sluice-bench transforms --steps jitter:0.4/0.4/0.4/0.1 --steps blur:9 --side 96\n\n";

struct TransformsArguments {
  std::vector<std::string> steps;
  std::uint32_t side = 224;
  std::uint64_t rounds = 5;
  double milliseconds = 50;
  ResultOptions output;
};

constexpr auto kTransformsOptions = Options<TransformsArguments>(
    "transforms", "",
    Option("side", &TransformsArguments::side, "side of the square pictures, in pixels",
           {.least = 1, .most = 4096}),
    Option("rounds", &TransformsArguments::rounds, "rounds to measure",
           {.least = 1, .most = 10'000, .comparable = true}),
    Option("milliseconds_each", &TransformsArguments::milliseconds,
           "milliseconds for each step in a round",
           {.most = 60'000, .comparable = true, .flag = "--ms", .value = "T"}));

void MeasureTransforms(TransformsArguments arguments, PartResult& part,
                       const std::stop_token& stop) {
  if (arguments.steps.empty()) arguments.steps = EveryStep(arguments.side);
  const std::vector<StepCost> costs = MeasureSteps(
      arguments.steps, arguments.side, arguments.rounds, 1e-3 * arguments.milliseconds, stop);
  TextTable table({"step", "ns/pixel", "<least to most", "us/row"});
  for (const StepCost& cost : costs) {
    const double row = 1e-3 * Median(cost.ns_per_pixel) * static_cast<double>(cost.pixels_out);
    part.Add(table, cost.step, {"ns_per_pixel." + cost.step, "ns", false, cost.ns_per_pixel},
             {.digits = 2}, {cli::Format("%.0f", row)});
  }
  part.text = table.Text();
  part.members["steps"] = arguments.steps;
  AddMembers(part.members, arguments, kTransformsOptions);
}

}  // namespace

cli::Command AddTransformsCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("transforms", kTransformsDescription);
  const auto arguments = std::make_shared<TransformsArguments>();
  app->add_option("--steps", arguments->steps,
                  "steps to measure, as for `sluice-bench epoch --transform`; may be given several "
                  "times (default: some of every kind)")
      ->allow_extra_args(false)
      ->type_name("STEPS");
  cli::AddDeclared(*app, *arguments, kTransformsOptions);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kTransformsExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunPart(arguments->output, "measuring", "measuring steps of transforms",
                           [&](PartResult& part, const std::stop_token& stop, cli::Progress&) {
                             MeasureTransforms(*arguments, part, stop);
                           });
          }};
}

}  // namespace sluice::bench
