// serve_bounded FILES...: prints how often a Preprocess allocates memory while it makes rows of the
// files for the third time, the number of files, and how many of them were faulty. It counts calls
// of operator new.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <vector>

#include <sluice/image_file.h>
#include <sluice/preprocess.h>

namespace {
std::atomic<unsigned> taken{0};
}

void* operator new(std::size_t bytes) {
  taken.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  taken.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

int main(int count, char** names) {
  std::vector<std::vector<std::byte>> files;
  for (int i = 1; i < count; ++i) {
    std::ifstream in(names[i], std::ios::binary);
    const std::vector<char> content{std::istreambuf_iterator<char>(in), {}};
    const auto* const first = reinterpret_cast<const std::byte*>(content.data());
    files.emplace_back(first, first + content.size());
  }
  const std::vector<std::span<const std::byte>> all(files.begin(), files.end());
  const sluice::Preprocess preprocess("short:48,center:32,blur:5/1/1,normalize",
                                      {.image_files = sluice::ImageFileReader, .threads = 1});
  std::vector<std::byte> rows(files.size() * preprocess.row_bytes());
  std::size_t faults = 0;
  const auto serve = [&] {
    faults += preprocess.Rows(all, rows).size();
    for (const std::span<const std::byte> file : all)
      preprocess.Row(file, std::span(rows).first(preprocess.row_bytes()));
  };
  serve();
  serve();
  taken = 0;
  serve();
  std::printf("%u times, for %zu files with %zu faults\n", taken.load(), files.size(), faults);
}
