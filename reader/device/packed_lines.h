// Unpacking a line of blocks of a packed picture (FORMAT.md, "Packed"): the joint work of a warp of
// threads of a device, by the rules of the host's decoder (format/pixels/kernels/packed.inc.h).
// The threads read no byte outside the line, whatever the line holds. C++17: nvcc compiles this.
//
// Where a block's masks, values and bytes begin follows from those of all blocks before it. Threads
// take a block each, and find those places by sums over the threads before them.
#pragma once

#include "reader/device/jpeg_entropy.h"
#include "reader/device/jpeg_job.h"

namespace sluice {

// Coefficients that are stored at once.
struct alignas(8) FourCoefficients {
  std::int16_t at[4];
};

// Threads that work together. On the CPU, a single thread stands for all of them.
struct OneThread {
  static constexpr std::uint32_t kThreads = 1;
  std::uint32_t thread() const { return 0; }
  // Returns the sum of the values that threads before this one pass; `all` becomes the sum of all
  // threads' values.
  std::uint32_t SumBefore(std::uint32_t value, std::uint32_t& all) const {
    all = value;
    return 0;
  }
  // After Meet(), each thread sees what the others wrote before they called it.
  void Meet() const {}
};

namespace on_device {

struct PackedLayout {
  const std::uint32_t* words = nullptr;
  const std::uint8_t* bytes = nullptr;  // the line as bytes
  // Where the parts begin: the DC values, the masks of the blocks' lines, the half bytes (values),
  // the bytes for values that are stored as -8 (more), and the large values. The masks of blocks
  // begin at kPackedMasks.
  std::uint32_t dc = 0, masks = 0, values = 0, more = 0, large = 0;
  std::uint32_t large_count = 0;
};

constexpr std::uint32_t kPackedMasks = 4;  // where the masks of blocks begin

// The number of ones in the first `count` bytes of `masks`, which all threads count together.
template <class Threads>
SLUICE_ON_DEVICE std::uint32_t SumOfOnes(const Threads& threads, const std::uint8_t* masks,
                                         std::uint32_t count) {
  std::uint32_t ones = 0, all = 0;
  for (std::uint32_t i = threads.thread(); i < count; i += Threads::kThreads)
    ones += OnesIn(masks[i]);
  threads.SumBefore(ones, all);
  return all;
}

// Finds where the parts of the line begin. Returns false if they do not fit into the line.
template <class Threads>
SLUICE_ON_DEVICE bool FindParts(const Threads& threads, std::uint32_t blocks, std::uint32_t bytes,
                                PackedLayout& line) {
  std::uint64_t needed = kPackedMasks + std::uint64_t{3} * blocks;
  if (needed > bytes) return false;
  line.large_count = line.words[0];
  const std::uint64_t large_bytes = std::uint64_t{4} * line.large_count;
  if (needed + large_bytes > bytes) return false;
  line.large = bytes - static_cast<std::uint32_t>(large_bytes);
  line.dc = kPackedMasks + blocks;
  line.masks = line.dc + 2 * blocks;
  const std::uint32_t mask_bytes = SumOfOnes(threads, line.bytes + kPackedMasks, blocks);
  needed += mask_bytes;
  if (needed + large_bytes > bytes) return false;
  line.values = line.masks + mask_bytes;
  const std::uint32_t value_bytes =
      (SumOfOnes(threads, line.bytes + line.masks, mask_bytes) + 1) / 2;
  line.more = line.values + value_bytes;
  return needed + value_bytes + large_bytes <= bytes;
}

// How many of `count` half bytes are -8, which says that the value follows as a whole byte. The
// first half byte has the number `first` in the line.
SLUICE_ON_DEVICE inline std::uint32_t CountMore(const PackedLayout& line, std::uint32_t first,
                                                std::uint32_t count) {
  constexpr std::uint32_t kEach = 8;  // half bytes of a word
  const std::uint32_t end = first + count;
  std::uint32_t more = 0;
  for (std::uint32_t at = first; at < end;) {
    const std::uint32_t skipped = at % kEach;
    const std::uint32_t taken = end - at < kEach - skipped ? end - at : kEach - skipped;
    const std::uint32_t differs = line.words[at / kEach] ^ 0x88888888U;
    std::uint32_t is = ~(differs | differs >> 1 | differs >> 2 | differs >> 3) & 0x11111111U;
    is >>= 4 * skipped;
    if (taken < kEach) is &= (1U << 4 * taken) - 1;
    more += OnesIn(is);
    at += taken;
  }
  return more;
}

// Where a thread finds the parts of its block.
struct PackedBlock {
  std::uint64_t mask = 0;    // of the coefficients that have a value
  std::uint32_t values = 0;  // where the values begin, in half bytes
  std::uint32_t more = 0;    // where the bytes begin for the values that are stored as -8
};

// Where the parts of the next block begin: the one that the first thread takes next.
struct PackedPlace {
  std::uint32_t masks, values, more;
};

// Finds block `x`, the thread's own; blocks from `end` on count as empty. Moves `at` to the block
// that follows those of all threads.
template <class Threads>
SLUICE_ON_DEVICE PackedBlock FindBlock(const Threads& threads, const PackedLayout& line,
                                       std::uint32_t x, std::uint32_t end, PackedPlace& at) {
  PackedBlock block;
  const std::uint32_t lines = x < end ? line.bytes[kPackedMasks + x] : 0;
  std::uint32_t all = 0;
  const std::uint8_t* of_line = line.bytes + at.masks + threads.SumBefore(OnesIn(lines), all);
  at.masks += all;
  SLUICE_UNROLL
  for (std::uint32_t v = 0; v < 8; ++v)
    if ((lines >> v & 1) != 0) block.mask |= std::uint64_t{*of_line++} << 8 * v;
  const std::uint32_t count = OnesIn(block.mask);
  block.values = at.values + threads.SumBefore(count, all);
  at.values += all;
  block.more = at.more + threads.SumBefore(CountMore(line, block.values, count), all);
  at.more += all;
  return block;
}

// Stores the block's coefficients of the lowest frequencies, 1 << size_log2 on each axis.
SLUICE_ON_DEVICE inline void StoreBlock(const PackedLayout& line, const PackedBlock& block,
                                        std::uint32_t x, std::uint32_t size_log2,
                                        std::int16_t* to) {
  const std::uint32_t side = 1U << size_log2;
  for (std::uint32_t i = 0; i < side * side / 4; ++i)
    reinterpret_cast<FourCoefficients*>(to)[i] = {};
  std::uint64_t mask = block.mask;
  if (size_log2 < 3) mask &= (std::uint64_t{1} << 8 * side) - 1;  // later lines are not needed
  std::uint32_t more = block.more, word = 0;
  for (std::uint32_t at = block.values; mask != 0; mask &= mask - 1, ++at) {
    if (at == block.values || at % 8 == 0) word = line.words[at / 8] >> 4 * (at % 8);
    const std::uint32_t half = word & 15;
    word >>= 4;
    const auto value = half == 8
                           ? static_cast<std::int8_t>(line.bytes[more++])
                           : static_cast<std::int8_t>(static_cast<std::int32_t>(half << 28) >> 28);
    const std::uint32_t place = LowestOne(mask);
    const std::uint32_t u = place & 7, v = place >> 3;
    if (u < side) to[(v << size_log2) + u] = value;
  }
  const std::uint8_t* const dc = line.bytes + line.dc + 2 * x;
  to[0] = static_cast<std::int16_t>(dc[0] | dc[1] << 8);
}

// An entry of the list of large values, as a number that grows along the list.
SLUICE_ON_DEVICE inline std::uint32_t LargeAt(const PackedLayout& line, std::uint32_t i) {
  const std::uint8_t* const entry = line.bytes + line.large + 4 * i;
  return static_cast<std::uint32_t>(entry[0] << 8 | entry[1] << 16 | entry[2]);
}

// Whether the list of large values is in order, so that it names no coefficient twice.
template <class Threads>
SLUICE_ON_DEVICE bool LargeInOrder(const Threads& threads, const PackedLayout& line) {
  std::uint32_t wrong = 0, all = 0;
  for (std::uint32_t i = threads.thread(); i < line.large_count; i += Threads::kThreads) {
    const std::uint32_t entry = LargeAt(line, i);
    if ((entry & 255) > 63 || (i > 0 && LargeAt(line, i - 1) >= entry)) ++wrong;
  }
  threads.SumBefore(wrong, all);
  return all == 0;
}

// Adds the large values of the blocks [left, right), which lie side by side from `to` on.
template <class Threads>
SLUICE_ON_DEVICE void AddLarge(const Threads& threads, const PackedLayout& line, std::uint32_t left,
                               std::uint32_t right, std::uint32_t size_log2, std::int16_t* to) {
  for (std::uint32_t i = threads.thread(); i < line.large_count; i += Threads::kThreads) {
    const std::uint32_t entry = LargeAt(line, i);
    const std::uint32_t x = entry >> 8, u = entry & 7, v = entry >> 3 & 7;
    if (x < left || x >= right || (u | v) >> size_log2 != 0) continue;
    const auto times = static_cast<std::int8_t>(line.bytes[line.large + 4 * i + 3]);
    std::int16_t& place = to[(std::uint64_t{x - left} << 2 * size_log2) + (v << size_log2) + u];
    place = static_cast<std::int16_t>(place + times * 256);
  }
}

}  // namespace on_device

// Unpacks a line of blocks into coefficients. Returns false if the line breaks a rule: then the
// host must decode the picture, and finds out whether it is broken. All threads return the same.
template <class Threads>
SLUICE_ON_DEVICE bool UnpackPackedLine(const Threads& threads, const JpegJob& job,
                                       const CodedLine& stored) {
  const JpegPicture& picture = job.pictures[stored.picture];
  std::uint32_t c = 0, y = stored.number;
  while (y >= picture.component[c].down)  // lines are those of all components, one after another
    y -= picture.component[c++].down;
  const JpegComponent& component = picture.component[c];
  const std::uint32_t left = component.first_block, right = left + component.across;
  const std::uint32_t size_log2 = component.size_log2;
  std::int16_t* const to = CoefficientsOf(job, picture, component) +
                           (std::uint64_t{y} * component.across << 2 * size_log2);
  on_device::PackedLayout line;
  line.words = LineWordsOf(job, picture) + stored.at;
  line.bytes = reinterpret_cast<const std::uint8_t*>(line.words);
  if (!on_device::FindParts(threads, component.line_blocks, stored.bytes, line) ||
      !on_device::LargeInOrder(threads, line)) {
    return false;
  }
  on_device::PackedPlace at{line.masks, 2 * line.values, line.more};
  for (std::uint32_t first = 0; first < right; first += Threads::kThreads) {
    const std::uint32_t x = first + threads.thread();
    const on_device::PackedBlock block = on_device::FindBlock(threads, line, x, right, at);
    if (at.more > line.large) return false;
    if (x >= left && x < right)
      on_device::StoreBlock(line, block, x, size_log2,
                            to + (std::uint64_t{x - left} << 2 * size_log2));
  }
  threads.Meet();
  on_device::AddLarge(threads, line, left, right, size_log2, to);
  return true;
}

}  // namespace sluice
