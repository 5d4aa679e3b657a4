// A JPEG or packed picture taken apart, for a device: what decides how its rows are decoded, and
// the rows. Knows the forms that a device decodes (JpegParcel says which), and no others.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "format/disk/block.h"
#include "format/pixels/baseline/header.h"
#include "format/pixels/packed/layout.h"
#include "reader/device/jpeg_job.h"

namespace sluice {

// What pictures of one form have in common, whatever their size: by component the sampling factors,
// the number of its Huffman tables among the standard's, and the quantisation in natural order.
struct JpegForm {
  std::uint16_t packed = 0;     // or 1: it has no Huffman tables
  std::uint8_t components = 0;  // 1 or 3
  std::uint8_t h[3] = {}, v[3] = {}, table[3] = {};
  std::int16_t quant[3][64] = {};
};
static_assert(std::has_unique_object_representations_v<JpegForm>, "compared as bytes");

// Appends bytes and fills up the last word with zeros. Returns the number of the first word.
std::uint32_t AppendTo(std::vector<std::uint32_t>& words, const void* bytes, std::size_t count);

class JpegParts {
 public:
  // False: it is not of a form that a device decodes. The payload must outlive the rows.
  bool Take(const ImagePayload& payload);
  const JpegForm& form() const noexcept { return form_; }
  // The header of the one kind or the other.
  const baseline::Header& header() const noexcept { return header_; }
  const packed::Header& packed_header() const noexcept { return packed_; }
  // Rows of MCUs, or of all components' blocks.
  std::uint32_t rows() const noexcept {
    return form_.packed != 0 ? packed_.rows() : header_.mcus_down;
  }
  // Appends rows [begin, end), each in whole words and without a JPEG's stuffed zeros; their places
  // count from the beginning of `words`. False if they are not all there. Call it with growing
  // numbers.
  bool AppendRows(std::uint32_t begin, std::uint32_t end, std::vector<std::uint32_t>& words,
                  std::vector<JpegRow>& rows);

 private:
  bool TakeJpeg(const ImagePayload& payload);
  bool TakePacked(const ImagePayload& payload);

  baseline::Header header_;
  packed::Header packed_;
  Bytes payload_;
  JpegForm form_;
  std::vector<std::uint8_t> segment_;
};

}  // namespace sluice
