// One comparison, step by step: prepares the dataset, its images as files and each loader's own
// format; checks how close each loader's pixels are to the pictures; then plays the rounds.
//
// A contender's command line holds its whole task (bench/peers/contend.py, or `sluice-bench
// contend` for this program's own loaders), so all of them are started and measured in the same
// way.
#include "bench/compare/measure.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>

#include <sluice/convert.h>
#include <sluice/cpu.h>
#include <sluice/dataset_edit.h>
#include <sluice/device.h>
#include <sluice/error.h>
#include <sluice/nearest_name.h>

#include "bench/compare/recipe.h"
#include "bench/machine/disk.h"
#include "bench/machine/machine.h"
#include "bench/parts/decode.h"
#include "bench/report/statistics.h"
#include "reader/transform/geometry.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

// Chooses up to `count` colour JPEGs among the first 5000 samples, all of the size that is the most
// frequent there. Returns their indices.
std::vector<std::uint64_t> PicturesOfOneSize(const Dataset& dataset, std::uint64_t count) {
  constexpr std::uint64_t kLookedAt = 5000;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> by_size;
  for (std::uint64_t i = 0; i < std::min(dataset.size(), kLookedAt); ++i) {
    const ImagePayload payload = dataset[i].Payload();
    if (payload.codec == Codec::kJpeg && payload.channels == 3)
      by_size[{payload.width, payload.height}].push_back(i);
  }
  std::vector<std::uint64_t> most;
  for (const auto& [size, numbers] : by_size) {
    if (numbers.size() > most.size()) most = numbers;
  }
  most.resize(std::min<std::size_t>(most.size(), count));
  return most;
}

std::string PixelsIn(const std::filesystem::path& path, std::size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string pixels{std::istreambuf_iterator<char>(file), {}};
  if (pixels.size() != bytes || bytes == 0) {
    throw Error(ErrorCode::kCorrupt, path.string(), "does not have the expected pictures");
  }
  return pixels;
}

// Measures how close a loader's pixels are to the pictures, so that no loader wins with worse
// pixels. Returns the mean PSNR in decibels over whole pictures stretched to size x size (RGB, in
// the order of `numbers`). The reference is computed with the accurate inverse DCT and a filter in
// double precision: the triangle or the area filter, whichever is nearer to the pixels. Throws
// Error(kCorrupt) if the file `pixels` has the wrong length.
double QualityOf(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                 std::uint32_t size, const std::filesystem::path& pixels) {
  const std::size_t each = std::size_t{size} * size * 3;
  const std::string bytes = PixelsIn(pixels, each * numbers.size());
  double best = 0;
  for (const Filter filter : {Filter::kTriangle, Filter::kArea}) {
    Resize resize(size);
    resize.filter = filter;
    const Geometry stretch({resize});
    double sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Sample sample = dataset[numbers[i]];
      DecodeItem item;
      item.payload = sample.Payload();
      item.region = stretch.FrameFor(item.payload.width, item.payload.height, 0, 0).region;
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * each);
      sum += PeakSignalToNoise(
          ReferencePixels(item),
          std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(each)));
    }
    best = std::max(best, sum / static_cast<double>(numbers.size()));
  }
  return best;
}

// Like QualityOf(), for loaders of raw and of wide images, which return the middle `size` x `size`
// pixels: of their bytes. Returns 99 if they equal the stored pixels.
double QualityOfMiddles(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                        std::uint32_t size, const std::filesystem::path& pixels) {
  const ImagePayload first = dataset[numbers.at(0)].Payload();
  const std::size_t pixel = first.channels * SizeOf(first.pixel_type);
  const std::size_t each = std::size_t{size} * size * pixel;
  const std::string bytes = PixelsIn(pixels, each * numbers.size());
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Image image = dataset[numbers[i]].Decode();
    const std::size_t left = (image.width - size) / 2, top = (image.height - size) / 2;
    std::vector<double> stored;
    for (std::size_t y = 0; y < size; ++y) {
      const std::size_t row = ((top + y) * image.width + left) * pixel;
      for (std::size_t v = row; v < row + size * pixel; ++v)
        stored.push_back(double(image.pixels[v]));
    }
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * each);
    sum += PeakSignalToNoise(
        stored, std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(each)));
  }
  return sum / static_cast<double>(numbers.size());
}

namespace fs = std::filesystem;

struct Peer {
  const char* name;
  const char* environment;  // folder in --peers with the Python that plays it
  bool packs;               // as in Contender
};
constexpr Peer kPeers[] = {{"ffcv", "ffcv", true},
                           {"sluice-python", "main", true},
                           {"dali", "main", false},
                           {"tfdata", "main", true},
                           {"torchvision", "main", false},
                           {"torchvision-pil", "main", false},
                           {"albumentations", "main", false},
                           {"torchvision-cuda", "recent", false},
                           {"torchcodec", "recent", false},
                           {"webdataset", "main", true},
                           {"mds", "main", true},
                           {"litdata", "main", true},
                           {"lancedb", "recent", true},
                           {"huggingface", "recent", true},
                           {"spdl", "main", false},
                           {"ultralytics", "recent", true}};
constexpr Peer kWidePeer = {"rasterio", "main", true};

std::uint64_t BytesIn(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// The dataset's images as files.
class ImageFiles {
 public:
  ImageFiles() = default;
  ImageFiles(fs::path folder, ImagesCompared images) : folder_(std::move(folder)), images_(images) {
    fs::create_directories(folder_);
  }

  // Writes a JPEG as it is stored, raw pixels as PPM, or the pixels of a wide image, whose name
  // says what they are. Returns the file's size. Call it in the order of numbers.
  std::uint64_t Write(std::uint64_t number, const Sample& sample) {
    const ImagePayload payload = sample.Payload();
    const bool wide = images_ == ImagesCompared::kWide;
    std::string name = cli::Format("%08llu", static_cast<unsigned long long>(number));
    if (wide) {
      name += cli::Format("-%ux%ux%u-", payload.height, payload.width, unsigned{payload.channels}) +
              std::string(NameOf(payload.pixel_type)) + ".raw";
    } else {
      name += images_ == ImagesCompared::kRaw ? ".ppm" : ".jpg";
    }
    paths_.push_back(folder_ / name);
    std::string head;
    if (images_ == ImagesCompared::kRaw)
      head = cli::Format("P6\n%u %u\n255\n", payload.width, payload.height);
    const Image image = wide ? sample.Decode() : Image();
    const std::span<const std::byte> bytes =
        wide ? std::as_bytes(std::span(image.pixels)) : payload.bytes;
    std::ofstream file(paths_.back(), std::ios::binary);
    file << head;
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw Error(ErrorCode::kIo, folder_.string(), "cannot be written");
    return head.size() + bytes.size();
  }

  void WriteList(const fs::path& path, const std::vector<std::uint64_t>& numbers,
                 std::uint64_t repeat) const {
    std::string text;
    for (std::uint64_t r = 0; r < repeat; ++r) {
      for (const std::uint64_t number : numbers) {
        text += cli::Format("%llu\t", static_cast<unsigned long long>(number)) +
                paths_.at(number).string() + "\n";
      }
    }
    WriteTextFile(path, text);
  }

 private:
  fs::path folder_;
  ImagesCompared images_ = ImagesCompared::kJpegs;
  std::vector<fs::path> paths_;  // by number
};

// Raw images must have one size and three channels.
ImagesCompared ImagesIn(const Dataset& dataset) {
  if (dataset.size() == 0 || dataset.images().empty()) return ImagesCompared::kJpegs;
  const ImageSummary& images = dataset.images().front();
  if (IsWide(images.pixel_type, images.max_channels)) return ImagesCompared::kWide;
  const bool raw =
      dataset[0].Payload().codec == Codec::kRaw && images.uniform() && images.min_channels == 3;
  return raw ? ImagesCompared::kRaw : ImagesCompared::kJpegs;
}

// Runs one comparison, and makes the files that it needs.
class Runner {
 public:
  Runner(const CompareOptions& options, const StepHooks& hooks)
      : options_(options), hooks_(hooks) {}

  Comparison Run() {
    Prepare();
    const LoadWatch others;
    for (const Contender& contender : AllContenders(options_, comparison_.images)) {
      Compared compared;
      compared.contender = contender;
      compared.missing = contender.missing;
      comparison_.loaders.push_back(std::move(compared));
    }
    comparison_.loaders.front().convert_seconds = convert_seconds_;
    for (Compared& one : comparison_.loaders)
      Pack(one);
    if (!quality_.empty()) {
      for (Compared& one : comparison_.loaders)
        MeasureQuality(one);
    }
    for (std::uint64_t round = 0; round < options_.rounds; ++round)
      PlayRound(round);
    Finish();
    comparison_.other_cpus = others.OtherCpus();
    WarnOfLoad(comparison_.other_cpus, comparison_.warnings);
    return std::move(comparison_);
  }

 private:
  void Step(const std::string& activity) {
    ThrowIfStopped(hooks_.stop);
    if (hooks_.on_step) hooks_.on_step(activity, steps_done_, steps_);
    ++steps_done_;
  }

  // Prepares the dataset, its images as files, and the lists of these files.
  void Prepare() {
    Step("converting");
    ClaimWorkFolder(options_.work);
    FindDataset();
    const Dataset dataset = Dataset::Open(dataset_path_);
    comparison_.images = ImagesIn(dataset);
    const bool jpegs = comparison_.images == ImagesCompared::kJpegs;
    comparison_.size = options_.size;
    if (!jpegs && !options_.recipe.empty()) {
      throw Error(ErrorCode::kUnsupported, dataset_path_.string(),
                  "holds no JPEGs, with which recipes are compared; convert the pictures without "
                  "--image raw and --pixels keep");
    }
    if (!jpegs) {
      const ImageSummary& images = dataset.images().front();
      comparison_.size = std::min({options_.size, images.min_width, images.min_height});
    }
    steps_ = 1 + AllContenders(options_, comparison_.images).size() * (options_.rounds + 2);
    comparison_.pictures = dataset.size();
    if (dataset.size() == 0)
      throw Error(ErrorCode::kNotFound, dataset_path_.string(), "holds no pictures");
    comparison_.threads = options_.threads;
    ImageFiles files(options_.work / (jpegs ? "jpegs" : "pixels"), comparison_.images);
    std::vector<std::uint64_t> all(dataset.size());
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      all[i] = i;
      const Sample sample = dataset[i];
      const Codec codec = sample.Payload().codec;
      const bool fits = jpegs                                        ? codec == Codec::kJpeg
                        : comparison_.images == ImagesCompared::kRaw ? codec == Codec::kRaw
                                                                     : codec != Codec::kAbsent;
      if (!fits) {
        throw Error(ErrorCode::kUnsupported, dataset_path_.string(),
                    "the loaders are compared with JPEGs, with raw RGB images of one size, or with "
                    "images of more than 8 bits or four channels, but this dataset has other "
                    "images");
      }
      file_bytes_ += files.Write(i, sample);
    }
    list_ = options_.work / "list";
    files.WriteList(list_, all, options_.repeat);
    if (!jpegs) {
      quality_ = std::move(all);
      quality_.resize(std::min<std::size_t>(quality_.size(), options_.quality_images));
    } else if (options_.quality_images > 0) {
      quality_ = PicturesOfOneSize(dataset, options_.quality_images);
    }
    files.WriteList(options_.work / "quality", quality_, 1);
  }

  // Converts the source, unless it is a dataset.
  void FindDataset() {
    dataset_path_ = options_.source;
    if (fs::exists(options_.source / "manifest.json")) return;
    dataset_path_ = options_.work / "dataset";
    fs::remove_all(dataset_path_);  // left by an earlier run, perhaps from another source
    ConvertHooks hooks;
    hooks.stop = hooks_.stop;
    ConvertOptions convert;
    convert.run.threads = options_.threads;
    convert_seconds_ = Convert(options_.source, dataset_path_, convert, hooks).seconds;
  }

  fs::path FolderOf(const Contender& contender) const {
    const bool plays_dataset =
        contender.name == "sluice" || contender.name == "sluice-cuda" || contender.name == "copies";
    return plays_dataset ? dataset_path_ : options_.work / contender.name;
  }

  ContenderRun Call(Compared& one, const std::vector<std::string>& arguments) const {
    ContenderRun run =
        RunContender(one.contender, arguments, options_.work / (one.contender.name + ".log"),
                     std::chrono::seconds(options_.limit_seconds), hooks_.stop);
    ThrowIfStopped(hooks_.stop);
    if (!run.error.empty()) one.missing = arguments.front() + " failed: " + run.error;
    if (!run.missing.empty()) one.missing = "left out: " + run.missing;
    // If another loader fails, its row in the table says so. The first loader must not fail, since
    // the others are compared with it.
    if (!one.missing.empty() && &one == &comparison_.loaders.front())
      throw Error(ErrorCode::kState, one.contender.name, one.missing);
    return run;
  }

  void Pack(Compared& one) {
    Step("packing for " + one.contender.name);
    one.disk_bytes = file_bytes_;
    if (FolderOf(one.contender) == dataset_path_) one.disk_bytes = BytesIn(dataset_path_);
    if (!one.missing.empty()) return;
    if (one.contender.name.starts_with("sluice-packed")) MakePacked(one);
    if (!one.contender.packs) return;
    const fs::path folder = FolderOf(one.contender);
    fs::remove_all(folder);
    fs::create_directories(folder);
    const ContenderRun run =
        Call(one, {"pack", list_.string(), folder.string(), std::to_string(options_.threads)});
    if (!one.missing.empty()) return;
    // Loaders of wide images write each of them once.
    const std::uint64_t times = comparison_.images == ImagesCompared::kWide ? 1 : options_.repeat;
    one.convert_seconds = run.packed_seconds / static_cast<double>(times);
    one.disk_bytes = BytesIn(folder) / times;
  }

  // Makes the same dataset with its images in the packed form.
  void MakePacked(Compared& one) const {
    const fs::path folder = FolderOf(one.contender);
    fs::remove_all(folder);
    const auto begin = std::chrono::steady_clock::now();
    TranscodeOptions transcode;
    transcode.image = ImageCodec::kPacked;
    transcode.threads = options_.threads;
    TranscodeDataset(dataset_path_, folder, transcode, {{}, hooks_.stop});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    one.convert_seconds = taken.count();
    one.disk_bytes = BytesIn(folder);
  }

  void MeasureQuality(Compared& one) {
    Step("quality of " + one.contender.name);
    if (!one.missing.empty()) return;
    const std::string list = (options_.work / "quality").string();
    const fs::path pixels = options_.work / (one.contender.name + ".rgb");
    fs::path folder = FolderOf(one.contender);
    if (one.contender.packs) {
      folder = options_.work / (one.contender.name + ".quality");
      fs::remove_all(folder);
      fs::create_directories(folder);
      Call(one, {"pack", list, folder.string(), "1"});
      if (!one.missing.empty()) return;
    }
    Call(one, {"decode", list, folder.string(), std::to_string(comparison_.size), pixels.string()});
    if (!one.missing.empty()) return;
    const Dataset dataset = Dataset::Open(dataset_path_);
    one.decibels = comparison_.images == ImagesCompared::kJpegs
                       ? QualityOf(dataset, quality_, comparison_.size, pixels)
                       : QualityOfMiddles(dataset, quality_, comparison_.size, pixels);
  }

  void PlayRound(std::uint64_t round) {
    const std::size_t count = comparison_.loaders.size();
    for (std::size_t i = 0; i < count; ++i) {
      Compared& one = comparison_.loaders[(i + round) % count];
      Step(cli::Format("round %llu of %llu: ", static_cast<unsigned long long>(round + 1),
                       static_cast<unsigned long long>(options_.rounds)) +
           one.contender.name);
      if (!one.missing.empty()) continue;
      one.runs.push_back(
          Call(one, {"play", list_.string(), FolderOf(one.contender).string(),
                     std::to_string(options_.threads), std::to_string(options_.batch_size),
                     std::to_string(comparison_.size), cli::Format("%g", options_.seconds),
                     options_.recipe}));
    }
  }

  // Computes ratios and warnings, which need all runs.
  void Finish() {
    const Compared& own = comparison_.loaders.front();
    for (Compared& one : comparison_.loaders) {
      if (!one.missing.empty()) continue;
      std::vector<double> ratios, cpu_ratios;
      for (std::size_t r = 0; r < std::min(one.runs.size(), own.runs.size()); ++r) {
        if (one.runs[r].images_per_second > 0)
          ratios.push_back(own.runs[r].images_per_second / one.runs[r].images_per_second);
        if (own.runs[r].cpu_seconds_per_1000 > 0)
          cpu_ratios.push_back(one.runs[r].cpu_seconds_per_1000 / own.runs[r].cpu_seconds_per_1000);
      }
      if (!ratios.empty() && own.missing.empty()) one.ratio = Median(ratios);
      if (!cpu_ratios.empty() && own.missing.empty()) one.cpu_ratio = Median(cpu_ratios);
      for (const ContenderRun& run : one.runs) {
        if (run.distinct == comparison_.pictures) continue;
        comparison_.warnings.push_back(
            cli::Format("%s gave %llu different pictures in an epoch, but there are %llu",
                        one.contender.name.c_str(), static_cast<unsigned long long>(run.distinct),
                        static_cast<unsigned long long>(comparison_.pictures)));
        break;
      }
    }
  }

  const CompareOptions& options_;
  const StepHooks& hooks_;
  Comparison comparison_;
  fs::path dataset_path_, list_;        // list_: LIST of contend.py, of all images
  std::vector<std::uint64_t> quality_;  // indices of the pictures whose quality is measured
  std::uint64_t file_bytes_ = 0;        // of all images as files
  std::optional<double> convert_seconds_;
  std::uint64_t steps_ = 0, steps_done_ = 0;
};

}  // namespace

std::vector<double> Compared::Rates() const {
  std::vector<double> rates;
  for (const ContenderRun& run : runs) {
    if (run.error.empty()) rates.push_back(run.images_per_second);
  }
  return rates;
}

namespace {

// A loader of this program's own. `sluice-bench contend` plays it under the name `played`.
Contender OwnContender(const std::string& name, const std::string& played) {
  return {name, {fs::read_symlink("/proc/self/exe").string(), "contend", "--", played}, false, ""};
}

// A loader in Python; `module` is its name in bench/peers/contend.
Contender PeerContender(const CompareOptions& options, const Peer& peer,
                        const std::string& module) {
  const fs::path python = options.peers / peer.environment / "bin/python";
  Contender contender{peer.name,
                      {python.string(), (options.peers / "contend.py").string(), module},
                      peer.packs,
                      ""};
  if (options.peers.empty()) {
    contender.missing = "not installed: see --peers";
  } else if (!fs::exists(python)) {
    contender.missing = "not installed: " + python.string() + " is not there";
  }
  return contender;
}

std::vector<Contender> EveryContender(const CompareOptions& options, ImagesCompared images) {
  if (images == ImagesCompared::kWide)
    return {OwnContender("sluice", "sluice-wide"), PeerContender(options, kWidePeer, "rasterio")};
  if (images == ImagesCompared::kRaw) {
    return {OwnContender("sluice", "sluice-raw"), OwnContender("copies", "copies"),
            PeerContender(options, kPeers[0], "ffcv_raw")};
  }
  std::vector<Contender> all;
  for (const char* const name :
       {"sluice", "sluice-packed", "sluice-files", "sluice-cuda", "sluice-packed-cuda", "plain"})
    all.push_back(OwnContender(name, name));
  for (Contender& contender : all) {
    if (contender.name.ends_with("-cuda") && Device::CudaCount() == 0)
      contender.missing = "left out: this machine has no CUDA device, or this build no CUDA";
    if (contender.name == "plain" && !options.recipe.empty())
      contender.missing = "left out: it has no steps but a crop and a flip";
  }
  for (const Peer& peer : kPeers) {
    std::string module = peer.name;
    std::replace(module.begin(), module.end(), '-', '_');
    all.push_back(PeerContender(options, peer, module));
    if (module == "ultralytics" && options.recipe != "mosaic")
      all.back().missing = "left out: it is compared with --recipe mosaic alone";
  }
  return all;
}

bool IsAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void CheckNames(const CompareOptions& options) {
  if (!options.recipe.empty()) RecipeOf(options.recipe);
  std::vector<std::string> names;
  for (const ImagesCompared images :
       {ImagesCompared::kJpegs, ImagesCompared::kRaw, ImagesCompared::kWide}) {
    for (const Contender& contender : EveryContender(options, images))
      names.push_back(contender.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : options.only) {
    if (!IsAmong(names, name))
      throw cli::UsageError("--only: unknown loader \"" + name + "\"" +
                            NamesInstead(name, names, "the loaders are"));
  }
}

std::vector<Contender> AllContenders(const CompareOptions& options, ImagesCompared images) {
  std::vector<Contender> all = EveryContender(options, images);
  if (options.only.empty()) return all;
  // Sluice stays, as the reference.
  std::erase_if(all, [&](const Contender& contender) {
    return contender.name != "sluice" && !IsAmong(options.only, contender.name);
  });
  return all;
}

Comparison CompareLoaders(CompareOptions options, const StepHooks& hooks) {
  if (options.threads == 0) options.threads = AvailableCpus();
  if (options.size == 0)
    options.size = options.recipe.empty() ? 224 : RecipeOf(options.recipe).size;
  if (!options.recipe.empty()) options.quality_images = 0;  // steps change the pixels
  // Absolute, because the lists of files and the contenders' command lines hold these paths.
  options.source = fs::absolute(options.source);
  options.work = fs::absolute(options.work);
  if (!options.peers.empty()) options.peers = fs::absolute(options.peers);
  return Runner(options, hooks).Run();
}

}  // namespace sluice::bench
