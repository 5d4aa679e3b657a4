// What kind of image a file is, by its first bytes and never by its name.
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

enum class ImageKind : std::uint8_t {
  kNone,  // no image that anything here knows of
  kJpeg,
  kPng,
  kUnsupported,  // an image of a kind that is not converted
};

struct Sniffed {
  ImageKind kind = ImageKind::kNone;
  const char* name = "";  // of the kind, such as "GIF"; empty for kNone
};

inline constexpr std::size_t kSniffBytes = 32;

// For messages about the others.
inline constexpr const char* kConverted = "JPEG and PNG are converted";

// `start`: the file's first kSniffBytes, or all of a shorter file.
Sniffed Sniff(Bytes start) noexcept;

}  // namespace sluice
