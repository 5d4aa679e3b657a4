// Plays epochs and measures them.
//
// A warm epoch continues with the loader of the epoch before, as training does. A cold epoch first
// drops the files from the page cache and opens everything again, and its time includes the
// opening. Most figures of an epoch are differences between two readings of a counter: the
// process's CPU time, the energy and the GPU's use are read at the epoch's beginning and end, and
// the loader's statistics at the end of the epoch before and of this one. The consumer here does
// what a trainer does: it asks for a batch, holds it for a pretend step, and gives it back.
#include "bench/epoch/run.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/prctl.h>

#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/mixture.h>
#include <sluice/play_source.h>

#include "bench/epoch/floor.h"
#include "bench/machine/disk.h"
#include "bench/machine/machine.h"
#include "bench/machine/meters.h"
#include "bench/parts/upload.h"
#include "bench/report/statistics.h"
#include "format/disk/manifest.h"
#include "reader/device/device_driver.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

using cli::Format;

double Share(double part, double whole) {
  return whole > 0 ? std::min(1.0, part / whole) : 0;
}

std::string GigabytesText(double bytes_per_second) {
  return Format("%.3g GB/s", 1e-9 * bytes_per_second);
}

std::string DecodingText(const DeviceUse& use) {
  if (!use.asked_to_decode) return "by the CPUs";
  if (use.decoded_images == 0) return "by the CPUs: the device decoded none of these images";
  return Format("%.1f%% of the images by the device, %s us each (%.0f%% of the time)",
                100 * Share(double(use.decoded_images), double(use.images)),
                cli::RateText(1e6 * use.decode_seconds / double(use.decoded_images)).c_str(),
                100 * Share(use.decode_seconds, use.seconds));
}

std::string BusText(const DeviceUse& use) {
  std::string text = cli::BytesText(use.uploaded_bytes) + " crossed it";
  if (use.samples > 0)
    text += Format(", %.3g kB a sample", 1e-3 * double(use.uploaded_bytes) / double(use.samples));
  if (use.upload_seconds <= 0) return text;
  const double rate = double(use.uploaded_bytes) / use.upload_seconds;
  text += Format("; copies took %.0f%% of the time, at %s",
                 100 * Share(use.upload_seconds, use.seconds), GigabytesText(rate).c_str());
  if (use.bare_copies && *use.bare_copies > 0) {
    text += Format(" (pinned copies alone reach %s; this is %.0f%% of that)",
                   GigabytesText(*use.bare_copies).c_str(), 100 * rate / *use.bare_copies);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LinesOf(const DeviceUse& use) {
  return {{"decoding", DecodingText(use)},
          {"bus", BusText(use)},
          {"CPUs", CpusText(use.cpus_busy, use.cpus)},
          {"GPU", GpuText(use.gpu)}};
}

std::string TextOf(const DeviceUse& use) {
  constexpr std::size_t kColumns = 100, kIndent = 13;
  std::string text = "to " + use.device + ":\n";
  for (const auto& [name, words] : LinesOf(use)) {
    std::string wrapped = cli::Wrapped(words, kColumns - kIndent);
    for (std::size_t at = wrapped.find('\n'); at != std::string::npos;
         at = wrapped.find('\n', at + 1))
      wrapped.insert(at + 1, kIndent, ' ');
    text += Format("  %-11s", name.c_str()) + wrapped + "\n";
  }
  return text + "\n";
}

std::pair<std::string, double> BusiestOf(const DeviceUse& use) {
  const std::pair<std::string, double> all[] = {
      {"decoding on the device", Share(use.decode_seconds, use.seconds)},
      {"copies to the device", Share(use.upload_seconds, use.seconds)},
      {"the CPUs", Share(use.cpus_busy, use.cpus)}};
  return *std::max_element(std::begin(all), std::end(all),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

nlohmann::ordered_json JsonOf(const DeviceUse& use) {
  nlohmann::ordered_json json{{"seconds", use.seconds},
                              {"samples", use.samples},
                              {"images", use.images},
                              {"decoded_images", use.decoded_images},
                              {"decode_seconds", use.decode_seconds},
                              {"uploaded_bytes", use.uploaded_bytes},
                              {"upload_seconds", use.upload_seconds},
                              {"cpus_busy", use.cpus_busy},
                              {"cpus", use.cpus}};
  if (use.bare_copies) json["bare_copies_bytes_per_second"] = *use.bare_copies;
  for (const auto& [name, words] : LinesOf(use))
    json["words"][name] = words;
  return json;
}

void Train(const TrainingStep& step) {
  if (step.milliseconds <= 0) return;
  if (!step.busy) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(step.milliseconds));
    return;
  }
  // By the thread's CPU time, since a busy trainer that loses its CPU to decoding threads must lose
  // time by it.
  const double end = ThreadCpuSeconds() + step.milliseconds / 1e3;
  volatile unsigned work = 1;
  while (ThreadCpuSeconds() < end) {
    for (int i = 0; i < 1000; ++i)
      work = work * 1664525 + 1013904223;
  }
}

SampleFunction Decoding(const PretendDecoding& pretended) {
  constexpr std::uint64_t kSlow = 100;  // one sample in 100 is slow
  // Linux may wake a sleeper up to 50 microseconds late, as much as a small picture takes to
  // decode. Threads inherit the setting from the one that starts them.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  return [pretended](MutableSample& sample) {
    // By index, so that the same samples are slow in every epoch and in every loader that is
    // compared.
    const double times = sample.index() % kSlow == 0 ? pretended.slow : 1;
    std::this_thread::sleep_for(
        std::chrono::duration<double, std::micro>(times * pretended.microseconds));
  };
}

std::vector<std::filesystem::path> PlayedFolders(const EpochOptions& options) {
  std::vector<std::filesystem::path> folders = {options.dataset};
  folders.insert(folders.end(), options.with.begin(), options.with.end());
  return folders;
}

std::optional<ConvertSource> FindSource(const std::filesystem::path& path,
                                        const std::stop_token& stop) {
  const ManifestPlace place = ManifestPlace::Of(path);
  if (place.is_old()) return std::nullopt;
  std::shared_ptr<ObjectStore> store;
  std::error_code ignored;
  if (IsStoreUrl(path.native())) {
    store = OpenStore(place.folder.native());
  } else if (!std::filesystem::exists(path, ignored)) {
    return std::nullopt;
  }
  const std::stop_callback stopping(stop, [&store] {
    if (store != nullptr) store->StopCalls();
  });
  const auto has = [&](const char* name) {
    if (store == nullptr) return std::filesystem::exists(place.folder / name, ignored);
    try {
      store->Head(name);
      return true;
    } catch (const Error& error) {
      ThrowIfStopped(stop);
      return error.code() != ErrorCode::kNotFound;  // opening a dataset there says what is wrong
    }
  };
  // A folder in which a conversion was begun is a dataset, though not a finished one.
  if (has(kManifestName) || has(kPlanName)) return std::nullopt;
  return SourceAt(path);
}

namespace {

Dataset PlayInPlace(const EpochOptions& options, const std::stop_token& stop) {
  PlayOptions play;
  play.index = options.index;
  play.compile_to = options.compile_to;
  play.max_pixels = options.limits.max_pixels;
  play.on_warning = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", cli::PrintableLines("warning: " + text).c_str());
  };
  std::shared_ptr<SampleSupply> samples;
  try {
    samples = PlaySource(*options.source, play, stop);
  } catch (const Error& error) {
    // The place may have been meant as a dataset: say that it is not one.
    if (error.file() != options.dataset.native()) throw;
    throw Error(error.code(), error.file(),
                "is not a dataset, and cannot be played as a source: " + error.sentence());
  }
  return Dataset::Open(std::move(samples), options.limits);
}

}  // namespace

std::vector<Dataset> OpenPlayed(const EpochOptions& options, const std::stop_token& stop,
                                std::optional<Dataset> first) {
  std::vector<Dataset> datasets;
  if (first) datasets.push_back(*std::exchange(first, std::nullopt));
  const std::vector<std::filesystem::path> folders = PlayedFolders(options);
  if (datasets.empty() && options.source) datasets.push_back(PlayInPlace(options, stop));
  for (std::size_t i = datasets.size(); i < folders.size(); ++i)
    datasets.push_back(OpenDataset(folders[i], options.limits, options.link, stop));
  return datasets;
}

namespace {

// A measurement needs no real values: says what samples without a mask hold, and that no key points
// change places, so that datasets that do not say it can be played.
void AllowGaps(const std::vector<Dataset>& datasets, OutputOptions& output) {
  if (output.flip_pairs.empty()) output.flip_pairs = "none";
  for (const Dataset& dataset : datasets) {
    const std::vector<Field>& fields = dataset.schema().fields;
    const auto leads = [](const Field& field) {
      return field.kind == FieldKind::kImage && field.follows.empty();
    };
    const auto first = std::find_if(fields.begin(), fields.end(), leads);
    const std::string image =
        output.image.empty() && first != fields.end() ? first->name : output.image;
    for (const Field& field : fields) {
      const bool chosen = output.fields.empty() ? field.follows == image
                                                : std::ranges::count(output.fields, field.name) > 0;
      if (field.role == Role::kMask && chosen) output.mask_fill.emplace(field.name, 0);
    }
  }
}

}  // namespace

Loader MakeLoader(const EpochOptions& options, std::vector<Dataset> datasets,
                  LoaderOptions loader_options) {
  AllowGaps(datasets, loader_options.output);
  if (datasets.size() == 1) return Loader(std::move(datasets.front()), std::move(loader_options));
  Mixture mixture;
  for (std::size_t i = 0; i < datasets.size(); ++i)
    mixture.parts.push_back(
        {std::move(datasets[i]), options.weights.empty() ? 0 : options.weights[i]});
  datasets.clear();
  loader_options.output.absent = 0;  // for fields that a sample lacks; any value would do here
  return Loader(std::exchange(mixture, {}), std::move(loader_options));
}

namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Lists each sample `times` times. The list must fit memory twice, since the loader sorts a copy of
// it.
SampleList Repeated(const Dataset& dataset, std::uint64_t times) {
  constexpr std::uint64_t kMaxSamples = 20'000'000;
  if (dataset.size() > 0 && times > kMaxSamples / dataset.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--repeat makes epochs of at most " + std::to_string(kMaxSamples) +
                    " samples, and the dataset has " + std::to_string(dataset.size()) +
                    "; use a smaller --repeat, or more --epochs");
  }
  std::vector<std::uint64_t> samples(dataset.size() * times);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = i % dataset.size();
  return SampleList::Of(std::move(samples));
}

std::string BusIdOf(const Device& device) {
  return device.is_host() ? std::string() : DeviceAccess::Open(device)->BusId();
}

class EpochRunner {
 public:
  EpochRunner(const EpochOptions& options, const EpochHooks& hooks, std::optional<Dataset> opened)
      : options_(options), hooks_(hooks), opened_(std::move(opened)) {}

  EpochsRun Run() {
    LoaderStats before;
    std::optional<LoadWatch> others;
    const std::uint64_t usual = options_.warm_up + options_.epochs;
    for (std::uint64_t epoch = 0; epoch < usual; ++epoch) {
      if (epoch == options_.warm_up) {
        others.emplace();
        if (loader_) before = loader_->Stats();
        TakeParts();  // drops those of the warm-up
      }
      Add(epoch, options_.cold, epoch < options_.warm_up);
    }
    run_.other_cpus = others->OtherCpus();
    run_.parts = TakeParts();
    // A cold epoch has a new loader, whose figures begin at 0.
    run_.stats = loader_->Stats().Since(options_.cold ? LoaderStats() : before);
    // After the warm epochs: a cold epoch ends the loader whose statistics are reported.
    for (std::uint64_t epoch = usual; epoch < usual + options_.also_cold; ++epoch)
      Add(epoch, true, false);
    loader_.reset();  // the loader decodes ahead, which would disturb the measurements below
    if (!options_.loader.device.is_host()) NoteDeviceUse();
    if (options_.floor) MeasureFloor();
    return std::move(run_);
  }

 private:
  std::vector<PartTime> TakeParts() const {
    const std::shared_ptr<LoaderTrace>& trace = options_.loader.diagnostics.trace;
    if (trace == nullptr) return {};
    std::vector<PartTime> parts = trace->TakeTimes();
    std::ranges::sort(parts, std::greater(), &PartTime::seconds);
    return parts;
  }

  void Add(std::uint64_t epoch, bool cold, bool warm_up) {
    EpochFigures figures = cold ? PlayCold(epoch) : PlayWarm(epoch);
    figures.warm_up = warm_up;
    figures.cold = cold;
    const MemoryUse memory = CurrentMemory();
    figures.peak_bytes = memory.peak_bytes;
    figures.anonymous_bytes = memory.anonymous_bytes;
    run_.epochs.push_back(figures);
    if (hooks_.on_epoch) hooks_.on_epoch(figures);
  }

  void MakeLoader() {
    std::vector<Dataset> datasets =
        OpenPlayed(options_, hooks_.stop, std::exchange(opened_, std::nullopt));
    run_.samples = run_.dataset_bytes = 0;
    for (const Dataset& dataset : datasets) {
      run_.samples += dataset.size();
      for (const ShardSummary& shard : dataset.shards())
        run_.dataset_bytes += shard.bytes;
    }
    LoaderOptions options = options_.loader;
    if (options_.repeat > 1) options.order.samples = Repeated(datasets.front(), options_.repeat);
    loader_.emplace(bench::MakeLoader(options_, std::move(datasets), std::move(options)));
    counted_ = {};
    run_.threads = loader_->threads();
    run_.slot_bytes = loader_->memory_bytes();
    run_.memory = loader_->Memory();
  }

  EpochFigures PlayWarm(std::uint64_t epoch) {
    if (!loader_) MakeLoader();
    return Timed(epoch);
  }

  EpochFigures PlayCold(std::uint64_t epoch) {
    loader_.reset();
    if (IsRemote(options_.dataset, options_.link)) return Timed(epoch);
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path& folder : PlayedFolders(options_)) {
      const auto of_one = DatasetFiles(folder);
      files.insert(files.end(), of_one.begin(), of_one.end());
    }
    DropFromPageCache(files);
    // Pages that a process has mapped, or that are being written, cannot be dropped. A report with
    // this figure shows that the epoch was not cold after all.
    const std::uint64_t left = InPageCache(files).resident_bytes;
    EpochFigures figures = Timed(epoch);
    figures.left_in_cache_bytes = left;
    return figures;
  }

  EpochFigures Timed(std::uint64_t epoch) {
    EpochFigures figures;
    EnergyMeter energy;
    gpu_.Take();  // discards the GPU use before this epoch
    const auto begin = Clock::now();
    const double cpu = CpuSeconds();
    if (!loader_) MakeLoader();
    Play(epoch, begin, figures);
    figures.seconds = Seconds(Clock::now() - begin);
    if (figures.utilisation) {
      figures.whole_utilisation =
          1e-3 * options_.step.milliseconds * static_cast<double>(figures.steps) / figures.seconds;
    }
    figures.cpu_seconds = CpuSeconds() - cpu;
    figures.joules = energy.Joules();
    figures.gpu = gpu_.Take();
    return figures;
  }

  void Play(std::uint64_t epoch, Clock::time_point begin, EpochFigures& figures) {
    const std::uint64_t images_in_all = loader_->samples_per_epoch();
    const std::uint64_t batches =
        options_.most_batches > 0 ? std::min(options_.most_batches, loader_->batches_per_epoch())
                                  : loader_->batches_per_epoch();
    figures.batch_waits.reserve(batches);
    std::optional<Clock::time_point> first_step_end;
    Clock::time_point asked = Clock::now();
    for (const Batch& batch : loader_->Epoch(epoch)) {
      const Clock::time_point got = Clock::now();
      figures.batch_waits.push_back(Seconds(got - asked));
      if (figures.batches == 0) figures.start_seconds = Seconds(got - begin);
      NoteFirst(batch);
      figures.images += batch.valid();
      ++figures.batches;
      const bool last = figures.batches == batches;
      if (figures.batches % options_.batches_per_step == 0 || last) {
        Train(options_.step);
        ++figures.steps;
        if (!first_step_end) first_step_end = Clock::now();
      }
      ThrowIfStopped(hooks_.stop);
      if (hooks_.on_batch) hooks_.on_batch(epoch, figures.images, images_in_all);
      if (hooks_.on_span) {
        hooks_.on_span({epoch, batch.index(), batch.image().data, asked, got, Clock::now()});
      }
      if (last) {
        batch.Synchronize();  // copies to a device finish in order
        break;
      }
      asked = Clock::now();
    }
    if (options_.step.milliseconds > 0 && figures.steps > 1) {
      const double computing =
          1e-3 * options_.step.milliseconds * static_cast<double>(figures.steps - 1);
      figures.utilisation = std::min(1.0, computing / Seconds(Clock::now() - *first_step_end));
    }
    // Between two epochs the loader continues to work; that work is counted with the later epoch.
    const LoaderStats before = std::exchange(counted_, loader_->Stats());
    const LoaderStats& after = counted_;
    figures.bytes_read = after.payload_bytes - before.payload_bytes;
    figures.read_ahead_bytes = after.read_ahead_bytes - before.read_ahead_bytes;
    figures.fetched_bytes = after.fetched_bytes - before.fetched_bytes;
    figures.decode_major_faults = after.decode_major_faults - before.decode_major_faults;
    figures.wait_seconds = after.consumer_wait_seconds - before.consumer_wait_seconds;
    const double asking =
        std::accumulate(figures.batch_waits.begin(), figures.batch_waits.end(), 0.0);
    figures.hand_over_seconds = std::max(0.0, asking - figures.wait_seconds);
  }

  void MeasureFloor() {
    Floor floor(options_, run_.threads);
    floor.Round();  // touches every page once
    std::vector<double> rates;
    for (std::uint64_t round = 0; round < options_.epochs; ++round) {
      ThrowIfStopped(hooks_.stop);
      rates.push_back(floor.Round());
    }
    run_.floor = {floor.work(), Median(rates)};
  }

  void NoteDeviceUse() {
    const LoaderStats& stats = run_.stats;
    DeviceUse& use = run_.device.emplace();
    use.device = options_.loader.device.name();
    use.seconds = stats.seconds;
    use.samples = stats.samples;
    use.images = stats.samples * (1 + options_.loader.views.size());
    use.asked_to_decode = options_.loader.on_device.decode != DecodeOn::kHost;
    use.decoded_images = stats.device_pictures;
    use.decode_seconds = stats.device_decode_seconds;
    use.uploaded_bytes = stats.upload_bytes;
    use.upload_seconds = stats.upload_seconds;
    use.gpu = GpuUseOf(run_);
    double cpu = 0, seconds = 0;
    for (const EpochFigures* const figures : run_.Measured()) {
      cpu += figures->cpu_seconds;
      seconds += figures->seconds;
    }
    use.cpus_busy = seconds > 0 ? cpu / seconds : 0;
    use.cpus = AvailableCpus();
    if (stats.batches == 0 || stats.upload_bytes == 0) return;
    try {
      use.bare_copies = BareCopyRate(DeviceAccess::Open(options_.loader.device),
                                     stats.upload_bytes / stats.batches);
    } catch (const Error&) {  // the device has no memory left: the epochs still count
    }
  }

  void NoteFirst(const Batch& batch) {
    if (run_.first_batch_seconds > 0) return;
    run_.first_batch_seconds = SecondsSinceStart();
    run_.height = batch.image().height;
    run_.width = batch.image().width;
    run_.channels = batch.image().channels;
  }

  const EpochOptions& options_;
  const EpochHooks& hooks_;
  std::optional<Dataset> opened_;
  EpochsRun run_;
  std::optional<Loader> loader_;
  LoaderStats counted_;  // statistics of loader_ at the end of the previous epoch
  GpuMeter gpu_{BusIdOf(options_.loader.device)};
};

}  // namespace

double ImagesPerSecond(const EpochFigures& figures) {
  return figures.seconds > 0 ? static_cast<double>(figures.images) / figures.seconds : 0;
}

double Per1000(double amount, const EpochFigures& figures) {
  return figures.images > 0 ? 1000 * amount / static_cast<double>(figures.images) : 0;
}

double WaitShare(const EpochFigures& figures) {
  return figures.seconds > 0 ? std::min(1.0, figures.wait_seconds / figures.seconds) : 0;
}

double StartShare(const EpochFigures& figures) {
  return figures.seconds > 0 ? figures.start_seconds / figures.seconds : 0;
}

std::vector<const EpochFigures*> EpochsRun::Measured() const {
  const bool any_warm = std::any_of(epochs.begin(), epochs.end(), [](const EpochFigures& figures) {
    return !figures.warm_up && !figures.cold;
  });
  std::vector<const EpochFigures*> measured;
  for (const EpochFigures& figures : epochs) {
    if (!figures.warm_up && !(any_warm && figures.cold)) measured.push_back(&figures);
  }
  return measured;
}

std::vector<double> EpochsRun::Rates() const {
  std::vector<double> rates;
  for (const EpochFigures* const figures : Measured())
    rates.push_back(ImagesPerSecond(*figures));
  return rates;
}

std::optional<GpuUse> GpuUseOf(const EpochsRun& run) {
  std::optional<GpuUse> all;
  double busy = 0;
  std::uint64_t epochs = 0;
  for (const EpochFigures* const figures : run.Measured()) {
    if (!figures->gpu) continue;
    if (!all) all = figures->gpu;
    all->memory_bytes = std::max(all->memory_bytes, figures->gpu->memory_bytes);
    busy += figures->gpu->busy;
    ++epochs;
  }
  if (all) all->busy = busy / static_cast<double>(epochs);
  return all;
}

namespace {

// "; of the decoding threads' work, blur took 48%, jitter 41%, decoding 9%", and what makes it
// less.
std::string PartsText(const EpochsRun& run) {
  constexpr double kWorthMentioning = 0.05, kWorthAdvice = 0.25;
  double all = 0, steps = 0, blur = 0;
  for (const PartTime& part : run.parts) {
    all += part.seconds;
    if (part.step) steps += part.seconds;
    if (part.step && part.part == "blur") blur += part.seconds;
  }
  if (all <= 0) return {};
  std::string text;
  for (const PartTime& part : run.parts) {
    if (part.seconds < kWorthMentioning * all) continue;
    std::string name = part.part;
    if (!part.step && name == "decode") name = "decoding";
    if (!part.step && name == "function") name = "your function";
    text +=
        (text.empty() ? "; of the decoding threads' work, " + name + " took " : ", " + name + " ") +
        Format("%.0f%%", 100 * part.seconds / all);
  }
  if (blur > kWorthAdvice * all) text += "; a smaller kernel makes the blur cheaper";
  if (!run.device && steps > kWorthAdvice * all)
    text += std::string(blur > kWorthAdvice * all ? ", and" : ";") +
            " a GPU can take over the last steps (--device cuda:0)";
  return text;
}

}  // namespace

std::string VerdictOf(const EpochsRun& run) {
  std::string text = run.stats.Verdict();
  const sluice::Bound bound = run.stats.bound();
  if (bound == sluice::Bound::kDecoding) text += PartsText(run);
  if (run.device && bound != sluice::Bound::kDevice &&
      bound != sluice::Bound::kUpload) {  // for these, the verdict names the device itself
    const auto [busiest, share] = BusiestOf(*run.device);
    text +=
        cli::Format("; of decoding on the device, copies and the CPUs, the busiest was %s: %.0f%%",
                    busiest.c_str(), 100 * share);
  }
  if (const std::optional<GpuUse> gpu = GpuUseOf(run)) text += "; the GPU was " + GpuText(gpu);
  return text;
}

Pipeline DefaultTransform(const std::vector<Dataset>& datasets, ImageSizes image_sizes) {
  const std::vector<ImageSummary>& first = datasets.front().images();
  if (first.empty() || image_sizes != ImageSizes::kEqual) return {};
  const auto as_first = [&first](const Dataset& dataset) {
    if (dataset.images().empty()) return true;
    const ImageSummary& images = dataset.images().front();
    return images.uniform() && images.max_width == first.front().max_width &&
           images.max_height == first.front().max_height;
  };
  if (std::all_of(datasets.begin(), datasets.end(), as_first)) return {};
  return {RandomResizedCrop(224)};
}

EpochsRun RunEpochs(const EpochOptions& options, const EpochHooks& hooks,
                    std::optional<Dataset> opened) {
  return EpochRunner(options, hooks, std::move(opened)).Run();
}

}  // namespace sluice::bench
