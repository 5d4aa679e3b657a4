// Reads blocks, or the wanted parts of them, past the page cache into the loader's own memory
// (LoaderOptions::storage = Direct).
//
// A block is held from when the order announces it until all its rows of the epoch are planned; the
// rows keep it until they are decoded. If the budget is used up, which steady playing does not
// cause, the least recently used block is dropped, and read again if a row needs it.
//
// Used by the planner thread only.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/block_source.h"
#include "reader/reading/decoded_cache.h"
#include "reader/reading/direct/block_io.h"
#include "reader/reading/direct/direct_files.h"
#include "reader/reading/open_blocks.h"

namespace sluice {

class DirectBlocks : public BlockSource {
 public:
  // All references must outlive it; `store` may be null. `one_at_a_time`: rows come in the order of
  // blocks (Shuffle::kSequential). `io` null: io_uring if it is available, otherwise threads.
  DirectBlocks(DatasetState& dataset, const FieldChoice& choice, const PictureCache* store,
               DirectFiles& files, bool one_at_a_time, const std::atomic<bool>& give_up,
               std::unique_ptr<BlockIo> io = nullptr);
  ~DirectBlocks() override;

  void Open(std::uint64_t block, std::uint64_t rows) override;
  std::shared_ptr<const HeldBlock> Use(std::uint64_t block) override;
  void EndBatch() override { Begin(); }
  void CloseAll() override { open_.Clear(); }
  void Await(std::uint64_t count) override;
  void Cancel() override;
  bool holds_blocks() const noexcept override { return true; }

 private:
  // A block that has been asked for.
  struct Pending {
    std::uint64_t number = 0;
    std::shared_ptr<HeldBlock> held;
    ShardUse shard;
    std::uint32_t block = 0;  // its number in the shard
    std::shared_ptr<const DirectFiles::File> file;
    std::shared_ptr<const DirectFiles::File> refused;  // the former `file`, still being read from
    const FieldChoice* choice = nullptr;               // the wanted fields
    bool table_first = false;                          // the table must be read to find them
    std::list<BlockRead> reads;                        // reads in flight
    bool failed = false;                               // memory was lacking to read all of it
    bool done = false;
  };

  void Begin();
  std::shared_ptr<HeldBlock> AskFor(std::uint64_t block);
  void Start(Pending& pending);
  void StartRange(Pending& pending, ByteRange range);
  void StartParts(Pending& pending);
  void GoOn(Pending& pending);  // continues once no read of it is in flight
  void FinishRead();
  bool ReadsAgain(Pending& pending, BlockRead& read);
  void MakeRoom(std::uint64_t bytes);
  void Pop();

  DatasetState& dataset_;
  const FieldChoice& choice_;
  const FieldChoice others_;  // without the image
  const PictureCache* store_;
  DirectFiles& files_;
  const std::atomic<bool>& give_up_;
  std::unique_ptr<BlockIo> io_;
  OpenBlocks open_;
  std::list<Pending> pending_;  // in the order asked for; Pop() takes done ones from the front
  std::list<Pending>::iterator next_ = pending_.end();  // the first not begun
  std::size_t reads_in_flight_ = 0;
};

}  // namespace sluice
