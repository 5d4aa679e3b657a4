// Plays epochs of one dataset, or of several datasets as one, and measures them. This is the heart
// of `sluice-bench epoch`; `advise` and the experiments (experiments.h) use it, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/convert_source.h>
#include <sluice/loader.h>
#include <sluice/loader_option_list.h>
#include <sluice/loader_stats.h>
#include <sluice/loader_trace.h>
#include <sluice/user_function.h>

#include "bench/epoch/shared_options.h"
#include "bench/machine/meters.h"
#include "bench/report/result.h"

namespace sluice::bench {

// The work of the device, the bus to it and the CPUs during the measured epochs.
struct DeviceUse {
  std::string device;         // "cuda:0"
  double seconds = 0;         // duration of all epochs together
  std::uint64_t samples = 0;  // delivered to the device
  std::uint64_t images = 0;   // samples times views
  bool asked_to_decode = false;
  std::uint64_t decoded_images = 0;  // by the device, including batches decoded ahead
  double decode_seconds = 0;         // spent on these images, by the device's clock
  std::uint64_t uploaded_bytes = 0;
  double upload_seconds = 0;          // of the copies, by the device's clock
  std::optional<double> bare_copies;  // bytes a second; BareCopyRate()
  double cpus_busy = 0;               // kept busy by this process, on average
  unsigned cpus = 0;                  // that this process may use
  std::optional<GpuUse> gpu;          // as NVML reports it
};

// A line in words for each of decoding, bus, CPUs and GPU.
std::vector<std::pair<std::string, std::string>> LinesOf(const DeviceUse& use);
std::string TextOf(const DeviceUse& use);
nlohmann::ordered_json JsonOf(const DeviceUse& use);

// The busiest of decoding on the device, copies to it and the CPUs, and the share of the time that
// it was busy.
std::pair<std::string, double> BusiestOf(const DeviceUse& use);

// A pretend training step.
struct TrainingStep {
  double milliseconds = 0;  // 0: none
  // Computes on a CPU for that long instead of sleeping, like training on this machine's CPUs.
  // Measured in CPU time, so that it is the same work on a busy machine as on an idle one.
  bool busy = false;
};

void Train(const TrainingStep& step);

// Makes decoding look slower than it is.
struct PretendDecoding {
  double microseconds = 0;  // delay of each sample, in which its thread sleeps
  double slow = 1;          // every hundredth sample's delay is this many times as long
};

// Makes the function that delays samples. Call it before creating threads: they inherit timers that
// are precise enough for such short sleeps.
SampleFunction Decoding(const PretendDecoding& pretended);

struct EpochOptions {
  std::filesystem::path dataset;            // or a source, which is played without a conversion
  std::optional<ConvertSource> source;      // if set, `dataset` is this source
  std::filesystem::path index;              // of the source (PlayOptions::index)
  std::filesystem::path compile_to;         // of the source (PlayOptions::compile_to)
  std::vector<std::filesystem::path> with;  // further datasets, played with `dataset` as one
  std::vector<double> weights;              // of all these datasets; empty: no weights
  std::optional<SlowLink> link;             // if set, the dataset is read through this link
  ReadLimits limits;
  LoaderOptions loader;
  std::uint64_t epochs = 3;        // measured ones
  std::uint64_t warm_up = 1;       // played before them
  std::uint64_t also_cold = 0;     // played after them, each as `cold` says
  std::uint64_t repeat = 1;        // times each sample comes in an epoch
  std::uint64_t most_batches = 0;  // an epoch ends after this many batches; 0: no limit
  TrainingStep step;               // taken once for `batches_per_step` batches
  PretendDecoding pretend;
  std::uint64_t batches_per_step = 1;  // one for each pretend accelerator
  // Each epoch gets a new loader, after the dataset has been dropped from the page cache. (An old
  // loader would keep the pages of mapped files in the cache.)
  bool cold = false;
  // loader.views and loader.sizes as typed.
  std::vector<std::string> view_texts;
  std::string sizes_text;
  bool floor = false;       // also measure Floor, afterwards
  std::uint64_t stops = 0;  // loaders to drop in the middle of an epoch, afterwards
};

// The options of `epoch` that become members of its results, with their flags.
inline constexpr auto kEpochSettings = option_list::Options<EpochOptions>(
    "EpochOptions", "",
    option_list::Option("repeat", &EpochOptions::repeat,
                        "play each sample N times an epoch, to make the epoch long enough; at most "
                        "20,000,000 samples",
                        {.least = 1, .most = 1e6}),
    option_list::Option("most_batches", &EpochOptions::most_batches,
                        "end an epoch after N batches (default: all)",
                        {.flag = "--batches", .zero = ""}),
    option_list::Option("batches_per_step", &EpochOptions::batches_per_step,
                        "accelerators that work in step, each with a batch of its own",
                        {.least = 1, .most = 1000, .flag = "--accelerators"}),
    option_list::Option("cold", &EpochOptions::cold,
                        "before each epoch, close the dataset and drop its files from the page "
                        "cache; opening it again counts as part of the epoch"));
inline constexpr auto kStepSettings = option_list::Options<TrainingStep>(
    "TrainingStep", "",
    option_list::Option("step_ms", &TrainingStep::milliseconds,
                        "a pretend training step: sleep X milliseconds with each batch in hand",
                        {.most = 3'600'000, .value = "X"}),
    option_list::Option("step_busy", &TrainingStep::busy,
                        "keep a CPU busy in each training step instead of sleeping"));

// The datasets that are played as one: options.dataset and options.with.
std::vector<std::filesystem::path> PlayedFolders(const EpochOptions& options);

// The source at that path or URL; nullopt if a dataset or nothing is there. A source is a file
// other than a manifest, or a folder without a manifest or a conversion's plan. Throws Error.
std::optional<ConvertSource> FindSource(const std::filesystem::path& path,
                                        const std::stop_token& stop);

// Opens the datasets. `first`: options.dataset, if it is already open. Throws Error.
std::vector<Dataset> OpenPlayed(const EpochOptions& options, const std::stop_token& stop,
                                std::optional<Dataset> first = {});

// Makes a loader that takes over the datasets: when it is destroyed, nothing keeps them open.
Loader MakeLoader(const EpochOptions& options, std::vector<Dataset> datasets,
                  LoaderOptions loader_options);

struct EpochFigures {
  bool warm_up = false;
  bool cold = false;
  double seconds = 0;  // until the last batch is given back; when cold, from opening the dataset
  double start_seconds = 0;  // part of `seconds`: until the first batch is ready
  std::uint64_t images = 0;
  std::uint64_t batches = 0;
  std::uint64_t steps = 0;
  std::uint64_t bytes_read = 0;        // size of the payloads that were decoded
  double wait_seconds = 0;             // in which the consumer waited for a batch
  std::uint64_t read_ahead_bytes = 0;  // size of the blocks made resident before they were decoded
  std::uint64_t fetched_bytes = 0;     // part of read_ahead_bytes: from an object store
  std::uint64_t decode_major_faults = 0;  // pages that decoding threads had to wait for
  double hand_over_seconds = 0;  // from asking for batches to having them, minus wait_seconds
  // The share of the time since the first step's end in which the pretend accelerators computed:
  // (steps - 1) * step / time, as MLPerf Storage counts. Empty without a step, or with only one.
  std::optional<double> utilisation;
  // `utilisation`, but counted from the epoch's beginning: steps * step / seconds.
  std::optional<double> whole_utilisation;
  double cpu_seconds = 0;                 // CPU time of the whole process
  std::optional<double> joules;           // energy that the machine's processors used
  std::optional<GpuUse> gpu;              // use of the loader's device
  std::uint64_t peak_bytes = 0;           // of the process, up to the epoch's end
  std::uint64_t anonymous_bytes = 0;      // of the process, at the epoch's end
  std::uint64_t left_in_cache_bytes = 0;  // when cold: not dropped from the page cache before
  std::vector<double> batch_waits;        // seconds from asking for a batch to having it
};

// Calls f(group, member) for each loader option whose declaration alone makes it a flag of `epoch`
// and a member of its results.
template <class Loader, class F>
void ForEachSetting(Loader& loader, F&& f) {
  f(loader, &LoaderOptions::batch_size);
  f(loader.output, &OutputOptions::image_sizes);
  f(loader.output, &OutputOptions::channels);
  f(loader.order, &OrderOptions::shuffle);
  f(loader, &LoaderOptions::seed);
  f(loader.order, &OrderOptions::lanes);
  f(loader.output, &OutputOptions::layout);
  f(loader.on_device, &OnDevice::decode);
  f(loader.on_device, &OnDevice::images);
  f(loader.integrity, &IntegrityOptions::verify);
}

double ImagesPerSecond(const EpochFigures& figures);
double WaitShare(const EpochFigures& figures);
double StartShare(const EpochFigures& figures);
// Scales a whole epoch's amount to 1000 images.
double Per1000(double amount, const EpochFigures& figures);

// The rate of a loop that does only the copies or the decoding (bench/epoch/floor.h).
struct FloorFigures {
  std::string work;              // "copies", "decoding"
  double images_per_second = 0;  // median over as many rounds as there are epochs
};

struct EpochsRun {
  std::vector<EpochFigures> epochs;  // warm-up epochs first, cold epochs last
  double first_batch_seconds = 0;    // from the process's start
  unsigned threads = 0;
  std::size_t slot_bytes = 0;                       // of the loader's ring of batches
  LoaderMemory memory;                              // at most, as the loader states it
  std::size_t height = 0, width = 0, channels = 0;  // of the images in a batch
  std::uint64_t samples = 0;
  std::uint64_t dataset_bytes = 0;  // of all shards
  std::optional<FloorFigures> floor;
  LoaderStats stats;  // over the measured epochs (when cold: over the last one)
  // Of the decoding threads' work in the measured epochs, if options.loader.diagnostics.trace times
  // parts; the largest first.
  std::vector<PartTime> parts;
  std::optional<DeviceUse> device;  // over the same epochs; empty: batches stayed on the host
  double other_cpus = 0;            // kept busy by other processes during the measured epochs

  // The epochs that are neither warm-up nor extra cold epochs.
  std::vector<const EpochFigures*> Measured() const;
  std::vector<double> Rates() const;  // their images per second
};

// The GPU's use over the measured epochs; empty if it is unknown.
std::optional<GpuUse> GpuUseOf(const EpochsRun& run);
// The verdict on what limits the epochs: the loader's own and, with a device, how busy the device
// was.
std::string VerdictOf(const EpochsRun& run);

// The times at which the consumer asked for, got and returned a batch, for a trace.
struct ConsumerSpan {
  std::uint64_t epoch = 0, batch = 0;
  const void* slot = nullptr;  // as in TraceEvent
  std::chrono::steady_clock::time_point asked, got, done;
};

struct EpochHooks {
  // Called after each batch: `images` of the epoch's `images_in_all` have come.
  std::function<void(std::uint64_t epoch, std::uint64_t images, std::uint64_t images_in_all)>
      on_batch;
  std::function<void(const EpochFigures&)> on_epoch;
  std::function<void(const ConsumerSpan&)> on_span;
  std::stop_token stop;
};

// The transform to use if none is given: no transform if all images have one size, or if a batch
// may hold images of different sizes; else a random-resized-crop to 224.
Pipeline DefaultTransform(const std::vector<Dataset>& datasets, ImageSizes image_sizes);

// Plays the epochs. `opened` is the dataset, if it is open and nothing else keeps it open; the
// first loader takes it over. Throws Error, and Interrupted if a stop is requested.
EpochsRun RunEpochs(const EpochOptions& options, const EpochHooks& hooks,
                    std::optional<Dataset> opened = {});

}  // namespace sluice::bench
