// A running loader: its setup, what it reads by, its ring of slots and its threads.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include <sluice/loader.h>

#include "reader/batch/uploader.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/decoding/fault_log.h"
#include "reader/loader/batch_ring.h"
#include "reader/loader/loader_setup.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_store.h"
#include "reader/reading/direct/direct_files.h"
#include "reader/reading/shard_stage.h"

namespace sluice {

struct LoaderState : std::enable_shared_from_this<LoaderState> {
 public:
  LoaderState(const Dataset& dataset, LoaderOptions options);
  ~LoaderState() { Stop(); }

  // The consumer's. StartEpoch() returns the number of a range; Next() its next batch, or one
  // without a slot at its end; `walk` is the iterator's mark, if an iterator asks. Throw Error.
  std::uint64_t StartEpoch(std::uint64_t epoch);
  Batch Next(std::uint64_t range, const OneConsumer::Walk& walk = nullptr);

  // Ends the threads after the samples in hand; every later Next() throws. Any thread.
  void Stop();
  std::uint64_t payload_bytes_at_stop() { return ring_->payload_bytes_at_stop(); }

  LoaderStats Stats();
  // Has the loader learn from an interval, as it does by itself now and then.
  void Tune(const LoaderStats& interval) { ring_->Tune(interval); }
  std::vector<SampleFault> Faults() const { return faults_.List(); }
  ResumePoint State() { return ring_->Resume(); }
  EpochSize SizeOf(std::uint64_t epoch) const { return setup_.deal.SizeOf(epoch); }
  Rank rank() const noexcept { return setup_.rank(); }
  unsigned threads() const noexcept { return *setup_.recipe.options.threads; }
  std::size_t memory_bytes() const noexcept;
  LoaderMemory Memory() const;
  std::string Describe() const { return setup_.Describe(); }

 private:
  void StartThreads();

  const LoaderSetup setup_;
  FaultLog faults_;
  std::unique_ptr<DecodedStore> decoded_;  // LoaderOptions::keep
  std::unique_ptr<ShardStage> stage_;      // LoaderOptions::stage
  std::unique_ptr<DirectFiles> direct_;    // LoaderOptions::storage = Direct
  ComparedPayloads compared_;
  std::shared_ptr<DeviceDriver> driver_;  // of slots in page-locked memory; null: they are not
  std::unique_ptr<Uploader> uploader_;    // LoaderOptions::device; null: the host
  std::unique_ptr<BatchRing> ring_;
  std::unique_ptr<BlockSource> source_;  // the planner's
  std::vector<std::thread> threads_;     // planner first
};

}  // namespace sluice
