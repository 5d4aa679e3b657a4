// Recognises the kind of an image file by its first bytes, never by its name.
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

enum class ImageKind : std::uint8_t {
  kNone,  // not an image that Sluice knows
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
  kUnsupported,  // an image of a kind that no build converts
};

struct Sniffed {
  ImageKind kind = ImageKind::kNone;
  const char* name = "";  // of the kind, such as "GIF"; empty for kNone
};

inline constexpr std::size_t kSniffBytes = 32;

// `start`: the file's first kSniffBytes, or the whole file if it is shorter.
Sniffed Sniff(Bytes start) noexcept;

}  // namespace sluice
