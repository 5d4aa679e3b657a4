// Reading blocks before the decoding threads need them: a stage of its own, in the planner's
// thread.
//
// Blocks are asked for in the order in which they will be needed, and read in that order with so
// many bytes in flight, across batches, so that the device's queue does not run empty at a batch's
// end. What cannot be opened or read is no error here: it shows when a sample is used.
#pragma once

#include <cstdint>

namespace sluice {

class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  // Asks for a block, by number in the dataset. Nothing is read before Begin().
  virtual void Ask(std::uint64_t block) = 0;
  // A block that will be asked for later: has it read in the meantime, where that costs no memory
  // of the process's own. Nobody waits for it. Only while suggestions are taken: where data is
  // there already, they would cost and bring nothing.
  virtual bool TakesSuggestions() const noexcept = 0;
  virtual void Suggest(std::uint64_t block) = 0;
  // Begins to read what has been asked for, as much of it as may be in flight.
  virtual void Begin() = 0;
  // Returns when the first `count` blocks that were ever asked for have been read, or early where
  // the flag that gives up is set.
  virtual void Await(std::uint64_t count) = 0;
  // Forgets what has been asked for and is not read yet.
  virtual void Cancel() = 0;

  std::uint64_t asked() const noexcept { return asked_; }  // blocks, ever
  // Whether more may be asked for without waiting.
  bool HasRoom() const noexcept { return begun_ == asked_ && bytes_in_flight_ < depth_bytes_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  // So many bytes may be in flight.
  std::uint64_t depth_bytes() const noexcept { return depth_bytes_; }
  void SetDepth(std::uint64_t bytes) noexcept { depth_bytes_ = bytes; }

 protected:
  std::uint64_t asked_ = 0;
  std::uint64_t begun_ = 0;     // of these: with all that is wanted of them in flight or read
  std::uint64_t finished_ = 0;  // of these: the first so many are read
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t bytes_read_ = 0;

 private:
  // Enough for the queues of fast disks.
  std::uint64_t depth_bytes_ = std::uint64_t{16} << 20;
};

}  // namespace sluice
