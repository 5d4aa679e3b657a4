// libjpeg's lossless transcoding, for comparison.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::test {

// The file's coefficients as baseline with the standard Huffman tables and this restart interval,
// in MCUs. Empty if libjpeg cannot read the file without making pixels up, or cannot write it.
std::vector<std::byte> RewriteByLibjpeg(std::span<const std::byte> file, std::uint32_t interval);

}  // namespace sluice::test
