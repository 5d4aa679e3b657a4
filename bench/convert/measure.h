// How fast a source is converted, compared with FFCV's writer.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/convert.h>

#include "bench/compare/contender.h"
#include "bench/convert/stages.h"
#include "bench/report/interrupted.h"

namespace sluice::bench {

struct ConvertBenchOptions {
  std::filesystem::path source;  // a folder of pictures
  std::filesystem::path work;    // output goes into a folder in it, which is removed at the end
  std::filesystem::path peers;   // the folder that bench/peers/setup.sh made; empty: none
  ConvertOptions convert;
  std::uint64_t rounds = 5;
  std::uint64_t stage_images = 200;
  std::uint64_t limit_seconds = 600;  // for a process
};

// One writer's turns.
struct WriterTurns {
  std::string name;
  std::string about;    // its version and settings
  std::string missing;  // why it did not run; empty: it did
  std::vector<double> images_per_second;
  std::vector<double> cpu_milliseconds;  // an image, children included
  std::uint64_t bytes = 0;               // of its output
};

struct ConvertMeasured {
  std::vector<WriterTurns> writers;  // sluice, then ffcv
  std::uint64_t images = 0;          // that a turn converts
  std::uint64_t left_out = 0;        // by sluice
  unsigned threads = 0;
  ConvertStages stages;
  double ratio = 0;  // images/s of sluice to ffcv's within a round, median; 0: no ffcv
  double other_cpus = 0;
  std::vector<std::string> warnings;
};

struct ConvertBenchHooks {
  std::function<void(const std::string& activity, std::uint64_t done, std::uint64_t all)> on_step;
  std::stop_token stop;
};

// Converts the source anew in each round, and has FFCV write the same pictures with as many
// workers, in turns whose order changes with the round. Throws Interrupted, and Error.
ConvertMeasured MeasureConversion(ConvertBenchOptions options, const ConvertBenchHooks& hooks);

std::string TextOf(const ConvertMeasured& measured);
nlohmann::ordered_json JsonOf(const ConvertMeasured& measured, const ConvertBenchOptions& options);

}  // namespace sluice::bench
