// The quasi-random order of one epoch (version 1): interleaved lanes of shuffled windows.
//
// The dataset's blocks are permuted; the i-th of them goes to lane i mod L. Each `window_blocks`
// consecutive blocks of a lane are a window. A lane gives its windows one after another, with the
// samples of each window permuted. Position p of the epoch comes from lane p mod L. This continues
// until the shortest lane has no samples left (the body). The rest of the other lanes follows,
// permuted as a whole (the tail). The lanes' first windows differ in length, so that lanes do not
// all open new blocks at the same time.
//
// This file says which sample comes at a position; deal.h gives lanes to ranks.
//
// The blocks of one conversion have one size except for a few short ones (the last block of each
// shard). So arithmetic and a binary search over the lane's short blocks find the k-th sample of a
// lane: memory and set-up are O(shards), and any position is reached in O(log shards).
//
// This does not suffice if blocks have several sizes (a merge, or a list of samples), or if more
// than one in eight is short (shards of few blocks): lanes dealt in turn would differ much in
// length and leave a long tail, and every rank reads most of the tail's blocks. In that case, the
// i-th block goes to the lane with the fewest samples so far, so that lanes differ by at most a
// block; memory and set-up are O(blocks).
//
// ../ORDER.md specifies this order fully, so that other programs can play it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "reader/order/partners.h"
#include "reader/order/permutation.h"
#include "reader/order/shape.h"

namespace sluice {

struct LaneOptions {
  std::uint64_t seed = 0;
  std::uint32_t lanes = 192;
  std::uint64_t window_blocks = 2;  // blocks in a window of a lane
  std::uint64_t uses = 1;           // how often each sample is asked for
  bool partners = false;            // whether it is asked for as PartnerOf() says
  StopFlag give_up = nullptr;
};

class LaneOrder {
 public:
  // `shape` must outlive the order.
  LaneOrder(const DatasetShape& shape, const LaneOptions& options, std::uint64_t epoch);

  // The sample at a position of the epoch. The call is cheap if positions are asked for in order:
  // each lane keeps the permutation of its open window. Adds to `opened` the blocks (by number in
  // the dataset) of each window that this call enters, except blocks whose samples all come before
  // the position. In two cases, At() adds only the block of the returned sample: in the tail, since
  // every rank reads its blocks, and with `fills_up`, which says that the position was already
  // given and is repeated to fill up the last batch.
  SampleRef At(std::uint64_t position, std::vector<std::uint64_t>& opened, bool fills_up = false);

  // Does what At() does for positions `position`, `position` + `stride`, and so on, until `samples`
  // is full.
  void Run(std::uint64_t position, std::uint64_t stride, std::span<SampleRef> samples,
           std::vector<std::uint64_t>& opened);

  // The position whose sample is partner `j` (0 to 2) of the row at `position`.
  std::uint64_t PartnerOf(std::uint64_t position, std::size_t j);

  // The position of a sample (by its number), at which At() gives it. Cheap if the sample's window
  // is the one that its lane entered last. Do not mix the calls with those of At(): they enter
  // windows.
  std::uint64_t PositionOf(std::uint64_t sample);

  // From now on, for each window that At() enters, TakeFollowing() returns the blocks of the lane's
  // next window, one by one, in the order in which the windows will open. It leaves out windows
  // that have opened in the meantime.
  void NoteFollowing() noexcept { notes_following_ = true; }
  std::optional<std::uint64_t> TakeFollowing();

  // How often a block's samples are asked for in the epoch; or, if a resumed epoch entered the
  // block's window in the middle, how often they still are.
  std::uint64_t SamplesIn(std::uint64_t block) const noexcept;

  std::uint64_t body() const noexcept { return body_per_lane_ * lanes_.size(); }

 private:
  static constexpr std::uint64_t kNoWindow = ~std::uint64_t{0};
  // A block with fewer samples than the largest block: its place in the lane, and by how many
  // samples the lane's blocks up to and including this one fall short of the largest block's size.
  struct ShortBlock {
    std::uint64_t place = 0;
    std::uint64_t missing = 0;
  };
  // If blocks have several sizes: a block, and the number of samples before it in the lane.
  struct DealtBlock {
    std::uint64_t block = 0;
    std::uint64_t before = 0;
  };
  // A block of the open window, and the number of the window's samples before it.
  struct OpenBlock {
    std::uint64_t before = 0;
    SampleRef first;  // the block's first sample
  };
  struct Lane {
    std::vector<ShortBlock> short_blocks;  // by place
    std::vector<DealtBlock> dealt;         // by place; empty if blocks have one size
    std::uint64_t blocks = 0;
    std::uint64_t samples = 0;
    // The open window:
    std::uint64_t window = kNoWindow;
    std::uint64_t announced = kNoWindow;  // the last window whose blocks were put into `opened`
    std::uint64_t first = 0;              // the open window's first sample, within the lane
    std::uint64_t count = 0;
    Permutation mix;
    std::vector<OpenBlock> open;
  };

  // A lane's next window, while TakeFollowing() has not given all of its blocks.
  struct Following {
    std::uint64_t lane = 0;
    std::uint64_t window = 0;
    std::uint64_t next = 0;  // places in the lane
    std::uint64_t end = 0;
  };

  // Where a block was dealt to: its lane, and its place in the lane.
  struct LanePlace {
    std::uint64_t lane = 0;
    std::uint64_t place = 0;
  };

  LanePlace PlaceOfBlock(std::uint64_t block);
  Permutation& Tail();
  void DealInTurn(StopFlag give_up);
  void DealShortBlocks(StopFlag give_up);
  void DealByLength(StopFlag give_up);
  // Samples of the lane before its block number `place`.
  std::uint64_t SamplesBefore(const Lane& lane, std::uint64_t place) const noexcept;
  // The place of the block that holds the lane's sample number `sample`.
  std::uint64_t PlaceOf(const Lane& lane, std::uint64_t sample) const noexcept;
  SampleRef InBody(std::uint64_t lane, std::uint64_t sample, std::vector<std::uint64_t>& opened,
                   bool fills_up);
  SampleRef InTail(std::uint64_t position, std::vector<std::uint64_t>& opened);
  // The sample that comes at a place of the lane's open window, after permutation.
  static SampleRef Mixed(const Lane& lane, std::uint64_t place) noexcept;
  // Adds the sample's block to `opened`, unless an earlier call of OpenOne() has. For samples whose
  // window was not announced.
  void OpenOne(const SampleRef& sample, std::vector<std::uint64_t>& opened);
  bool IsOpen(const Lane& lane, std::uint64_t sample) const noexcept {
    return sample - lane.first < lane.count;  // false if no window is open: count is 0 then
  }
  // Opens the window that holds the lane's sample.
  void EnterWindow(std::uint64_t lane, std::uint64_t sample);
  // Adds the blocks of the lane's open window to `opened`. If `place`, the place in the window
  // where the epoch continues, is not 0, it adds only the blocks that have samples from there on.
  void Announce(std::uint64_t lane, std::uint64_t place, std::vector<std::uint64_t>& opened);
  // The same if samples are partners of others, too: which place comes first says nothing then.
  void AnnounceShared(std::uint64_t lane, std::vector<std::uint64_t>& opened);
  void AnnounceWhole(std::uint64_t lane, std::vector<std::uint64_t>& opened) const;
  // Sets to 0 how often the blocks of the lane's open window are still asked for; adds to that of
  // the block that has a place of the window.
  void ForgetLeft(std::uint64_t lane);
  void AddLeft(std::uint64_t lane, std::uint64_t place, std::uint64_t uses,
               std::vector<std::uint64_t>& opened);
  // The window's places in the body.
  std::uint64_t PlacesInBody(const Lane& lane) const noexcept {
    return std::min(lane.count, body_per_lane_ - lane.first);
  }
  void NoteFollowing(std::uint64_t lane);
  void DropOpened();  // removes windows at the front of following_ that have opened
  // The place in the lane at which that window begins.
  std::uint64_t FirstPlace(std::uint64_t lane, std::uint64_t window) const noexcept;
  std::uint64_t BlockAt(std::uint64_t lane, std::uint64_t place) const noexcept {
    const std::vector<DealtBlock>& dealt = lanes_[lane].dealt;
    return dealt.empty() ? blocks_(place * lanes_.size() + lane) : dealt[place].block;
  }

  const DatasetShape& shape_;
  std::uint64_t window_blocks_;
  std::uint64_t window_key_;
  Permutation blocks_;
  std::uint64_t tail_key_;
  const std::uint64_t uses_;
  const bool shared_;  // LaneOptions::partners
  Partners partners_;
  std::optional<std::uint64_t> begin_;  // the position that was asked for first
  std::vector<Lane> lanes_;
  std::uint64_t body_per_lane_ = 0;
  Permutation tail_;                               // empty until Tail() is called
  std::vector<std::uint64_t> tail_start_;          // where each lane's share of the tail begins
  std::unordered_set<std::uint64_t> tail_opened_;  // the blocks that OpenOne() has added
  // PlaceOfBlock(), by block, if blocks have several sizes; empty until it is called.
  std::vector<LanePlace> places_;
  bool notes_following_ = false;
  std::map<std::uint64_t, Following> following_;  // by the position at which they open
  std::unordered_map<std::uint64_t, std::uint64_t>
      left_;  // block -> samples still to come, if its window was entered in the middle
};

}  // namespace sluice
