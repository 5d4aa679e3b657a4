// What kind of image a file is, by its first bytes and never by its name.
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

enum class ImageKind : std::uint8_t {
  kNone,  // no image that anything here knows of
  kJpeg,
  kPng,
  kWebp,
  kGif,
  kBmp,
  kTiff,
  kUnsupported,  // an image of a kind that no build converts
};

struct Sniffed {
  ImageKind kind = ImageKind::kNone;
  const char* name = "";  // of the kind, such as "GIF"; empty for kNone
};

inline constexpr std::size_t kSniffBytes = 32;

// `start`: the file's first kSniffBytes, or all of a shorter file.
Sniffed Sniff(Bytes start) noexcept;

}  // namespace sluice
