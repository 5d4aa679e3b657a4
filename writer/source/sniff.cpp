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
  if (HasAt(text, 8, "crx ")) return "Canon raw";
  return nullptr;
}

unsigned ByteAt(std::string_view text, std::size_t at) noexcept {
  return static_cast<unsigned char>(text[at]);
}

unsigned LittleAt(std::string_view text, std::size_t at) noexcept {
  return LoadAt<std::uint16_t>(AsBytes(text), at);
}

// The netpbm kinds: "P6", then lines of comment or two numbers. "P1 comes first." is a text.
bool IsPortable(std::string_view text) noexcept {
  constexpr std::string_view kSpaces = " \t\r\n";
  if (text.size() < 4 || text[0] != 'P' || kSpaces.find(text[2]) == std::string_view::npos) {
    return false;
  }
  if (text[1] == '7') return HasAt(text, 2, "\nWIDTH") || HasAt(text, 2, "\n#");
  if (std::string_view("123456Ff").find(text[1]) == std::string_view::npos) return false;
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

// Truevision's files have no signature at their beginning: every field of the header must make
// sense.
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
  const bool no_map = map == 0 && text.substr(3, 5) == std::string_view("\0\0\0\0\0", 5);
  return no_map && ((type == 2 && is_colour(depth)) || (type == 3 && (depth == 8 || depth == 16)));
}

bool IsPcx(std::string_view text) noexcept {
  if (text.size() < 16 || text[0] != '\x0a' || ByteAt(text, 1) > 5 || text[2] != '\1') return false;
  const unsigned bits = ByteAt(text, 3);
  return (bits == 1 || bits == 2 || bits == 4 || bits == 8) &&
         LittleAt(text, 4) <= LittleAt(text, 8) && LittleAt(text, 6) <= LittleAt(text, 10);
}

// Numbers are big-endian: storage, bytes a value, dimensions.
bool IsSgi(std::string_view text) noexcept {
  return HasAt(text, 0, "\x01\xda") && text.size() >= 12 && ByteAt(text, 2) <= 1 &&
         (text[3] == '\1' || text[3] == '\2') && text[4] == '\0' && text[5] >= '\1' &&
         text[5] <= '\3';
}

// Icons and cursors: some images, the first of which lies behind the list of them.
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
  if (const char* kind = KindOfBrand(text)) return Unsupported(kind);
  if (IsPortable(text)) return Unsupported("PPM");
  if (IsPcx(text)) return Unsupported("PCX");
  if (IsSgi(text)) return Unsupported("SGI");
  if (IsIcon(text)) return Unsupported("ICO");
  if (IsTga(text)) return Unsupported("TGA");
  return {};
}

}  // namespace sluice
