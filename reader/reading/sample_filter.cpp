// SampleList::Where(): calls the user's filter for every sample of a dataset, and keeps those for
// which it returns true.
//
// Threads take shards from a counter. Blocks are read ahead only if the filter asks for a field
// that lies in blocks, and then only the ranges of these fields. The result does not depend on the
// number of threads: if the filter throws for several samples, the Error of the first one is
// thrown.
#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>

#include <sluice/cpu.h>
#include <sluice/error.h>

#include "format/mutex.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/sample_list_state.h"
#include "reader/reading/mapped_blocks.h"

namespace sluice {

namespace {

bool LiesInBlocks(const Field& field) {
  return field.kind != FieldKind::kArray || !field.shape.empty();
}

FieldChoice ChoiceOf(const DatasetState& dataset, const std::vector<std::string>& names) {
  FieldChoice choice;
  choice.chosen.resize(dataset.facts->manifest.schema.fields.size());
  choice.all_payloads = false;
  for (const std::string& name : names)
    choice.chosen[dataset.facts->FieldIndex(name)] = true;
  return choice;
}

// One run over a dataset, shard by shard; threads take shards from a counter.
class Filtering {
 public:
  Filtering(const Dataset& dataset, const SampleFilter& keep, const FilterOptions& options)
      : dataset_(dataset),
        state_(*dataset.state()),
        keep_(keep),
        options_(options),
        choice_(ChoiceOf(state_, options.fields)),
        reads_blocks_(std::ranges::any_of(
            options.fields,
            [this](const std::string& name) {
              const std::size_t field = state_.facts->FieldIndex(name);
              return LiesInBlocks(state_.facts->manifest.schema.fields[field]) &&
                     !state_.facts->InColumn(field);
            })),
        kept_(state_.facts->shards.size()) {}

  // Works until no shard is left. Throws nothing.
  void Work();
  // Call it when every thread has returned from Work().
  std::vector<std::uint64_t> Result();

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Whether the answers for that shard are no longer needed.
  bool Ended(std::uint32_t shard) const noexcept {
    return options_.stop.stop_requested() || failed_.load(std::memory_order_relaxed) < shard;
  }
  void AskAbout(std::uint32_t shard);
  bool Keeps(const ShardFile& file, std::uint64_t number) const;
  Error Named(const ShardFile& file, const Sample& sample, ErrorCode code,
              const std::string& what) const;
  void Count(std::uint64_t samples);

  const Dataset& dataset_;
  DatasetState& state_;
  const SampleFilter& keep_;
  const FilterOptions& options_;
  const FieldChoice choice_;  // the fields to read ahead
  const bool reads_blocks_;

  std::vector<std::vector<bool>> kept_;  // by shard; one thread writes each
  std::atomic<std::uint32_t> next_{0};
  // The first shard with an error. Threads still filter the shards before it, so that the error is
  // the same whichever thread is fastest.
  std::atomic<std::uint32_t> failed_{kNone};
  Mutex mutex_;
  std::exception_ptr error_ GUARDED_BY(mutex_);
  std::uint64_t asked_ GUARDED_BY(mutex_) = 0;
};

void Filtering::Work() {
  while (true) {
    const std::uint32_t shard = next_.fetch_add(1, std::memory_order_relaxed);
    if (shard >= kept_.size() || Ended(shard)) return;
    try {
      AskAbout(shard);
    } catch (...) {
      const MutexLock lock(mutex_);
      if (shard > failed_.load(std::memory_order_relaxed)) return;
      failed_.store(shard, std::memory_order_relaxed);
      error_ = std::current_exception();
    }
  }
}

void Filtering::AskAbout(std::uint32_t shard) {
  const ShardUse use = state_.table.Shard(shard);
  const ShardFile& file = *use;
  const std::uint64_t first_block = state_.facts->shape.first_block(shard);
  const std::atomic<bool> give_up{false};
  std::optional<MappedBlocks> ahead;
  if (reads_blocks_ && state_.table.remote == nullptr && state_.facts->supply == nullptr) {
    ahead.emplace(BlockSource::Wanted{state_, choice_, nullptr, give_up});
    for (std::uint32_t block = 0; block < file.blocks(); ++block)
      ahead->Open(first_block + block, 0);
  }
  const std::uint64_t first = state_.facts->shape.Record(first_block, 0).index;
  std::vector<bool> kept(file.samples());
  std::uint64_t row = 0;
  BlockHold remote(file);
  for (std::uint32_t block = 0; block < file.blocks(); ++block) {
    if (Ended(shard)) return;
    if (reads_blocks_ && state_.table.remote != nullptr) remote.Block(block);
    if (ahead) ahead->Await(block + 1);
    const ReadGuard guard = file.Guard();
    const std::uint32_t count = file.block_entry(block).count;
    for (std::uint32_t i = 0; i < count; ++i, ++row)
      kept[row] = !dataset_.IsDeleted(first + row) && Keeps(file, first + row);
    Count(count);
  }
  // Pages that could not be read are zeros, and no checksum was compared that would show it.
  if (file.Lost(file.bytes()) || file.CutOff(file.bytes())) throw file.Unreadable({});
  kept_[shard] = std::move(kept);
}

bool Filtering::Keeps(const ShardFile& file, std::uint64_t number) const {
  const Sample sample = dataset_[number];
  const auto still_there = [&] { return !file.Lost(file.bytes()) && !file.CutOff(file.bytes()); };
  try {
    return keep_(sample);
  } catch (const Error& error) {
    if (!still_there()) throw file.Unreadable({});
    throw Named(file, sample, error.code(), error.sentence());
  } catch (const std::exception& error) {
    if (!still_there()) throw file.Unreadable({});
    throw Named(file, sample, ErrorCode::kState, error.what());
  } catch (...) {
    throw Named(file, sample, ErrorCode::kState, "something that is not a std::exception");
  }
}

Error Filtering::Named(const ShardFile& file, const Sample& sample, ErrorCode code,
                       const std::string& what) const {
  std::string key;
  try {
    key = "\"" + sample.key() + "\"";
  } catch (const Error&) {
    key = "(its key cannot be read)";
  }
  const SampleRef ref = state_.facts->shape.Sample(sample.index());
  return {code, file.name(),
          "sample " + std::to_string(sample.index()) + " " + key + " (block " +
              std::to_string(ref.block) + ", record " + std::to_string(ref.record) + ")",
          "the filter of SampleList::Where threw: " + what};
}

void Filtering::Count(std::uint64_t samples) {
  if (!options_.on_progress) return;
  const MutexLock lock(mutex_);
  asked_ += samples;
  options_.on_progress(asked_, dataset_.size());
}

std::vector<std::uint64_t> Filtering::Result() {
  const MutexLock lock(mutex_);
  if (error_ != nullptr) std::rethrow_exception(error_);
  if (options_.stop.stop_requested()) {
    throw Error(ErrorCode::kState, state_.facts->folder.string(),
                "SampleList::Where was stopped before it had asked about every sample");
  }
  std::size_t count = 0;
  for (const std::vector<bool>& shard : kept_)
    count += static_cast<std::size_t>(std::ranges::count(shard, true));
  std::vector<std::uint64_t> samples;
  samples.reserve(count);
  std::uint64_t number = 0;
  for (const std::vector<bool>& shard : kept_) {
    for (const bool kept : shard) {
      if (kept) samples.push_back(number);
      ++number;
    }
  }
  return samples;
}

}  // namespace

SampleList SampleList::Where(const Dataset& dataset, const SampleFilter& keep,
                             const FilterOptions& options) {
  if (!keep) {
    throw Error(ErrorCode::kInvalidArgument, "SampleList::Where needs a filter function");
  }
  Filtering filtering(dataset, keep, options);
  const std::size_t wanted = options.threads != 0 ? options.threads : AvailableCpus();
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t t = 1; t < std::min(wanted, dataset.shards().size()); ++t)
        threads.emplace_back([&filtering] { filtering.Work(); });
    } catch (const std::system_error&) {
      // The system has no more threads; fewer are enough.
    }
    filtering.Work();
  }
  return SampleList(KeptList(dataset, filtering.Result()));
}

}  // namespace sluice
