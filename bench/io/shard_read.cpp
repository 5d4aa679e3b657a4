#include "bench/io/shard_read.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <random>
#include <thread>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "bench/io/direct_read.h"
#include "bench/machine/page_cache.h"
#include "format/disk/file.h"
#include "reader/dataset/dataset_state.h"
#include "reader/reading/direct/direct_blocks.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{4} << 20;
double Rate(std::uint64_t bytes, Clock::time_point begin) {
  const std::chrono::duration<double> taken = Clock::now() - begin;
  return static_cast<double>(bytes) / std::max(taken.count(), 1e-9);
}

// The disk's own rate: file after file, in large pieces, past the page cache.
double ReadInOrder(const std::vector<std::filesystem::path>& files, bool& direct,
                   const std::stop_token& stop) {
  const AlignedBuffer buffer(kPiece);
  std::uint64_t bytes = 0;
  const Clock::time_point begin = Clock::now();
  for (const std::filesystem::path& path : files) {
    const FileHandle file = OpenDirect(path, direct);
    for (std::uint64_t offset = 0;; offset += kPiece) {
      ThrowIfStopped(stop);
      const std::size_t got = ReadAt(file.get(), buffer.data.get(), kPiece, offset, path);
      bytes += got;
      if (got < kPiece) break;
    }
  }
  return Rate(bytes, begin);
}

struct BlockPlace {
  std::uint32_t file = 0;    // of the shards
  std::uint32_t number = 0;  // in its shard
  std::uint64_t offset = 0, bytes = 0;
};

std::vector<BlockPlace> BlocksOf(const Dataset& dataset) {
  std::vector<BlockPlace> blocks;
  for (std::uint32_t s = 0; s < dataset.shards().size(); ++s) {
    const ShardUse shard = dataset.state()->Shard(s);
    for (std::uint32_t b = 0; b < dataset.shards()[s].blocks; ++b) {
      const BlockEntry& entry = shard->block_entry(b);
      blocks.push_back({s, b, entry.offset, entry.bytes});
    }
  }
  return blocks;
}

// Reads all blocks in the given order, on that many threads.
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
        ReadAt(open_files[block.file].get(), buffer.data(), block.bytes, block.offset,
               files[block.file]);
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
  const double rate = Rate(all, begin);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  ThrowIfStopped(stop);
  return rate;
}

// As above, with the loader's own read-ahead.
double ReadBlocksDirect(const std::filesystem::path& folder, const std::vector<BlockPlace>& blocks,
                        bool& uring, const std::stop_token& stop) {
  const Dataset dataset = Dataset::Open(folder);
  DatasetState state(*dataset.state(), MapAdvice::kPageByPage);
  std::uint64_t all = 0;
  for (const BlockPlace& block : blocks)
    all += block.bytes;
  for (std::uint32_t s = 0; s < state.shards.size(); ++s)
    state.Shard(s);  // opening is not reading
  DirectFiles files(std::make_shared<BlockMemory>(all));
  const FieldChoice choice = FieldChoice::Of(state, {});
  const std::atomic<bool> give_up{false};
  std::unique_ptr<BlockIo> io = MakeUringIo();
  uring = io != nullptr;
  DirectBlocks reading(state, choice, nullptr, files, false, give_up, std::move(io));
  std::deque<std::shared_ptr<const HeldBlock>> held;  // requested, and not seen to be complete
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
    const std::uint64_t number = state.shape.first_block(block.file) + block.number;
    reading.Open(number, 1);
    held.push_back(reading.Use(number));
    reading.EndBatch();
    while (!reading.HasRoom())
      finish_one();
  }
  while (!held.empty())
    finish_one();
  return Rate(all, begin);
}

}  // namespace

ReadRates MeasureReading(const std::filesystem::path& folder, unsigned threads,
                         std::uint64_t rounds, const std::stop_token& stop) {
  std::vector<BlockPlace> blocks;
  {
    blocks = BlocksOf(Dataset::Open(folder));  // closed again: mapped pages stay in the cache
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
    rates.direct_blocks.push_back(ReadBlocksDirect(folder, blocks, rates.uring, stop));
    DropFromPageCache(files);
    rates.left_in_cache_bytes =
        std::max(rates.left_in_cache_bytes, InPageCache(files).resident_bytes);
    rates.cold_blocks.push_back(ReadBlocks(files, blocks, threads, stop));
    rates.warm_blocks.push_back(ReadBlocks(files, blocks, threads, stop));
  }
  return rates;
}

}  // namespace sluice::bench
