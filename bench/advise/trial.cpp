// Tries forms on a sample: makes each form, plays it from memory, and compares its pixels.
//
// Rates on a few dozen pictures would say little, since an epoch would be over before all threads
// are busy. So each picture is repeated until an epoch is long enough. The pictures are the same
// for all forms, and the quality is judged on pictures shrunk to the size that a trainer sees: a
// form that loses detail which nobody looks at should not look worse.
#include "bench/advise/trial.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

#include <sluice/convert_option_list.h>
#include <sluice/dataset.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "bench/epoch/run.h"
#include "bench/machine/disk.h"
#include "bench/parts/decode.h"
#include "bench/report/statistics.h"
#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "reader/transform/geometry.h"
#include "tools/cli/quantity.h"
#include "writer/source/list/source_list.h"

namespace sluice::bench {

namespace {

using cli::Format;

// A size to store pictures in: its name in tables, the option that asks for it, and its limits.
struct StoredSize {
  std::string name, option;
  std::optional<std::uint32_t> max_side, short_side;
};

// Scales a usual size of pictures (500 or 256, for crops of 224) so that crops of `side` have the
// same detail.
std::uint32_t Scaled(std::uint32_t usual, std::uint32_t side) {
  return static_cast<std::uint32_t>(std::lround(usual * static_cast<double>(side) / 224));
}

std::vector<StoredSize> SizesFor(const SourceFacts& facts, std::uint32_t side) {
  const std::uint32_t max_side = Scaled(500, side), short_side = Scaled(256, side);
  std::vector<StoredSize> sizes;
  if (std::max(facts.most_width, facts.most_height) > max_side) {
    sizes.push_back({Format("%u", max_side), Format("--max-side %u", max_side), max_side, {}});
  } else {
    sizes.push_back({"own size", "--no-resize", {}, {}});
  }
  if (std::min(facts.median_width, facts.median_height) > short_side) {
    sizes.push_back(
        {Format("short %u", short_side), Format("--short-side %u", short_side), {}, short_side});
  }
  return sizes;
}

Form FormOf(ImageCodec image, const StoredSize& size) {
  Form form;
  const char* const name = option_list::WordOf(image);
  form.name = std::string(name) + " " + size.name;
  form.options = std::string("--image ") + name + " " + size.option;
  form.convert.form.image = image;
  form.convert.geometry.max_side = size.max_side;
  form.convert.geometry.short_side = size.short_side;
  return form;
}

std::vector<Form> FormsOfFolder(const SourceFacts& facts, std::uint32_t side,
                                const std::vector<int>& qualities) {
  std::vector<Form> forms;
  std::uint32_t preference = 0;
  const std::vector<StoredSize> sizes = SizesFor(facts, side);
  for (const StoredSize& size : sizes) {
    Form raw = FormOf(ImageCodec::kRaw, size);
    raw.preference = preference;
    for (const int quality : qualities) {
      for (const ImageCodec image : {ImageCodec::kJpeg, ImageCodec::kPacked}) {
        Form form = FormOf(image, size);
        form.name += Format(" q%d", quality);
        form.options += Format(" --quality %d", quality);
        form.convert.form.quality = quality;
        form.preference = preference;
        forms.push_back(std::move(form));
      }
      ++preference;
    }
    forms.push_back(std::move(raw));
  }
  // If any source is a JPEG, two more forms keep the JPEGs' own coefficients (--quality keep). If
  // nothing is resized, they are among the most wanted; otherwise they are the least wanted, and
  // show what it costs to keep the size.
  if (facts.kinds.contains("JPEG")) {
    const bool resized = sizes.front().max_side.has_value();
    for (const ImageCodec image : {ImageCodec::kJpeg, ImageCodec::kPacked}) {
      Form form = FormOf(image, {"own size", "--no-resize", {}, {}});
      form.name += " keep";
      form.options += Format(" --quality keep:%d", qualities.front());
      form.convert.form.keep = true;
      form.convert.form.quality = qualities.front();
      form.preference = resized ? preference : 0;
      forms.push_back(std::move(form));
    }
  }
  return forms;
}

std::vector<Form> FormsOfDataset(const SourceFacts& facts, std::uint32_t side,
                                 const std::vector<int>& qualities) {
  const auto most =
      std::max_element(facts.kinds.begin(), facts.kinds.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Form now;
  now.name = most->first + ", as it is";
  now.as_it_is = true;
  now.convert.geometry.max_side.reset();
  std::vector<Form> forms = {now};
  // 0 is the most preferred. A raw dataset loses quality if it becomes JPEG or packed, so there the
  // unchanged dataset (0) is preferred to the others.
  const std::uint32_t preference = most->first == "raw" ? 1 : 0;
  for (const auto& [name, image, help] : option_list::WordsOf<ImageCodec>.words) {
    if (most->first == name) continue;
    Form form;
    form.name = name;
    form.options = std::string("--image ") + name;
    form.convert.form.image = image;
    form.convert.geometry.max_side.reset();
    form.preference = preference;
    forms.push_back(std::move(form));
  }
  // The dataset's pictures at the size that a folder's would get: least wanted, since detail is
  // lost.
  const StoredSize size = SizesFor(facts, side).front();
  if (size.max_side && std::max(facts.median_width, facts.median_height) > *size.max_side) {
    const auto codec = option_list::FromWord<ImageCodec>(most->first).value_or(ImageCodec::kJpeg);
    Form smaller = FormOf(codec, size);
    if (smaller.convert.form.image != ImageCodec::kRaw) {
      smaller.name += Format(" q%d", qualities.front());
      smaller.options += Format(" --quality %d", qualities.front());
      smaller.convert.form.quality = qualities.front();
    }
    smaller.preference = preference + 1;
    forms.push_back(std::move(smaller));
  }
  return forms;
}

}  // namespace

std::vector<Form> FormsFor(const SourceFacts& facts, std::uint32_t side,
                           const std::vector<int>& qualities) {
  return facts.dataset ? FormsOfDataset(facts, side, qualities)
                       : FormsOfFolder(facts, side, qualities);
}

namespace {

namespace fs = std::filesystem;

// Roughly the bytes that a sample takes besides its payload: a row of the block's table, an entry
// in the directory, and its key.
constexpr double kRowBytes = 96;
constexpr std::size_t kQualityPictures = 12;  // pictures whose quality is measured, at most
// Transcoding converts up to this many samples twice: first as probes, to choose the size of blocks
// (kProbes in writer/edit/transcode.cpp). The probes take much of a small sample's time, but little
// of a whole dataset's, so Make() counts them as images.
constexpr std::uint64_t kTranscodeProbes = 64;
constexpr std::uint64_t kBatch = 64;

double StoredBytesPerImage(const Dataset& dataset) {
  double bytes = 0;
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    bytes += double(AlignUp(dataset[i].Payload().bytes.size(), kPayloadAlignment)) + kRowBytes;
  return bytes / static_cast<double>(dataset.size());
}

// One part of the sample: paths (in a folder) or indices (of a dataset).
struct Part {
  std::vector<std::string> paths;  // of a dataset: what WriteFiles() wrote to folder / "files"
  std::vector<std::uint64_t> numbers;
  fs::path folder;  // where the part's datasets are made

  std::size_t size() const noexcept { return std::max(paths.size(), numbers.size()); }
};

template <class T>
std::vector<T> Slice(const std::vector<T>& values, std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t i) {
    return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size()));
  };
  return {at(begin), at(end)};
}

class TrialRun {
 public:
  TrialRun(const std::vector<Form>& forms, const SourceFacts& facts,
           const FormTrialOptions& options, const StepHooks& hooks)
      : forms_(forms), facts_(facts), options_(options), hooks_(hooks), scratch_(options.scratch) {}

  Trials Run() {
    Split();
    steps_ = 1 + 2 * forms_.size();
    Step("reading the sample");
    if (facts_.dataset) {
      for (const Part* const part : {&fit_, &held_})
        SubsetDataset(options_.source, part->folder / "own", {.samples = part->numbers},
                      {{}, hooks_.stop});
    }
    MakeReference();
    Trials trials;
    trials.fitted = fit_.size();
    trials.held_out = held_.size();
    for (const Form& form : forms_) {
      Trial trial;
      trial.form = form;
      trial.constants.preference = form.preference;
      try {
        Try(trial);
      } catch (const Error& error) {
        if (hooks_.stop.stop_requested()) throw;
        trial.failed = error.what();
      }
      trials.forms.push_back(std::move(trial));
    }
    return trials;
  }

 private:
  void Step(const std::string& activity) {
    if (hooks_.stop.stop_requested()) ThrowStopped();
    if (hooks_.on_step) hooks_.on_step(activity, steps_done_, steps_);
    ++steps_done_;
  }

  // Holds out a third of the sample, but at least one picture. With one picture in the sample, both
  // parts are that picture.
  void Split() {
    const std::size_t all = std::min<std::size_t>(
        std::max(facts_.paths.size(), facts_.numbers.size()), options_.pictures);
    const std::size_t fitted = all > 1 ? all - std::max<std::size_t>(1, all / 3) : 1;
    const std::size_t held_from = all > 1 ? fitted : 0;
    fit_ = {Slice(facts_.paths, 0, fitted), Slice(facts_.numbers, 0, fitted),
            scratch_.path() / "fit"};
    held_ = {Slice(facts_.paths, held_from, all), Slice(facts_.numbers, held_from, all),
             scratch_.path() / "held"};
    for (Part* const part : {&fit_, &held_}) {
      fs::create_directory(part->folder);
      std::sort(part->numbers.begin(), part->numbers.end());
    }
  }

  static double ImagesPerSecond(std::uint64_t images, std::chrono::steady_clock::time_point since) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - since;
    return static_cast<double>(images) / std::max(taken.count(), 1e-9);
  }

  // Writes the pictures of a dataset's part as files, for a form that shrinks them.
  void WriteFiles(Part& part) {
    const fs::path folder = part.folder / "files";
    fs::create_directory(folder);
    const Dataset dataset = Dataset::Open(part.folder / "own");
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      const ImagePayload payload = dataset[i].Payload();
      if (payload.pixel_type != PixelType::kUint8 || payload.channels % 2 == 0) continue;
      const bool jpeg = payload.codec == Codec::kJpeg;
      part.paths.push_back(Format("picture-of-advise-%llu%s", static_cast<unsigned long long>(i),
                                  jpeg ? ".jpg" : ".ppm"));
      const fs::path path = folder / part.paths.back();
      if (jpeg) {
        WriteFile(path, payload.bytes);
      } else {
        const Image image = dataset[i].Decode();
        const std::string head =
            Format("P%c %u %u 255\n", image.channels == 1 ? '5' : '6', image.width, image.height);
        std::vector<std::byte> file(head.size() + image.pixels.size());
        std::memcpy(file.data(), head.data(), head.size());
        std::memcpy(file.data() + head.size(), image.pixels.data(), image.pixels.size());
        WriteFile(path, file);
      }
      // The file's name becomes the sample's key.
      if (const auto found = reference_.find(dataset[i].key()); found != reference_.end())
        reference_[part.paths.back()] = std::vector<double>(found->second);
    }
  }

  // Converts the part to the form. Returns images per second, or 0 if there was nothing to convert.
  double Make(Part& part, const Form& form, const fs::path& to) {
    const bool from_files = !facts_.dataset || form.convert.geometry.max_side;
    if (facts_.dataset && from_files && part.paths.empty()) WriteFiles(part);
    const auto begin = std::chrono::steady_clock::now();
    if (!from_files) {
      TranscodeOptions transcode;
      transcode.image = form.convert.form.image;
      transcode.threads = options_.threads;
      const auto summary = TranscodeDataset(part.folder / "own", to, transcode, {{}, hooks_.stop});
      const std::uint64_t samples = summary.made.samples;
      return ImagesPerSecond(samples + std::min(samples, kTranscodeProbes), begin);
    }
    ConvertOptions convert = form.convert;
    convert.run.threads = options_.threads;
    ConvertHooks hooks;
    hooks.stop = hooks_.stop;
    const fs::path root = facts_.dataset ? part.folder / "files" : options_.source;
    const ConvertSummary summary =
        Convert(ConvertSource::Paths(part.paths, root), to, convert, hooks);
    return ImagesPerSecond(summary.samples, begin);
  }

  // Images per second over whole epochs from memory. Each picture is repeated until an epoch is
  // long enough.
  double RateOf(const fs::path& dataset, unsigned threads) const {
    EpochOptions epochs;
    epochs.dataset = dataset;
    epochs.loader.threads = threads;
    epochs.loader.batch_size = kBatch;
    epochs.loader.transform = options_.transform;
    epochs.loader.output.channels = 3;
    epochs.epochs = 1;
    const std::uint64_t samples = Dataset::Open(dataset).size();
    const auto repeat = [&](double images) {
      return static_cast<std::uint64_t>(std::ceil(images / static_cast<double>(samples)));
    };
    EpochHooks hooks;
    hooks.stop = hooks_.stop;
    epochs.repeat = repeat(4.0 * kBatch);
    const double first = Median(RunEpochs(epochs, hooks).Rates());
    epochs.epochs = 3;
    epochs.repeat = repeat(std::max(first * options_.seconds / 3, 4.0 * kBatch));
    return Median(RunEpochs(epochs, hooks).Rates());
  }

  void Try(Trial& trial) {
    Step("making " + trial.form.name);
    fs::path fit = fit_.folder / "own", held = held_.folder / "own";
    if (!trial.form.as_it_is) {
      fit = fit_.folder / std::to_string(steps_done_);
      held = held_.folder / std::to_string(steps_done_);
      trial.constants.converted_per_second = Make(fit_, trial.form, fit);
      Make(held_, trial.form, held);
    }
    Step("playing " + trial.form.name);
    {
      const Dataset fitted = Dataset::Open(fit), held_out = Dataset::Open(held);
      trial.constants.bytes_per_image = StoredBytesPerImage(fitted);
      trial.held_bytes_per_image = StoredBytesPerImage(held_out);
      trial.decibels = QualityOf(fitted);
    }
    trial.constants.one_thread_per_second = RateOf(fit, 1);
    trial.constants.all_threads_per_second = options_.threads == 1
                                                 ? trial.constants.one_thread_per_second
                                                 : RateOf(fit, options_.threads);
    trial.held_images_per_second = RateOf(held, options_.threads);
    if (!trial.form.as_it_is) {
      fs::remove_all(fit);
      fs::remove_all(held);
    }
  }

  // The whole picture as a square of `side`, decoded as the loader does.
  std::vector<std::uint8_t> Shrunk(const ImagePayload& payload) {
    std::vector<std::uint8_t> pixels(std::size_t{options_.side} * options_.side * 3);
    const Geometry square({Resize(options_.side)});
    if (const Defect defect =
            decoder_.Decode(payload, square.FrameFor(payload.width, payload.height, 0, 0).region,
                            {pixels.data(), 3, PixelOrder::kInterleaved})) {
      throw Error(ErrorCode::kCorrupt, defect);
    }
    return pixels;
  }

  // Decodes some pictures of the fitted part from their sources and shrinks them, so that
  // QualityOf() can compare the forms with them.
  void MakeReference() {
    fs::path path = fit_.folder / "own";
    if (!facts_.dataset) {
      Part part{Slice(fit_.paths, 0, kQualityPictures), {}, {}};
      Form form;
      form.convert.form.image = ImageCodec::kRaw;
      form.convert.geometry.max_side.reset();
      path = scratch_.path() / "reference";
      Make(part, form, path);
    }
    const Dataset dataset = Dataset::Open(path);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(dataset.size(), kQualityPictures); ++i) {
      const ImagePayload payload = dataset[i].Payload();
      if (payload.pixel_type != PixelType::kUint8) continue;
      const std::vector<std::uint8_t> pixels = Shrunk(payload);
      reference_[dataset[i].key()] = {pixels.begin(), pixels.end()};
    }
  }

  std::optional<double> QualityOf(const Dataset& dataset) {
    double sum = 0;
    std::size_t count = 0;
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      const auto found = reference_.find(dataset[i].key());
      if (found == reference_.end()) continue;
      sum += PeakSignalToNoise(found->second, Shrunk(dataset[i].Payload()));
      ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / static_cast<double>(count);
  }

  const std::vector<Form>& forms_;
  const SourceFacts& facts_;
  const FormTrialOptions& options_;
  const StepHooks& hooks_;
  ScratchFolder scratch_;
  Part fit_, held_;
  PayloadDecoder decoder_;
  std::map<std::string, std::vector<double>> reference_;  // pixels from MakeReference(), by key
  std::uint64_t steps_ = 0, steps_done_ = 0;
};

}  // namespace

Trials TryForms(const std::vector<Form>& forms, const SourceFacts& facts,
                const FormTrialOptions& options, const StepHooks& hooks) {
  return TrialRun(forms, facts, options, hooks).Run();
}

}  // namespace sluice::bench
