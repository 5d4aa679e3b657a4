#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include <sluice/dataset.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/machine/machine.h"
#include "bench/order/measure.h"
#include "bench/order/ranks.h"
#include "bench/report/measurement.h"
#include "bench/report/measuring_command.h"
#include "bench/report/statistics.h"
#include "format/disk/limits.h"
#include "reader/dataset/dataset_state.h"
#include "reader/order/permutation.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

using cli::AddNumber;
using cli::AddOption;
using cli::Format;
using Json = nlohmann::ordered_json;

constexpr const char* kOrderDescription =
    "Draws epochs' orders and shows what they cost and how well they shuffle.\n\n"
    "For the dataset, and for made-up ones of other sizes with blocks like its own: the time\n"
    "to set up an epoch's order, nanoseconds to draw a sample, and the order's memory at the\n"
    "end of the epoch; the number of different classes in a batch; and the rank correlation\n"
    "of all samples' positions in consecutive epochs (none: 0). After the loader's own orders\n"
    "comes a shuffled list of all samples: what plain random order gives, and costs. Made-up\n"
    "datasets have 1000 classes, once permuted (as sluice convert stores samples) and once\n"
    "sorted by class.\n\n"
    "With --ranks, epochs are dealt to so many ranks instead, by lanes and by shards: what a\n"
    "rank has to set up and to hold, what its first batch opens (as after a resume with\n"
    "other ranks), its rows, and what it reads, as a multiple of the dataset's share. Of\n"
    "four ranks, the largest.\n";

constexpr const char* kOrderExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench order data/photos\n"
    "  sluice-bench order data/photos --samples 1281167,10M,100M --rounds 5\n"
    "  sluice-bench order data/photos --samples none --json\n"
    "  sluice-bench order data/photos --samples 1281167,1G --ranks 1,8,1000\n\n";

constexpr std::uint64_t kClasses = 1000;  // of made-up datasets

struct OrderArguments {
  std::string dataset;
  std::vector<std::uint64_t> samples = {100'000, 1'281'167};
  std::uint64_t rounds = 3, seed = 0, batch = 1024;
  std::uint32_t lanes = 192;
  std::vector<unsigned> ranks;  // empty: orders are measured
  ResultOptions output;
};

// The measurements at one size.
struct SizeFigures {
  std::string name;  // "dataset", "1281167"
  std::uint64_t samples = 0;
  std::vector<std::string> layouts;
  std::vector<OrderFigures> orders;
};

std::vector<std::uint64_t> ParseCounts(const std::string& text) {
  std::vector<std::uint64_t> sizes;
  if (text == "none") return sizes;
  for (const std::string& count : cli::Split(text)) {
    sizes.push_back(cli::ParseCount(count));
    if (sizes.back() == 0 || sizes.back() > 1'000'000'000'000)
      throw cli::UsageError("a dataset must have 1 to 1000G samples");
  }
  return sizes;
}

// The class of each sample; empty if they have none.
std::vector<std::uint32_t> ClassesOf(const Dataset& dataset) {
  std::vector<std::uint32_t> classes;
  const std::size_t field = dataset.schema().ClassField();
  if (field == Schema::kNone) return classes;
  const std::string& name = dataset.schema().fields[field].name;
  classes.reserve(dataset.size());
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    classes.push_back(static_cast<std::uint32_t>(dataset[i].Integer(name)));
  return classes;
}

OrderTask TaskOf(const OrderArguments& arguments, const DatasetShape& shape) {
  OrderTask task;
  task.shape = &shape;
  task.seed = arguments.seed;
  task.lanes = arguments.lanes;
  task.rounds = arguments.rounds;
  task.batch = arguments.batch;
  return task;
}

SizeFigures MeasureDataset(const OrderArguments& arguments, const Dataset& dataset,
                           const std::stop_token& stop) {
  const DatasetShape& shape = dataset.state()->shape;
  const std::vector<std::uint32_t> classes = ClassesOf(dataset);
  OrderTask task = TaskOf(arguments, shape);
  SizeFigures figures{"dataset", shape.samples(), {}, {}};
  if (!classes.empty()) {
    figures.layouts = {"as stored"};
    task.layouts = {{"as stored", [&](std::uint64_t sample) { return classes[sample]; }}};
  }
  figures.orders = MeasureOrders(task, stop);
  return figures;
}

SizeFigures MeasureMadeUp(const OrderArguments& arguments, const DatasetShape& like,
                          std::uint64_t samples, const std::stop_token& stop) {
  const DatasetShape shape =
      MadeUpShape(samples, std::max<std::uint32_t>(1, like.max_block_samples()),
                  like.bytes() / std::max<std::uint64_t>(1, like.samples()));
  const Permutation stored(samples, arguments.seed + 1);
  const auto class_of = [&](std::uint64_t sample) {
    return static_cast<std::uint32_t>(sample * kClasses / samples);
  };
  OrderTask task = TaskOf(arguments, shape);
  task.layouts = {{"permuted", [&](std::uint64_t sample) { return class_of(stored(sample)); }},
                  {"sorted", class_of}};
  SizeFigures figures{std::to_string(samples), samples, {"permuted", "sorted"}, {}};
  figures.orders = MeasureOrders(task, stop);
  return figures;
}

std::string TextOf(const OrderArguments& arguments, const std::vector<SizeFigures>& sizes) {
  std::string text = Format("%-13s %-13s %10s %10s %10s  %-22s %9s\n", "samples", "order", "set-up",
                            "ns/sample", "memory", "classes in a batch", "rank corr.");
  for (const SizeFigures& size : sizes) {
    for (const OrderFigures& order : size.orders) {
      std::string classes;
      for (std::size_t i = 0; i < order.classes.size(); ++i)
        classes += (i == 0 ? "" : ", ") + Format("%.0f ", order.classes[i]) + size.layouts[i];
      const bool first = &order == &size.orders.front();
      const std::string correlation =
          order.rank_correlation ? Format("%+.4f", *order.rank_correlation) : "-";
      text +=
          Format("%-13s %-13s %7.3f ms %10.1f %10s  %-22s %9s\n",
                 first ? std::to_string(size.samples).c_str() : "", order.mode.c_str(),
                 1e3 * Median(order.setup_seconds), Median(order.draw_nanoseconds),
                 cli::BytesText(order.memory_bytes).c_str(), classes.c_str(), correlation.c_str());
    }
  }
  return text +
         cli::Wrapped(Format("batches of %llu, %u lanes; medians of %llu rounds of whole epochs on "
                             "one thread; the first size is the dataset's",
                             static_cast<unsigned long long>(arguments.batch), arguments.lanes,
                             static_cast<unsigned long long>(arguments.rounds)),
                      100) +
         "\n";
}

Json JsonOf(const OrderArguments& arguments, const std::vector<SizeFigures>& sizes,
            const std::vector<std::string>& warnings) {
  std::vector<Measurement> measurements;
  Json list = Json::array();
  for (const SizeFigures& size : sizes) {
    Json orders = Json::array();
    for (const OrderFigures& order : size.orders) {
      const std::string name = size.name + "." + order.mode;
      measurements.push_back({"setup_seconds." + name, "s", false, order.setup_seconds});
      measurements.push_back({"draw_nanoseconds." + name, "ns", false, order.draw_nanoseconds});
      Json one{{"order", order.mode},
               {"setup_seconds", Median(order.setup_seconds)},
               {"draw_nanoseconds", Median(order.draw_nanoseconds)},
               {"memory_bytes", order.memory_bytes}};
      for (std::size_t i = 0; i < order.classes.size(); ++i)
        one["distinct_classes"][size.layouts[i]] = order.classes[i];
      if (order.rank_correlation) one["rank_correlation"] = *order.rank_correlation;
      orders.push_back(std::move(one));
    }
    list.push_back({{"name", size.name}, {"samples", size.samples}, {"orders", std::move(orders)}});
  }
  Json result = ResultOf("order", measurements, warnings);
  result.update({{"dataset", ShownPath(arguments.dataset)},
                 {"batch_size", arguments.batch},
                 {"lanes", arguments.lanes},
                 {"seed", arguments.seed},
                 {"rounds", arguments.rounds},
                 {"sizes", std::move(list)}});
  return result;
}

struct RankLine {
  std::string size;
  std::uint64_t shards = 0;
  unsigned ranks = 1;
  bool by_shards = false;
  std::optional<RanksFigures> figures;  // none: it cannot be dealt so
  std::string trouble;
};

std::string TextOf(const std::vector<RankLine>& lines, const OrderArguments& arguments) {
  std::string text = Format("%-13s %9s %6s %-7s %6s %10s %10s %10s %11s %12s  %s\n", "samples",
                            "shards", "ranks", "by", "lanes", "set-up", "1st batch", "memory",
                            "it opens", "rows a rank", "read, of its share");
  for (const RankLine& line : lines) {
    text += Format("%-13s %9llu %6u %-7s ", line.size.c_str(),
                   static_cast<unsigned long long>(line.shards), line.ranks,
                   line.by_shards ? "shards" : "lanes");
    if (!line.figures) {
      text += line.trouble + "\n";
      continue;
    }
    const RanksFigures& one = *line.figures;
    text += Format("%6u %7.1f ms %7.1f ms %10s %11s %12llu  %.3f to %.3f\n", one.lanes,
                   1e3 * one.setup_seconds, 1e3 * one.first_batch_seconds,
                   cli::BytesText(one.memory_bytes).c_str(),
                   cli::BytesText(one.first_batch_bytes).c_str(),
                   static_cast<unsigned long long>(one.rows), one.read_least, one.read_most);
  }
  return text +
         cli::Wrapped(Format("batches of %llu of each rank, quasi-random order with at least %u "
                             "lanes; shards of 64 MB",
                             static_cast<unsigned long long>(arguments.batch), arguments.lanes),
                      100) +
         "\n";
}

Json JsonOf(const std::vector<RankLine>& lines, const OrderArguments& arguments,
            const std::vector<std::string>& warnings) {
  Json list = Json::array();
  for (const RankLine& line : lines) {
    Json one{{"size", line.size},
             {"shards", line.shards},
             {"ranks", line.ranks},
             {"by", line.by_shards ? "shards" : "lanes"}};
    if (line.figures) {
      one.update({{"lanes", line.figures->lanes},
                  {"setup_seconds", line.figures->setup_seconds},
                  {"first_batch_seconds", line.figures->first_batch_seconds},
                  {"memory_bytes", line.figures->memory_bytes},
                  {"first_batch_bytes", line.figures->first_batch_bytes},
                  {"rows", line.figures->rows},
                  {"fewest_samples", line.figures->fewest},
                  {"read_of_share", {line.figures->read_least, line.figures->read_most}}});
    } else {
      one["trouble"] = line.trouble;
    }
    list.push_back(std::move(one));
  }
  Json result = ResultOf("order", {}, warnings);
  result.update({{"dataset", ShownPath(arguments.dataset)},
                 {"batch_size", arguments.batch},
                 {"lanes", arguments.lanes},
                 {"seed", arguments.seed},
                 {"ranks", std::move(list)}});
  return result;
}

// Sizes, ranks and both ways of dealing.
Answer SimulateAllRanks(const OrderArguments& arguments, const Dataset& dataset,
                        const std::stop_token& stop, cli::Progress& progress) {
  const DatasetShape& like = dataset.state()->shape;
  std::vector<std::string> warnings;
  std::vector<RankLine> lines;
  for (std::size_t size = 0; size <= arguments.samples.size(); ++size) {
    const DatasetShape made_up =
        size == 0 ? DatasetShape({})
                  : MadeUpShape(arguments.samples[size - 1],
                                std::max<std::uint32_t>(1, like.max_block_samples()),
                                like.bytes() / std::max<std::uint64_t>(1, like.samples()));
    const DatasetShape& shape = size == 0 ? like : made_up;
    if (shape.shards().size() > kMaxShards) {
      warnings.push_back(std::to_string(shape.samples()) + " samples take " +
                         std::to_string(shape.shards().size()) +
                         " shards of 64 MB, and a dataset has " + std::to_string(kMaxShards) +
                         " at most: larger shards, or several datasets, are needed first");
    }
    for (const unsigned ranks : arguments.ranks) {
      for (const bool by_shards : {false, true}) {
        progress.Update(lines.size(), 2 * arguments.ranks.size() * (1 + arguments.samples.size()));
        RanksTask task{&shape, ranks, by_shards, arguments.seed, arguments.lanes, arguments.batch};
        RankLine line{size == 0 ? "dataset" : std::to_string(shape.samples()),
                      shape.shards().size(),
                      ranks,
                      by_shards,
                      {},
                      {}};
        try {
          line.figures = SimulateRanks(task, stop);
        } catch (const cli::UsageError& error) {
          line.trouble = error.what();
        }
        lines.push_back(std::move(line));
      }
    }
  }
  return {
      TextOf(lines, arguments) + WarningsText(warnings), JsonOf(lines, arguments, warnings), {}};
}

Answer MeasureOrder(const OrderArguments& arguments, const std::stop_token& stop,
                    cli::Progress& progress) {
  for (const std::uint64_t samples : arguments.samples) {
    if (arguments.ranks.empty() && samples > 4'000'000'000)
      throw cli::UsageError("--samples: orders are drawn of up to 4G samples (--ranks: 1000G)");
  }
  const Dataset dataset = Dataset::Open(arguments.dataset);
  if (!arguments.ranks.empty()) return SimulateAllRanks(arguments, dataset, stop, progress);
  std::vector<SizeFigures> sizes;
  const LoadWatch others;
  const auto at_size = [&](std::uint64_t done) {
    progress.Update(done, 1 + arguments.samples.size());
  };
  at_size(0);
  sizes.push_back(MeasureDataset(arguments, dataset, stop));
  for (const std::uint64_t samples : arguments.samples) {
    at_size(sizes.size());
    sizes.push_back(MeasureMadeUp(arguments, dataset.state()->shape, samples, stop));
  }
  std::vector<std::string> warnings;
  WarnOfLoad(others.OtherCpus(), warnings);
  return {
      TextOf(arguments, sizes) + WarningsText(warnings), JsonOf(arguments, sizes, warnings), {}};
}

}  // namespace

cli::Command AddOrderCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("order", kOrderDescription);
  const auto arguments = std::make_shared<OrderArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  AddOption(*app, "--samples", "N[,N...]",
            "samples of the made-up datasets (default\n"
            "100000,1281167; k, M and G are powers of 1000); or none",
            [arguments](const std::string& text) { arguments->samples = ParseCounts(text); });
  AddOption(
      *app, "--ranks", "N[,N...]", "deal epochs to so many ranks, and show what each does",
      [arguments](const std::string& text) {
        arguments->ranks.clear();
        for (const std::string& count : cli::Split(text))
          arguments->ranks.push_back(static_cast<unsigned>(cli::ParseInteger(count, 1, 1'000'000)));
      });
  AddNumber(*app, "--rounds", "N", "rounds to measure (default 3)", arguments->rounds, 1, 10'000);
  AddNumber(*app, "--batch-size", "N", "samples in a batch (default 1024)", arguments->batch, 1,
            1'000'000);
  AddNumber(*app, "--lanes", "N", "lanes of the quasi-random order (default 192)", arguments->lanes,
            1, 65'535);
  AddNumber(*app, "--seed", "N", "seed of the orders (default 0)", arguments->seed, 0, UINT64_MAX);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kOrderExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunMeasuring(arguments->output, "drawing", "drawing orders",
                                [&](const std::stop_token& stop, cli::Progress& progress) {
                                  return MeasureOrder(*arguments, stop, progress);
                                });
          }};
}

}  // namespace sluice::bench
