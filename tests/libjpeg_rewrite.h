// libjpeg's lossless transcoding, for comparison.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::test {

// A baseline JPEG with the file's coefficients, the standard Huffman tables and this restart
// interval (in MCUs; 0: none). Empty if libjpeg cannot read the file without inventing pixels, or
// cannot write the new one.
std::vector<std::byte> RewriteByLibjpeg(std::span<const std::byte> file, std::uint32_t interval);

}  // namespace sluice::test
