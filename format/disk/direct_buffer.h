// Memory out of which files are written past the page cache (O_DIRECT), used again from file to
// file. It also keeps what was found out about the file system.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace sluice {

class DirectBuffer {
 public:
  // Of addresses, offsets and sizes: no file system wants more than a page.
  static constexpr std::size_t kAlignment = 4096;
  // What is written at a time: as much as a disk needs for its full speed, and little enough for
  // the threads that encode to go on meanwhile with what they may have ready.
  static constexpr std::size_t kBytes = 1 << 20;

  std::span<std::byte> memory() const noexcept { return {memory_.get(), kBytes}; }

  // Whether a file system has refused to take an aligned write. Files are then written through its
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
