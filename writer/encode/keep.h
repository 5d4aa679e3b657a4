// Keeps a JPEG's coefficients: the same picture, bit for bit, in a file made for partial decoding.
#pragma once

#include <optional>

#include <sluice/convert.h>

#include "format/pixels/baseline/scan_decoder.h"
#include "writer/source/images/jpeg.h"

namespace sluice {

struct KeptJpeg {
  std::vector<std::byte> file;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t channels = 0;
};

// `file`, whose header `source` has, rewritten as baseline, with standard Huffman tables, restart
// markers and no metadata, and turned upright if its orientation asks for it and whole blocks allow
// it. nullopt if that would need decoding: CMYK and RGB-coded files, grey ones if `channels` is 3
// and the reverse, unusual sampling, tables that do not fit baseline. Throws Error, like
// JpegSource, for a broken file.
//
// Our own decoder reads baseline files, which most are; libjpeg reads the others.
std::optional<KeptJpeg> KeepJpeg(const JpegFile& file, const JpegSource& source,
                                 const ConvertOptions& options, baseline::BlockReader& reader);

}  // namespace sluice
