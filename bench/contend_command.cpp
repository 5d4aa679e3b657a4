// Says what bench/peers/contend.py says, with the same arguments:
//   sluice-bench contend sluice|plain play LIST FOLDER THREADS BATCH SIZE SECONDS
//   sluice-bench contend sluice|plain decode LIST FOLDER SIZE FILE
// FOLDER is the dataset (sluice); LIST the files (plain), and how often each comes (both).
#include "bench/contend_command.h"

#include <chrono>
#include <fstream>
#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/version.h>

#include "bench/measurement.h"
#include "format/pixels/decode.h"
#include "reader/transform/geometry.h"
#include "samples/plain_loader.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

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
  if (items.empty()) throw Error(ErrorCode::kNotFound, list, "names no pictures");
  return items;
}

void Say(const nlohmann::ordered_json& event) {
  cli::PrintOut(event.dump() + "\n");
}

// What an epoch is played with: calls `on_batch` with the sample numbers of each batch.
using OnBatch = std::function<void(const std::vector<std::uint64_t>& numbers)>;
using PlayEpoch = std::function<void(std::uint64_t epoch, const OnBatch& on_batch)>;

void PlayAll(const PlayEpoch& play, double least_seconds) {
  std::set<std::uint64_t> distinct;
  Clock::time_point begun;
  for (std::uint64_t epoch = 0;; ++epoch) {
    std::uint64_t images = 0;
    const Clock::time_point start = Clock::now();
    if (epoch == 1) {
      begun = start;
      Say({{"event", "begin"}});
    }
    play(epoch, [&](const std::vector<std::uint64_t>& numbers) {
      if (epoch == 0 && images == 0) Say({{"event", "first"}});
      images += numbers.size();
      if (epoch == 1) distinct.insert(numbers.begin(), numbers.end());
    });
    if (epoch == 0) continue;
    const std::chrono::duration<double> taken = Clock::now() - start, all = Clock::now() - begun;
    Say({{"event", "epoch"}, {"images", images}, {"seconds", taken.count()}});
    if (all.count() >= least_seconds) break;
  }
  Say({{"event", "end"}, {"distinct", distinct.size()}});
}

struct PlayArguments {
  std::string list, folder;
  unsigned threads = 0;
  std::size_t batch = 0;
  std::uint32_t size = 0;
  double seconds = 0;
};

void PlaySluice(const PlayArguments& arguments) {
  const std::vector<Item> items = ItemsOf(arguments.list);
  LoaderOptions options;
  options.batch_size = arguments.batch;
  options.threads = arguments.threads;
  options.transform = {RandomResizedCrop(arguments.size), HorizontalFlip()};
  options.channels = 3;
  Dataset dataset = Dataset::Open(arguments.folder);
  if (items.size() != dataset.size()) {
    std::vector<std::uint64_t> numbers;
    for (const Item& item : items)
      numbers.push_back(item.number);
    options.samples = SampleList::Of(std::move(numbers));
  }
  Say({{"event", "about"},
       {"text", std::string("sluice ") + kLibraryVersion +
                    ": sluice convert's defaults (500 pixels, quality 90), checksums, quasi-random "
                    "order, antialiased resize"}});
  Loader loader(std::move(dataset), options);
  PlayAll(
      [&](std::uint64_t epoch, const OnBatch& on_batch) {
        for (const Batch& batch : loader.Epoch(epoch))
          on_batch({batch.samples().begin(), batch.samples().end()});
      },
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

void Decode(bool sluice, const std::string& list, const std::string& folder, std::uint32_t size,
            const std::string& to) {
  std::string pixels;
  std::vector<std::uint8_t> picture(std::size_t{size} * size * 3);
  PlainDecoder plain;
  PayloadDecoder own;
  const Geometry stretch({Resize(size)});
  std::optional<Dataset> dataset;
  if (sluice) dataset = Dataset::Open(folder);
  for (const Item& item : ItemsOf(list)) {
    if (sluice) {
      const Sample sample = (*dataset)[item.number];
      const ImagePayload payload = sample.Payload();
      const Region region = stretch.RegionFor(payload.width, payload.height, 0, 0);
      if (const Defect defect =
              own.Decode(payload, region, {picture.data(), 3, PixelOrder::kInterleaved})) {
        throw Error(ErrorCode::kCorrupt, item.path, defect);
      }
    } else {
      plain.Load(item.path);
      plain.Resize({0, 0, plain.width(), plain.height()}, size, false, picture.data());
    }
    pixels.append(picture.begin(), picture.end());
  }
  WriteTextFile(to, pixels);
}

int Run(const std::vector<std::string>& words) {
  const bool sluice = words.size() > 1 && words[0] == "sluice";
  if (words.size() == 8 && words[1] == "play") {
    const PlayArguments arguments{words[2],
                                  words[3],
                                  static_cast<unsigned>(cli::ParseInteger(words[4], 1, 1024)),
                                  cli::ParseInteger(words[5], 1, 1'000'000),
                                  static_cast<std::uint32_t>(cli::ParseInteger(words[6], 1, 65535)),
                                  cli::ParseNumber(words[7], 1e6)};
    sluice ? PlaySluice(arguments) : PlayPlain(arguments);
  } else if (words.size() == 6 && words[1] == "decode") {
    Decode(sluice, words[2], words[3],
           static_cast<std::uint32_t>(cli::ParseInteger(words[4], 1, 65535)), words[5]);
  } else {
    throw cli::UsageError("contend is for `sluice-bench compare`, which knows its arguments");
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
