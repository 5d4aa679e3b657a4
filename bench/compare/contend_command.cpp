// Plays one of this program's loaders for `sluice-bench compare`. Takes the same arguments as
// bench/peers/contend.py and prints the same lines:
//   sluice-bench contend NAME play LIST FOLDER THREADS BATCH SIZE SECONDS RECIPE
//   sluice-bench contend NAME decode LIST FOLDER SIZE FILE
// NAME is one of:
//   sluice, sluice-packed    the dataset in FOLDER; with "-cuda", to the first GPU
//   sluice-files, plain      the files in LIST; the former as a source that is played
//   sluice-raw, copies       raw images: the dataset in FOLDER
//   sluice-wide              wide images: the dataset in FOLDER
// LIST names each picture as often as it comes in an epoch.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <span>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/play_source.h>
#include <sluice/version.h>

#include "bench/commands.h"
#include "bench/compare/recipe.h"
#include "bench/epoch/floor.h"
#include "bench/report/result.h"
#include "format/pixels/decode.h"
#include "reader/device/device_driver.h"
#include "reader/transform/geometry.h"
#include "samples/plain_loader.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A line of LIST: a picture's index in the dataset, and its file.
struct Item {
  std::uint64_t number = 0;
  std::string path;
};

std::vector<Item> ItemsOf(const std::string& list) {
  std::ifstream file(list);
  std::vector<Item> items;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    items.push_back({cli::ParseInteger(line.substr(0, tab), 0, UINT64_MAX), line.substr(tab + 1)});
  }
  if (items.empty()) throw Error(ErrorCode::kNotFound, list, "lists no pictures");
  return items;
}

void Say(const nlohmann::ordered_json& event) {
  cli::PrintOut(event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                "\n");
}

// A PlayEpoch plays one epoch, and calls `on_batch` with the sample numbers of each batch.
using OnBatch = std::function<void(std::span<const std::uint64_t> numbers)>;
using PlayEpoch = std::function<void(std::uint64_t epoch, const OnBatch& on_batch)>;

void PlayAll(const PlayEpoch& play, double least_seconds) {
  std::vector<bool> seen;  // which samples came in the first measured epoch
  Clock::time_point begun;
  for (std::uint64_t epoch = 0;; ++epoch) {
    std::uint64_t images = 0;
    const Clock::time_point start = Clock::now();
    if (epoch == 1) {
      begun = start;
      Say({{"event", "begin"}});
    }
    play(epoch, [&](std::span<const std::uint64_t> numbers) {
      if (epoch == 0 && images == 0) Say({{"event", "first"}});
      images += numbers.size();
      if (epoch != 1) return;
      for (const std::uint64_t number : numbers) {
        if (number >= seen.size()) seen.resize(number + 1);
        seen[number] = true;
      }
    });
    if (epoch == 0) continue;
    const std::chrono::duration<double> taken = Clock::now() - start, all = Clock::now() - begun;
    Say({{"event", "epoch"}, {"images", images}, {"seconds", taken.count()}});
    if (all.count() >= least_seconds) break;
  }
  Say({{"event", "end"}, {"distinct", std::count(seen.begin(), seen.end(), true)}});
}

std::vector<std::uint64_t> NumbersOf(const std::vector<Item>& items) {
  std::vector<std::uint64_t> numbers;
  for (const Item& item : items)
    numbers.push_back(item.number);
  return numbers;
}

struct PlayArguments {
  std::string list, folder;
  unsigned threads = 0;
  std::size_t batch = 0;
  std::uint32_t size = 0;
  double seconds = 0;
  std::string recipe;  // empty: none
};

// Sends batches to the first GPU, which decodes as many images as it can.
void GoToCard(LoaderOptions& options) {
  options.device = Device::Cuda(0);
  options.on_device.decode = DecodeOn::kDevice;
}

// The files of LIST, each once, as a source that is played. Their names are the samples' keys.
Dataset OpenFiles(const std::vector<Item>& items) {
  std::set<std::string> names;
  for (const Item& item : items)
    names.insert(std::filesystem::path(item.path).filename());
  const std::filesystem::path folder = std::filesystem::path(items.at(0).path).parent_path();
  return Dataset::Open(PlaySource(ConvertSource::Paths({names.begin(), names.end()}, folder)));
}

// Plays `dataset`. `about` describes the form of its images and the loader's settings. A small
// batch takes less time to copy than a thread takes to wake for the next one, so with the usual two
// batches ahead the consumer would wait for threads to wake: more small batches are decoded ahead.
void PlaySluice(Dataset dataset, const PlayArguments& arguments, Pipeline transform,
                const std::string& about, bool to_card = false) {
  constexpr std::size_t kSmallBatch = std::size_t{1} << 20;
  const std::vector<Item> items = ItemsOf(arguments.list);
  LoaderOptions options;
  options.batch_size = arguments.batch;
  options.threads = arguments.threads;
  options.transform = std::move(transform);
  const ImageSummary& images = dataset.images().front();
  if (!arguments.recipe.empty()) RecipeOf(arguments.recipe).Set(options, arguments.size);
  if (IsWide(images.pixel_type, images.max_channels)) {
    options.output.layout = Layout::kNCHW;  // as rasterio gives them
  } else {
    options.output.channels = 3;
  }
  if (to_card) GoToCard(options);
  const std::size_t batch_bytes = 3 * arguments.size * arguments.size * arguments.batch;
  if (batch_bytes <= kSmallBatch) options.ring.prefetch = 8;
  if (items.size() != dataset.size()) options.order.samples = SampleList::Of(NumbersOf(items));
  Say({{"event", "about"}, {"text", std::string("sluice ") + kLibraryVersion + ": " + about}});
  Loader loader(std::move(dataset), options);
  PlayAll(
      [&](std::uint64_t epoch, const OnBatch& on_batch) {
        for (const Batch& batch : loader.Epoch(epoch)) {
          on_batch(batch.samples());
          if (batch.index() + 1 == loader.batches_per_epoch()) batch.Synchronize();
        }
      },
      arguments.seconds);
}

void PlayCopies(const PlayArguments& arguments) {
  Say({{"event", "about"},
       {"text",
        "threads that only copy the middle of each image into batches, in random order: no thread "
        "waits for another, without checksums"}});
  CopyLoop loop(Dataset::Open(arguments.folder), NumbersOf(ItemsOf(arguments.list)), arguments.size,
                arguments.batch, arguments.threads);
  PlayAll([&](std::uint64_t epoch, const OnBatch& on_batch) { on_batch(loop.Play(epoch)); },
          arguments.seconds);
}

void PlayPlain(const PlayArguments& arguments) {
  const std::vector<Item> items = ItemsOf(arguments.list);
  std::vector<std::string> files;
  for (const Item& item : items)
    files.push_back(item.path);
  PlainOptions options;
  options.batch_size = arguments.batch;
  options.threads = arguments.threads;
  options.side = arguments.size;
  Say({{"event", "about"},
       {"text",
        "samples/plain_loader.h: files, threads, libjpeg-turbo's whole decode, antialiased "
        "resize"}});
  PlainLoader loader(std::move(files), options);
  PlayAll(
      [&](std::uint64_t epoch, const OnBatch& on_batch) {
        loader.Play(epoch, [&](const PlainBatch& batch) {
          std::vector<std::uint64_t> numbers;
          for (const std::uint32_t place : batch.samples)
            numbers.push_back(items[place].number);
          on_batch(numbers);
        });
      },
      arguments.seconds);
}

// Decodes the pictures with `transform`, in the list's order, and writes their pixels to a file.
void DecodeSluice(const Dataset& dataset, const std::vector<Item>& items, std::uint32_t size,
                  const Pipeline& transform, const std::string& to) {
  std::string pixels;
  std::vector<std::uint8_t> picture(std::size_t{size} * size * 3);
  PayloadDecoder decoder;
  const Geometry geometry(transform);
  for (const Item& item : items) {
    const Sample sample = dataset[item.number];
    const ImagePayload payload = sample.Payload();
    const Region region = geometry.FrameFor(payload.width, payload.height, 0, 0).region;
    if (const Defect defect =
            decoder.Decode(payload, region, {picture.data(), 3, PixelOrder::kInterleaved})) {
      throw Error(ErrorCode::kCorrupt, item.path, defect);
    }
    pixels.append(picture.begin(), picture.end());
  }
  WriteTextFile(to, pixels);
}

// Like DecodeSluice(), through the GPU: copies the pixels back from its memory.
void DecodeOnCard(const std::vector<Item>& items, const std::string& folder, std::uint32_t size,
                  const std::string& to) {
  LoaderOptions options;
  options.batch_size = 1;
  options.threads = 1;
  options.transform = {Resize(size)};
  options.output.channels = 3;
  options.order.shuffle = Shuffle::kSequential;
  GoToCard(options);
  const std::shared_ptr<DeviceDriver> driver = DeviceAccess::Open(options.device);
  const OwnStream stream(*driver);
  const std::size_t bytes = std::size_t{size} * size * 3;
  const HostBuffer pixels = PinnedBuffer(driver, bytes);
  const std::vector<std::uint64_t> numbers = NumbersOf(items);
  options.order.samples = SampleList::Of(numbers);
  std::map<std::uint64_t, std::string> pictures;
  Loader loader(Dataset::Open(folder), options);
  for (const Batch& batch : loader.Epoch(0)) {
    batch.Synchronize();
    driver->CopyBack(stream.get(), pixels.data(),
                     reinterpret_cast<const std::byte*>(batch.image().data), pixels.size());
    driver->Drain(stream.get());
    pictures[batch.samples()[0]].assign(reinterpret_cast<const char*>(pixels.data()),
                                        pixels.size());
  }
  std::string all;
  for (const std::uint64_t number : numbers)
    all += pictures[number];
  WriteTextFile(to, all);
}

// Writes the middles of wide images.
void DecodeWide(const Dataset& dataset, const std::vector<Item>& items, std::uint32_t size,
                const std::string& to) {
  std::string pixels;
  for (const Item& item : items) {
    LoaderOptions options;
    options.threads = 1;
    options.transform = {CenterCrop(size)};
    options.order.samples = SampleList::Of(std::vector<std::uint64_t>{item.number});
    Loader loader(dataset, options);
    for (const Batch& batch : loader.Epoch(0)) {
      const auto image = batch.image();
      pixels.append(reinterpret_cast<const char*>(image.data), image.sample_bytes());
    }
  }
  WriteTextFile(to, pixels);
}

void DecodePlain(const std::vector<Item>& items, std::uint32_t size, const std::string& to) {
  std::string pixels;
  std::vector<std::uint8_t> picture(std::size_t{size} * size * 3);
  PlainDecoder plain;
  for (const Item& item : items) {
    plain.Load(item.path);
    plain.Resize({0, 0, plain.width(), plain.height()}, size, false, picture.data());
    pixels.append(picture.begin(), picture.end());
  }
  WriteTextFile(to, pixels);
}

void Play(const std::string& name, const PlayArguments& arguments) {
  const Pipeline crops = {RandomResizedCrop(arguments.size), HorizontalFlip()};
  const bool to_card = name.ends_with("-cuda");
  const std::string where = to_card ? "; decoded and cropped on cuda:0, as far as it can" : "";
  const auto dataset = [&] { return Dataset::Open(arguments.folder); };
  if (name.starts_with("sluice-packed")) {
    PlaySluice(dataset(), arguments, crops,
               "the same images as --image packed, and the same settings" + where, to_card);
  } else if (name == "sluice" || name == "sluice-cuda") {
    PlaySluice(dataset(), arguments, crops,
               "sluice convert's defaults (500 pixels, quality 90), checksums, quasi-random order, "
               "antialiased resize" +
                   where,
               to_card);
  } else if (name == "sluice-files") {
    PlaySluice(OpenFiles(ItemsOf(arguments.list)), arguments, crops,
               "the files without a conversion, quasi-random order, antialiased resize");
  } else if (name == "sluice-raw") {
    PlaySluice(dataset(), arguments, {CenterCrop(arguments.size)},
               "--image raw, checksums in the first epoch, quasi-random order, 8 batches ahead if "
               "they are small, else 2");
  } else if (name == "sluice-wide") {
    PlaySluice(dataset(), arguments, {RandomCrop(arguments.size)},
               "--pixels keep, checksums of the tiles that are shown, quasi-random order");
  } else if (name == "copies") {
    PlayCopies(arguments);
  } else {
    PlayPlain(arguments);
  }
}

void Decode(const std::string& name, const std::string& list, const std::string& folder,
            std::uint32_t size, const std::string& to) {
  std::vector<Item> items = ItemsOf(list);
  if (name == "plain") {
    DecodePlain(items, size, to);
  } else if (name.ends_with("-cuda")) {
    DecodeOnCard(items, folder, size, to);
  } else if (name == "sluice-files") {
    const Dataset dataset = OpenFiles(items);
    for (Item& item : items)
      item.number = dataset.Find(std::filesystem::path(item.path).filename().string()).value();
    DecodeSluice(dataset, items, size, {Resize(size)}, to);
  } else if (name == "sluice" || name == "sluice-packed") {
    DecodeSluice(Dataset::Open(folder), items, size, {Resize(size)}, to);
  } else if (name == "sluice-wide") {
    DecodeWide(Dataset::Open(folder), items, size, to);
  } else {
    DecodeSluice(Dataset::Open(folder), items, size, {CenterCrop(size)}, to);
  }
}

int Run(const std::vector<std::string>& words) {
  constexpr std::string_view kNames[] = {"sluice",      "sluice-packed",      "sluice-files",
                                         "sluice-cuda", "sluice-packed-cuda", "plain",
                                         "sluice-raw",  "sluice-wide",        "copies"};
  const bool known = !words.empty() &&
                     std::find(std::begin(kNames), std::end(kNames), words[0]) != std::end(kNames);
  if (known && words.size() == 9 && words[1] == "play") {
    const PlayArguments arguments{words[2],
                                  words[3],
                                  static_cast<unsigned>(cli::ParseInteger(words[4], 1, 1024)),
                                  cli::ParseInteger(words[5], 1, 1'000'000),
                                  static_cast<std::uint32_t>(cli::ParseInteger(words[6], 1, 65535)),
                                  cli::ParseNumber(words[7], 1e6),
                                  words[8]};
    Play(words[0], arguments);
  } else if (known && words.size() == 6 && words[1] == "decode") {
    Decode(words[0], words[2], words[3],
           static_cast<std::uint32_t>(cli::ParseInteger(words[4], 1, 65535)), words[5]);
  } else {
    throw cli::UsageError("contend is run by `sluice-bench compare`, which passes its arguments");
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddContendCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("contend", "plays a loader for compare");
  app->group("");
  const auto words = std::make_shared<std::vector<std::string>>();
  app->add_option("WORDS", *words)->required();
  return {app, [words] { return Run(*words); }};
}

}  // namespace sluice::bench
