// Boxes of the ISO base media format, which AVIF, HEIF, JPEG XL and JPEG 2000 files consist of
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

// The big-endian number in the `size` bytes at `at`; the caller checks that they exist.
std::uint64_t BigEndian(Bytes bytes, std::size_t at, std::size_t size) noexcept;

// Removes the first box from `rest` and returns it; nullopt if `rest` holds none. A box that claims
// to be longer than `rest` gets all of it.
std::optional<FileBox> TakeFileBox(Bytes& rest) noexcept;

// Throws Error(kUnsupported) if an AVIF or HEIF file lists more items, properties of items, or
// references between items than real pictures have. libavif and libheif compare each with all
// others, which would take minutes. `kind` is the format's name, for the message.
void RequireFewItems(Bytes file, std::string_view kind);

}  // namespace sluice
