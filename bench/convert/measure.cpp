#include "bench/convert/measure.h"

#include <chrono>
#include <optional>
#include <set>

#include <sluice/cpu.h>
#include <sluice/error.h>

#include "bench/machine/machine.h"
#include "bench/machine/process_usage.h"
#include "bench/machine/scratch_folder.h"
#include "bench/report/measurement.h"
#include "bench/report/statistics.h"
#include "writer/source/open_source.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The folder that was named, and a folder in it for everything that is written. The named folder is
// removed at the end, unless it existed before or holds something else.
class WorkFolder {
 public:
  explicit WorkFolder(fs::path path)
      : path_(std::move(path)), own_(fs::create_directories(path_)), scratch_(path_) {}
  ~WorkFolder() {
    std::error_code ignored;
    scratch_.reset();
    if (own_) fs::remove(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const fs::path& path() const noexcept { return scratch_->path(); }

 private:
  fs::path path_;
  bool own_;
  std::optional<ScratchFolder> scratch_;
};

class Turns {
 public:
  Turns(const ConvertBenchOptions& options, const ConvertBenchHooks& hooks)
      : options_(options), hooks_(hooks) {
    measured_.threads = options.convert.threads;
    measured_.writers.resize(2);
    measured_.writers[0].name = "sluice";
    measured_.writers[1].name = "ffcv";
    FindFfcv();
  }

  ConvertMeasured Run() {
    const LoadWatch others;
    const std::uint64_t steps = 2 * options_.rounds + 1;
    for (std::uint64_t round = 0; round < options_.rounds; ++round) {
      for (std::uint64_t turn = 0; turn < 2; ++turn) {
        const bool sluice = (turn + round) % 2 == 0;
        Step(sluice ? "sluice" : "ffcv", round * 2 + turn, steps);
        if (sluice) {
          ConvertOnce();
          if (round == 0) ListPaths();
        } else {
          WriteByFfcv();
        }
      }
    }
    Step("stages", steps - 1, steps);
    measured_.stages = MeasureStages(ConvertSource(options_.source), options_.convert,
                                     options_.stage_images, hooks_.stop);
    ThrowIfStopped(hooks_.stop);
    Finish();
    measured_.other_cpus = others.OtherCpus();
    WarnOfLoad(measured_.other_cpus, measured_.warnings);
    return std::move(measured_);
  }

 private:
  void Step(const char* writer, std::uint64_t done, std::uint64_t all) {
    ThrowIfStopped(hooks_.stop);
    if (hooks_.on_step) hooks_.on_step(writer, done, all);
  }

  void FindFfcv() {
    WriterTurns& ffcv = measured_.writers[1];
    const fs::path python = options_.peers / "ffcv" / "bin" / "python";
    const fs::path script = options_.peers / "convert_ffcv.py";
    if (options_.peers.empty()) {
      ffcv.missing = "not asked for: --peers names what bench/peers/setup.sh made";
    } else if (!fs::exists(python) || !fs::exists(script)) {
      ffcv.missing = "not in " + options_.peers.string() + "; bench/peers/setup.sh installs it";
    }
    contender_ = {"ffcv", {python.string(), script.string()}, true, ffcv.missing};
  }

  void ConvertOnce() {
    WriterTurns& turns = measured_.writers[0];
    const fs::path data = options_.work / "sluice";
    fs::remove_all(data);
    ConvertHooks hooks;
    hooks.stop = hooks_.stop;
    const double cpu = CpuSeconds();
    const Clock::time_point begin = Clock::now();
    const ConvertSummary summary =
        Convert(ConvertSource(options_.source), data, options_.convert, hooks);
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    const auto images = static_cast<double>(summary.samples);
    turns.images_per_second.push_back(images / seconds.count());
    turns.cpu_milliseconds.push_back(1e3 * (CpuSeconds() - cpu) / images);
    turns.bytes = summary.bytes_out;
    measured_.images = summary.samples;
    measured_.left_out = summary.skipped.size();
    left_out_ = summary.skipped;
  }

  // Lists the sources that sluice converted: FFCV's writer does not survive a broken one.
  void ListPaths() {
    const SourceList sources = OpenSource(ConvertSource(options_.source), AvailableCpus(),
                                          {.on_progress = {}, .stop = hooks_.stop});
    std::set<std::string> without;
    for (const LeftOut& one : left_out_)
      without.insert(one.path);
    std::string text;
    for (const Source& source : sources.sources) {
      if (without.contains(source.key)) continue;
      if (source.key.find('\n') != std::string::npos) {
        contender_.missing = "a file's name has a line break in it; rename it";
      }
      text += fs::absolute(options_.source / source.key).string() + "\n";
    }
    WriteTextFile(options_.work / "paths.txt", text);
  }

  void WriteByFfcv() {
    WriterTurns& turns = measured_.writers[1];
    if (!contender_.missing.empty()) {
      turns.missing = contender_.missing;
      return;
    }
    const fs::path file = options_.work / "samples.beton";
    fs::remove(file);
    const std::vector<std::string> arguments = {
        (options_.work / "paths.txt").string(), file.string(),
        std::to_string(options_.convert.threads),
        std::to_string(options_.convert.max_side.value_or(0)),
        std::to_string(options_.convert.quality)};
    const ContenderRun run =
        RunContender(contender_, arguments, options_.work / "ffcv.log",
                     std::chrono::seconds(options_.limit_seconds), hooks_.stop);
    ThrowIfStopped(hooks_.stop);
    if (!run.error.empty()) {
      contender_.missing = turns.missing = run.error;
      return;
    }
    turns.about = run.about;
    turns.images_per_second.push_back(run.images_per_second);
    turns.cpu_milliseconds.push_back(run.cpu_seconds_per_1000);  // seconds for 1000 images
    turns.bytes = fs::file_size(file);
  }

  void Finish() {
    const WriterTurns& sluice = measured_.writers[0];
    const WriterTurns& ffcv = measured_.writers[1];
    // FFCV's first turn is in the first round, after sluice's.
    std::vector<double> ratios;
    for (std::size_t round = 0;
         round < std::min(sluice.images_per_second.size(), ffcv.images_per_second.size());
         ++round) {
      ratios.push_back(sluice.images_per_second[round] / ffcv.images_per_second[round]);
    }
    measured_.ratio = Median(ratios);
  }

  const ConvertBenchOptions& options_;
  const ConvertBenchHooks& hooks_;
  ConvertMeasured measured_;
  Contender contender_;
  std::vector<LeftOut> left_out_;
};

}  // namespace

ConvertMeasured MeasureConversion(ConvertBenchOptions options, const ConvertBenchHooks& hooks) {
  if (options.convert.threads == 0) options.convert.threads = AvailableCpus();
  const WorkFolder folder(options.work);
  options.work = folder.path();
  return Turns(options, hooks).Run();
}

}  // namespace sluice::bench
