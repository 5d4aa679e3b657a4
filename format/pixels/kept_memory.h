// Memory that is kept from picture to picture.
#pragma once

#include <cstddef>
#include <vector>

namespace sluice {

// Makes room for at least `size` values, whose content is undefined.
template <class Value>
void MakeRoom(std::size_t size, std::vector<Value>& memory) {
  if (memory.size() >= size) return;
  std::vector<Value>().swap(memory);  // so that no old memory is kept, or copied, while it grows
  memory.resize(size);
}

// Frees the memory if it is more than 16 MiB: a picture so large may never come again.
template <class Value>
void FreeLarge(std::vector<Value>& memory) noexcept {
  constexpr std::size_t kMaxKept = std::size_t{16} << 20;
  // Assigning {} would empty it and keep the memory.
  if (memory.capacity() * sizeof(Value) > kMaxKept) std::vector<Value>().swap(memory);
}

}  // namespace sluice
