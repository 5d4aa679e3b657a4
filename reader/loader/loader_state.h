// A running loader: its setup, its sources of blocks, its ring of slots and its threads.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include <sluice/loader.h>

#include "format/disk/sample_supply.h"
#include "format/own_process.h"
#include "reader/decoding/compared_payloads.h"
#include "reader/decoding/faults.h"
#include "reader/decoding/row_sources.h"
#include "reader/decoding/served_pipeline.h"
#include "reader/loader/batch_ring.h"
#include "reader/loader/loader_setup.h"
#include "reader/loader/row_on_demand.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_picture_cache.h"
#include "reader/reading/direct/direct_blocks.h"
#include "reader/upload/device_picture_cache.h"
#include "reader/upload/device_slot.h"
#include "reader/upload/uploader.h"

namespace sluice {

struct LoaderState : std::enable_shared_from_this<LoaderState> {
 public:
  LoaderState(const Dataset& dataset, LoaderOptions options, CpuNodes nodes = CpuNodes::Find());
  ~LoaderState() { Stop(); }

  // False in a forked child: the threads are in the parent, which may hold the locks for ever here.
  // Nothing but this function may be called then, and the object must not be destroyed.
  bool InOwnProcess() const noexcept { return process_.IsThis(); }

  // The consumer's side. Without a part, StartEpoch() begins where a loop over the epoch begins: at
  // the epoch's start, or at the point to resume from. StartEpoch() returns the number of a range;
  // Next() returns the range's next batch, or, at the range's end, a Batch without a slot. `walk`:
  // the iterator's mark, if an iterator calls. Both throw Error.
  std::uint64_t StartEpoch(std::uint64_t epoch, std::optional<EpochPart> part = {});
  Batch Next(std::uint64_t range, const OneConsumer::Walk& walk = nullptr);

  bool WaitFor(std::uint64_t range, std::chrono::milliseconds most) {
    RequireOwnProcess();
    return ring_->WaitFor(range, most);
  }

  // Ends the threads once each has finished its sample; every later Next() throws. Any thread.
  void Stop();
  std::uint64_t payload_bytes_at_stop() { return ring_->payload_bytes_at_stop(); }

  LoaderStats Stats();
  // Makes the loader learn from an interval, as it does by itself from time to time.
  void Tune(const LoaderStats& interval) { ring_->Tune(interval); }
  std::vector<SampleFault> Faults() const {
    RequireOwnProcess();
    return faults_.List();
  }
  ResumePoint State() {
    RequireOwnProcess();
    return ring_->Resume();
  }
  EpochSize SizeOf(std::uint64_t epoch) const { return setup_.deal.SizeOf(epoch); }
  // The batches that are played in a part of an epoch. Throws Error if the epoch ends before.
  std::uint64_t BatchesIn(std::uint64_t epoch, EpochPart part) const;
  std::vector<PlayedRow> When(std::span<const std::uint64_t> samples,
                              std::span<const std::uint64_t> epochs) const {
    RequireOwnProcess();
    return RowsOf(*setup_.recipe.dataset.facts, setup_.recipe.options, samples, epochs);
  }
  Rank rank() const noexcept { return setup_.rank(); }
  unsigned threads() const noexcept {
    return setup_.decodes_in_consumer ? 0 : *setup_.recipe.options.threads;
  }
  Batch Row(std::uint64_t sample, std::uint64_t epoch);
  std::size_t memory_bytes() const noexcept;
  LoaderMemory Memory() const;
  std::string Describe() const { return setup_.Describe(); }
  std::string PipelineText(std::uint64_t epoch) const {
    return ServedPipeline::Of(setup_.recipe, epoch).Text();
  }

 private:
  void RequireOwnProcess() const;
  void StartThreads();
  void Publish();
  DecodingContext Context();
  void StartThread(std::function<void()> run);

  const OwnProcess process_;
  const LoaderSetup setup_;
  FaultLog faults_;
  SampleSupply::Work made_before_;  // a played source's work before this loader was made
  std::unique_ptr<DecodedPictureCache> decoded_pictures_;  // LoaderOptions::keep
  std::unique_ptr<SharedRowCache> shared_rows_;            // LoaderOptions::share
  std::unique_ptr<DirectFiles> direct_;                    // LoaderOptions::storage = Direct
  ComparedPayloads compared_;                            // the payloads whose checksum has matched
  std::unique_ptr<DevicePictureCache> device_pictures_;  // OnDevice::images
  std::unique_ptr<DevicePictureFiller> filler_;          // puts pictures into device_pictures_
  std::unique_ptr<PinnedSlots> pinned_;                  // LoaderOptions::ring.pinned
  std::unique_ptr<Uploader> uploader_;                   // null: batches stay on the host
  std::unique_ptr<BatchRing> ring_;
  const FieldChoice shard_choice_;       // what source_ reads
  std::unique_ptr<BlockSource> source_;  // used by the planner only
  std::unique_ptr<ColumnBlocks> columns_;
  std::unique_ptr<RowOnDemand> rows_;
  std::vector<std::thread> threads_;  // planner first
  std::shared_ptr<void> published_;   // LoaderOptions::diagnostics.metrics calls Stats()
};

}  // namespace sluice
