#include "reader/device/host_buffer.h"

#include <new>
#include <utility>

#include <sys/mman.h>

#include "reader/device/pinned_memory.h"

namespace sluice {

HostBuffer::HostBuffer(std::size_t bytes, bool pinned) : bytes_(bytes), pinned_(pinned) {
  if (bytes == 0) return;
  if (pinned) {
    data_ = AllocatePinned(bytes);
    return;
  }
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Large pages make the first epoch's page faults 512 times fewer, where the kernel gives them.
  madvise(memory, bytes, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(memory);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      pinned_(other.pinned_) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(pinned_, other.pinned_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (data_ == nullptr) return;
  if (pinned_) {
    FreePinned(data_);
  } else {
    munmap(data_, bytes_);
  }
}

}  // namespace sluice
