// Reading ahead of mapped shards: into the page cache and this process's page tables.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <vector>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/reading/decoded_store.h"
#include "reader/reading/page_map.h"
#include "reader/reading/read_ahead.h"

namespace sluice {

// Where fields are left out, or all of a block's pictures are in the store (null for none), only
// the others' parts of a block are read.
class MappedReadAhead : public ReadAhead {
 public:
  // All arguments must outlive it.
  MappedReadAhead(DatasetState& dataset, const FieldChoice& choice, const DecodedStore* store,
                  const std::atomic<bool>& give_up);

  void Ask(std::uint64_t block) override;
  bool TakesSuggestions() const noexcept override;
  void Suggest(std::uint64_t block) override;
  void Begin() override;
  void Await(std::uint64_t count) override;
  void Cancel() override;

  // Called with each shard that a block is about to be read from.
  void BeforeReading(std::function<void(std::uint32_t, const ShardFile&)> first) {
    before_reading_ = std::move(first);
  }
  // Called with each block that has been read, by number in the dataset.
  void WhenRead(std::function<void(std::uint64_t)> then) { when_read_ = std::move(then); }

 private:
  // A part of a block that is wanted; `there`: in this process's page tables already, which holds
  // for most of what an earlier epoch has read, where it fits memory.
  struct Part {
    Bytes bytes;
    bool there = false;
  };
  struct Reading {
    std::uint64_t block = 0;
    ShardUse shard;  // that the parts lie in; null: it cannot be opened
    std::vector<Part> parts;
  };
  ShardUse ShardOf(const SampleRef& first);
  void FinishFront();

  DatasetState& dataset_;
  const FieldChoice& choice_;
  const FieldChoice others_;  // without the image
  const DecodedStore* store_;
  const std::atomic<bool>& give_up_;
  std::deque<std::uint64_t> queue_;
  std::deque<Reading> in_flight_;
  PageMap page_map_;
  bool cold_ = false;  // the block begun last was not there
  std::function<void(std::uint32_t, const ShardFile&)> before_reading_;
  std::function<void(std::uint64_t)> when_read_;
};

}  // namespace sluice
