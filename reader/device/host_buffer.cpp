#include "reader/device/host_buffer.h"

#include <new>

#include <sys/mman.h>

#include "reader/device/device_driver.h"

namespace sluice {

HostBuffer::HostBuffer(std::size_t bytes, std::shared_ptr<DeviceDriver> driver) : bytes_(bytes) {
  if (bytes == 0) return;
  if (driver != nullptr) {
    std::byte* const pinned = driver->AllocatePinned(bytes);
    memory_.reset(pinned, [driver](std::byte* memory) { driver->FreePinned(memory); });
    return;
  }
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // If the kernel gives huge pages, the first epoch has 512 times fewer page faults.
  madvise(memory, bytes, MADV_HUGEPAGE);
  memory_.reset(static_cast<std::byte*>(memory),
                [bytes](std::byte* mapped) { munmap(mapped, bytes); });
}

}  // namespace sluice
