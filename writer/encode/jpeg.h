// The JPEG files and packed images that shards hold: encoded from pixels; or, without pixels, from
// the coefficients of a JPEG, which are kept, recoded at other steps, or packed.
#pragma once

#include <optional>
#include <vector>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/recoder.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/packed/pack.h"
#include "writer/source/images/jpeg.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

inline constexpr std::uint32_t kMaxJpegSide = 65'500;  // libjpeg's

// The header, sizes derived, of the file that EncodeJpeg() makes of a picture.
baseline::Header StoredHeader(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                              const ConvertOptions& options);

// A baseline file with the standard Huffman tables, so that readers need not build other tables;
// with `quality`, `subsampling` and `restart_rows` from the options. Grey pictures have one
// component; one in Y Cb Cr is stored as it is, so `subsampling` must be k420. Throws Error(kLimit)
// for a side above kMaxJpegSide.
std::vector<std::byte> EncodeJpeg(const Picture& picture, const ConvertOptions& options);

// The packed form of that file; nothing if it is too large to have one.
std::optional<std::vector<std::byte>> EncodePacked(const Picture& picture,
                                                   const ConvertOptions& options);

// Sets the value to the picture in that form if options.form.image is kPacked and there is one,
// else to the file.
void EncodeInto(const Picture& picture, const ConvertOptions& options, FieldValue& value);

// Keeps a JPEG's coefficients: the same picture, bit for bit, in a file made for partial decoding.
//
// `file`, whose header `source` has, rewritten as baseline, with standard Huffman tables, restart
// markers and no metadata, and turned upright if its orientation asks for it and whole blocks allow
// it. nullopt if that would need decoding: CMYK and RGB-coded files, grey ones if `channels` is 3
// and the reverse, unusual sampling, tables that do not fit baseline. Throws Error, like
// JpegSource, for a broken file.
//
// Our own decoder reads baseline files, which most are; libjpeg reads the others.
std::optional<FieldValue> KeepJpeg(const JpegFile& file, const JpegSource& source,
                                   const ConvertOptions& options, baseline::BlockReader& reader);

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
