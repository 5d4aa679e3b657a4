// The common part of DirectBlocks and RemoteBlocks: they read blocks into memory, in the order in
// which the epoch's order has announced them, and hold each until all its rows are planned. The
// rows hold it until they are decoded.
//
//   Open()            Begin()                         AwaitSome()
//   a request waits --> its bytes are on their way --> the block has been read
//
// Used by the planner thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>

#include "reader/reading/block_source.h"
#include "reader/reading/direct/held_block.h"

namespace sluice {

// The blocks that the order has announced, and whose rows are not all planned yet.
class OpenBlocks {
 public:
  // `one_at_a_time`: rows come in the order of blocks (Shuffle::kSequential).
  explicit OpenBlocks(bool one_at_a_time) noexcept : one_at_a_time_(one_at_a_time) {}

  struct Block {
    std::shared_ptr<HeldBlock> held;
    std::uint64_t bytes = 0;
    std::uint64_t rows = 0;  // rows not planned yet
    std::uint64_t used = 0;  // the value of uses_ when the block was opened or used last
  };
  // Opens a block for its next `rows` rows; 0: unknown. If the block is not open, calls `ask()`,
  // which requests it and returns it. If the caller will call bytes(), `ask()` also sets the
  // block's size.
  template <class Ask>
  void Open(std::uint64_t number, std::uint64_t rows, const Ask& ask) {
    if (one_at_a_time_) {  // a rank gets only some of a block's samples, so `rows` may be too many
      Clear();
      rows = 0;
    }
    auto found = blocks_.find(number);
    if (found == blocks_.end()) {
      found = blocks_.emplace(number, ask()).first;
      bytes_ += found->second.bytes;
    }
    found->second.rows = rows == 0 ? ~std::uint64_t{0} : rows;
    found->second.used = ++uses_;
  }

  // Notes that the next row is in that block. Returns the block; null if it is not open.
  std::shared_ptr<const HeldBlock> Use(std::uint64_t number) {
    const auto found = blocks_.find(number);
    if (found == blocks_.end()) return nullptr;
    found->second.used = ++uses_;
    std::shared_ptr<const HeldBlock> held = found->second.held;
    if (--found->second.rows == 0) Close(found);
    return held;
  }

  // Closes the least recently used block for which `may_go(held)` is true. Returns false if there
  // is no such block.
  template <class MayGo>
  bool CloseOldest(const MayGo& may_go) {
    auto oldest = blocks_.end();
    for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
      if (oldest != blocks_.end() && at->second.used > oldest->second.used) continue;
      if (may_go(at->second.held)) oldest = at;
    }
    if (oldest == blocks_.end()) return false;
    Close(oldest);
    return true;
  }

  void Clear() noexcept {
    blocks_.clear();
    bytes_ = 0;
  }
  std::size_t size() const noexcept { return blocks_.size(); }
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void Close(std::unordered_map<std::uint64_t, Block>::iterator block) {
    bytes_ -= block->second.bytes;
    blocks_.erase(block);
  }

  const bool one_at_a_time_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::uint64_t bytes_ = 0;
  std::uint64_t uses_ = 0;  // calls of Open() and Use()
};

// A block that was opened, and has not been read yet. A source adds what it needs.
struct BlockRequest {
  std::uint64_t number = 0;
  std::shared_ptr<HeldBlock> held = std::make_shared<HeldBlock>();
  // Until Start() the block's size, for OpenBlocks; from then on the bytes that are on their way.
  std::uint64_t bytes = 0;
};

template <class Request>
class RequestedBlocks : public BlockSource {
 public:
  void Open(std::uint64_t block, std::uint64_t rows) override {
    open_.Open(block, rows, [&] {
      Request request = RequestFor(block);
      OpenBlocks::Block open{request.held, request.bytes};
      requests_.push_back(std::move(request));
      ++opened_;
      return open;
    });
  }
  std::shared_ptr<const HeldBlock> Use(std::uint64_t block) override {
    if (std::shared_ptr<const HeldBlock> held = open_.Use(block)) return held;
    Open(block, 0);
    return open_.Use(block);
  }
  void EndBatch() override { Begin(); }
  void CloseAll() override { open_.Clear(); }
  void Cancel() override {
    requests_.clear();
    next_ = 0;
    open_.Clear();
    bytes_in_flight_ = 0;
    begun_ = finished_ = opened_;
  }
  bool holds_blocks() const noexcept override { return true; }

 protected:
  RequestedBlocks(const Wanted& wanted, const LoaderOptions& options)
      : BlockSource(wanted), open_(options.order.shuffle == Shuffle::kSequential) {}

  virtual Request RequestFor(std::uint64_t block) = 0;
  // Lets the block's bytes come, and sets their number. Returns false if the give-up flag is set.
  virtual bool Start(Request& request) = 0;
  // Waits for the bytes. Returns false if the give-up flag is set.
  virtual bool Finish(Request& request) = 0;

  virtual void Begin() {
    while (next_ < requests_.size() && bytes_in_flight_ < depth_bytes()) {
      Request& request = requests_[next_];
      if (GivesUp() || !Start(request)) return;
      bytes_in_flight_ += request.bytes;
      ++next_;
      ++begun_;
    }
  }

  OpenBlocks open_;

 private:
  void AwaitSome() override {
    Begin();
    if (next_ == 0 || !Finish(requests_.front())) return;
    bytes_in_flight_ -= requests_.front().bytes;
    requests_.pop_front();
    --next_;
    ++finished_;
  }

  std::deque<Request> requests_;  // in the order of Open()
  std::size_t next_ = 0;          // the index of the first request that has not begun
};

}  // namespace sluice
