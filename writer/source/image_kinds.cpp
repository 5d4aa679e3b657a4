#include "writer/source/image_kinds.h"

#include <array>
#include <cstring>
#include <type_traits>

#include <sluice/error.h>

#include "writer/source/bmp_source.h"
#include "writer/source/png_source.h"
#include "writer/source/pnm_source.h"
#include "writer/source/tga_source.h"
#ifdef SLUICE_HAS_AVIF
#include <avif/avif.h>

#include "writer/source/avif_source.h"
#endif
#ifdef SLUICE_HAS_GIF
#include <gif_lib.h>

#include "writer/source/gif_source.h"
#endif
#ifdef SLUICE_HAS_HEIF
#include <libheif/heif.h>

#include "writer/source/heif_source.h"
#endif
#ifdef SLUICE_HAS_JP2
#include <openjpeg.h>

#include "writer/source/jp2_source.h"
#endif
#ifdef SLUICE_HAS_JXL
#include <jxl/decode.h>

#include "writer/source/jxl_source.h"
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

template <class Source>
std::unique_ptr<PixelSource> MakeSource(Bytes file, bool with_profile) {
  if constexpr (std::is_constructible_v<Source, Bytes, bool>) {
    return std::make_unique<Source>(file, with_profile);
  } else {
    static_cast<void>(with_profile);
    return std::make_unique<Source>(file);
  }
}

struct FileKind {
  ImageKind kind;
  const char* name;
  const char* package;  // the package that a build needs to read it; nullptr: this build reads it
  std::unique_ptr<PixelSource> (*open)(Bytes file, bool with_profile) = nullptr;
  const char* library = nullptr;  // the one that decodes it, unless every build has that
  std::string (*version)() = nullptr;
};

#ifdef SLUICE_HAS_WEBP
std::string WebpVersion() {
  const int version = WebPGetDecoderVersion();  // 0xMMmmrr
  return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) + "." +
         std::to_string(version & 255);
}
constexpr FileKind kWebp = {ImageKind::kWebp,       "WebP",    nullptr,
                            MakeSource<WebpSource>, "libwebp", WebpVersion};
#else
constexpr FileKind kWebp = {ImageKind::kWebp, "WebP", "libwebp-dev"};
#endif

#ifdef SLUICE_HAS_GIF
std::string GifVersion() {
  return std::to_string(GIFLIB_MAJOR) + "." + std::to_string(GIFLIB_MINOR) + "." +
         std::to_string(GIFLIB_RELEASE);
}
constexpr FileKind kGif = {ImageKind::kGif,       "GIF",    nullptr,
                           MakeSource<GifSource>, "giflib", GifVersion};
#else
constexpr FileKind kGif = {ImageKind::kGif, "GIF", "libgif-dev"};
#endif

#ifdef SLUICE_HAS_TIFF
std::string TiffVersion() {
  const char* const text = TIFFGetVersion();  // "LIBTIFF, Version 4.5.0", then a copyright
  return std::string(text, std::strcspn(text, "\n"));
}
constexpr FileKind kTiff = {ImageKind::kTiff,       "TIFF",    nullptr,
                            MakeSource<TiffSource>, "libtiff", TiffVersion};
#else
constexpr FileKind kTiff = {ImageKind::kTiff, "TIFF", "libtiff-dev"};
#endif

#ifdef SLUICE_HAS_AVIF
constexpr FileKind kAvif = {ImageKind::kAvif, "AVIF",
                            nullptr,          MakeSource<AvifSource>,
                            "libavif",        [] { return std::string(avifVersion()); }};
#else
constexpr FileKind kAvif = {ImageKind::kAvif, "AVIF", "libavif-dev"};
#endif

#ifdef SLUICE_HAS_HEIF
constexpr FileKind kHeif = {ImageKind::kHeif, "HEIF",
                            nullptr,          MakeSource<HeifSource>,
                            "libheif",        [] { return std::string(heif_get_version()); }};
#else
constexpr FileKind kHeif = {ImageKind::kHeif, "HEIF", "libheif-dev"};
#endif

#ifdef SLUICE_HAS_JXL
constexpr FileKind kJxl = {ImageKind::kJxl, "JPEG XL",
                           nullptr,         MakeSource<JxlSource>,
                           "libjxl",        [] { return std::to_string(JxlDecoderVersion()); }};
#else
constexpr FileKind kJxl = {ImageKind::kJxl, "JPEG XL", "libjxl-dev"};
#endif

#ifdef SLUICE_HAS_JP2
constexpr FileKind kJp2 = {ImageKind::kJp2, "JPEG 2000",
                           nullptr,         MakeSource<Jp2Source>,
                           "openjpeg",      [] { return std::string(opj_version()); }};
#else
constexpr FileKind kJp2 = {ImageKind::kJp2, "JPEG 2000", "libopenjp2-7-dev"};
#endif

// In the order of ImageKind.
constexpr std::array kKinds = {
    FileKind{ImageKind::kJpeg, "JPEG", nullptr},  // opened by jpeg_source.h
    FileKind{ImageKind::kPng, "PNG", nullptr, MakeSource<PngSource>},
    kWebp,
    kGif,
    FileKind{ImageKind::kBmp, "BMP", nullptr, MakeSource<BmpSource>},
    kTiff,
    FileKind{ImageKind::kPnm, "PPM", nullptr, MakeSource<PnmSource>},
    FileKind{ImageKind::kTga, "TGA", nullptr, MakeSource<TgaSource>},
    kAvif,
    kHeif,
    kJxl,
    kJp2,
};

// Whether each ImageKind that some build converts has its line.
constexpr bool HasEveryKind() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i + 1) return false;
  }
  return kKinds.size() + 1 == static_cast<std::size_t>(ImageKind::kUnsupported);
}
static_assert(HasEveryKind());

}  // namespace

std::unique_ptr<PixelSource> OpenPixels(ImageKind kind, Bytes file, bool with_profile) {
  for (const FileKind& known : kKinds) {
    if (known.kind == kind && known.open != nullptr) return known.open(file, with_profile);
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
  for (const FileKind& known : kKinds) {
    if (known.library != nullptr && kinds.contains(known.kind)) {
      versions[known.library] = known.version();
    }
  }
  return versions;
}

}  // namespace sluice
