// In the order of the header. Nearly all experiments play epochs by RunEpochs() with options
// derived from the user's (OneEpoch, TrialOptions), so that they measure the loader that the user
// asked for. Trials drop an incomplete last batch and repeat the samples as often as needed, so
// that every step of every accelerator has a full batch. The loader times the parts of making rows
// in the epochs themselves (LoaderTrace); only those within decoding are measured apart from the
// epochs (bench/parts/decode.h), and scaled to the time that the loader counted. An
// experiment that does not apply to the data returns nothing instead of failing; since a stop also
// arrives as an Error, the handlers look for a stop request first.
#include "bench/epoch/experiments.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <sluice/convert.h>
#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/play_source.h>

#include "bench/epoch/run.h"
#include "bench/machine/disk.h"
#include "bench/parts/decode.h"
#include "bench/report/statistics.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

// The options for playing one epoch without extra measurements.
EpochOptions OneEpoch(const EpochOptions& options, std::uint64_t warm_up) {
  EpochOptions one = options;
  one.epochs = 1;
  one.warm_up = warm_up;
  one.also_cold = 0;
  one.floor = false;
  return one;
}

// The options for an epoch that is long enough for `steps` steps, in each of which every one of
// `accelerators` accelerators takes a batch.
EpochOptions TrialOptions(const EpochOptions& options, std::uint64_t accelerators,
                          std::uint64_t steps, std::uint64_t samples) {
  EpochOptions trial = OneEpoch(options, 0);
  trial.batches_per_step = accelerators;
  trial.most_batches = steps * accelerators;
  trial.loader.ranks.last_batch = LastBatch::kDrop;
  // During a step, the loader decodes the batches of the next step.
  trial.loader.ring.prefetch =
      std::max<std::size_t>(options.loader.ring.prefetch.value_or(0), accelerators + 1);
  const std::uint64_t wanted = trial.most_batches * options.loader.batch_size;
  trial.repeat =
      samples >= wanted ? 1 : (wanted + samples - 1) / std::max<std::uint64_t>(samples, 1);
  return trial;
}

}  // namespace

// MLPerf Storage's ResNet-50 on an emulated H100 (v2.0): batches of 400 images, 0.224 s each,
// computing for at least 90% of the time. RetinaNet on an emulated B200: batches of 24 images,
// 0.04755 s each, 85%.
const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> profiles = {{"mlperf-resnet50-h100", 400, 224, 0.9},
                                                {"retinanet-b200", 24, 47.55, 0.85}};
  return profiles;
}

const Profile& ProfileNamed(std::string_view name) {
  std::string names;
  for (const Profile& profile : Profiles()) {
    if (profile.name == name) return profile;
    names += (names.empty() ? "" : ", ") + profile.name;
  }
  throw cli::UsageError("\"" + std::string(name) + "\" is not one of " + names);
}

AcceleratorSearch SearchAccelerators(
    double wanted, std::uint64_t estimate,
    const std::function<AcceleratorTrial(std::uint64_t accelerators)>& trial) {
  constexpr std::size_t kMaxTrials = 40;
  AcceleratorSearch search;
  search.wanted = wanted;
  std::uint64_t failed = 0;  // the smallest number of accelerators that failed; 0: none yet
  std::uint64_t stride = 1;  // doubles until one number has passed and one has failed
  std::uint64_t n = std::max<std::uint64_t>(estimate, 1);
  while (search.trials.size() < kMaxTrials) {
    search.trials.push_back(trial(n));
    if (search.trials.back().utilisation >= wanted) {
      search.fed = n;
    } else {
      failed = n;
    }
    if (failed == search.fed + 1) break;  // neighbours: `fed` is the largest number that passes
    if (failed == 0) {
      n += stride;
    } else if (search.fed == 0) {
      n = n > stride ? n - stride : 1;
    } else {
      n = search.fed + (failed - search.fed) / 2;
    }
    stride = std::min<std::uint64_t>(2 * stride, 64);
  }
  return search;
}

AcceleratorSearch FindAccelerators(const EpochOptions& options, double wanted,
                                   const EpochHooks& hooks,
                                   const std::function<void(const AcceleratorTrial&)>& on_trial) {
  const std::uint64_t samples = OpenPlayed(options, hooks.stop).front().size();
  EpochOptions alone = TrialOptions(options, 1, kTrialSteps, samples);
  alone.step = {};
  alone.warm_up = options.cold ? 0 : 1;
  const EpochFigures free_running = RunEpochs(alone, hooks).epochs.back();
  const AcceleratorTrial first{0, 0, ImagesPerSecond(free_running)};
  if (on_trial) on_trial(first);

  const double one_needs =
      static_cast<double>(options.loader.batch_size) * 1000 / options.step.milliseconds;
  const auto estimate = static_cast<std::uint64_t>(first.images_per_second / one_needs);
  AcceleratorSearch search = SearchAccelerators(wanted, estimate, [&](std::uint64_t accelerators) {
    const EpochOptions trial = TrialOptions(options, accelerators, kTrialSteps + 1, samples);
    const EpochFigures played = RunEpochs(trial, hooks).epochs.back();
    const AcceleratorTrial result{accelerators, played.utilisation.value_or(0),
                                  ImagesPerSecond(played)};
    if (on_trial) on_trial(result);
    return result;
  });
  search.trials.insert(search.trials.begin(), first);
  return search;
}

ThreadCurve MeasureThreadCurve(const EpochOptions& options, const std::vector<unsigned>& threads,
                               const EpochHooks& hooks) {
  ThreadCurve curve;
  curve.cpus = AvailableCpus();
  std::vector<std::vector<double>> cpu(threads.size());
  for (const unsigned count : threads)
    curve.points.push_back({count, {}, 0});
  EpochOptions one = OneEpoch(options, options.warm_up);
  for (std::uint64_t round = 0; round < options.epochs; ++round) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      one.loader.threads = threads[i];
      const EpochFigures played = RunEpochs(one, hooks).epochs.back();
      curve.points[i].images_per_second.push_back(ImagesPerSecond(played));
      cpu[i].push_back(1000 * played.cpu_seconds / static_cast<double>(played.images));
    }
  }
  std::vector<double> counts, rates;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    curve.points[i].cpu_seconds_per_1000 = Median(cpu[i]);
    if (threads[i] > curve.cpus) continue;
    counts.push_back(threads[i]);
    rates.push_back(Median(curve.points[i].images_per_second));
  }
  curve.fit = FitSerialShare(counts, rates);
  return curve;
}

namespace {

double MedianSeconds(const EpochsRun& run) {
  std::vector<double> seconds;
  for (const EpochFigures* const figures : run.Measured())
    seconds.push_back(figures->seconds);
  return Median(seconds);
}

}  // namespace

PipelineCost MeasurePipelineCost(const EpochOptions& options, const EpochsRun& run,
                                 const std::stop_token& stop) {
  EpochHooks hooks;
  hooks.stop = stop;
  PipelineCost cost;
  cost.epoch_seconds = MedianSeconds(run);

  EpochOptions loading = OneEpoch(options, options.cold ? 0 : 1);
  loading.step = {};
  cost.loading_seconds = MedianSeconds(RunEpochs(loading, hooks));

  // A pretend step uses nothing of its batch, so it needs no loader.
  using Clock = std::chrono::steady_clock;
  const std::uint64_t all = run.Measured().front()->steps;
  const std::uint64_t steps = std::min<std::uint64_t>(all, 50);
  const Clock::time_point begin = Clock::now();
  for (std::uint64_t step = 0; step < steps; ++step) {
    Train(options.step);
    ThrowIfStopped(stop);
  }
  cost.training_seconds = std::chrono::duration<double>(Clock::now() - begin).count() /
                          static_cast<double>(steps) * static_cast<double>(all);
  return cost;
}

std::vector<double> MeasureStops(const EpochOptions& options, std::uint64_t loaders,
                                 const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kFurthest = 16;  // batches
  const std::vector<Dataset> datasets = OpenPlayed(options, stop);
  std::vector<double> seconds;
  for (std::uint64_t round = 0; round < loaders; ++round) {
    ThrowIfStopped(stop);
    std::optional<Loader> loader(MakeLoader(options, datasets, options.loader));
    const std::uint64_t batches = round % kFurthest;
    for (const Batch& batch : loader->Epoch(round)) {
      if (batch.index() >= batches) break;
    }
    const Clock::time_point begin = Clock::now();
    loader.reset();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return seconds;
}

namespace {

// How much PartsOfPixels() measures.
constexpr std::uint64_t kImages = 60;
constexpr std::uint64_t kRounds = 3;

// Splits `share`, that of making pixels of payloads, among the stages of our decoder. They are
// measured here, on one thread. Empty if our decoder does not handle the dataset's images, or if it
// does not decode each row's: pictures may be kept decoded, or be decoded by a device.
std::vector<StagePart> PartsOfPixels(const EpochOptions& options, double share,
                                     const std::stop_token& stop) {
  if (options.loader.keep || options.loader.on_device.decode != DecodeOn::kHost) return {};
  try {
    const Dataset dataset = Dataset::Open(options.dataset, options.limits, stop);
    // If the dataset has both JPEGs and packed images, measure the form of its first picture.
    const bool packed = dataset.size() > 0 && dataset[0].Payload().codec == Codec::kPacked;
    std::vector<DecodeItem> items =
        ChooseDecodeItems(dataset, options.loader.transform, kImages, options.loader.seed, packed);
    std::erase_if(items, [&](const DecodeItem& item) { return item.stored_packed != packed; });
    if (items.empty()) return {};
    std::vector<NamedVariant> variants = DecodeStages(packed);
    const std::vector<DecodeFigures> figures = MeasureDecoding(variants, items, kRounds, stop);
    std::vector<double> added = AddedByStage(figures);
    for (double& milliseconds : added)  // noise can make a difference negative
      milliseconds = std::max(milliseconds, 0.0);
    const double sum = std::accumulate(added.begin(), added.end(), 0.0);
    std::vector<StagePart> parts;
    if (sum <= 0) return parts;
    for (std::size_t i = 0; i < added.size(); ++i)
      parts.push_back({figures[i].name, figures[i].description, share * added[i] / sum});
    return parts;
  } catch (const Error&) {
    ThrowIfStopped(stop);
    return {};  // no JPEGs or packed images, or only ones that another decoder handles
  } catch (const cli::UsageError&) {
    return {};  // the transform has a border
  }
}

// Describes a part of making rows (PartTime), for the table of stages.
const char* DescriptionOf(const PartTime& part) {
  constexpr std::pair<std::string_view, const char*> kDescriptions[] = {
      {"decode", "payload to pixels"},
      {"checksum", "payloads compared with their checksums"},
      {"fields", "labels and other values"},
      {"warp", "pictures turned or sheared"},
      {"normalize", "pixels written as the batch's numbers"},
      {"function", "your sample_function"},
      {"copy", "raw pixels copied, with their fields"},
      {"files", "blocks or files read by the decoding threads"},
      {"other", "records found, caches asked, files checked"}};
  if (part.step) return "a step of the transform";
  for (const auto& [name, description] : kDescriptions)
    if (part.part == name) return description;
  return "";
}

// The parts of the decoding stage's time, as the loader timed them in the epochs.
std::vector<StagePart> PartsOfDecoding(const EpochOptions& options, const EpochsRun& run,
                                       const std::stop_token& stop) {
  const LoaderStats& stats = run.stats;
  double timed = 0;
  for (const PartTime& part : run.parts)
    timed += part.seconds;
  if (timed <= 0) return {};
  const double files = stats.file_read_seconds + stats.file_make_seconds;
  // In the rest of the stage's time, its threads had no CPU; if they read files, they waited for
  // these, and that is a part already.
  const bool sampled = files == 0 && stats.decode_cpu_seconds > 0 && stats.decode_seconds > 0;
  const double working =
      sampled ? std::min(1.0, stats.decode_cpu_seconds / stats.decode_seconds) : 1;
  std::vector<StagePart> parts;
  for (const PartTime& part : run.parts) {
    const double share = working * part.seconds / timed;
    if (part.part == "files" && !part.step && files > 0) {
      const double read = share * stats.file_read_seconds / files;
      parts.push_back({"files", "opening and reading them", read});
      parts.push_back({"samples", "made of the files, as a conversion makes them", share - read});
      continue;
    }
    std::vector<StagePart> pixels;
    if (part.part == "decode" && !part.step) pixels = PartsOfPixels(options, share, stop);
    if (pixels.empty()) pixels = {{part.part, DescriptionOf(part), share}};
    parts.insert(parts.end(), pixels.begin(), pixels.end());
  }
  if (working < 1) {
    parts.push_back({"waiting for a CPU", "or for pages of mapped files", 1 - working});
  }
  return parts;
}

}  // namespace

std::vector<Stage> StagesOf(const EpochOptions& options, const EpochsRun& run,
                            const std::stop_token& stop) {
  const LoaderStats& stats = run.stats;
  const auto images = static_cast<double>(stats.samples);
  double hand_over = 0;
  double handed_over = 0;
  for (const EpochFigures* const figures : run.Measured()) {
    hand_over += figures->hand_over_seconds;
    handed_over += static_cast<double>(figures->images);
  }
  std::vector<Stage> stages = {{.name = "read",
                                .description = "order, and blocks read ahead",
                                .threads = 1,
                                .images = images,
                                .seconds = stats.read_seconds,
                                .waiting_seconds = stats.read_wait_seconds,
                                .parts = {}},
                               {.name = "decode",
                                .description = "payloads to rows",
                                .threads = run.threads,
                                .images = images,
                                .seconds = stats.decode_seconds,
                                .waiting_seconds = stats.decode_wait_seconds,
                                .parts = PartsOfDecoding(options, run, stop)},
                               {.name = "hand-over",
                                .description = "batches given to the consumer",
                                .threads = 1,
                                .images = handed_over,
                                .seconds = hand_over,
                                .waiting_seconds = stats.consumer_wait_seconds,
                                .parts = {}}};
  if (!options.loader.device.is_host()) {
    // Measured with the device's own clock. In the rest of the time the device had nothing to copy.
    stages.push_back({.name = "upload",
                      .description = "copies to the device",
                      .threads = 1,
                      .images = images,
                      .seconds = stats.upload_seconds,
                      .waiting_seconds = std::max(0.0, stats.seconds - stats.upload_seconds),
                      .parts = {}});
  }
  if (stats.device_pictures > 0) {
    stages.push_back({.name = "decode on device",
                      .description = "payload to pixels on the device",
                      .threads = 1,
                      .images = static_cast<double>(stats.device_pictures),
                      .seconds = stats.device_decode_seconds,
                      .waiting_seconds = std::max(0.0, stats.seconds - stats.device_decode_seconds),
                      .parts = {}});
  }
  return stages;
}

namespace {

// A part of the source: about `samples` of the samples that `played` has.
ConvertSource PartOf(ConvertSource source, const Dataset& played, std::uint64_t samples) {
  if (source.kind != ConvertSource::Kind::kFolder) {
    source.split.end = std::min(1.0, static_cast<double>(samples) / double(played.size()));
    return source;
  }
  // PlaySource() gives a folder's samples the random order that a conversion would give them, so
  // the first ones are a random choice.
  std::vector<std::string> paths;
  for (std::uint64_t i = 0; i < std::min(samples, played.size()); ++i)
    paths.push_back(played[i].key());
  source = ConvertSource::Paths(std::move(paths), source.root);
  source.label.store = false;  // a few samples need not have all classes
  return source;
}

// The median rate of three epochs, which repeat the samples until a run lasts a second. An epoch
// that is shorter than the ring is decoded while the one before it is played, so the rate of a
// short one says nothing, and only the clock tells how often to repeat it.
double MedianRate(EpochOptions options, const Dataset& dataset, const std::stop_token& stop) {
  constexpr std::chrono::seconds kLongEnough(1);
  constexpr std::uint64_t kMaxRepeat = 10'000;
  options.epochs = 3;
  options.warm_up = 1;
  options.also_cold = options.most_batches = 0;
  options.batches_per_step = 1;
  options.step = {};
  options.index.clear();
  options.compile_to.clear();
  for (options.repeat = 1;; options.repeat *= 2) {
    const auto start = std::chrono::steady_clock::now();
    const EpochsRun run =
        RunEpochs(options, {.on_batch = {}, .on_epoch = {}, .on_span = {}, .stop = stop}, dataset);
    if (options.repeat >= kMaxRepeat || std::chrono::steady_clock::now() - start >= kLongEnough)
      return Median(run.Rates());
  }
}

}  // namespace

std::optional<ConversionGain> MeasureConversion(const EpochOptions& options, const Dataset& played,
                                                const std::stop_token& stop) {
  constexpr std::uint64_t kSamples = 256;
  ThrowIfStopped(stop);
  try {
    const ConvertSource part = PartOf(*options.source, played, kSamples);
    const ScratchFolder scratch;
    ConvertOptions convert;
    convert.form.keep = true;
    convert.geometry.max_side.reset();
    convert.run.max_pixels = options.limits.max_pixels;
    ConversionGain gain;
    const ConvertSummary summary =
        Convert(part, scratch.path() / "converted", convert, {.on_progress = {}, .stop = stop});
    gain.samples = summary.samples;
    PlayOptions play;
    play.max_pixels = options.limits.max_pixels;
    EpochOptions of_part = options;
    of_part.loader.integrity.on_fault = OnFault::kSkip;  // as in the conversion
    gain.played =
        MedianRate(of_part, Dataset::Open(PlaySource(part, play, stop), options.limits), stop);
    gain.converted = MedianRate(
        of_part, Dataset::Open(scratch.path() / "converted", options.limits, stop), stop);
    return gain;
  } catch (const Error&) {
    ThrowIfStopped(stop);
    return std::nullopt;  // the part has no sample that can be converted, or lacks chosen fields
  }
}

}  // namespace sluice::bench
