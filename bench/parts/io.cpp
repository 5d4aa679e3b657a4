// `sluice-bench io`: how fast a dataset's shards are read, or fetched from an object store, when
// nothing is decoded.
//
// An epoch reads blocks in random order, so the question is how much of the disk's or the link's
// rate remains. A local dataset is read in four ways. The page cache is emptied before each of the
// first three; the fourth reads what the third has left in the page cache. A remote dataset is
// fetched as large ranges in order, and as the loader fetches it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include <sluice/cpu.h>
#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "bench/commands.h"
#include "bench/epoch/shared_options.h"
#include "bench/machine/disk.h"
#include "bench/machine/machine.h"
#include "bench/report/result.h"
#include "bench/report/statistics.h"
#include "format/disk/file.h"
#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"
#include "reader/reading/direct/direct_blocks.h"
#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"

namespace sluice::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct ReadRates {
  std::uint64_t bytes = 0;   // size of all files
  std::vector<double> disk;  // bytes a second, by round: in order, past the page cache
  std::vector<double>
      direct_blocks;  // blocks in random order, read as with LoaderOptions::storage = Direct
  std::vector<double> cold_blocks;        // blocks in random order, from an empty cache
  std::vector<double> warm_blocks;        // the same, from the page cache
  std::uint64_t left_in_cache_bytes = 0;  // bytes that could not be dropped before a cold round
  bool direct = true;                     // the file system lets reads go past the page cache
};

constexpr std::size_t kPiece = std::size_t{4} << 20;  // bytes of a read in order
double RateSince(std::uint64_t bytes, Clock::time_point begin) {
  const std::chrono::duration<double> taken = Clock::now() - begin;
  return static_cast<double>(bytes) / std::max(taken.count(), 1e-9);
}

// The disk's own rate: reads file after file, in large pieces, past the page cache.
double ReadInOrder(const std::vector<std::filesystem::path>& files, bool& direct,
                   const std::stop_token& stop) {
  const AlignedBuffer buffer(kPiece);
  std::uint64_t bytes = 0;
  const Clock::time_point begin = Clock::now();
  for (const std::filesystem::path& path : files) {
    const FileHandle file = OpenDirect(path, direct);
    for (std::uint64_t offset = 0;; offset += kPiece) {
      ThrowIfStopped(stop);
      const std::size_t got = ReadAt(file, path, offset, {buffer.data.get(), kPiece});
      bytes += got;
      if (got < kPiece) break;
    }
  }
  return RateSince(bytes, begin);
}

struct BlockPlace {
  std::uint32_t file = 0;    // index of the shard
  std::uint32_t number = 0;  // index of the block in its shard
  std::uint64_t offset = 0, bytes = 0;
};

std::vector<BlockPlace> BlocksOf(const Dataset& dataset) {
  std::vector<BlockPlace> blocks;
  for (std::uint32_t s = 0; s < dataset.shards().size(); ++s) {
    const ShardUse shard = dataset.state()->table.Shard(s);
    for (std::uint32_t b = 0; b < dataset.shards()[s].blocks; ++b) {
      const BlockEntry& entry = shard->block_entry(b);
      blocks.push_back({s, b, entry.offset, entry.bytes});
    }
  }
  return blocks;
}

// Reads all blocks in the given order, on `threads` threads.
double ReadBlocks(const std::vector<std::filesystem::path>& files,
                  const std::vector<BlockPlace>& blocks, unsigned threads,
                  const std::stop_token& stop) {
  std::vector<FileHandle> open_files;
  for (const std::filesystem::path& path : files)
    open_files.push_back(OpenForReading(path));
  std::uint64_t largest = 1, all = 0;
  for (const BlockPlace& block : blocks) {
    largest = std::max(largest, block.bytes);
    all += block.bytes;
  }
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(threads);
  const auto work = [&](unsigned thread) {
    try {
      std::vector<std::byte> buffer(largest);
      for (std::size_t i = next.fetch_add(1); i < blocks.size() && !stop.stop_requested();
           i = next.fetch_add(1)) {
        const BlockPlace& block = blocks[i];
        ReadAt(open_files[block.file], files[block.file], block.offset,
               std::span(buffer).first(block.bytes));
      }
    } catch (...) {
      failures[thread] = std::current_exception();
    }
  };
  const Clock::time_point begin = Clock::now();
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t)
      others.emplace_back(work, t);
    work(0);
  }
  const double rate = RateSince(all, begin);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  ThrowIfStopped(stop);
  return rate;
}

// Reads the blocks by DirectBlocks, with which the loader reads ahead.
double ReadBlocksDirect(const std::filesystem::path& folder, const std::vector<BlockPlace>& blocks,
                        const std::stop_token& stop) {
  const Dataset dataset = Dataset::Open(folder);
  const std::shared_ptr<DatasetState> own =
      dataset.state()->WithOwnShards({.advice = MapAdvice::kPageByPage});
  DatasetState& state = *own;
  std::uint64_t all = 0;
  for (const BlockPlace& block : blocks)
    all += block.bytes;
  for (std::uint32_t s = 0; s < state.facts->shards.size(); ++s)
    state.table.Shard(s);  // opens the shard now, so that opening is not timed
  DirectFiles files(std::make_shared<BlockMemory>(all));
  const FieldChoice choice = FieldChoice::Of(state, {});
  const std::atomic<bool> give_up{false};
  DirectBlocks reading({state, choice, nullptr, give_up}, {}, files);
  std::deque<std::shared_ptr<const HeldBlock>> held;  // requested, not yet known to be complete
  std::uint64_t finished = 0;
  const auto finish_one = [&] {
    reading.Await(++finished);
    if (!held.front()->read() || held.front()->Lost(held.front()->bytes())) {
      throw Error(ErrorCode::kIo, folder.string(),
                  "cannot be read completely; run `sluice verify`");
    }
    held.pop_front();
  };
  const Clock::time_point begin = Clock::now();
  for (const BlockPlace& block : blocks) {
    ThrowIfStopped(stop);
    const std::uint64_t number = state.facts->shape.first_block(block.file) + block.number;
    reading.Open(number, 1);
    held.push_back(reading.Use(number));
    reading.EndBatch();
    while (!reading.HasRoom())
      finish_one();
  }
  while (!held.empty())
    finish_one();
  return RateSince(all, begin);
}

// Each round reads everything four times, in a new order of blocks. `threads` threads read the cold
// and the warm blocks. Throws Error(kIo), Interrupted.
ReadRates MeasureReading(const std::filesystem::path& folder, unsigned threads,
                         std::uint64_t rounds, const std::stop_token& stop) {
  std::vector<BlockPlace> blocks;
  {
    blocks = BlocksOf(Dataset::Open(folder));  // closed again: mapped pages would stay in the cache
  }
  std::vector<std::filesystem::path> files = DatasetFiles(folder);
  files.erase(files.begin());  // the manifest
  ReadRates rates;
  for (const std::filesystem::path& path : files)
    rates.bytes += std::filesystem::file_size(path);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::mt19937_64 random(round);
    std::shuffle(blocks.begin(), blocks.end(), random);
    DropFromPageCache(files);
    rates.disk.push_back(ReadInOrder(files, rates.direct, stop));
    DropFromPageCache(files);
    rates.direct_blocks.push_back(ReadBlocksDirect(folder, blocks, stop));
    DropFromPageCache(files);
    rates.left_in_cache_bytes =
        std::max(rates.left_in_cache_bytes, InPageCache(files).resident_bytes);
    rates.cold_blocks.push_back(ReadBlocks(files, blocks, threads, stop));
    rates.warm_blocks.push_back(ReadBlocks(files, blocks, threads, stop));
  }
  return rates;
}

struct DownloadRates {
  std::uint64_t bytes = 0;              // size of all shards
  std::vector<double> download;         // bytes a second, by round: in order, in large ranges
  std::vector<double> blocks;           // blocks in random order, as the loader fetches them
  std::uint64_t block_requests = 0;     // requests of one round of blocks; an epoch needs as many
  std::uint64_t repeated_requests = 0;  // in all rounds: requests that failed or were slow
};

constexpr std::uint64_t kRange = std::uint64_t{8} << 20;  // bytes of a request in order
constexpr std::uint64_t kMinInFlight = 8 * kRange;        // bytes requested at a time, at least

std::uint64_t InFlight(const ObjectStore& store) {
  return std::max(kMinInFlight, store.UsefulBytesInFlight());
}

// Fetches ranges one after another, with many in flight, and drops their bytes as they arrive.
class Download {
 public:
  explicit Download(ObjectStore& store) : store_(store) {}
  ~Download() {
    for (const std::uint64_t ticket : tickets_)
      store_.Cancel(ticket);
  }

  void Ask(const std::string& object, std::uint64_t offset, std::uint64_t bytes) {
    WaitFor(InFlight(store_));
    {
      const MutexLock lock(mutex_);
      in_flight_ += bytes;
    }
    RangeRead read;
    read.object = object;
    read.offset = offset;
    read.bytes = bytes;
    read.take = [](Bytes) {};
    read.done = [this, bytes](const Error* error) {
      const MutexLock lock(mutex_);
      if (error != nullptr && !error_) {
        error_.emplace(error->code(), error->file(), error->place(), error->sentence());
      }
      in_flight_ -= bytes;
      changed_.NotifyAll();
    };
    tickets_.push_back(store_.Read(std::move(read)));
  }
  void Finish() { WaitFor(0); }

 private:
  void WaitFor(std::uint64_t most) {
    const MutexLock lock(mutex_);
    while (in_flight_ > most)
      changed_.Wait(mutex_);
    if (error_) throw *error_;
  }

  ObjectStore& store_;
  std::vector<std::uint64_t> tickets_;
  Mutex mutex_;
  Condition changed_;
  std::uint64_t in_flight_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

double DownloadInOrder(const DatasetState& dataset, const std::stop_token& stop) {
  const Clock::time_point begin = Clock::now();
  std::uint64_t all = 0;
  Download download(*dataset.facts->store);
  for (const ShardSummary& shard : dataset.facts->shards) {
    for (std::uint64_t offset = 0; offset < shard.bytes; offset += kRange) {
      ThrowIfStopped(stop);
      download.Ask(shard.file, offset, std::min(kRange, shard.bytes - offset));
    }
    all += shard.bytes;
  }
  download.Finish();
  return RateSince(all, begin);
}

double FetchBlocks(DatasetState& dataset, std::uint64_t round, std::uint64_t& requests,
                   const std::stop_token& stop) {
  std::vector<std::vector<ShardParts::Held>> opening;
  for (std::uint32_t s = 0; s < dataset.facts->shards.size(); ++s)
    opening.push_back(dataset.table.BeginOpening(s));
  for (std::uint32_t s = 0; s < dataset.facts->shards.size(); ++s)
    dataset.table.Shard(s);  // opens the shard now, so that opening is not timed
  std::vector<std::uint64_t> blocks(dataset.facts->shape.blocks());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    blocks[i] = i;
  std::mt19937_64 random(round);
  std::shuffle(blocks.begin(), blocks.end(), random);

  struct Asked {
    ShardParts::Held held;
    std::uint64_t bytes;
  };
  std::deque<Asked> in_flight;
  std::uint64_t waiting = 0;
  std::uint64_t all = 0;
  const auto finish_one = [&] {
    dataset.table.remote->Await(in_flight.front().held);
    waiting -= in_flight.front().bytes;
    in_flight.pop_front();
  };
  const std::uint64_t requests_before = dataset.facts->store->counts().requests;
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ThrowIfStopped(stop);
    const SampleRef first = dataset.facts->shape.Record(blocks[i], 0);
    const ShardUse shard = dataset.table.Shard(first.shard);
    const ShardParts::Block parts = shard->BlockParts(first.block);
    const std::uint64_t bytes = parts.bytes();
    in_flight.push_back({dataset.table.remote->Begin(first.shard, parts.whole(), {i, 0}), bytes});
    dataset.table.remote->Flush();
    waiting += bytes;
    all += bytes;
    while (waiting > InFlight(*dataset.facts->store))
      finish_one();
  }
  while (!in_flight.empty())
    finish_one();
  const double rate = RateSince(all, begin);
  requests = dataset.facts->store->counts().requests - requests_before;
  return rate;
}

// Each round fetches everything twice, and in a new order of blocks. `dataset` lies in an object
// store. Throws Error, Interrupted.
DownloadRates MeasureDownload(const Dataset& dataset, std::uint64_t rounds,
                              const std::stop_token& stop) {
  DownloadRates rates;
  for (const ShardSummary& shard : dataset.shards())
    rates.bytes += shard.bytes;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    rates.download.push_back(DownloadInOrder(*dataset.state(), stop));
    // Opens the shards anew, so that none of their blocks is in memory yet.
    const std::shared_ptr<DatasetState> own = dataset.state()->WithOwnShards({});
    DatasetState& fresh = *own;
    rates.blocks.push_back(FetchBlocks(fresh, round, rates.block_requests, stop));
  }
  rates.repeated_requests = dataset.state()->facts->store->counts().repeated;
  return rates;
}

constexpr const char* kIoDescription =
    "Reads a dataset without decoding it; compares the rate with the disk's own.\n\n"
    "Each round reads all shards four times. It first reads file after file in large pieces past "
    "the page cache, which gives the disk's own rate. It then reads the blocks in random order, as "
    "a shuffled epoch does: past the page cache (as with the loader's storage = Direct), with an "
    "emptied page cache, and again from memory. An epoch cannot be faster than these reads.\n\n"
    "For a dataset at a URL, each round fetches all shards twice: in large ranges in order, and as "
    "blocks in random order, as the loader fetches them. It also counts the requests.\n";

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

constexpr option_list::Option kIoRounds("rounds", &IoArguments::rounds, "rounds to measure",
                                        {.least = 1, .most = 10'000, .comparable = true});

constexpr Shown kMegabytes{1e-6, 0};

void MeasureRemote(const IoArguments& arguments, PartResult& part, const std::stop_token& stop) {
  const DownloadRates rates = MeasureDownload(
      OpenDataset(arguments.dataset, {}, arguments.link, stop), arguments.rounds, stop);
  TextTable table({"fetching", "MB/s", "<least to most"});
  part.Add(table, "large ranges in order",
           {"download_bytes_per_second", "B/s", true, rates.download}, kMegabytes);
  part.Add(table, "blocks in random order", {"blocks_bytes_per_second", "B/s", true, rates.blocks},
           kMegabytes);
  part.text = table.Text();
  part.AddNote(cli::Format(
      "the dataset has %s, and an epoch needs %s; in all rounds together, %s sent again, after "
      "failing or taking long",
      cli::BytesText(rates.bytes).c_str(),
      cli::CountText(rates.block_requests, "request", "requests").c_str(),
      cli::CountText(rates.repeated_requests, "request was", "requests were").c_str()));
  part.members = {{"dataset", ShownPath(arguments.dataset)},
                  {"dataset_bytes", rates.bytes},
                  {"rounds", arguments.rounds},
                  {"requests", rates.block_requests},
                  {"repeated_requests", rates.repeated_requests}};
  AddLink(part.members, arguments.link);
}

void MeasureLocal(const IoArguments& arguments, PartResult& part, const std::stop_token& stop) {
  const ReadRates rates =
      MeasureReading(arguments.dataset, arguments.threads, arguments.rounds, stop);
  TextTable table({"reading", "MB/s", "<least to most"});
  part.Add(table, rates.direct ? "the disk, in order" : "in order, through the page cache",
           {"disk_bytes_per_second", "B/s", true, rates.disk}, kMegabytes);
  part.Add(table, "blocks in random order, Direct",
           {"direct_blocks_bytes_per_second", "B/s", true, rates.direct_blocks}, kMegabytes);
  part.Add(table, "blocks in random order, cold",
           {"cold_blocks_bytes_per_second", "B/s", true, rates.cold_blocks}, kMegabytes);
  part.Add(table, "blocks in random order, from memory",
           {"warm_blocks_bytes_per_second", "B/s", true, rates.warm_blocks}, kMegabytes);
  part.text = table.Text();
  part.AddNote(cli::BytesText(rates.bytes) + " in all; " +
               cli::CountText(arguments.threads, "thread", "threads"));
  if (rates.left_in_cache_bytes > 0) {
    part.warnings.push_back(cli::BytesText(rates.left_in_cache_bytes) +
                            " stayed in the page cache (mapped by another process, or a file "
                            "system in memory), so the row called cold partly measures the cache");
  }
  part.members = {{"dataset", ShownPath(arguments.dataset)},
                  {"dataset_bytes", rates.bytes},
                  {"threads", arguments.threads},
                  {"rounds", arguments.rounds},
                  {"direct", rates.direct},
                  {"left_in_cache_bytes", rates.left_in_cache_bytes}};
}

}  // namespace

cli::Command AddIoCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("io", kIoDescription);
  const auto arguments = std::make_shared<IoArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder or URL of the dataset");
  AddStoreOptions(*app, arguments->link);
  cli::AddThreads(*app, arguments->threads, "threads that read blocks");
  cli::AddDeclared(*app, *arguments, kIoRounds);
  AddResultOptions(*app, arguments->output);
  app->footer(std::string(kIoExamples) + cli::kExitCodeHelp);
  return {app, [arguments] {
            return RunPart(arguments->output, "reading",
                           "reading " + cli::Printable(ShownPath(arguments->dataset)),
                           [&](PartResult& part, const std::stop_token& stop, cli::Progress&) {
                             (IsRemote(arguments->dataset, arguments->link)
                                  ? MeasureRemote
                                  : MeasureLocal)(*arguments, part, stop);
                           });
          }};
}

}  // namespace sluice::bench
