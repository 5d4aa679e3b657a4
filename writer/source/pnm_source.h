// Netpbm's files as a source of pixels: PBM, PGM and PPM (P1 to P6, as text and as bytes) and PAM
// (P7) of grey or RGB, with opacity or without. Of several pictures in a file the first is taken.
#pragma once

#include <optional>
#include <vector>

#include "writer/source/pixel_source.h"

namespace sluice {

class PnmSource : public PixelSource {
 public:
  explicit PnmSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;

 private:
  enum class Coding { kText, kDigits, kBits, kBytes };  // digits: each pixel is one

  void ReadHeader();
  void ReadPamHeader();
  // The next number of a header or of a text's pixels, behind spaces and comments; nullopt at the
  // file's end.
  std::optional<std::uint32_t> NextNumber();
  std::uint32_t HeaderNumber();
  // The next pixel of kDigits, as above.
  std::optional<std::uint32_t> NextDigit();
  // The values of the next row, up to most_. False if the file ends before the row does, whose rest
  // is then zero.
  bool ReadRow(std::vector<std::uint32_t>& row);
  std::uint64_t RowBytes() const noexcept;  // of kBits and kBytes

  Bytes file_;
  std::size_t at_ = 2;
  Coding coding_ = Coding::kBytes;
  std::uint32_t most_ = 1;    // the value of white
  std::uint32_t values_ = 1;  // of a pixel: grey, grey and opacity, RGB, RGBA
};

}  // namespace sluice
