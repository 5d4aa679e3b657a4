#include <memory>

#include <sluice/cpu.h>

#include "bench/commands.h"
#include "bench/io/shard_read.h"
#include "bench/machine/machine.h"
#include "bench/report/measurement.h"
#include "bench/report/measuring_command.h"
#include "bench/report/statistics.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::bench {
namespace {

using cli::AddNumber;
using cli::Format;

constexpr const char* kIoDescription =
    "Reads a dataset without decoding it, beside the disk's own rate.\n\n"
    "Each round reads all shards four times: first file after file in large pieces past the\n"
    "page cache (the disk's own rate); then the blocks in random order, as a shuffled epoch\n"
    "does: past the page cache (as with the loader's storage = Direct), from an emptied page\n"
    "cache, and again from memory. An epoch cannot be faster than that.\n";

constexpr const char* kIoExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench io data/photos\n"
    "  sluice-bench io data/photos --threads 4 --rounds 5 --json-file io.json\n\n";

struct IoArguments {
  std::string dataset;
  unsigned threads = AvailableCpus();
  std::uint64_t rounds = 3;
  ResultOptions output;
};

std::string TextOf(const ReadRates& rates, const IoArguments& arguments) {
  std::string text = Format("%-34s %9s   %s\n", "reading", "MB/s", "least to most");
  const auto row = [&](const char* name, const std::vector<double>& values) {
    const Spread spread = SpreadOf(values);
    text += Format("%-34s %9.0f   %.0f to %.0f\n", name, 1e-6 * spread.median, 1e-6 * spread.least,
                   1e-6 * spread.most);
  };
  row(rates.direct ? "the disk, in order" : "in order, through the page cache", rates.disk);
  row(rates.uring ? "blocks in random order, by io_uring" : "blocks in random order, by threads",
      rates.direct_blocks);
  row("blocks in random order, cold", rates.cold_blocks);
  row("blocks in random order, from memory", rates.warm_blocks);
  return text + Format("%s in all; %u %s\n", cli::BytesText(rates.bytes).c_str(), arguments.threads,
                       arguments.threads == 1 ? "thread" : "threads");
}

Answer MeasureIo(const IoArguments& arguments, const std::stop_token& stop) {
  const LoadWatch others;
  const ReadRates rates =
      MeasureReading(arguments.dataset, arguments.threads, arguments.rounds, stop);
  std::vector<std::string> warnings;
  WarnOfLoad(others.OtherCpus(), warnings);
  if (rates.left_in_cache_bytes > 0) {
    warnings.push_back(cli::BytesText(rates.left_in_cache_bytes) +
                       " stayed in the page cache (mapped by another process, or a file system in "
                       "memory): the figures called cold are not");
  }
  auto result = ResultOf("io",
                         {{"disk_bytes_per_second", "B/s", true, rates.disk},
                          {"direct_blocks_bytes_per_second", "B/s", true, rates.direct_blocks},
                          {"cold_blocks_bytes_per_second", "B/s", true, rates.cold_blocks},
                          {"warm_blocks_bytes_per_second", "B/s", true, rates.warm_blocks}},
                         warnings);
  result.update({{"dataset", arguments.dataset},
                 {"dataset_bytes", rates.bytes},
                 {"threads", arguments.threads},
                 {"rounds", arguments.rounds},
                 {"direct", rates.direct},
                 {"direct_by", rates.uring ? "io_uring" : "threads"},
                 {"left_in_cache_bytes", rates.left_in_cache_bytes}});
  return {TextOf(rates, arguments) + WarningsText(warnings), std::move(result), {}};
}

}  // namespace

cli::Command AddIoCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("io", kIoDescription);
  const auto arguments = std::make_shared<IoArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  AddNumber(*app, "--threads", "N", "readers of blocks (default: one for each CPU)",
            arguments->threads, 1, 1024);
  AddNumber(*app, "--rounds", "N", "rounds to measure (default 3)", arguments->rounds, 1, 10'000);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kIoExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunMeasuring(arguments->output, "reading",
                                "reading " + cli::Printable(arguments->dataset),
                                [&](const std::stop_token& stop, cli::Progress&) {
                                  return MeasureIo(*arguments, stop);
                                });
          }};
}

}  // namespace sluice::bench
