// kKinds has an entry for each kind, also for those whose library this build lacks: such an entry
// has the library's package, so that the message can say what to install. The table is in the order
// of ImageKind, which a static_assert checks. JPEG has no function to open it, because its decoder
// is not a PixelSource.
// RoomToDecode tries an allocation of all the memory that the pictures under way may take, and
// gives it back at once: nothing is reserved by that.
#include "writer/source/images/image_kinds.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include <sluice/error.h>

#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

struct FileKind {
  ImageKind kind;
  const char* name;
  // The Debian package that this build lacked; null if this build can read the kind.
  const char* package;
  std::unique_ptr<PixelSource> (*open)(Bytes file, bool with_profile) = nullptr;
  const char* library = nullptr;  // the library that decodes it; null if it is part of every build
  std::string (*version)() = nullptr;
  ValuePicture (*values)(Bytes file,
                         std::uint64_t max_pixels) = nullptr;  // null: not read as values
};

// In the order of ImageKind.
constexpr std::array kKinds = {
    FileKind{ImageKind::kJpeg, "JPEG", nullptr},  // opened by jpeg.h
    FileKind{ImageKind::kPng, "PNG", nullptr, OpenPng, nullptr, nullptr, PngValues},
#ifdef SLUICE_HAS_WEBP
    FileKind{ImageKind::kWebp, "WebP", nullptr, OpenWebp, "libwebp", WebpVersion},
#else
    FileKind{ImageKind::kWebp, "WebP", "libwebp-dev"},
#endif
#ifdef SLUICE_HAS_GIF
    FileKind{ImageKind::kGif, "GIF", nullptr, OpenGif, "giflib", GifVersion},
#else
    FileKind{ImageKind::kGif, "GIF", "libgif-dev"},
#endif
    FileKind{ImageKind::kBmp, "BMP", nullptr, OpenBmp},
#ifdef SLUICE_HAS_TIFF
    FileKind{ImageKind::kTiff, "TIFF", nullptr, OpenTiff, "libtiff", TiffVersion, TiffValues},
#else
    FileKind{ImageKind::kTiff, "TIFF", "libtiff-dev"},
#endif
    FileKind{ImageKind::kPnm, "PPM", nullptr, OpenPnm, nullptr, nullptr, PnmValues},
    FileKind{ImageKind::kTga, "TGA", nullptr, OpenTga},
#ifdef SLUICE_HAS_AVIF
    FileKind{ImageKind::kAvif, "AVIF", nullptr, OpenAvif, "libavif", AvifVersion},
#else
    FileKind{ImageKind::kAvif, "AVIF", "libavif-dev"},
#endif
#ifdef SLUICE_HAS_HEIF
    FileKind{ImageKind::kHeif, "HEIF", nullptr, OpenHeif, "libheif", HeifVersion},
#else
    FileKind{ImageKind::kHeif, "HEIF", "libheif-dev"},
#endif
#ifdef SLUICE_HAS_JXL
    FileKind{ImageKind::kJxl, "JPEG XL", nullptr, OpenJxl, "libjxl", JxlVersion},
#else
    FileKind{ImageKind::kJxl, "JPEG XL", "libjxl-dev"},
#endif
#ifdef SLUICE_HAS_JP2
    FileKind{ImageKind::kJp2, "JPEG 2000", nullptr, OpenJp2, "openjpeg", Jp2Version},
#else
    FileKind{ImageKind::kJp2, "JPEG 2000", "libopenjp2-7-dev"},
#endif
};

// Checks that kKinds has an entry for each ImageKind that some build can convert.
constexpr bool HasEveryKind() {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i + 1) return false;
  }
  return kKinds.size() + 1 == static_cast<std::size_t>(ImageKind::kUnsupported);
}
static_assert(HasEveryKind());

// The article depends on how the name is spoken: an AVIF, an ICO, an SGI, but a Sun raster.
std::string WithArticle(const std::string& name) {
  const bool vowel = std::string_view("AEIO").find(name[0]) != std::string_view::npos;
  const bool spelled = name[0] == 'S' && name[1] >= 'A' && name[1] <= 'Z';
  return (vowel || spelled ? "an " : "a ") + name;
}
}  // namespace

std::unique_ptr<PixelSource> OpenPixels(ImageKind kind, Bytes file, bool with_profile) {
  for (const FileKind& known : kKinds) {
    if (known.kind == kind && known.open != nullptr) return known.open(file, with_profile);
  }
  throw Error(ErrorCode::kUnsupported, "was an image when the source was read, but is not one now");
}

std::string WhyNotConverted(const Sniffed& sniffed) {
  if (sniffed.only_values) {
    return WithArticle(sniffed.name) +
           " image, whose numbers are no 8-bit picture; --pixels keep stores them as they are";
  }
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

namespace {

const FileKind* WithValues(const Sniffed& sniffed) noexcept {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const FileKind& kind) {
    return kind.kind == sniffed.kind && kind.values != nullptr;
  });
  return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace

bool HasValues(const Sniffed& sniffed) noexcept {
  return sniffed.only_values || WithValues(sniffed) != nullptr;
}

std::string WhyNoValues(const Sniffed& sniffed) {
  if (sniffed.kind == ImageKind::kNone) return "is not an image";
  if (sniffed.kind != ImageKind::kTiff) {
    return WithArticle(sniffed.name) +
           " image; pixels are kept of PNG, PPM, PFM, NPY and TIFF (--pixels uint8 takes others)";
  }
  return WhyNotConverted(sniffed);
}

ValuePicture DecodeValues(Bytes file, std::uint64_t max_pixels) {
  const Sniffed sniffed = Sniff(file);
  if (const FileKind* const kind = WithValues(sniffed)) return kind->values(file, max_pixels);
  if (!sniffed.only_values) throw Error(ErrorCode::kUnsupported, WhyNoValues(sniffed));
  return sniffed.kind == ImageKind::kNone ? NpyValues(file, max_pixels)
                                          : PfmValues(file, max_pixels);
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

namespace {

std::atomic<std::size_t> room_wanted{0};  // by all RoomToDecode

}  // namespace

RoomToDecode::RoomToDecode(std::size_t bytes) : bytes_(bytes) {
  const std::size_t all = room_wanted.fetch_add(bytes_) + bytes_;
  void* const room = mmap(nullptr, all, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room != MAP_FAILED) {
    munmap(room, all);
    return;
  }
  room_wanted.fetch_sub(bytes_);
  throw std::bad_alloc();
}

RoomToDecode::~RoomToDecode() {
  room_wanted.fetch_sub(bytes_);
}

}  // namespace sluice
