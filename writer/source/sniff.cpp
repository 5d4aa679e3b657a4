#include "writer/source/sniff.h"

#include <algorithm>

namespace sluice {

namespace {

bool HasAt(std::string_view text, std::size_t offset, std::string_view wanted) noexcept {
  return text.size() >= offset + wanted.size() && text.substr(offset, wanted.size()) == wanted;
}

// Many texts begin with "BM": the size of the header that follows must be one that exists.
bool IsBmp(std::string_view text) noexcept {
  if (!HasAt(text, 0, "BM") || text.size() < 18) return false;
  const auto size = LoadAt<std::uint32_t>(AsBytes(text), 14);
  constexpr std::array<std::uint32_t, 7> kSizes = {12, 40, 52, 56, 64, 108, 124};
  return std::find(kSizes.begin(), kSizes.end(), size) != kSizes.end();
}

// ISO base media files name their kind by a brand.
const char* KindOfBrand(std::string_view text) noexcept {
  if (!HasAt(text, 4, "ftyp")) return nullptr;
  for (const std::string_view brand : {"avif", "avis"}) {
    if (HasAt(text, 8, brand)) return "AVIF";
  }
  for (const std::string_view brand : {"heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"}) {
    if (HasAt(text, 8, brand)) return "HEIF";
  }
  return nullptr;
}

struct Signature {
  std::string_view bytes;
  Sniffed kind;
};

constexpr Sniffed Unsupported(const char* name) noexcept {
  return {ImageKind::kUnsupported, name};
}

using namespace std::string_view_literals;
constexpr std::array kSignatures = {
    Signature{"\xff\xd8\xff"sv, {ImageKind::kJpeg, "JPEG"}},
    // The signature's other four bytes show what a text-mode transfer did to the file: the decoder
    // reports that.
    Signature{"\x89PNG"sv, {ImageKind::kPng, "PNG"}},
    Signature{"GIF87a"sv, {ImageKind::kGif, "GIF"}},
    Signature{"GIF89a"sv, {ImageKind::kGif, "GIF"}},
    Signature{"II*\0\x10\0\0\0CR"sv, Unsupported("Canon raw")},
    Signature{"II*\0"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"MM\0*"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"II+\0"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"MM\0+"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"\0\0\0\x0cJXL "sv, Unsupported("JPEG XL")},
    Signature{"\xff\x0a"sv, Unsupported("JPEG XL")},
    Signature{"\0\0\0\x0cjP  "sv, Unsupported("JPEG 2000")},
    Signature{"\xff\x4f\xff\x51"sv, Unsupported("JPEG 2000")},
    Signature{"8BPS"sv, Unsupported("Photoshop")},
    Signature{"\x76\x2f\x31\x01"sv, Unsupported("OpenEXR")},
    Signature{"#?RADIANCE"sv, Unsupported("Radiance HDR")},
};

}  // namespace

Sniffed Sniff(Bytes start) noexcept {
  const std::string_view text = AsText(start.first(std::min(start.size(), kSniffBytes)));
  for (const Signature& signature : kSignatures) {
    if (HasAt(text, 0, signature.bytes)) return signature.kind;
  }
  if (HasAt(text, 0, "RIFF") && HasAt(text, 8, "WEBP")) return {ImageKind::kWebp, "WebP"};
  if (IsBmp(text)) return {ImageKind::kBmp, "BMP"};
  if (const char* kind = KindOfBrand(text)) return Unsupported(kind);
  return {};
}

}  // namespace sluice
