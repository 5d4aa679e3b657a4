// What a device needs to decode one region of one JPEG (jpeg_job.h): its rows of MCUs as far as the
// region needs them, its quantisation, and the weights of its resampling, which are made here
// because they are floating point. Where and at which size to decode is found as the host's own
// decoder finds it (format/pixels/baseline), so the pixels come out the same.
//
// A parcel takes the form that our writer stores: baseline, a restart marker at each row of MCUs,
// the standard's Huffman tables. Anything else is left to the host, which also decides what is
// broken.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/pixels/axis.h"
#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/mcu_window.h"
#include "format/pixels/decode.h"
#include "reader/device/jpeg_job.h"

namespace sluice {

// The standard's tables, as every job needs them.
JpegTables StandardJpegTables();

// Keeps its memory from picture to picture; one thread at a time.
class JpegParcel {
 public:
  // False: the host must decode the region. `channels`: of the image.
  bool Make(const ImagePayload& payload, const Region& region, std::uint32_t channels);

  // Of the last Make(). Places count from the parcel's own first word, and rows are of picture 0.
  const JpegPicture& picture() const noexcept { return picture_; }
  std::span<const JpegRow> rows() const noexcept { return rows_; }
  std::span<const std::uint32_t> words() const noexcept { return words_; }
  // What the picture needs of a device's scratch memory, in 16 bytes.
  std::uint64_t scratch() const noexcept { return scratch_; }

  // Writes the picture as number `number` of a job, whose words from `at` on are this parcel's.
  void Put(std::uint32_t number, std::uint32_t at, JpegPicture& picture,
           std::span<JpegRow> rows) const noexcept;

 private:
  std::uint32_t Append(const void* bytes, std::size_t count);
  bool FindTables();
  void AddComponent(std::size_t number, const baseline::ComponentWindow& part, bool weighted,
                    bool mirrored);
  JpegAxis AddAxis(const AxisWeights& weights, std::uint32_t first);
  bool AddRows();

  const kernels::Kernels& set_ = kernels::Chosen();
  baseline::Header header_;
  AxisWeights x_[3], y_[3];
  std::vector<std::uint8_t> segment_;
  std::vector<std::uint16_t> firsts_;
  JpegPicture picture_;
  std::vector<JpegRow> rows_;
  std::vector<std::uint32_t> words_;
  std::uint64_t scratch_ = 0;
};

}  // namespace sluice
