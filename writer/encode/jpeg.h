// Encodes pixels as the JPEG files and the packed images that shards hold.
#pragma once

#include <optional>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "format/pixels/baseline/header.h"
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

}  // namespace sluice
