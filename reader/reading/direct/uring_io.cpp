// Reads of blocks by io_uring: the kernel works on many at once, without threads. If the ring is
// full or the kernel refuses a read, the calling thread reads; if the kernel completes only a part
// of a read, the rest is submitted again.
#include <cerrno>
#include <vector>

#include <liburing.h>

#include "reader/reading/direct/block_io.h"

namespace sluice {

namespace {

constexpr unsigned kRingEntries = 128;

class UringIo : public BlockIo {
 public:
  // False if the kernel lacks io_uring, if it is too old for reads without a vector (before 5.6),
  // or if a rule of the system forbids io_uring (some rules forbid making rings, others using
  // them).
  bool SetUp() noexcept {
    if (io_uring_queue_init(kRingEntries, &ring_, 0) != 0) return false;
    made_ = true;
    io_uring_probe* const probe = io_uring_get_probe_ring(&ring_);
    if (probe == nullptr) return false;
    const bool reads = io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
    io_uring_free_probe(probe);
    return reads && TryOut();
  }
  ~UringIo() override {
    if (made_) io_uring_queue_exit(&ring_);
  }

  void Submit(BlockRead& read) override {
    io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) {  // the ring is full
      ReadNow(read);
      read_now_.push_back(&read);
      return;
    }
    io_uring_prep_read(entry, read.file, read.to + read.done,
                       static_cast<unsigned>(read.bytes - read.done), read.offset + read.done);
    io_uring_sqe_set_data(entry, &read);
    if (Push()) return;
    // The entry cannot be taken out of the ring, so it must not read when it is submitted later.
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data(entry, nullptr);
    ReadNow(read);
    read_now_.push_back(&read);
  }

  BlockRead& Wait() override {
    for (;;) {
      if (!read_now_.empty()) {
        BlockRead& read = *read_now_.back();
        read_now_.pop_back();
        return read;
      }
      io_uring_cqe* event = nullptr;
      if (io_uring_wait_cqe(&ring_, &event) != 0) continue;  // interrupted by a signal
      auto* const of_event = static_cast<BlockRead*>(io_uring_cqe_get_data(event));
      const int result = event->res;
      io_uring_cqe_seen(&ring_, event);
      if (of_event == nullptr) continue;  // its read was made by the calling thread
      BlockRead& read = *of_event;
      if (result > 0) read.done += static_cast<std::size_t>(result);
      const bool again = result == -EINTR || result == -EAGAIN;
      if (again || (result > 0 && read.done < read.bytes)) {
        Submit(read);  // reads the rest
        continue;
      }
      if (result < 0) read.error = -result;
      return read;
    }
  }

 private:
  // Whether the ring completes an operation that is submitted to it.
  bool TryOut() noexcept {
    io_uring_prep_nop(io_uring_get_sqe(&ring_));
    int result = 0;
    do {
      result = io_uring_submit(&ring_);
    } while (result == -EINTR || result == -EAGAIN);
    if (result != 1) return false;
    io_uring_cqe* event = nullptr;
    do {
      result = io_uring_wait_cqe(&ring_, &event);
    } while (result == -EINTR || result == -EAGAIN);
    if (result != 0) return false;
    io_uring_cqe_seen(&ring_, event);
    return true;
  }

  // Submits what the ring holds. Repeats while the kernel is short of memory or its completion
  // queue is full. Returns false if the kernel refuses.
  bool Push() noexcept {
    while (io_uring_sq_ready(&ring_) > 0) {
      const int submitted = io_uring_submit(&ring_);
      if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
        return false;
      }
    }
    return true;
  }

  io_uring ring_{};
  bool made_ = false;  // the ring exists
  std::vector<BlockRead*> read_now_;
};

}  // namespace

std::unique_ptr<BlockIo> MakeUringIo() {
  auto io = std::make_unique<UringIo>();
  if (!io->SetUp()) return nullptr;
  return io;
}

}  // namespace sluice
