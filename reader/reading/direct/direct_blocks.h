// Blocks read past the page cache, whole or the wanted parts of them, into memory of the loader's
// own (LoaderOptions::storage = Direct).
//
// A block is held from when the order announces it until as many rows of it have been planned as
// the epoch has; the rows keep it until they are decoded. Where the memory it was made for does not
// suffice, which steady playing does not bring about, the block that was used least recently is
// dropped, and read again if a row needs it.
//
// Used by the planning thread alone.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_store.h"
#include "reader/reading/direct/block_io.h"
#include "reader/reading/direct/direct_files.h"

namespace sluice {

class DirectBlocks : public BlockSource {
 public:
  // All references must outlive it; `store` may be null. `one_at_a_time`: rows come in the order of
  // blocks (Shuffle::kSequential). `io` null: io_uring where that can be had, else threads.
  DirectBlocks(DatasetState& dataset, const FieldChoice& choice, const DecodedStore* store,
               DirectFiles& files, bool one_at_a_time, const std::atomic<bool>& give_up,
               std::unique_ptr<BlockIo> io = nullptr);
  ~DirectBlocks() override;

  void Open(std::uint64_t block, std::uint64_t rows) override;
  std::shared_ptr<const HeldBlock> Use(std::uint64_t block) override;
  void EndBatch() override { Begin(); }
  void CloseAll() override { open_.clear(); }
  void Await(std::uint64_t count) override;
  void Cancel() override;
  bool holds_blocks() const noexcept override { return true; }

 private:
  struct OpenBlock {
    std::shared_ptr<HeldBlock> held;
    std::uint64_t rows = 0;  // still to come
    std::uint64_t used = 0;
  };
  // One that has been asked for.
  struct Pending {
    std::uint64_t number = 0;
    std::shared_ptr<HeldBlock> held;
    ShardUse shard;
    std::uint32_t block = 0;  // of the shard
    std::shared_ptr<const DirectFiles::File> file;
    std::shared_ptr<const DirectFiles::File> refused;  // what `file` was, still being read from
    const FieldChoice* choice = nullptr;               // what is wanted of it
    bool table_first = false;                          // ... is not known yet
    std::list<BlockRead> reads;                        // in flight
    bool failed = false;                               // there was no memory to read all of it
    bool done = false;
  };

  void Begin();
  std::shared_ptr<HeldBlock> AskFor(std::uint64_t block);
  void Start(Pending& pending);
  void StartRange(Pending& pending, ByteRange range);
  void StartParts(Pending& pending);
  void GoOn(Pending& pending);  // something of it has come
  void FinishRead();
  bool ReadsAgain(Pending& pending, BlockRead& read);
  void MakeRoom(std::uint64_t bytes);
  void Pop();

  DatasetState& dataset_;
  const FieldChoice& choice_;
  const FieldChoice others_;  // without the image
  const DecodedStore* store_;
  DirectFiles& files_;
  const bool one_at_a_time_;
  const std::atomic<bool>& give_up_;
  std::unique_ptr<BlockIo> io_;
  std::unordered_map<std::uint64_t, OpenBlock> open_;
  std::uint64_t uses_ = 0;
  std::list<Pending> pending_;  // in the order they were asked for, but for those that are done
  std::list<Pending>::iterator next_ = pending_.end();  // the first that has not been begun
  std::size_t reads_in_flight_ = 0;
};

}  // namespace sluice
