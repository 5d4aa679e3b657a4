// Asynchronous reads: one thread submits them, the kernel or helper threads do them.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <memory>

namespace sluice {

// A read of a part of a file into memory.
struct BlockRead {
  int file = -1;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  std::size_t done = 0;   // less than `bytes` at the file's end, or after an error
  int error = 0;          // errno, or 0
  void* owner = nullptr;  // for the caller's use
};

class BlockIo {
 public:
  virtual ~BlockIo() = default;  // no read may be in flight
  // `read` must not move, and its file must stay open, until Wait() has returned it.
  virtual void Submit(BlockRead& read) = 0;
  // Waits for a read to finish and returns it. At least one must be in flight.
  virtual BlockRead& Wait() = 0;
};

// Reads by io_uring; null if this build or the kernel lacks it, or the system forbids it to this
// process.
std::unique_ptr<BlockIo> MakeUringIo();
// Reads by that many threads that call pread.
std::unique_ptr<BlockIo> MakeThreadIo(unsigned threads);

// Does a read on the calling thread.
void ReadNow(BlockRead& read) noexcept;

}  // namespace sluice
