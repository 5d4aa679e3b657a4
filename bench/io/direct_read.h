// Reads files past the page cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>

#include "format/disk/file.h"

namespace sluice::bench {

// Aligned memory, as such reads need.
struct AlignedBuffer {
  static constexpr std::size_t kAlignment = 4096;
  // `bytes`: a multiple of kAlignment.
  explicit AlignedBuffer(std::size_t bytes)
      : data(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)), std::free) {
    if (data == nullptr) throw std::bad_alloc();
  }
  std::unique_ptr<std::byte, void (*)(void*)> data;
};

// Opens the file for reads past the page cache. If its file system does not support that (one in
// memory, say), opens it for ordinary reads, and `direct` becomes false. Throws Error(kIo).
FileHandle OpenDirect(const std::filesystem::path& path, bool& direct);

// Reads up to `bytes`; fewer only at the file's end. Throws Error(kIo).
std::size_t ReadAt(int file, std::byte* to, std::size_t bytes, std::uint64_t offset,
                   const std::filesystem::path& path);

}  // namespace sluice::bench
