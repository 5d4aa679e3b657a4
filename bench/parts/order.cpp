// The cost of an epoch's order, and how well it shuffles.
//
// Costs are timed over whole epochs, with the heap's growth as the order's memory. Two figures
// judge the shuffle: how many classes a batch has, which shows whether samples that are neighbours
// on disk stay together, and the rank correlation of two epochs' positions, which shows whether
// epochs resemble each other. A shuffled list of all samples shows what chance alone would give.
#include "bench/parts/order.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <random>
#include <unordered_set>

#include <malloc.h>
#include <nlohmann/json.hpp>

#include <sluice/dataset.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "format/disk/limits.h"
#include "reader/dataset/dataset_state.h"
#include "reader/order/permutation.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"

namespace sluice::bench {

namespace {

using Clock = std::chrono::steady_clock;
using option_list::Option;
using option_list::Options;

constexpr std::uint64_t kCountedBatches = 42;   // batches in which classes are counted
constexpr std::uint64_t kCheckEvery = 1 << 20;  // draws between two checks of the stop token

// One epoch's order: position to sample.
class Drawn {
 public:
  virtual ~Drawn() = default;
  virtual std::uint64_t At(std::uint64_t position) = 0;
};

class LoaderOrder : public Drawn {
 public:
  LoaderOrder(const OrderTask& task, Shuffle shuffle, std::uint64_t epoch)
      : order_(*task.shape, {shuffle, task.seed, task.lanes, 0, 0}, epoch) {}
  std::uint64_t At(std::uint64_t position) override {
    opened_.clear();
    return order_.At(position, opened_).index;
  }

 private:
  EpochOrder order_;
  std::vector<std::uint64_t> opened_;
};

// The usual way: a shuffled list of all samples.
class ListOrder : public Drawn {
 public:
  ListOrder(const OrderTask& task, std::uint64_t epoch) : samples_(task.shape->samples()) {
    std::iota(samples_.begin(), samples_.end(), std::uint64_t{0});
    std::mt19937_64 random(task.seed * 1'000'003 + epoch);
    std::shuffle(samples_.begin(), samples_.end(), random);
  }
  std::uint64_t At(std::uint64_t position) override { return samples_[position]; }

 private:
  std::vector<std::uint64_t> samples_;
};

using Make = std::function<std::unique_ptr<Drawn>(std::uint64_t epoch)>;

// Sets up one epoch's order, draws every sample, and adds the times and the memory to `figures`.
void MeasureEpoch(const OrderTask& task, const Make& make, std::uint64_t epoch,
                  OrderFigures& figures, const std::stop_token& stop) {
  const std::uint64_t samples = task.shape->samples();
  const std::uint64_t heap = HeapBytes();
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<Drawn> order = make(epoch);
  figures.setup_seconds.push_back(SecondsSince(begin));
  std::uint64_t sum = 0;  // used below, so that the compiler keeps every draw
  const Clock::time_point drawing = Clock::now();
  for (std::uint64_t position = 0; position < samples; ++position) {
    if (position % kCheckEvery == 0) ThrowIfStopped(stop);
    sum += order->At(position);
  }
  figures.draw_nanoseconds.push_back(1e9 * SecondsSince(drawing) /
                                     static_cast<double>(std::max<std::uint64_t>(samples, 1)));
  [[maybe_unused]] const volatile std::uint64_t kept = sum;
  const std::uint64_t now = HeapBytes();
  figures.memory_bytes = std::max(figures.memory_bytes, now > heap ? now - heap : 0);
}

// The mean number of classes in a batch, over batches from all parts of the epoch. A lane begins a
// new window (ORDER.md) after a fixed number of blocks, so the order has a period. The distance
// between two counted batches is odd, so that they do not all lie at the same place in this period.
double DistinctClasses(const OrderTask& task, const ClassLayout& layout, Drawn& order) {
  const std::uint64_t samples = task.shape->samples();
  const std::uint64_t batch = std::min(task.batch, samples);
  const std::uint64_t whole = samples / batch;
  const std::uint64_t counted = std::min(kCountedBatches, whole);
  const std::uint64_t stride = whole / counted > 2 ? (whole / counted - 1) | 1 : 1;
  double sum = 0;
  for (std::uint64_t b = 0; b < counted; ++b) {
    std::unordered_set<std::uint32_t> classes;
    for (std::uint64_t i = 0; i < batch; ++i)
      classes.insert(layout.class_of(order.At(b * stride * batch + i)));
    sum += static_cast<double>(classes.size());
  }
  return sum / static_cast<double>(counted);
}

std::vector<std::uint32_t> Positions(const OrderTask& task, Drawn& order,
                                     const std::stop_token& stop) {
  std::vector<std::uint32_t> positions(task.shape->samples());
  for (std::uint64_t position = 0; position < positions.size(); ++position) {
    if (position % kCheckEvery == 0) ThrowIfStopped(stop);
    positions[order.At(position)] = static_cast<std::uint32_t>(position);
  }
  return positions;
}

}  // namespace

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::uint64_t HeapBytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;  // in the arenas, and in separately mapped pieces
}

double RankCorrelation(const std::vector<std::uint32_t>& before,
                       const std::vector<std::uint32_t>& after) {
  const double mean = (static_cast<double>(before.size()) - 1) / 2;
  double product = 0, square = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    product += (before[i] - mean) * (after[i] - mean);
    square += (before[i] - mean) * (before[i] - mean);
  }
  return square > 0 ? product / square : 0;
}

DatasetShape MadeUpShape(std::uint64_t samples, std::uint32_t block_samples,
                         std::uint64_t sample_bytes) {
  const std::uint64_t blocks = std::max<std::uint64_t>(
      1, kDefaultShardBytes / std::max<std::uint64_t>(1, sample_bytes * block_samples));
  std::vector<DatasetShape::Shard> shards;
  for (std::uint64_t left = samples; left > 0;) {
    const std::uint64_t here = std::min(left, blocks * block_samples);
    shards.push_back(
        {here, (here + block_samples - 1) / block_samples, block_samples, here * sample_bytes});
    left -= here;
  }
  return DatasetShape(std::move(shards));
}

DatasetShape ShapeLike(const DatasetShape& like, std::uint64_t samples) {
  return MadeUpShape(samples, std::max<std::uint32_t>(1, like.max_block_samples()),
                     like.bytes() / std::max<std::uint64_t>(1, like.samples()));
}

std::vector<OrderFigures> MeasureOrders(const OrderTask& task, const std::stop_token& stop) {
  std::vector<OrderFigures> figures;
  std::vector<Make> makes;
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    OrderFigures one;
    one.mode = NameOf(shuffle);
    figures.push_back(std::move(one));
    makes.push_back([&task, shuffle](std::uint64_t epoch) {
      return std::make_unique<LoaderOrder>(task, shuffle, epoch);
    });
  }
  figures.emplace_back().mode = "list";
  makes.push_back(
      [&task](std::uint64_t epoch) { return std::make_unique<ListOrder>(task, epoch); });

  for (std::uint64_t round = 0; round < task.rounds; ++round) {
    for (std::size_t m = 0; m < makes.size(); ++m)
      MeasureEpoch(task, makes[m], round, figures[m], stop);
  }
  const bool ranked = task.shape->samples() <= task.most_ranked && task.shape->samples() > 1;
  for (std::size_t m = 0; m < makes.size(); ++m) {
    ThrowIfStopped(stop);
    for (const ClassLayout& layout : task.layouts)
      figures[m].classes.push_back(DistinctClasses(task, layout, *makes[m](0)));
    if (ranked) {
      figures[m].rank_correlation =
          RankCorrelation(Positions(task, *makes[m](0), stop), Positions(task, *makes[m](1), stop));
    }
  }
  return figures;
}

namespace {

using cli::Format;

constexpr const char* kOrderDescription =
    "Draws epochs' orders and shows what they cost and how well they shuffle.\n\n"
    "Measures the dataset, and made-up datasets of different sizes whose blocks are like its own. "
    "Shows the time to set up an epoch's order, the nanoseconds to draw a sample, and the order's "
    "memory at the end of the epoch; the number of different classes in a batch; and the rank "
    "correlation of all samples' positions in consecutive epochs (0 if they are independent). "
    "After the loader's own orders comes a shuffled list of all samples, to compare with. Made-up "
    "datasets have 1000 classes, once permuted (as sluice convert stores samples) and once sorted "
    "by class.\n\n"
    "With --ranks, order instead deals epochs to that many ranks, by lanes and by shards. Of four "
    "of "
    "them it shows how long a rank's order takes to set up, its memory, how many blocks its first "
    "batch opens (as after a resume with a different number of ranks), how many rows it gets, and "
    "how much it reads, as a multiple of its share of the dataset. It prints the largest figure of "
    "the four; for reading, the smallest and the largest.\n";

constexpr const char* kOrderExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench order data/photos\n"
    "  sluice-bench order data/photos --samples 1281167,10M,100M --rounds 5\n"
    "  sluice-bench order data/photos --samples none --json\n"
    "  sluice-bench order data/photos --samples 1281167,1G --ranks 1,8,1000\n\n";

constexpr std::uint64_t kClasses = 1000;  // in made-up datasets

struct OrderArguments {
  std::string dataset;
  std::vector<std::uint64_t> samples = {100'000, 1'281'167};
  std::uint64_t rounds = 3, seed = 0, batch_size = 1024;
  std::uint32_t lanes = 192;
  std::vector<unsigned> ranks;  // if empty, orders are measured
  ResultOptions output;
};

constexpr auto kOrderOptions = Options<OrderArguments>(
    "order", "",
    Option("rounds", &OrderArguments::rounds, "rounds to measure",
           {.least = 1, .most = 10'000, .comparable = true}),
    Option("batch_size", &OrderArguments::batch_size, "samples in a batch",
           {.least = 1, .most = 1'000'000}),
    Option("lanes", &OrderArguments::lanes, "lanes of the quasi-random order",
           {.least = 1, .most = 65'535}),
    Option("seed", &OrderArguments::seed, "seed of the orders", {.comparable = true}));

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

// The class of each sample; empty if the dataset has no classes.
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
  task.batch = arguments.batch_size;
  return task;
}

SizeFigures MeasureDataset(const OrderArguments& arguments, const Dataset& dataset,
                           const std::stop_token& stop) {
  const DatasetShape& shape = dataset.state()->facts->shape;
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
  const DatasetShape shape = ShapeLike(like, samples);
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

void ReportOrders(const OrderArguments& arguments, const std::vector<SizeFigures>& sizes,
                  PartResult& part) {
  TextTable table({"samples", "<order", "set-up ms", "ns/sample", "memory", "<classes in a batch",
                   "rank corr."});
  auto list = nlohmann::ordered_json::array();
  for (const SizeFigures& size : sizes) {
    auto orders = nlohmann::ordered_json::array();
    for (const OrderFigures& order : size.orders) {
      const std::string name = size.name + "." + order.mode;
      part.measurements.push_back({"setup_seconds." + name, "s", false, order.setup_seconds});
      part.measurements.push_back(
          {"draw_nanoseconds." + name, "ns", false, order.draw_nanoseconds});
      orders.push_back({{"order", order.mode},
                        {"setup_seconds", Median(order.setup_seconds)},
                        {"draw_nanoseconds", Median(order.draw_nanoseconds)},
                        {"memory_bytes", order.memory_bytes}});
      std::string classes;
      for (std::size_t i = 0; i < order.classes.size(); ++i) {
        classes += (i == 0 ? "" : ", ") + Format("%.0f ", order.classes[i]) + size.layouts[i];
        orders.back()["distinct_classes"][size.layouts[i]] = order.classes[i];
      }
      if (order.rank_correlation) orders.back()["rank_correlation"] = *order.rank_correlation;
      table.Add({&order == &size.orders.front() ? std::to_string(size.samples) : "", order.mode,
                 Format("%.3f", 1e3 * Median(order.setup_seconds)),
                 Format("%.1f", Median(order.draw_nanoseconds)), cli::BytesText(order.memory_bytes),
                 classes, order.rank_correlation ? Format("%+.4f", *order.rank_correlation) : "-"});
    }
    list.push_back({{"name", size.name}, {"samples", size.samples}, {"orders", std::move(orders)}});
  }
  part.text = table.Text();
  part.AddNote(Format(
      "batches have %llu samples, and epochs %u lanes; times are medians of %llu epochs on one "
      "thread, memory is the largest; the first size is that of the dataset, the others are made "
      "up",
      static_cast<unsigned long long>(arguments.batch_size), arguments.lanes,
      static_cast<unsigned long long>(arguments.rounds)));
  part.members["sizes"] = std::move(list);
}

void MeasureOrder(const OrderArguments& arguments, PartResult& part, const std::stop_token& stop,
                  cli::Progress& progress) {
  for (const std::uint64_t samples : arguments.samples) {
    if (arguments.ranks.empty() && samples > 4'000'000'000)
      throw cli::UsageError("--samples must be at most 4000000000 (with --ranks, 1000000000000)");
  }
  const Dataset dataset = Dataset::Open(arguments.dataset, {}, stop);
  const DatasetShape& shape = dataset.state()->facts->shape;
  part.members["dataset"] = ShownPath(arguments.dataset);
  AddMembers(part.members, arguments, kOrderOptions);
  if (!arguments.ranks.empty()) {
    ReportRanks({&shape, arguments.samples, arguments.ranks, arguments.seed, arguments.lanes,
                 arguments.batch_size},
                part, stop, progress);
    return;
  }
  std::vector<SizeFigures> sizes;
  const auto at_size = [&](std::uint64_t done) {
    progress.Update(done, 1 + arguments.samples.size());
  };
  at_size(0);
  sizes.push_back(MeasureDataset(arguments, dataset, stop));
  for (const std::uint64_t samples : arguments.samples) {
    at_size(sizes.size());
    sizes.push_back(MeasureMadeUp(arguments, shape, samples, stop));
  }
  ReportOrders(arguments, sizes, part);
}

}  // namespace

cli::Command AddOrderCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("order", kOrderDescription);
  const auto arguments = std::make_shared<OrderArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  cli::AddOption(
      *app, "--samples", "N[,N...]",
      "samples of the made-up datasets (default 100000,1281167; k, M and G are powers of "
      "1000); or none",
      [arguments](const std::string& text) { arguments->samples = ParseCounts(text); });
  cli::AddOption(
      *app, "--ranks", "N[,N...]", "deal epochs to this many ranks, and show what each does",
      [arguments](const std::string& text) {
        arguments->ranks.clear();
        for (const std::string& count : cli::Split(text))
          arguments->ranks.push_back(static_cast<unsigned>(cli::ParseInteger(count, 1, 1'000'000)));
      });
  cli::AddDeclared(*app, *arguments, kOrderOptions);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kOrderExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunPart(
                arguments->output, "drawing", "drawing orders",
                [&](PartResult& part, const std::stop_token& stop, cli::Progress& progress) {
                  MeasureOrder(*arguments, part, stop, progress);
                });
          }};
}

}  // namespace sluice::bench
