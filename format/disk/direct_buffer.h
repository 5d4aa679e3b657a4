// A buffer from which files are written past the page cache (O_DIRECT), reused from file to file.
// It also remembers whether the file system refused.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace sluice {

class DirectBuffer {
 public:
  // The alignment of addresses, offsets and sizes: no file system needs more than a page.
  static constexpr std::size_t kAlignment = 4096;
  // The size of a write: large enough for a disk's full speed, and small enough that the encoding
  // threads have room to go on meanwhile.
  static constexpr std::size_t kBytes = 1 << 20;

  std::span<std::byte> memory() const noexcept { return {memory_.get(), kBytes}; }

  // Whether a file system has refused an aligned write. Files are then written through the page
  // cache.
  bool refused() const noexcept { return refused_; }
  void Refuse() noexcept { refused_ = true; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<std::byte, Free> memory_{
      static_cast<std::byte*>(::operator new (kBytes, std::align_val_t{kAlignment}))};
  bool refused_ = false;
};

}  // namespace sluice
