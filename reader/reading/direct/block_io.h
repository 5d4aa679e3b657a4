// Reads in flight: begun by one thread, carried out by the kernel or by threads for it.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <memory>

namespace sluice {

struct BlockRead {
  int file = -1;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  std::size_t done = 0;  // less than `bytes` at the file's end, or where there was an error
  int error = 0;         // errno
  void* owner = nullptr;
};

class BlockIo {
 public:
  virtual ~BlockIo() = default;  // nothing is in flight
  // The read stays where it is until Wait() has returned it, and its file open.
  virtual void Submit(BlockRead& read) = 0;
  // One that is finished; at least one is in flight.
  virtual BlockRead& Wait() = 0;
};

// By io_uring; null where this build or the kernel does not have it, or does not let this process
// use it.
std::unique_ptr<BlockIo> MakeUringIo();
// By so many threads that call pread.
std::unique_ptr<BlockIo> MakeThreadIo(unsigned threads);

// Carries out a read in the calling thread.
void ReadNow(BlockRead& read) noexcept;

}  // namespace sluice
