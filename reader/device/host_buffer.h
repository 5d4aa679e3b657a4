// Memory for batches: page-aligned, taken once, page-locked if asked.
#pragma once

#include <cstddef>

namespace sluice {

class HostBuffer {
 public:
  HostBuffer() = default;
  // Zeroed memory. Throws std::bad_alloc, and Error(kUnsupported) where page-locked memory is asked
  // for and this build or this machine cannot give it.
  HostBuffer(std::size_t bytes, bool pinned);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  ~HostBuffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool pinned_ = false;
};

}  // namespace sluice
