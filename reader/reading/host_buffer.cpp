#include "reader/reading/host_buffer.h"

#include <new>

#include <sys/mman.h>

namespace sluice {

HostBuffer::HostBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // If the kernel gives huge pages, the first epoch has 512 times fewer page faults.
  madvise(memory, bytes, MADV_HUGEPAGE);
  memory_.reset(static_cast<std::byte*>(memory),
                [bytes](std::byte* mapped) { munmap(mapped, bytes); });
}

}  // namespace sluice
