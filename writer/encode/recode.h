// JPEGs that become what a shard holds by their coefficients, without pixels: recoded at other
// steps, or packed.
#pragma once

#include <vector>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "format/pixels/baseline/recoder.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/packed/pack.h"

namespace sluice {

// From a JPEG file to the JPEG or packed image that a shard holds, for pictures that keep their
// size: by their coefficients (format/pixels/baseline/recoder.h), which is faster than by pixels
// and rounds once less.
//
// Keeps its memory from picture to picture, except the largest. One thread at a time.
class JpegRecoder {
 public:
  // Takes an upright picture of that size. False if it must be decoded to pixels: if the file is of
  // a kind that only libjpeg reads, or broken, if the result has other components or ones that
  // recoding does not make, or coefficients that baseline has no codes for.
  bool Take(Bytes file, std::uint32_t width, std::uint32_t height, const ConvertOptions& options);

  // To be called once after that. Sets the value to what was taken, in the form that
  // options.form.image says; to a JPEG if it is too large to be packed.
  void Store(FieldValue& value);

 private:
  void FreeMemory();  // what is large

  baseline::Recoder recoder_{kernels::Chosen()};
  baseline::Header header_;
  std::vector<std::int16_t> rows_;  // of MCUs
  bool packs_ = false;              // then the blocks lie here:
  packed::Coefficients packed_;
};

// Turns a value of codec kJpeg into one of codec kPacked. False, with the value unchanged, if the
// file has no packed form: colours other than grey and Y Cb Cr, or unusual sampling. Throws
// Error(kCorrupt) for a broken file.
bool PackJpeg(FieldValue& value, baseline::BlockReader& reader);

}  // namespace sluice
