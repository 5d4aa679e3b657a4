// Makes a baseline JPEG file from samples or coefficients: a line of MCUs as blocks of coefficients
// (McuLine), the transform from samples to such lines (LineTransform), and the file (FileWriter).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "format/pixels/baseline/header.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

inline constexpr std::size_t kCoefficients = 64;

// A line of MCUs as blocks of coefficients: each MCU's blocks in turn, as a scan codes them. The
// coefficients of a block are in zigzag order.
class McuLine {
 public:
  // `header`: its sizes are derived (DeriveSizes()).
  explicit McuLine(const Header& header) noexcept;

  // Blocks, and values, of an MCU.
  std::uint32_t blocks() const noexcept { return first_[components_]; }
  std::size_t mcu_values() const noexcept { return blocks() * kCoefficients; }
  // Values of the whole line.
  std::size_t values() const noexcept { return mcus_ * mcu_values(); }

  // Blocks of a component that hold pixels.
  std::uint32_t across(std::uint32_t c) const noexcept { return part_[c].across; }
  std::uint32_t down(std::uint32_t c) const noexcept { return part_[c].down; }
  // Where the component's block (x, y) of the line begins; y counts from the line's top.
  std::size_t PlaceOf(std::uint32_t c, std::uint32_t x, std::uint32_t y) const noexcept {
    const Part& part = part_[c];
    return x / part.h * mcu_values() + (first_[c] + y * part.h + x % part.h) * kCoefficients;
  }

  // Where a component's blocks that hold pixels go. InLines(): into lines of MCUs, one line after
  // another. InPlane(): one block after another, line by line.
  kernels::BlockPlaces InLines(std::uint32_t c, std::int16_t* lines) const noexcept;
  kernels::BlockPlaces InPlane(std::uint32_t c, std::int16_t* blocks) const noexcept;

  // Fills the blocks at the right and bottom edges that hold no pixels, as libjpeg does: they get
  // the previous block's DC coefficient, which takes the fewest bits. `line` counts from the
  // picture's top.
  void FillEdges(std::uint32_t line, std::int16_t* blocks) const noexcept;

 private:
  struct Part {
    std::uint32_t h = 1, v = 1;          // blocks of an MCU, across and down
    std::uint32_t across = 0, down = 0;  // blocks of the picture that hold pixels
  };
  std::uint32_t components_, mcus_;  // mcus_: how many the line has
  Part part_[3];
  std::uint32_t first_[4] = {};  // each component's first block in an MCU
};

// The numbers by which forward transforms divide.
//
// A step q, of 255 at most, lies in [2^b, 2^(b + 1)). The reciprocal is 2^(15 + b) / q, rounded up,
// and the scale is 2^(14 - b). A transform multiplies x by both and divides by 2^16 after each
// multiplication, so it gets x * reciprocal / 2^(18 + b). For x below 2^14, this has the same whole
// part as x / 8q.
inline kernels::ForwardSteps MakeForwardSteps(const std::int16_t* quant) noexcept {
  kernels::ForwardSteps steps;
  for (std::size_t i = 0; i < std::size(steps.half); ++i) {
    const auto step = static_cast<std::uint32_t>(quant[i]);
    const auto log2 = static_cast<std::uint32_t>(std::bit_width(step)) - 1;
    steps.half[i] = static_cast<std::uint16_t>(step * 4);
    steps.reciprocal[i] = static_cast<std::uint16_t>(((1U << (15 + log2)) + step - 1) / step);
    steps.scale[i] = static_cast<std::uint16_t>(1U << (14 - log2));
  }
  return steps;
}

// Turns samples into coefficients, a line of MCUs at a time: forward transform and quantisation, to
// the values that libjpeg-turbo's accurate integer transform gives.
class LineTransform {
 public:
  // `header`: its sizes are derived, and it has the components' steps.
  LineTransform(const kernels::Kernels& set, const Header& header);

  // width(): the samples of a component's line, rounded up to whole blocks. lines(): the lines of
  // samples in a line of MCUs.
  std::size_t width(std::uint32_t c) const noexcept { return std::size_t{line_.across(c)} * 8; }
  std::uint32_t lines(std::uint32_t c) const noexcept { return parts_[c].lines; }
  // Room for width() samples, all of which must be written for each line.
  std::uint8_t* Line(std::uint32_t c, std::uint32_t line) noexcept {
    Part& part = parts_[c];
    return part.samples.data() + line * part.stride;
  }

  // The line's blocks, including those that hold no pixels; valid until the next call. `line`
  // counts from the picture's top.
  const std::int16_t* Run(std::uint32_t line);
  // Like Run(), but writes only the blocks that hold pixels, to the plane of each component, line
  // by line, in natural order.
  void RunPlanes(std::uint32_t line, std::int16_t* const* planes) const;

 private:
  struct Part {
    std::uint32_t h = 1, lines = 0;
    std::size_t stride = 0;
    std::vector<std::uint8_t> samples;
    kernels::ForwardSteps steps;
  };

  const kernels::Kernels& set_;
  const McuLine line_;
  std::uint32_t components_;
  Part parts_[3];
  std::vector<std::int16_t> blocks_;
};

// Writes a baseline JPEG with the standard's Huffman tables from lines of MCUs (McuLine): the same
// bytes as libjpeg-turbo writes for these coefficients.
class FileWriter {
 public:
  // `header`: its sizes are derived, and it has the component ids, steps and restart interval to
  // write.
  FileWriter(const kernels::Kernels& set, const Header& header);

  // The next line of MCUs. Its coefficients must be ones that baseline has codes for: DC from -1024
  // to 1023, others from -1023 to 1023.
  void Add(const std::int16_t* blocks);
  // The file, once all lines are there.
  std::vector<std::byte> Finish();

 private:
  void EndSegment();
  void TakeBytes();

  const kernels::Kernels& set_;
  const McuLine line_;
  const std::uint32_t mcus_across_, restart_interval_;
  kernels::CodeJob job_;
  std::vector<std::uint8_t> coded_;  // without stuffing
  std::uint32_t in_segment_ = 0;     // MCUs since the last restart marker
  std::uint32_t markers_ = 0;        // restart markers written
  std::vector<std::byte> file_;
};

// Makes the file of a picture from all its lines of MCUs, one after another. Only the blocks that
// hold pixels need be set; the others are filled in here.
std::vector<std::byte> WriteFile(const kernels::Kernels& set, const Header& header,
                                 std::int16_t* lines);

}  // namespace sluice::baseline
