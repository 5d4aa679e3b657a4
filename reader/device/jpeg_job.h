// JPEG pictures whose lines of MCUs are decoded on a device: what the host hands over, and the
// places where the device works. jpeg_parcel.h makes the host's part; axis_weights.h,
// jpeg_entropy.h, jpeg_blocks.h and jpeg_pixels.h are the device's work, in that order. A packed
// picture is a JPEG in another form: packed_lines.h unpacks its lines of blocks in place of
// jpeg_entropy.h. A raw picture in memory that the device reads is also part of a job: raw_pixels.h
// does all the work on it. C++17: nvcc compiles this.
//
// The host has checked all numbers. Only the coded bytes are not checked, and may have any value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/pixels/kernels/weight_rule.h"
#include "reader/transform/on_device.h"

namespace sluice {

// A line of MCUs, or one of the equal parts of it between two restart markers, without stuffed
// zeros. Of a packed picture: a line of a component's blocks, as it is stored.
struct CodedLine {
  std::uint32_t picture = 0;  // among the job's pictures
  std::uint32_t number = 0;   // the part's number in the picture; packed: among the needed lines
  std::uint32_t at = 0;     // the line's first word, among the job's words or the stored picture's
  std::uint32_t bytes = 0;  // zeros fill up the last word
};

// Weighted sums along an axis. The device makes the weights first (axis_weights.h). `at` counts
// units of 16 bytes in the picture's part of the scratch memory. There lie the first sample of each
// output, then each output's weights, in units of 1/65536. Each is a 16-bit number.
struct JpegAxis {
  kernels::WeightRule rule;  // without taps there is nothing to weight
  std::uint32_t at = 0;
  std::uint32_t first = 0;  // added to each output's first sample, to give its number in the plane
  bool shared = false;      // another axis makes these weights: Cr uses Cb's
};

struct JpegComponent {
  std::uint32_t across = 1, down = 1;  // blocks of an MCU
  std::uint32_t size_log2 = 3;         // a block becomes 8, 4, 2 or 1 samples square
  std::uint32_t table = 0;             // 0 for luminance, 1 for chrominance: in JpegTables
  // The index, in the job's words, of the quantisation's 64 factors of 16 bits, in natural order.
  std::uint32_t quant = 0;
  // For a packed picture: the number of blocks in a stored line, and the first one that is needed.
  std::uint32_t line_blocks = 0, first_block = 0;
  // Where its data lies in its picture's part of the scratch memory, in units of 16 bytes: the
  // coefficients that its samples need, block after block; and the samples, line by line.
  std::uint32_t coefficients = 0, samples = 0;
  JpegAxis x, y;
};

// The raw pixels of a picture, channel next to channel, and how they become an image. If an axis
// has no taps, pixels are copied unchanged, from the axis's `first` on.
struct RawPicture {
  std::uint32_t width = 0;  // pixels of a line; 0: the picture is compressed
  JpegAxis x, y;
  // The part of the image that shows the picture. The border around it mirrors it (`reflect`) or
  // has the colour `fill`.
  std::uint32_t left = 0, top = 0;
  std::uint32_t columns = 0, lines = 0;
  // Reverses the copied pixels of each line. (Resampled ones need nothing: the weights of `x` are
  // made in reversed order.)
  bool flip = false;
  bool reflect = false;
  std::uint8_t fill[3] = {};
};

// Each component of a packed picture needs some of its own blocks, not whole MCUs. So such a
// picture counts as one MCU that holds just the needed blocks.
struct JpegPicture {
  std::uint32_t components = 0;  // 1 or 3; 0: nothing is to be done here
  bool packed = false;
  // Where its lines, or its raw pixels, lie in memory that the device reads; null: lines are among
  // the job's words.
  const std::byte* stored = nullptr;
  std::uint32_t parts = 1, part_mcus = 0;  // the parts of a line of MCUs, and the MCUs of a part
  std::uint32_t left = 0, top = 0, right = 0, bottom = 0;  // MCUs that are needed
  std::uint32_t first_line = 0, lines = 0;                 // for the host: its lines in the job
  std::uint32_t scratch = 0;  // where its part of the scratch memory begins, in units of 16 bytes
  bool flip_y = false;        // the last line first
  JpegComponent component[3];
  RawPicture raw;
};

// The standard's Huffman codes (T.81, K.3), and the meanings of their symbols. A thread looks up a
// symbol by the next 16 bits of the line. Codes of up to 9 bits are found by the first 9 of them.
// Longer codes are found by all 16; they begin with so many ones that they need few entries.
struct JpegTables {
  static constexpr std::uint32_t kShortBits = 9;
  static constexpr std::uint32_t kFirstLong = 0xFD80;  // 16 bits from this on begin a longer code
  static constexpr std::uint32_t kShort = kFirstLong >> (16 - kShortBits);
  static constexpr std::uint32_t kEntries = kShort + (0x10000 - kFirstLong);
  // An entry: the length of the code; the number of bits of the value that follows it; and the
  // number of coefficients that the symbol skips, that of the value included. The end of a block
  // skips kEnd coefficients, and bits that are not a code skip kNoCode. The position in the block
  // is -1 at first, and each symbol adds what it skips. kEnd (AC codes only) always leads to kEnd
  // or more; kNoCode always leads to 64 or more, but below kEnd. So the position tells them apart.
  static constexpr std::uint32_t kEnd = 128, kNoCode = 65;
  static constexpr std::uint32_t Entry(std::uint32_t length, std::uint32_t bits,
                                       std::uint32_t skipped) {
    return skipped << 16 | bits << 8 | length;
  }
  static constexpr SLUICE_ON_DEVICE std::uint32_t IndexOf(std::uint32_t next) {
    return next < kFirstLong ? next >> (16 - kShortBits) : next - (kFirstLong - kShort);
  }
  std::uint32_t dc[2][kEntries], ac[2][kEntries];
  // Where in a block the coefficient is kept, by the size of the block and the position in the
  // order of coding. Entry kNone keeps nothing.
  static constexpr std::uint32_t kNone = 4, kNowhere = 255;
  std::uint8_t place[kNone + 1][64];
};

// Some pictures of a batch, which all become images of one size: the part of the work that differs
// from batch to batch.
struct JpegWave {
  std::uint32_t first_picture = 0, picture_count = 0;
  // The lines of those pictures: first lines of MCUs, then those of packed pictures. There may be
  // none of either.
  std::uint32_t first_line = 0, line_count = 0, packed_count = 0;
  std::uint32_t width = 0, height = 0;
  bool planar = false;         // channel after channel, not pixel after pixel
  std::uint8_t* to = nullptr;  // the image of the first picture; the others follow
};

// The work on a wave. All pointers are to device memory, even `wave`: the device reads the wave
// when the work begins. So the same job, noted once as a graph, serves one batch after another.
struct JpegJob {
  const JpegWave* wave = nullptr;
  const JpegPicture* pictures = nullptr;
  const CodedLine* lines = nullptr;
  const std::uint32_t* words = nullptr;  // CodedLine::at and JpegComponent::quant are indices of it
  const JpegTables* tables = nullptr;
  std::byte* scratch = nullptr;     // 16-byte aligned
  std::uint32_t* broken = nullptr;  // by picture: is increased for each line that breaks a rule
  std::uint32_t channels = 3;       // 1 or 3
  // The most that a wave can have. Threads for that many start; those without work end at once.
  std::uint32_t most_pictures = 0, most_lines = 0, most_packed = 0;
  std::uint64_t most_pixels = 0;  // pixels of the largest image
};

// Coefficients that are read or written at once.
struct alignas(16) EightCoefficients {
  std::int16_t at[8];
};

// The numbers of blocks across and down the needed part of a component.
SLUICE_ON_DEVICE inline std::uint32_t BlocksAcross(const JpegPicture& picture,
                                                   const JpegComponent& component) {
  return (picture.right - picture.left) * component.across;
}
SLUICE_ON_DEVICE inline std::uint32_t BlocksDown(const JpegPicture& picture,
                                                 const JpegComponent& component) {
  return (picture.bottom - picture.top) * component.down;
}
SLUICE_ON_DEVICE inline std::int16_t* CoefficientsOf(const JpegJob& job, const JpegPicture& picture,
                                                     const JpegComponent& component) {
  return reinterpret_cast<std::int16_t*>(
      job.scratch + 16 * (std::uint64_t{picture.scratch} + component.coefficients));
}
SLUICE_ON_DEVICE inline std::uint16_t* BeginsOf(const JpegJob& job, const JpegPicture& picture,
                                                const JpegAxis& axis) {
  return reinterpret_cast<std::uint16_t*>(job.scratch +
                                          16 * (std::uint64_t{picture.scratch} + axis.at));
}
SLUICE_ON_DEVICE inline std::uint8_t* SamplesOf(const JpegJob& job, const JpegPicture& picture,
                                                const JpegComponent& component) {
  return reinterpret_cast<std::uint8_t*>(job.scratch +
                                         16 * (std::uint64_t{picture.scratch} + component.samples));
}

}  // namespace sluice
