// The kind of an image by its first bytes. Names are not looked at: a file's ending may be wrong.
//
// Most formats begin with a signature (kSignatures). Others do not, or share theirs with texts: for
// these, the header's fields must make sense. The order of the tests matters. Signatures come
// first, and of two that begin alike, the longer one: Canon's raw files are TIFFs. The weakest
// test, TGA's, comes last, because a file of another kind can pass it by chance.
//
// Kinds that Sluice cannot decode are recognised, too: the message then names the kind, and does
// not say that the file is not an image.
#include "writer/source/images/sniff.h"

#include <algorithm>

namespace sluice {

namespace {

bool HasAt(std::string_view text, std::size_t offset, std::string_view wanted) noexcept {
  return text.size() >= offset + wanted.size() && text.substr(offset, wanted.size()) == wanted;
}

// Many text files begin with "BM", so the size of the next header must be one that exists.
bool IsBmp(std::string_view text) noexcept {
  if (!HasAt(text, 0, "BM") || text.size() < 18) return false;
  const auto size = LoadAt<std::uint32_t>(AsBytes(text), 14);
  constexpr std::array<std::uint32_t, 7> kSizes = {12, 40, 52, 56, 64, 108, 124};
  return std::find(kSizes.begin(), kSizes.end(), size) != kSizes.end();
}

constexpr Sniffed Unsupported(const char* name) noexcept {
  return {ImageKind::kUnsupported, name};
}

// ISO base media files name their format by a brand. "mif1" only says that there is an image; the
// brands after it say how it is coded.
Sniffed KindOfBrand(std::string_view text) noexcept {
  if (!HasAt(text, 4, "ftyp")) return {};
  // The list of compatible brands begins at byte 16: bytes 12 to 15 are the version of the first
  // brand.
  const bool any = HasAt(text, 8, "mif1") || HasAt(text, 8, "msf1");
  for (std::size_t at = 8; at + 4 <= text.size() && (at == 8 || any); at += at == 8 ? 8 : 4) {
    if (HasAt(text, at, "avif") || HasAt(text, at, "avis")) return {ImageKind::kAvif, "AVIF"};
  }
  for (const std::string_view brand : {"heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"}) {
    if (HasAt(text, 8, brand)) return {ImageKind::kHeif, "HEIF"};
  }
  if (HasAt(text, 8, "crx ")) return Unsupported("Canon raw");
  return {};
}

unsigned ByteAt(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

unsigned LittleAt(std::string_view text, std::size_t at) noexcept {
  return LoadAt<std::uint16_t>(AsBytes(text), at);
}

// Whether two numbers, or lines of comments, follow the two letters of a Netpbm file. "P1 comes
// first." is text.
bool HasPortableSize(std::string_view text) noexcept {
  constexpr std::string_view kSpaces = " \t\r\n";
  if (text.size() < 4 || kSpaces.find(text[2]) == std::string_view::npos) return false;
  for (std::size_t at = 3, numbers = 0; numbers < 2; ++numbers) {
    at = text.find_first_not_of(kSpaces, at);
    if (at == std::string_view::npos) return false;
    if (text[at] == '#') return text.substr(2, at - 2).find('\n') != std::string_view::npos;
    const std::size_t end = text.find_first_not_of("0123456789", at);
    if (end == at || end == std::string_view::npos) return false;
    if (kSpaces.find(text[end]) == std::string_view::npos) return false;
    at = end;
  }
  return true;
}

bool IsPortable(std::string_view text) noexcept {
  if (HasAt(text, 0, "P7")) return HasAt(text, 2, "\nWIDTH") || HasAt(text, 2, "\n#");
  return text.size() > 1 && text[0] == 'P' && text[1] >= '1' && text[1] <= '6' &&
         HasPortableSize(text);
}

bool IsPortableFloats(std::string_view text) noexcept {
  return (HasAt(text, 0, "PF") || HasAt(text, 0, "Pf")) && HasPortableSize(text);
}

// TGA has no signature at the beginning of the file, so every field of the header must make sense.
bool IsTga(std::string_view text) noexcept {
  if (text.size() < 18) return false;
  const unsigned map = ByteAt(text, 1);
  const unsigned type = ByteAt(text, 2) & ~8U;  // 8: run lengths
  const unsigned depth = ByteAt(text, 16);
  const unsigned alpha = ByteAt(text, 17) & 15;
  if (map > 1 || ByteAt(text, 2) > 11 || (ByteAt(text, 17) & 0xC0) != 0 || alpha > 8) return false;
  if (LittleAt(text, 12) == 0 || LittleAt(text, 14) == 0) return false;
  const auto is_colour = [](unsigned bits) {
    return bits == 15 || bits == 16 || bits == 24 || bits == 32;
  };
  if (type == 1) {
    return map == 1 && (depth == 8 || depth == 16) && LittleAt(text, 5) > 0 &&
           is_colour(ByteAt(text, 7));
  }
  // Without a map, its five bytes are zero in all files that programs write, though the format does
  // not require it.
  const bool no_map = map == 0 && text.substr(3, 5) == std::string_view("\0\0\0\0\0", 5);
  return no_map && ((type == 2 && is_colour(depth)) || (type == 3 && (depth == 8 || depth == 16)));
}

bool IsPcx(std::string_view text) noexcept {
  if (text.size() < 16 || text[0] != '\x0a' || ByteAt(text, 1) > 5 || text[2] != '\1') return false;
  const unsigned bits = ByteAt(text, 3);
  return (bits == 1 || bits == 2 || bits == 4 || bits == 8) &&
         LittleAt(text, 4) <= LittleAt(text, 8) && LittleAt(text, 6) <= LittleAt(text, 10);
}

// The fields are: storage, bytes per value, number of dimensions (big-endian).
bool IsSgi(std::string_view text) noexcept {
  return HasAt(text, 0, "\x01\xda") && text.size() >= 12 && ByteAt(text, 2) <= 1 &&
         (text[3] == '\1' || text[3] == '\2') && text[4] == '\0' && text[5] >= '\1' &&
         text[5] <= '\3';
}

// Icons and cursors: a list of images, then the images.
bool IsIcon(std::string_view text) noexcept {
  if (text.size() < 22 || text[0] != '\0' || text[1] != '\0' || text[3] != '\0') return false;
  const unsigned count = LittleAt(text, 4);
  const Bytes bytes = AsBytes(text);
  return (text[2] == '\1' || text[2] == '\2') && count > 0 && text[9] == '\0' &&
         LoadAt<std::uint32_t>(bytes, 14) > 0 && LoadAt<std::uint32_t>(bytes, 18) >= 6 + 16 * count;
}

struct Signature {
  std::string_view bytes;
  Sniffed kind;
};

using namespace std::string_view_literals;
constexpr std::array kSignatures = {
    Signature{"\xff\xd8\xff"sv, {ImageKind::kJpeg, "JPEG"}},
    // Only these four bytes: the other four show whether a text-mode transfer damaged the file,
    // which the decoder reports.
    Signature{"\x89PNG"sv, {ImageKind::kPng, "PNG"}},
    Signature{"GIF87a"sv, {ImageKind::kGif, "GIF"}},
    Signature{"GIF89a"sv, {ImageKind::kGif, "GIF"}},
    Signature{"II*\0\x10\0\0\0CR"sv, Unsupported("Canon raw")},
    Signature{"II*\0"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"MM\0*"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"II+\0"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"MM\0+"sv, {ImageKind::kTiff, "TIFF"}},
    Signature{"\0\0\0\x0cJXL "sv, {ImageKind::kJxl, "JPEG XL"}},
    Signature{"\xff\x0a"sv, {ImageKind::kJxl, "JPEG XL"}},
    Signature{"\0\0\0\x0cjP  "sv, {ImageKind::kJp2, "JPEG 2000"}},
    Signature{"\xff\x4f\xff\x51"sv, {ImageKind::kJp2, "JPEG 2000"}},
    Signature{"8BPS"sv, Unsupported("Photoshop")},
    Signature{"\x76\x2f\x31\x01"sv, Unsupported("OpenEXR")},
    Signature{"#?RADIANCE"sv, Unsupported("Radiance HDR")},
    Signature{"#?RGBE"sv, Unsupported("Radiance HDR")},
    Signature{"DDS \x7c\0\0\0"sv, Unsupported("DDS")},
    Signature{"qoif"sv, Unsupported("QOI")},
    Signature{"II\xbc\x01"sv, Unsupported("JPEG XR")},
    Signature{"IIRO\x08\0\0\0"sv, Unsupported("Olympus raw")},
    Signature{"IIRS\x08\0\0\0"sv, Unsupported("Olympus raw")},
    Signature{"IIU\0"sv, Unsupported("Panasonic raw")},
    Signature{"FUJIFILMCCD-RAW"sv, Unsupported("Fujifilm raw")},
    Signature{"FOVb"sv, Unsupported("Sigma raw")},
    Signature{"\x59\xa6\x6a\x95"sv, Unsupported("Sun raster")},
    Signature{"SIMPLE  = "sv, Unsupported("FITS")},
    Signature{"gimp xcf "sv, Unsupported("GIMP")},
    Signature{"<svg"sv, Unsupported("SVG")},
};

}  // namespace

Sniffed Sniff(Bytes start) noexcept {
  const std::string_view text = AsText(start.first(std::min(start.size(), kSniffBytes)));
  for (const Signature& signature : kSignatures) {
    if (HasAt(text, 0, signature.bytes)) return signature.kind;
  }
  if (HasAt(text, 0, "RIFF") && HasAt(text, 8, "WEBP")) return {ImageKind::kWebp, "WebP"};
  if (IsBmp(text)) return {ImageKind::kBmp, "BMP"};
  if (const Sniffed branded = KindOfBrand(text); branded.kind != ImageKind::kNone) return branded;
  if (IsPortable(text)) return {ImageKind::kPnm, "PPM"};
  if (IsPortableFloats(text)) return {ImageKind::kUnsupported, "PFM", true};
  if (HasAt(text, 0, "\x93NUMPY")) return {ImageKind::kNone, "NPY", true};
  if (IsPcx(text)) return Unsupported("PCX");
  if (IsSgi(text)) return Unsupported("SGI");
  if (IsIcon(text)) return Unsupported("ICO");
  if (IsTga(text)) return {ImageKind::kTga, "TGA"};
  return {};
}

}  // namespace sluice
