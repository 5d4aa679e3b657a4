// Splits baseline JPEG files into coefficients and makes files from coefficients, through libjpeg:
// for the seeds and mutations of targets, and to judge differences.
#pragma once

#include <cstdint>
#include <vector>

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

inline constexpr std::size_t kBlockSize = 64;

// One or three components; the last two have sampling factors of 1.
struct JpegContent {
  struct Component {
    int h = 1, v = 1;                        // sampling factors
    std::uint32_t across = 0, down = 0;      // blocks, including those that fill the last MCUs
    std::vector<std::int16_t> coefficients;  // block by block, natural order
    std::uint16_t quant[kBlockSize] = {};    // natural order
    std::int16_t* Block(std::uint32_t x, std::uint32_t y) {
      return &coefficients[(std::size_t{y} * across + x) * kBlockSize];
    }
  };
  std::uint32_t width = 0, height = 0;
  std::vector<Component> components;

  // Gives every component the blocks that the picture's size needs, with coefficients of zero.
  void LayOut();
};

enum class TableKind { kStandard, kOptimised, kAny };

struct JpegCoding {
  std::uint32_t restart_interval = 0;
  TableKind tables = TableKind::kStandard;
  std::uint64_t seed = 0;  // of tables of the kind kAny
};

// Returns false if libjpeg refuses the file or would make up pixels, if the picture has more than
// 2^22 pixels, or if it has components that JpegContent does not allow.
bool ReadContent(Bytes file, JpegContent& content);

// Coefficients are clamped to +-1023, for which 8-bit coding always has a code.
Input WriteContent(const JpegContent& content, const JpegCoding& coding);

// A small picture of random coefficients. The stream determines sampling, size, quantisation, and
// the number and size of coefficients.
JpegContent AnyContent(RandomStream& random);

// Changes some coefficients, a quantisation table, or the picture's size.
void ChangeContent(JpegContent& content, RandomStream& random);

// Chooses any way of coding.
JpegCoding AnyCoding(RandomStream& random);

}  // namespace sluice::fuzz
