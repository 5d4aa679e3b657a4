// Memory for batches: page-aligned, allocated once, page-locked if a device driver gives it.
#pragma once

#include <cstddef>
#include <memory>

namespace sluice {

class DeviceDriver;

class HostBuffer {
 public:
  HostBuffer() = default;
  // Zeroed memory: page-locked, from `driver`, which it keeps; if null, ordinary memory. Throws
  // std::bad_alloc, and what the driver throws.
  explicit HostBuffer(std::size_t bytes, std::shared_ptr<DeviceDriver> driver = nullptr);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<DeviceDriver> driver_;
};

}  // namespace sluice
