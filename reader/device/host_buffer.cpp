#include "reader/device/host_buffer.h"

#include <new>
#include <utility>

#include <sys/mman.h>

#include "reader/device/device_driver.h"

namespace sluice {

HostBuffer::HostBuffer(std::size_t bytes, std::shared_ptr<DeviceDriver> driver)
    : bytes_(bytes), driver_(std::move(driver)) {
  if (bytes == 0) return;
  if (driver_ != nullptr) {
    data_ = driver_->AllocatePinned(bytes);
    return;
  }
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // If the kernel gives huge pages, the first epoch has 512 times fewer page faults.
  madvise(memory, bytes, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(memory);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      driver_(std::move(other.driver_)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(driver_, other.driver_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (data_ == nullptr) return;
  if (driver_ != nullptr) {
    driver_->FreePinned(data_);
  } else {
    munmap(data_, bytes_);
  }
}

}  // namespace sluice
