// `sluice-bench order --ranks`: what each rank of a job has to set up, hold and read.
//
// This needs no cluster: an epoch is dealt as a loader of each rank would deal it, and its order is
// drawn here, for a few ranks spread over all of them. A figure is the largest value among these
// ranks; what they read is shown as a range.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "bench/parts/order.h"
#include "format/disk/limits.h"
#include "reader/order/deal.h"
#include "reader/order/order.h"
#include "tools/cli/option.h"

namespace sluice::bench {

namespace {

using Clock = std::chrono::steady_clock;
using cli::Format;

constexpr unsigned kLookedAt = 4;           // ranks examined
constexpr std::uint32_t kMaxLanes = 65536;  // a loader's limit

struct RanksTask {
  const DatasetShape* shape = nullptr;
  unsigned ranks = 1;
  bool by_shards = false;  // whole shards are dealt, not lanes
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;            // at least; rounded up, so that ranks read whole lanes
  std::uint64_t batch = 256;            // batch size of each rank
  std::uint64_t most_rows = 5'000'000;  // drawn per examined rank; beyond, reads are extrapolated
};

struct RanksFigures {
  std::uint32_t lanes = 0;
  // The largest figure of the examined ranks, unless a comment says otherwise.
  double setup_seconds = 0;              // time to set up an epoch's order
  double first_batch_seconds = 0;        // to draw the first batch
  std::uint64_t memory_bytes = 0;        // of the order, once its rows are drawn
  std::uint64_t first_batch_bytes = 0;   // size of the blocks that the first batch opens
  std::uint64_t rows = 0;                // rows that a rank plays in the epoch
  std::uint64_t fewest = 0;              // the fewest samples that any of all ranks gets
  double read_least = 0, read_most = 0;  // blocks opened / (the dataset's blocks / ranks)
};

// Draws one rank's first epoch.
void Draw(const RanksTask& task, unsigned rank, RanksFigures& figures,
          const std::stop_token& stop) {
  const DatasetShape& shape = *task.shape;
  const std::uint64_t heap = HeapBytes();
  const Clock::time_point begin = Clock::now();
  DealOptions options;
  options.batch_size = task.batch;
  options.rank = rank;
  options.world_size = task.ranks;
  options.by_shards = task.by_shards;
  options.seed = task.seed;
  const Deal deal(shape, options);
  const EpochSize size = deal.SizeOf(0);
  OrderPart part;
  if (task.by_shards) part = ShardPart{deal.ShardsOf(0)};
  EpochOrder order(shape, {Shuffle::kQuasiRandom, task.seed, figures.lanes, 0, nullptr}, 0,
                   std::move(part));
  figures.setup_seconds = std::max(figures.setup_seconds, SecondsSince(begin));
  const Clock::time_point drawing = Clock::now();
  std::vector<SampleRef> rows;
  std::vector<std::uint64_t> opened;
  std::uint64_t opened_blocks = 0, drawn = 0;
  const auto block_bytes = static_cast<double>(shape.bytes()) / static_cast<double>(shape.blocks());
  for (std::uint64_t batch = 0; batch < size.batches && drawn < task.most_rows; ++batch) {
    ThrowIfStopped(stop);
    const Deal::OwnRows own = deal.OwnRowsOf(size, batch, deal.RowsOf(size, batch));
    rows.resize(own.count);
    opened.clear();
    order.Run(own.position, own.stride, rows, opened);
    drawn += own.count;
    opened_blocks += opened.size();
    if (batch > 0) continue;
    figures.first_batch_seconds = std::max(figures.first_batch_seconds, SecondsSince(drawing));
    figures.first_batch_bytes =
        std::max(figures.first_batch_bytes,
                 static_cast<std::uint64_t>(static_cast<double>(opened.size()) * block_bytes));
  }
  const std::uint64_t now = HeapBytes();
  figures.memory_bytes = std::max(figures.memory_bytes, now > heap ? now - heap : 0);
  figures.rows = std::max(figures.rows, size.samples);
  figures.fewest = size.least;
  const double extrapolation =
      static_cast<double>(size.samples) / static_cast<double>(std::max<std::uint64_t>(drawn, 1));
  const double read = static_cast<double>(opened_blocks) * std::max(extrapolation, 1.0) /
                      (static_cast<double>(shape.blocks()) / task.ranks);
  figures.read_least = figures.read_least == 0 ? read : std::min(figures.read_least, read);
  figures.read_most = std::max(figures.read_most, read);
}

// Draws the first epoch of a few of the ranks. Throws cli::UsageError if the dataset cannot be
// dealt to so many ranks; Interrupted.
RanksFigures SimulateRanks(const RanksTask& task, const std::stop_token& stop) {
  RanksFigures figures;
  const std::uint64_t each = task.by_shards ? 1 : task.ranks;
  const std::uint64_t lanes = (task.lanes + each - 1) / each * each;
  if (lanes > kMaxLanes) {
    throw cli::UsageError(std::to_string(task.ranks) +
                          " ranks need at least as many lanes, but a loader has at most " +
                          std::to_string(kMaxLanes));
  }
  if (task.by_shards && task.shape->shards().size() < task.ranks)
    throw cli::UsageError(std::to_string(task.ranks) + " ranks need at least as many shards");
  figures.lanes = static_cast<std::uint32_t>(lanes);
  std::set<unsigned> looked_at;
  for (unsigned i = 0; i < kLookedAt; ++i)
    looked_at.insert(static_cast<unsigned>(std::uint64_t{task.ranks - 1} * i / (kLookedAt - 1)));
  for (const unsigned rank : looked_at)
    Draw(task, rank, figures, stop);
  return figures;
}

struct RankLine {
  std::string size;
  std::uint64_t shards = 0;
  unsigned ranks = 1;
  bool by_shards = false;
  std::optional<RanksFigures> figures;  // empty if the epoch cannot be dealt like this
  std::string trouble;                  // why it cannot be dealt; empty if it can
};

void AddRow(const RankLine& line, TextTable& table, nlohmann::ordered_json& list) {
  const char* const by = line.by_shards ? "shards" : "lanes";
  std::vector<std::string> cells = {line.size, std::to_string(line.shards),
                                    std::to_string(line.ranks), by};
  list.push_back({{"size", line.size}, {"shards", line.shards}, {"ranks", line.ranks}, {"by", by}});
  if (!line.figures) {
    cells.push_back(line.trouble);
    list.back()["trouble"] = line.trouble;
  } else {
    const RanksFigures& one = *line.figures;
    for (const std::string& cell :
         {std::to_string(one.lanes), Format("%.1f", 1e3 * one.setup_seconds),
          Format("%.1f", 1e3 * one.first_batch_seconds), cli::BytesText(one.memory_bytes),
          cli::BytesText(one.first_batch_bytes), std::to_string(one.rows),
          Format("%.3f to %.3f", one.read_least, one.read_most)})
      cells.push_back(cell);
    list.back().update({{"lanes", one.lanes},
                        {"setup_seconds", one.setup_seconds},
                        {"first_batch_seconds", one.first_batch_seconds},
                        {"memory_bytes", one.memory_bytes},
                        {"first_batch_bytes", one.first_batch_bytes},
                        {"rows", one.rows},
                        {"fewest_samples", one.fewest},
                        {"read_of_share", {one.read_least, one.read_most}}});
  }
  table.Add(std::move(cells));
}

}  // namespace

void ReportRanks(const RanksStudy& study, PartResult& part, const std::stop_token& stop,
                 cli::Progress& progress) {
  TextTable table({"samples", "shards", "ranks", "<by", "lanes", "set-up ms", "1st batch ms",
                   "memory", "batch opens", "rows a rank", "<read, of its share"});
  auto list = nlohmann::ordered_json::array();
  for (std::size_t size = 0; size <= study.samples.size(); ++size) {
    const DatasetShape made_up =
        size == 0 ? DatasetShape({}) : ShapeLike(*study.shape, study.samples[size - 1]);
    const DatasetShape& shape = size == 0 ? *study.shape : made_up;
    const std::string name = size == 0 ? "dataset" : std::to_string(shape.samples());
    if (shape.shards().size() > kMaxShards) {
      part.warnings.push_back(
          std::to_string(shape.samples()) + " samples take " +
          std::to_string(shape.shards().size()) + " shards of 64 MB, and a dataset has at most " +
          std::to_string(kMaxShards) + ": larger shards, or several datasets, are needed first");
    }
    for (const unsigned ranks : study.ranks) {
      for (const bool by_shards : {false, true}) {
        progress.Update(list.size(), 2 * study.ranks.size() * (1 + study.samples.size()));
        RankLine line{name, shape.shards().size(), ranks, by_shards, {}, {}};
        try {
          line.figures = SimulateRanks({.shape = &shape,
                                        .ranks = ranks,
                                        .by_shards = by_shards,
                                        .seed = study.seed,
                                        .lanes = study.lanes,
                                        .batch = study.batch},
                                       stop);
        } catch (const cli::UsageError& error) {
          line.trouble = error.what();
        }
        AddRow(line, table, list);
      }
    }
  }
  part.text = table.Text();
  part.AddNote(
      Format("batches of %llu of each rank, quasi-random order with at least %u lanes; "
             "shards of 64 MB",
             static_cast<unsigned long long>(study.batch), study.lanes));
  part.members["ranks"] = std::move(list);
}

}  // namespace sluice::bench
