#include <memory>

#include <sluice/cpu.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/io/download.h"
#include "bench/io/shard_read.h"
#include "bench/machine/machine.h"
#include "bench/remote/simulated_store.h"
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
    "cache, and again from memory. An epoch cannot be faster than that.\n\n"
    "Of a dataset at a URL, each round fetches all shards twice: a bare download, and the\n"
    "blocks in random order, as the loader fetches them; and it counts the requests.\n";

constexpr const char* kIoExamples =
    "\n"
    "Examples:\n"
    "  sluice-bench io data/photos\n"
    "  sluice-bench io data/photos --threads 4 --rounds 5 --json-file io.json\n\n";

struct IoArguments {
  std::string dataset;
  std::optional<SlowLink> link;
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

Answer MeasureRemote(const IoArguments& arguments, const std::stop_token& stop) {
  const LoadWatch others;
  const DownloadRates rates =
      MeasureDownload(OpenDataset(arguments.dataset, {}, arguments.link), arguments.rounds, stop);
  std::vector<std::string> warnings;
  WarnOfLoad(others.OtherCpus(), warnings);
  std::string text = Format("%-34s %9s   %s\n", "fetching", "MB/s", "least to most");
  const auto row = [&](const char* name, const std::vector<double>& values) {
    const Spread spread = SpreadOf(values);
    text += Format("%-34s %9.0f   %.0f to %.0f\n", name, 1e-6 * spread.median, 1e-6 * spread.least,
                   1e-6 * spread.most);
  };
  row("a bare download", rates.download);
  row("blocks in random order", rates.blocks);
  text += Format("%s in all; an epoch takes %s; %llu were repeated\n",
                 cli::BytesText(rates.bytes).c_str(),
                 cli::CountText(rates.block_requests, "request", "requests").c_str(),
                 static_cast<unsigned long long>(rates.repeated_requests));
  auto result = ResultOf("io",
                         {{"download_bytes_per_second", "B/s", true, rates.download},
                          {"blocks_bytes_per_second", "B/s", true, rates.blocks}},
                         warnings);
  result.update({{"dataset", ShownPath(arguments.dataset)},
                 {"dataset_bytes", rates.bytes},
                 {"rounds", arguments.rounds},
                 {"requests", rates.block_requests},
                 {"repeated_requests", rates.repeated_requests}});
  AddLink(result, arguments.link);
  return {text + WarningsText(warnings), std::move(result), {}};
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
  result.update({{"dataset", ShownPath(arguments.dataset)},
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
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder or URL of the dataset");
  AddStoreOptions(*app, arguments->link);
  AddNumber(*app, "--threads", "N", "readers of blocks (default: one for each CPU)",
            arguments->threads, 1, 1024);
  AddNumber(*app, "--rounds", "N", "rounds to measure (default 3)", arguments->rounds, 1, 10'000);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kIoExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunMeasuring(arguments->output, "reading",
                                "reading " + cli::Printable(ShownPath(arguments->dataset)),
                                [&](const std::stop_token& stop, cli::Progress&) {
                                  return IsRemote(arguments->dataset, arguments->link)
                                             ? MeasureRemote(*arguments, stop)
                                             : MeasureIo(*arguments, stop);
                                });
          }};
}

}  // namespace sluice::bench
