// Recognises the kind of an image file by its first bytes; the file's name does not matter.
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

enum class ImageKind : std::uint8_t {
  kNone,  // not an image of a known kind
  kJpeg,
  kPng,
  kWebp,
  kGif,
  kBmp,
  kTiff,
  kPnm,
  kTga,
  kAvif,
  kHeif,
  kJxl,
  kJp2,
  kUnsupported,  // an image of a known kind that no build converts
};

struct Sniffed {
  ImageKind kind = ImageKind::kNone;
  const char* name = "";  // the kind's name, such as "GIF"; empty for kNone, except for NPY
  // A file of numbers that are no colours, which only image_kinds.h's DecodeValues() reads.
  bool only_values = false;
};

inline constexpr std::size_t kSniffBytes = 32;

// `start`: the file's first kSniffBytes, or the whole file if it is shorter.
Sniffed Sniff(Bytes start) noexcept;

}  // namespace sluice
