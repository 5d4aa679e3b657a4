// Reading ahead of mapped shards: into the page cache and this process's page tables.
#pragma once

#include <atomic>
#include <deque>
#include <vector>

#include "reader/cache/decoded_store.h"
#include "reader/dataset_state.h"
#include "reader/pipeline/field_choice.h"
#include "reader/pipeline/page_map.h"
#include "reader/pipeline/read_ahead.h"

namespace sluice {

// Where fields are left out, or all of a block's pictures are in the store (null for none), only
// the others' parts of a block are read.
class MappedReadAhead : public ReadAhead {
 public:
  // All arguments must outlive it.
  MappedReadAhead(DatasetState& dataset, const FieldChoice& choice, const DecodedStore* store,
                  const std::atomic<bool>& give_up);

  void Ask(std::uint64_t block) override;
  void Begin() override;
  void Await(std::uint64_t count) override;
  void Cancel() override;

 private:
  // A part of a block that is wanted; `there`: in this process's page tables already, which holds
  // for most of what an earlier epoch has read, where it fits memory.
  struct Part {
    Bytes bytes;
    bool there = false;
  };
  void FinishFront();

  DatasetState& dataset_;
  const FieldChoice& choice_;
  const FieldChoice others_;  // without the image
  const DecodedStore* store_;
  const std::atomic<bool>& give_up_;
  std::deque<std::uint64_t> queue_;
  std::deque<std::vector<Part>> in_flight_;  // by block
  PageMap page_map_;
};

// Takes a block out of this process's page tables, and where `drop` says so out of the page cache.
// The kernel maps up to 64 KiB around a page that is touched: those of the blocks beside it go
// along where they may.
struct Beside {
  bool before = false;
  bool behind = false;
};
void ForgetBlock(DatasetState& dataset, std::uint64_t block, Beside beside, bool drop);

}  // namespace sluice
