// Host memory: the amount that is left, and page-aligned buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <sluice/loader_memory.h>

namespace sluice {

// Page-aligned memory for batches, blocks and decoded pictures.
class HostBuffer {
 public:
  HostBuffer() = default;
  // Zeroed memory. Throws std::bad_alloc.
  explicit HostBuffer(std::size_t bytes);
  // Takes over zeroed memory that something else allocated, such as page-locked memory.
  HostBuffer(std::shared_ptr<std::byte> memory, std::size_t bytes) noexcept
      : memory_(std::move(memory)), bytes_(bytes) {}
  HostBuffer(HostBuffer&& other) noexcept
      : memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, 0)) {}
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const noexcept { return memory_.get(); }
  std::size_t size() const noexcept { return bytes_; }

  // Keeps the memory alive for as long as the result lives, even if the buffer is destroyed.
  std::shared_ptr<const void> Share() const noexcept { return memory_; }
  bool is_shared() const noexcept { return memory_.use_count() > 1; }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace sluice
