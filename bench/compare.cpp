#include "bench/compare.h"

#include <algorithm>
#include <fstream>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "bench/compare_quality.h"
#include "bench/figures.h"
#include "bench/machine.h"
#include "format/cpu.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

struct Peer {
  const char* name;
  const char* environment;
  bool packs;
};
constexpr Peer kPeers[] = {{"ffcv", "ffcv", true},       {"dali", "main", false},
                           {"tfdata", "main", true},     {"torchvision", "main", false},
                           {"webdataset", "main", true}, {"mds", "main", true},
                           {"litdata", "main", true},    {"spdl", "main", false}};

std::uint64_t BytesIn(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

void WriteList(const fs::path& path, const fs::path& jpegs,
               const std::vector<std::uint64_t>& numbers, std::uint64_t repeat) {
  std::string text;
  for (std::uint64_t r = 0; r < repeat; ++r) {
    for (const std::uint64_t number : numbers) {
      text +=
          cli::Format("%llu\t", static_cast<unsigned long long>(number)) +
          (jpegs / cli::Format("%08llu.jpg", static_cast<unsigned long long>(number))).string() +
          "\n";
    }
  }
  WriteTextFile(path, text);
}

// The runs of one comparison, and what they need on disk.
class Runner {
 public:
  Runner(const CompareOptions& options, const CompareHooks& hooks)
      : options_(options), hooks_(hooks) {}

  Comparison Run() {
    Prepare();
    const LoadWatch others;
    for (const Contender& contender : AllContenders(options_)) {
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
    if (hooks_.stop.stop_requested()) throw CompareInterrupted();
    if (hooks_.on_step) hooks_.on_step(activity, steps_done_, steps_);
    ++steps_done_;
  }

  // The dataset, its JPEGs as files, and the lists of them.
  void Prepare() {
    steps_ = 1 + AllContenders(options_).size() * (options_.rounds + 2);
    Step("converting");
    fs::create_directories(options_.work);
    dataset_path_ = options_.source;
    if (!fs::exists(options_.source / "manifest.json")) {
      dataset_path_ = options_.work / "dataset";
      ConvertHooks hooks;
      hooks.stop = hooks_.stop;
      ConvertOptions convert;
      convert.threads = options_.threads;
      const bool there = fs::exists(dataset_path_ / "manifest.json");
      const ConvertSummary summary = Convert(options_.source, dataset_path_, convert, hooks);
      if (!there) convert_seconds_ = summary.seconds;
    }
    const Dataset dataset = Dataset::Open(dataset_path_);
    comparison_.pictures = dataset.size();
    comparison_.threads = options_.threads;
    const fs::path jpegs = options_.work / "jpegs";
    fs::create_directories(jpegs);
    std::vector<std::uint64_t> all(dataset.size());
    for (std::uint64_t i = 0; i < dataset.size(); ++i) {
      all[i] = i;
      const ImagePayload payload = dataset[i].Payload();
      if (payload.codec != Codec::kJpeg) {
        throw Error(ErrorCode::kUnsupported, dataset_path_.string(),
                    "the loaders are compared with JPEGs, and this dataset holds others");
      }
      const auto* const bytes = reinterpret_cast<const char*>(payload.bytes.data());
      std::ofstream file(jpegs / cli::Format("%08llu.jpg", static_cast<unsigned long long>(i)),
                         std::ios::binary);
      file.write(bytes, static_cast<std::streamsize>(payload.bytes.size()));
      file.close();
      if (!file) throw Error(ErrorCode::kIo, jpegs.string(), "cannot be written");
      jpeg_bytes_ += payload.bytes.size();
    }
    list_ = options_.work / "list";
    WriteList(list_, jpegs, all, options_.repeat);
    quality_ = options_.quality_images > 0 ? PicturesOfOneSize(dataset, options_.quality_images)
                                           : std::vector<std::uint64_t>();
    WriteList(options_.work / "quality", jpegs, quality_, 1);
  }

  fs::path FolderOf(const Contender& contender) const {
    return contender.name == "sluice" ? dataset_path_ : options_.work / contender.name;
  }

  ContenderRun Call(Compared& one, const std::vector<std::string>& arguments) const {
    ContenderRun run =
        RunContender(one.contender, arguments, options_.work / (one.contender.name + ".log"),
                     std::chrono::seconds(options_.limit_seconds), hooks_.stop);
    if (hooks_.stop.stop_requested()) throw CompareInterrupted();
    if (!run.error.empty()) one.missing = arguments.front() + " failed: " + run.error;
    return run;
  }

  void Pack(Compared& one) {
    Step("packing for " + one.contender.name);
    one.disk_bytes = jpeg_bytes_;
    if (one.contender.name == "sluice") one.disk_bytes = BytesIn(dataset_path_);
    if (!one.missing.empty() || !one.contender.packs) return;
    const fs::path folder = FolderOf(one.contender);
    fs::remove_all(folder);
    fs::create_directories(folder);
    const ContenderRun run =
        Call(one, {"pack", list_.string(), folder.string(), std::to_string(options_.threads)});
    if (!one.missing.empty()) return;
    one.convert_seconds = run.packed_seconds / static_cast<double>(options_.repeat);
    one.disk_bytes = BytesIn(folder) / options_.repeat;
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
    Call(one, {"decode", list, folder.string(), std::to_string(options_.size), pixels.string()});
    if (one.missing.empty())
      one.decibels = QualityOf(Dataset::Open(dataset_path_), quality_, options_.size, pixels);
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
                     std::to_string(options_.size), cli::Format("%g", options_.seconds)}));
    }
  }

  // What follows from all runs together.
  void Finish() {
    const Compared& own = comparison_.loaders.front();
    for (Compared& one : comparison_.loaders) {
      if (!one.missing.empty()) continue;
      std::vector<double> ratios;
      for (std::size_t r = 0; r < std::min(one.runs.size(), own.runs.size()); ++r) {
        if (one.runs[r].images_per_second > 0)
          ratios.push_back(own.runs[r].images_per_second / one.runs[r].images_per_second);
      }
      if (!ratios.empty() && own.missing.empty()) one.ratio = Median(ratios);
      for (const ContenderRun& run : one.runs) {
        if (run.distinct == comparison_.pictures) continue;
        comparison_.warnings.push_back(
            cli::Format("%s gave %llu different pictures in an epoch, and there are %llu",
                        one.contender.name.c_str(), static_cast<unsigned long long>(run.distinct),
                        static_cast<unsigned long long>(comparison_.pictures)));
        break;
      }
    }
  }

  const CompareOptions& options_;
  const CompareHooks& hooks_;
  Comparison comparison_;
  fs::path dataset_path_, list_;
  std::vector<std::uint64_t> quality_;  // pictures
  std::uint64_t jpeg_bytes_ = 0;
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

std::vector<Contender> AllContenders(const CompareOptions& options) {
  const std::string self = "/proc/self/exe";
  std::vector<Contender> all = {
      {"sluice", {fs::read_symlink(self).string(), "contend", "--", "sluice"}, false, ""},
      {"plain", {fs::read_symlink(self).string(), "contend", "--", "plain"}, false, ""}};
  for (const Peer& peer : kPeers) {
    const fs::path python = options.peers / peer.environment / "bin/python";
    Contender contender{peer.name,
                        {python.string(), (options.peers / "contend.py").string(), peer.name},
                        peer.packs,
                        ""};
    if (options.peers.empty()) {
      contender.missing = "not installed: see --peers";
    } else if (!fs::exists(python)) {
      contender.missing = "not installed: " + python.string() + " is not there";
    }
    all.push_back(std::move(contender));
  }
  if (options.only.empty()) return all;
  for (const std::string& name : options.only) {
    if (std::none_of(all.begin(), all.end(), [&](const Contender& c) { return c.name == name; }))
      throw cli::UsageError("--only: there is no loader named \"" + name + "\"");
  }
  std::erase_if(all, [&](const Contender& contender) {  // sluice is what all are compared with
    return contender.name != "sluice" && std::find(options.only.begin(), options.only.end(),
                                                   contender.name) == options.only.end();
  });
  return all;
}

Comparison CompareLoaders(CompareOptions options, const CompareHooks& hooks) {
  if (options.threads == 0) options.threads = AvailableCpus();
  // The contenders run elsewhere.
  options.source = fs::absolute(options.source);
  options.work = fs::absolute(options.work);
  if (!options.peers.empty()) options.peers = fs::absolute(options.peers);
  return Runner(options, hooks).Run();
}

}  // namespace sluice::bench
