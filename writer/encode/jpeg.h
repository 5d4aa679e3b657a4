// The JPEG files and packed images that shards hold: encoded from pixels; or, without pixels, made
// from the coefficients of a JPEG, which are kept, recoded with other quantisation steps, or
// packed.
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

inline constexpr std::uint32_t kMaxJpegSide = 65'500;  // libjpeg's limit

// The header of the file that EncodeJpeg() makes of such a picture, with its derived sizes set.
baseline::Header StoredHeader(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                              const ConvertOptions& options);

// Encodes a baseline file with the standard Huffman tables, so that readers need not build other
// tables; with `quality`, `subsampling` and `restart_markers` from the options. A grey picture
// gives one component. A picture in Y Cb Cr is stored as it is, so `subsampling` must be k420.
// Throws Error(kLimit) for a side above kMaxJpegSide.
std::vector<std::byte> EncodeJpeg(const Picture& picture, const ConvertOptions& options);

// The packed form of the file that EncodeJpeg() makes; nullopt if it is too large to have one.
std::optional<std::vector<std::byte>> EncodePacked(const Picture& picture,
                                                   const ConvertOptions& options);

// Sets `value` to the result of EncodePacked() if options.form.image is kPacked and there is one,
// otherwise to that of EncodeJpeg().
void EncodeInto(const Picture& picture, const ConvertOptions& options, FieldValue& value);

// Keeps a JPEG's coefficients: the same picture, bit for bit, in a file made for partial decoding.
//
// Rewrites `file`, whose header is in `source`, as a baseline file with standard Huffman tables,
// restart markers and no metadata. A file whose orientation is not upright is turned without
// decoding. nullopt if the result would need decoding: blocks at an edge that are not whole and
// would have to be turned, CMYK and RGB-coded files, grey files if `channels` is 3 and the reverse,
// unusual sampling, tables that do not fit baseline. Throws Error, like JpegSource, for a broken
// file.
//
// Our own decoder reads baseline files, which most files are; libjpeg reads the others.
std::optional<FieldValue> KeepJpeg(const JpegFile& file, const JpegSource& source,
                                   const ConvertOptions& options, baseline::BlockReader& reader);

// Makes the JPEG or packed image that a shard holds from a JPEG file whose picture keeps its size.
// It recodes coefficients (format/pixels/baseline/recoder.h), which is faster than encoding pixels
// and rounds once less.
//
// Keeps its memory from picture to picture, except large buffers. One thread at a time.
class JpegRecoder {
 public:
  // Recodes an upright picture of that size. False if the picture must be decoded to pixels
  // instead: if only libjpeg reads the file, or it is broken; if recoding cannot give the
  // components the sizes that the result needs; or if baseline has no code for a coefficient.
  bool Take(Bytes file, std::uint32_t width, std::uint32_t height, const ConvertOptions& options);

  // Call it once after Take() returned true. Sets `value` to the picture in the form that
  // options.form.image names, or to a JPEG if it is too large to be packed.
  void Store(FieldValue& value);

 private:
  void FreeMemory();  // frees large buffers

  baseline::Recoder recoder_{kernels::Chosen()};
  baseline::Header header_;
  std::vector<std::int16_t> rows_;  // the coefficients, one line of MCUs after another
  bool packs_ = false;              // the coefficients are in packed_ instead
  packed::Coefficients packed_;
};

// Turns a value of codec kJpeg into one of codec kPacked. False, with the value unchanged, if the
// file has no packed form: colours other than grey and Y Cb Cr, or unusual sampling. Throws
// Error(kCorrupt) for a broken file.
bool PackJpeg(FieldValue& value, baseline::BlockReader& reader);

}  // namespace sluice
