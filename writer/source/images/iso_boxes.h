// Boxes of the ISO base media format, of which AVIF, HEIF, JPEG XL and JPEG 2000 files are made
// (ISO/IEC 14496-12, 4.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "format/disk/bytes.h"

namespace sluice {

struct FileBox {
  std::string_view type;  // four characters
  Bytes body;
};

// The big-endian number of `size` bytes, which must be there.
std::uint64_t BigEndian(Bytes bytes, std::size_t at, std::size_t size) noexcept;

// Takes the first box off `rest`; a box that claims to be longer ends with it.
// Nothing if no box is left.
std::optional<FileBox> TakeFileBox(Bytes& rest) noexcept;

// Throws Error(kUnsupported) if an AVIF or HEIF file lists more items, properties of items or
// references between them than pictures have: their libraries compare each with all others, for
// minutes. `kind` is its name for people.
void RequireFewItems(Bytes file, std::string_view kind);

}  // namespace sluice
