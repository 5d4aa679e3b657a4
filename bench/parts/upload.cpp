// How fast a loader's batches reach a device.
//
// The loader's own uploader copies made-up batches to the device, in slots like those of the
// loader's ring, while a trainer's stream waits for each batch. Copies alone, of the same bytes
// out of the same slots, give the limit. The device's own events say when a batch was copied and
// converted, and so whether conversions overlap the copies of later batches.
#include "bench/parts/upload.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/loader_option_list.h>
#include <sluice/parse_pipeline.h>

#include "bench/commands.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "format/disk/bytes.h"
#include "format/random.h"
#include "reader/batch/slot.h"
#include "reader/transform/pixel_steps.h"
#include "reader/upload/uploader.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"

namespace sluice::bench {

namespace {

// Bare copies out of page-locked memory to a device.
class BareCopies {
 public:
  // Copies `bytes` from each of these places in turn. All places are in page-locked memory that
  // outlives this object.
  BareCopies(DeviceDriver& driver, std::vector<const std::byte*> places, std::size_t bytes);

  // Makes `copies` copies and waits for them. Returns bytes per second.
  double BytesPerSecond(std::uint64_t copies);

 private:
  DeviceDriver& driver_;
  const std::vector<const std::byte*> places_;
  const std::size_t bytes_;
  DeviceBuffer target_;
  OwnStream stream_;
  OwnEvent done_;
};

BareCopies::BareCopies(DeviceDriver& driver, std::vector<const std::byte*> places,
                       std::size_t bytes)
    : driver_(driver),
      places_(std::move(places)),
      bytes_(bytes),
      target_(driver, bytes),
      stream_(driver),
      done_(driver) {}

double BareCopies::BytesPerSecond(std::uint64_t copies) {
  const auto begin = std::chrono::steady_clock::now();
  // All copies are queued before the first wait, so the bus is never idle between two of them.
  for (std::uint64_t i = 0; i < copies; ++i)
    driver_.Copy(stream_.get(), target_.data(), places_[i % places_.size()], bytes_);
  driver_.Record(done_.get(), stream_.get());
  driver_.Synchronize(done_.get());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return double(copies * bytes_) / taken.count();
}

}  // namespace

double BareCopyRate(const std::shared_ptr<DeviceDriver>& driver, std::size_t bytes) {
  constexpr std::size_t kPlaces = 4;  // the copies take them in turn
  constexpr std::uint64_t kRoundBytes = 256 << 20;
  const HostBuffer memory = PinnedBuffer(driver, kPlaces * bytes);
  std::vector<const std::byte*> places;
  places.reserve(kPlaces);
  for (std::size_t i = 0; i < kPlaces; ++i)
    places.push_back(memory.data() + i * bytes);
  BareCopies copies(*driver, std::move(places), bytes);
  // About the same bytes for batches of any size, so that a round lasts long enough.
  const std::uint64_t count = std::clamp<std::uint64_t>(kRoundBytes / bytes, kPlaces, 1000);
  copies.BytesPerSecond(kPlaces);  // not measured: first uses are slower
  std::vector<double> rates;
  for (int round = 0; round < 3; ++round)
    rates.push_back(copies.BytesPerSecond(count));
  return Median(rates);
}

namespace {

constexpr std::size_t kUploadPlaces = 4;      // slots, which the batches take in turn
constexpr std::size_t kTimelineBatches = 16;  // batches in UploadRates::timeline

using UploadClock = std::chrono::steady_clock;

double UploadRateOf(std::uint64_t bytes, UploadClock::time_point begin) {
  return double(bytes) / std::chrono::duration<double>(UploadClock::now() - begin).count();
}

PixelProgram UploadProgramOf(const UploadShape& shape) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, what);
  };
  Pipeline steps = shape.steps;
  for (const Transform& step : steps)
    if (!ChangesPixels(step)) refuse("upload measures only steps that change pixels");
  if (shape.type) steps.push_back(Normalize{{0.5F}, {0.25F}, *shape.type});
  PixelProgram program(steps, DevicePart::kSteps);
  // The host's part would be measured as if it were the upload.
  if (program.steps_here() > 0)
    refuse("the transform has more steps than a device can run, and upload measures no others");
  const auto side = static_cast<std::uint32_t>(shape.side);
  program.CheckSize(side, side, 3);
  return program;
}

// The layout of a slot with images and a label, and the layout's description for the device.
SlotLayout UploadLayoutOf(const UploadShape& shape, const PixelProgram& program,
                          DeviceLayout& device_part) {
  SlotLayout layout;
  layout.batch_size = shape.batch_size;
  layout.views = 1;
  SlotLayout::ImageField& field = layout.images.emplace_back();
  field.image.samples = shape.batch_size;
  field.image.height = field.image.width = shape.side;
  field.image.channels = 3;
  field.row_bytes = field.image.sample_bytes();
  layout.bytes = AlignUp(field.row_bytes * shape.batch_size, kPageBytes);
  // A slot with a label as well, since real ones have fields after the images.
  layout.arrays.push_back({1, "label", DType::kInt32, 4, layout.bytes, {}});
  layout.bytes = AlignUp(layout.bytes + 4 * shape.batch_size, kPayloadAlignment);
  device_part.ops = {{program.device_ops(), layout.bytes}};
  layout.bytes =
      AlignUp(layout.bytes + device_part.ops[0].row_bytes() * shape.batch_size, kPageBytes);
  return layout;
}

// Writes smooth pixels with some grain, since a step's cost on a GPU may depend on how pixels
// differ.
void FillLikePictures(std::uint64_t seed, std::byte* to, std::size_t bytes) {
  for (std::size_t begin = 0; begin < bytes; begin += sizeof(Words4)) {
    const auto counter = static_cast<std::uint32_t>(begin / sizeof(Words4));
    const Words4 words = Philox(seed, {counter, 0, 0, 0});
    const std::size_t end = std::min(bytes, begin + sizeof(Words4));
    for (std::size_t at = begin; at < end; ++at) {
      const std::uint32_t grain = words[(at - begin) / 4] >> (at % 4 * 8) & 31;
      to[at] = static_cast<std::byte>((at / 16 + grain) & 255);
    }
  }
}

class UploadRun {
 public:
  UploadRun(const Device& device, std::shared_ptr<DeviceDriver> driver, const UploadShape& shape)
      : driver_(std::move(driver)),
        program_(UploadProgramOf(shape)),
        layout_(UploadLayoutOf(shape, program_, device_part_)),
        uploader_(device, driver_, {layout_, device_part_, {&program_}, shape.layout}),
        trainer_(*driver_),
        done_(*driver_) {
    std::vector<const std::byte*> places;
    for (std::size_t i = 0; i < kUploadPlaces; ++i) {
      Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
      Prepare(slot, layout_, PinnedBuffer(driver_, layout_.bytes));
      slot.device = uploader_.NewSlot(slot);
      slot.rows = slot.size = slot.images[0].image.samples = shape.batch_size;
      FillLikePictures(i, slot.memory.data(), slot.memory.size());
      DrawOps(slot);
      places.push_back(slot.memory.data());
    }
    copies_.emplace(*driver_, std::move(places), batch_bytes());
  }
  UploadRun(const UploadRun&) = delete;
  UploadRun& operator=(const UploadRun&) = delete;
  ~UploadRun() {
    // The uploader first: its work uses the slots.
    uploader_.Finish();
    for (const std::unique_ptr<Slot>& slot : slots_)
      slot->device->Finish();
  }

  void DrawOps(const Slot& slot) const {
    const std::size_t each = device_part_.ops[0].each;
    const auto side = static_cast<std::uint32_t>(layout_.picture().image.width);
    for (std::size_t row = 0; row < layout_.batch_size && each > 0; ++row)
      program_.DrawOps({nullptr, side, side, 3}, 1, row, {PlaceOf(slot).OpsOf(0, row), each});
  }

  // The bytes that the uploader counted as copied; batch_bytes() is the expected number for one
  // batch.
  std::uint64_t uploaded_bytes() const { return uploader_.uploaded_bytes(); }
  std::uint64_t batch_bytes() const noexcept {
    const std::size_t image_bytes = layout_.picture().image.sample_bytes() * layout_.batch_size;
    return image_bytes + layout_.bytes - AlignUp(image_bytes, kPageBytes);
  }

  double CopiesAlone(std::uint64_t batches) { return copies_->BytesPerSecond(batches); }

  double Uploads(std::uint64_t batches) {
    const std::atomic<bool> give_up = false;
    const UploadClock::time_point begin = UploadClock::now();
    for (std::uint64_t b = 0; b < batches; ++b) {
      Slot& slot = *slots_[b % kUploadPlaces];
      slot.device->Reclaim(give_up);
      GiveToTrainer(slot);
    }
    driver_->Record(done_.get(), trainer_.get());
    driver_->Synchronize(done_.get());
    return UploadRateOf(batches * batch_bytes(), begin);
  }

  std::vector<UploadMoments> Timeline(std::size_t batches) {
    const std::atomic<bool> give_up = false;
    std::vector<UploadMoments> timeline;
    driver_->Record(done_.get(), trainer_.get());
    driver_->Synchronize(done_.get());
    for (std::size_t b = 0; b < batches + kUploadPlaces; ++b) {
      Slot& slot = *slots_[b % kUploadPlaces];
      if (b >= kUploadPlaces) {  // wait for the earlier batch in this slot
        slot.device->Synchronize();
        timeline.push_back(MomentsOf(PlaceOf(slot)));
      }
      // The last turns only collect the moments of batches that are still under way.
      if (b >= batches) continue;
      slot.device->Reclaim(give_up);
      GiveToTrainer(slot);
    }
    return timeline;
  }

 private:
  void GiveToTrainer(Slot& slot) {
    if (const std::optional<Error> error = uploader_.Upload(slot)) throw Error(*error);
    slot.device->WaitOn(trainer_.get());
    slot.device->Release();
  }

  static DeviceSlot& PlaceOf(const Slot& slot) { return static_cast<DeviceSlot&>(*slot.device); }

  // The times of a batch that has reached the device, counted from the event done_.
  UploadMoments MomentsOf(const DeviceSlot& place) const {
    const auto since = [&](const OwnTimedEvent& event) {
      return driver_->SecondsBetween(done_.get(), event.get());
    };
    const double copied = since(place.copied);
    return {since(place.copy_begins), copied,
            program_.continues_on_device() ? since(place.converted) : copied};
  }

  const std::shared_ptr<DeviceDriver> driver_;
  const PixelProgram program_;
  DeviceLayout device_part_;
  const SlotLayout layout_;
  Uploader uploader_;
  OwnStream trainer_;  // waits for each batch, as a trainer's stream does
  OwnTimedEvent done_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::optional<BareCopies> copies_;  // out of the slots
};

}  // namespace

double ShareBesideCopies(const std::vector<UploadMoments>& timeline) {
  double converting = 0, beside = 0, free_since = 0;
  for (const UploadMoments& batch : timeline) {
    // A conversion waits for its own copy and for the conversion before it. Only what comes after
    // counts as its time.
    const double begin = std::max(batch.copy_end, free_since), end = batch.converted;
    free_since = end;
    converting += end - begin;
    for (const UploadMoments& other : timeline) {
      beside += std::max(0.0, std::min(end, other.copy_end) - std::max(begin, other.copy_begin));
    }
  }
  return converting > 0 ? beside / converting : 0;
}

double ConversionSeconds(const std::vector<UploadMoments>& timeline) {
  std::vector<double> taken;
  double free_since = 0;
  for (const UploadMoments& batch : timeline) {
    taken.push_back(batch.converted - std::max(batch.copy_end, free_since));
    free_since = batch.converted;
  }
  return Median(taken);
}

UploadRates MeasureUpload(const Device& device, std::shared_ptr<DeviceDriver> driver,
                          const UploadShape& shape, std::uint64_t batches, std::uint64_t rounds,
                          const std::stop_token& stop) {
  GpuMeter gpu(driver->BusId());
  UploadRun run(device, std::move(driver), shape);
  UploadRates rates;
  double cpu = 0, seconds = 0;
  // This first turn is not measured: first uses of streams, memory and the kernel are slower.
  run.CopiesAlone(kUploadPlaces);
  run.Uploads(kUploadPlaces);
  rates.batch_bytes = run.uploaded_bytes() / kUploadPlaces;
  gpu.Take();  // discards the use before the rounds
  for (std::uint64_t round = 0; round < rounds; ++round) {
    ThrowIfStopped(stop);
    rates.limit.push_back(run.CopiesAlone(batches));
    const double cpu_before = CpuSeconds();
    const UploadClock::time_point begin = UploadClock::now();
    rates.uploads.push_back(run.Uploads(batches));
    seconds += std::chrono::duration<double>(UploadClock::now() - begin).count();
    cpu += CpuSeconds() - cpu_before;
  }
  rates.cpus_busy = seconds > 0 ? cpu / seconds : 0;
  rates.gpu = gpu.Take();
  rates.timeline = run.Timeline(kTimelineBatches);
  return rates;
}

namespace {

using option_list::Option;
using option_list::Options;

constexpr const char* kUploadDescription =
    "Measures how fast batches reach a GPU.\n\n"
    "Each round first only copies batches out of page-locked memory: uploads cannot be faster. "
    "Then it delivers as many batches the way a loader does, with conversion, events and a stream "
    "that waits for each. The pixels are made up, and nothing is decoded (`sluice-bench epoch` "
    "measures that). The JSON ends with a timeline of some batches: when each was copied and "
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

constexpr auto kUploadShape = Options<UploadShape>(
    "UploadShape", "",
    Option("batch_size", &UploadShape::batch_size, "samples in a batch",
           {.least = 1, .most = 1 << 20}),
    Option("side", &UploadShape::side, "side of the square RGB images, in pixels",
           {.least = 1, .most = 8192}),
    Option("layout", &UploadShape::layout, "layout of the result", {.value = "LAYOUT"}));
constexpr auto kUploadOptions = Options<UploadArguments>(
    "upload", "",
    Option("device", &UploadArguments::device, "the GPU, counted from 0", {.most = 1023}),
    Option("batches", &UploadArguments::batches, "batches in a round", {.least = 1, .most = 1e6}),
    Option("rounds", &UploadArguments::rounds, "rounds to measure",
           {.least = 1, .most = 10'000, .comparable = true}));

nlohmann::json TimelineOf(const UploadRates& rates) {
  auto timeline = nlohmann::json::array();
  for (const UploadMoments& batch : rates.timeline) {
    timeline.push_back({{"copy_begin", batch.copy_begin},
                        {"copy_end", batch.copy_end},
                        {"converted", batch.converted}});
  }
  return timeline;
}

void MeasureUploads(const UploadArguments& arguments, PartResult& part,
                    const std::stop_token& stop) {
  if (Device::CudaCount() == 0) {
    throw Error(ErrorCode::kUnsupported,
                "no CUDA device: there is no GPU, no driver, or this build has no CUDA");
  }
  const UploadRates rates =
      MeasureUpload(Device::Cuda(arguments.device), OpenCuda(arguments.device), arguments.shape,
                    arguments.batches, arguments.rounds, stop);
  TextTable table({"to the device", "GB/s", "<least to most"});
  const Shown shown{1e-9, 2};
  part.Add(table, "copies alone", {"copies_bytes_per_second", "B/s", true, rates.limit}, shown);
  part.Add(table, "a loader's batches", {"uploads_bytes_per_second", "B/s", true, rates.uploads},
           shown);
  part.text = table.Text();
  const double uploads = Median(rates.uploads);
  part.AddNote(cli::Format(
      "the loader's batches reach %.1f%% of the rate of copies alone; a batch has %s and takes "
      "%.3g ms to copy",
      100 * uploads / Median(rates.limit), cli::BytesText(rates.batch_bytes).c_str(),
      1e3 * double(rates.batch_bytes) / uploads));
  AddMembers(part.members, arguments.shape, kUploadShape);
  AddMembers(part.members, arguments, kUploadOptions);
  part.members.update({{"device", Device::Cuda(arguments.device).name()},
                       {"gpus", GpuNames()},
                       {"batch_bytes", rates.batch_bytes},
                       {"transform", arguments.transform},
                       {"normalize", arguments.normalize},
                       {"cpus_busy", rates.cpus_busy},
                       {"timeline", TimelineOf(rates)}});
  if (arguments.shape.type || !arguments.shape.steps.empty()) {
    const double seconds = ConversionSeconds(rates.timeline);
    part.members["conversion_seconds"] = seconds;
    part.AddNote(cli::Format(
        "converting a batch on the GPU takes %s us; %.0f%% of that time overlapped copies of other "
        "batches",
        cli::RateText(1e6 * seconds).c_str(), 100 * ShareBesideCopies(rates.timeline)));
  }
  if (rates.gpu) part.members["gpu_busy"] = rates.gpu->busy;
  part.AddNote("CPUs: " + CpusText(rates.cpus_busy, AvailableCpus()));
  part.AddNote("GPU: " + GpuText(rates.gpu));
}

}  // namespace

cli::Command AddUploadCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("upload", kUploadDescription);
  const auto arguments = std::make_shared<UploadArguments>();
  cli::AddDeclared(*app, arguments->shape, kUploadShape);
  cli::AddDeclared(*app, *arguments, kUploadOptions);
  cli::AddOption(
      *app, "--transform", "STEPS",
      "steps that the GPU runs, as for `sluice-bench epoch`: all that change pixels, such as "
      "jitter, blur, randaug or erase, but not those that move them, such as crops and flips "
      "(default none)",
      [arguments](const std::string& text) {
        arguments->transform = text;
        arguments->shape.steps = ParsePipeline(text);
      });
  cli::AddOption(
      *app, "--normalize", "TYPE",
      "the type pixels are converted to on the GPU: none, f32, f16 or bf16 (default none)",
      [arguments](const std::string& text) {
        arguments->shape.type =
            cli::ParseChoice<std::optional<FloatType>>(text, {{"none", std::nullopt},
                                                              {"f32", FloatType::kFloat32},
                                                              {"f16", FloatType::kFloat16},
                                                              {"bf16", FloatType::kBFloat16}});
        arguments->normalize = text;
      });
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kUploadExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunPart(arguments->output, "uploading", "uploading made-up batches",
                           [&](PartResult& part, const std::stop_token& stop, cli::Progress&) {
                             MeasureUploads(*arguments, part, stop);
                           });
          }};
}

}  // namespace sluice::bench
