#include "writer/source/pixel_source.h"

#include <array>
#include <cstring>

#include <sluice/error.h>

#include "writer/source/bmp_source.h"
#include "writer/source/png_source.h"
#ifdef SLUICE_HAS_GIF
#include <gif_lib.h>

#include "writer/source/gif_source.h"
#endif
#ifdef SLUICE_HAS_TIFF
#include <tiffio.h>

#include "writer/source/tiff_source.h"
#endif
#ifdef SLUICE_HAS_WEBP
#include <webp/decode.h>

#include "writer/source/webp_source.h"
#endif

namespace sluice {

namespace {

struct FileKind {
  ImageKind kind;
  const char* name;
  const char* package;  // the package that a build needs to read it; nullptr: this build reads it
};

#ifdef SLUICE_HAS_WEBP
constexpr const char* kWebpPackage = nullptr;
#else
constexpr const char* kWebpPackage = "libwebp-dev";
#endif
#ifdef SLUICE_HAS_GIF
constexpr const char* kGifPackage = nullptr;
#else
constexpr const char* kGifPackage = "libgif-dev";
#endif
#ifdef SLUICE_HAS_TIFF
constexpr const char* kTiffPackage = nullptr;
#else
constexpr const char* kTiffPackage = "libtiff-dev";
#endif

constexpr std::array<FileKind, 6> kKinds = {{
    {ImageKind::kJpeg, "JPEG", nullptr},
    {ImageKind::kPng, "PNG", nullptr},
    {ImageKind::kWebp, "WebP", kWebpPackage},
    {ImageKind::kGif, "GIF", kGifPackage},
    {ImageKind::kBmp, "BMP", nullptr},
    {ImageKind::kTiff, "TIFF", kTiffPackage},
}};

}  // namespace

std::unique_ptr<PixelSource> OpenPixels(ImageKind kind, Bytes file, bool with_profile) {
  switch (kind) {
    case ImageKind::kPng: return std::make_unique<PngSource>(file, with_profile);
    case ImageKind::kBmp: return std::make_unique<BmpSource>(file);
#ifdef SLUICE_HAS_WEBP
    case ImageKind::kWebp: return std::make_unique<WebpSource>(file);
#endif
#ifdef SLUICE_HAS_GIF
    case ImageKind::kGif: return std::make_unique<GifSource>(file);
#endif
#ifdef SLUICE_HAS_TIFF
    case ImageKind::kTiff: return std::make_unique<TiffSource>(file);
#endif
    default: break;
  }
  throw Error(ErrorCode::kUnsupported, "was an image when the source was read, but is not one now");
}

namespace {
// As they are spoken: an AVIF, an ICO, an SGI, a Sun raster.
std::string WithArticle(const std::string& name) {
  const bool vowel = std::string_view("AEIO").find(name[0]) != std::string_view::npos;
  const bool spelled = name[0] == 'S' && name[1] >= 'A' && name[1] <= 'Z';
  return (vowel || spelled ? "an " : "a ") + name;
}
}  // namespace

std::string WhyNotConverted(const Sniffed& sniffed) {
  if (sniffed.kind == ImageKind::kUnsupported) {
    return "unsupported: " + WithArticle(sniffed.name) + " image; " + ConvertedKinds() +
           " are converted";
  }
  for (const FileKind& kind : kKinds) {
    if (kind.kind != sniffed.kind || kind.package == nullptr) continue;
    return WithArticle(kind.name) +
           " image, which this build of Sluice does not read: " + "install " + kind.package +
           " and build it again";
  }
  return {};
}

std::string ConvertedKinds() {
  std::string names;
  std::string last;
  for (const FileKind& kind : kKinds) {
    if (kind.package != nullptr) continue;
    if (!last.empty()) names += (names.empty() ? "" : ", ") + last;
    last = kind.name;
  }
  return names + " and " + last;
}

std::map<std::string, std::string> DecoderVersions(const std::set<ImageKind>& kinds) {
  std::map<std::string, std::string> versions;
#ifdef SLUICE_HAS_WEBP
  if (kinds.contains(ImageKind::kWebp)) {
    const int version = WebPGetDecoderVersion();  // 0xMMmmrr
    versions["libwebp"] = std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) +
                          "." + std::to_string(version & 255);
  }
#endif
#ifdef SLUICE_HAS_GIF
  if (kinds.contains(ImageKind::kGif)) {
    versions["giflib"] = std::to_string(GIFLIB_MAJOR) + "." + std::to_string(GIFLIB_MINOR) + "." +
                         std::to_string(GIFLIB_RELEASE);
  }
#endif
#ifdef SLUICE_HAS_TIFF
  if (kinds.contains(ImageKind::kTiff)) {
    const char* const text = TIFFGetVersion();  // "LIBTIFF, Version 4.5.0", then a copyright
    versions["libtiff"] = std::string(text, std::strcspn(text, "\n"));
  }
#endif
  static_cast<void>(kinds);
  return versions;
}

}  // namespace sluice
