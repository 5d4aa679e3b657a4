// The beginning of a file tells an image's size, or nearly: a PNG or WebP may say only at its end
// that it is turned, and then counts with both sides. The bytes that an image will have are not
// known before it is made, so they are bounded from above.
#include "writer/convert/image_survey.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/images/jpeg.h"
#include "writer/source/list/store_files.h"
#include "writer/source/read_source.h"

namespace sluice {

namespace {

// The size of an upright picture.
struct UprightSize {
  std::uint32_t width = 0, height = 0;  // 0: unknown
  bool may_be_turned = false;           // width and height may still have to be exchanged
};

// The size according to the beginning of an image file, or to a whole file. Throws if that part
// does not tell it.
UprightSize SizeIn(Bytes start, bool whole) {
  const Sniffed sniffed = Sniff(start);
  if (!WhyNotConverted(sniffed).empty()) return {};
  // A PNG or WebP may have its Exif or XMP, and so its orientation, after the pixels. The source of
  // a PNG reads them only in Decode(), which is not called here.
  const std::string_view text = AsText(start);
  const bool says_more = text.find("eXIf") != text.npos || text.find("adobe.xmp") != text.npos;
  const bool late = sniffed.kind == ImageKind::kPng    ? says_more || !whole
                    : sniffed.kind == ImageKind::kWebp ? !whole
                                                       : false;
  const auto upright = [late](std::uint32_t width, std::uint32_t height, Orientation orientation) {
    return orientation.transposed ? UprightSize{height, width, late}
                                  : UprightSize{width, height, late};
  };
  if (sniffed.kind == ImageKind::kJpeg) {
    const JpegSource jpeg({start, true});
    return upright(jpeg.width(), jpeg.height(), jpeg.orientation());
  }
  const std::unique_ptr<PixelSource> image = OpenPixels(sniffed.kind, start);
  return upright(image->width(), image->height(), image->orientation());
}

// Looks at the beginnings of images. Each thread has one.
class ImageLook {
 public:
  explicit ImageLook(const SourceList& list) : list_(list) {}

  // Returns nothing if the image cannot be read; playing it will say why.
  UprightSize SizeOf(std::size_t source) {
    // The tables before a JPEG's size are often longer than a page: thumbnails, colour profiles.
    constexpr std::uint64_t kStartBytes = 65'536;
    for (const std::uint64_t most : {kStartBytes, kMaxSourceBytes}) {
      try {
        ReadImageStart(list_, source, most, content_, page_);
      } catch (const StoreFault&) {
        throw;
      } catch (const Error& error) {
        if (IsShortage(error)) throw;
        return {};
      }
      try {
        return SizeIn(content_, content_.size() < most);
      } catch (const Error& error) {
        if (IsShortage(error)) throw;
        if (content_.size() < kStartBytes) return {};
      }
    }
    return {};
  }

 private:
  const SourceList& list_;
  std::vector<std::byte> content_;
  UnpackedPage page_;
};

// An upper bound for the bytes of a stored image of that size: those of a baseline JPEG whose every
// coefficient has the longest code (27 bits), with three components at full size.
std::uint64_t MaxPayloadOf(std::uint64_t pixels, std::uint64_t file_bytes) {
  constexpr std::uint64_t kPixelBytes = 11;
  constexpr std::uint64_t kHeaderBytes = 1 << 20;
  return std::min(kMaxPayloadBytes, std::max(file_bytes, pixels * kPixelBytes + kHeaderBytes));
}

}  // namespace

std::vector<ImageFigures> SurveyImages(const ConversionInput& input, const Probe& probe,
                                       unsigned threads, const PlayOptions& options,
                                       const std::stop_token& stop) {
  const SourceList& list = input.sources;
  std::vector<UprightSize> sizes(list.sources.size());
  std::vector<ImageLook> looks(list.store != nullptr ? StoreFiles::kLooking : threads,
                               ImageLook(list));
  std::atomic<std::uint64_t> looked{0};
  std::mutex mutex;
  ParallelFor(static_cast<unsigned>(looks.size()), sizes.size(), stop,
              [&](unsigned worker, std::size_t i) {
                sizes[i] = looks[worker].SizeOf(i);
                const std::uint64_t now = ++looked;
                if (!options.on_look || now % 1024 != 0) return;
                const std::lock_guard lock(mutex);
                options.on_look(now, sizes.size());
              });
  if (stop.stop_requested()) ThrowStopped();

  std::vector<ImageFigures> images;
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    if (input.schema.fields[f].kind != FieldKind::kImage) continue;
    ImageFigures& of = images.emplace_back();
    // The channels and the type of masks are those of the first samples. As in any dataset, all
    // masks must have the same.
    auto channels = static_cast<std::uint8_t>(f == 0 ? input.options.form.channels : 1);
    PixelType type = list.fields[f].wide ? PixelType::kUint16 : PixelType::kUint8;
    for (const std::optional<Outcome>& outcome : probe.outcomes) {
      if (f == 0 || !outcome || outcome->sample.fields[f].codec == Codec::kAbsent) continue;
      channels = outcome->sample.fields[f].channels;
      type = outcome->sample.fields[f].pixel_type;
      break;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::uint64_t pixels = std::uint64_t{sizes[i].width} * sizes[i].height;
      if (pixels == 0 || pixels > options.max_pixels) continue;
      if (f > 0 && !list.Value(i, f)) continue;
      const auto add = [&](std::uint32_t width, std::uint32_t height) {
        const FittedGeometry fitted = FitGeometry(width, height, input.options);
        of.Add(FiguresOf(fitted.target_width, fitted.target_height, channels, type,
                         list.sources[i].bytes));
        const std::uint64_t stored = std::uint64_t{fitted.target_width} * fitted.target_height;
        of.max_payload_bytes =
            std::max(of.max_payload_bytes, MaxPayloadOf(stored, list.sources[i].bytes));
      };
      add(sizes[i].width, sizes[i].height);
      if (!sizes[i].may_be_turned) continue;
      add(sizes[i].height, sizes[i].width);
      --of.present;  // it is one image
      of.payload_bytes -= list.sources[i].bytes;
    }
  }
  return images;
}

std::vector<ManifestValues> SurveyValues(const SourceList& list, const Schema& schema) {
  std::vector<ManifestValues> all;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (!HasValues(schema.fields[f])) continue;
    ManifestValues& of = all.emplace_back();
    for (std::size_t i = 0; i < list.sources.size(); ++i) {
      const std::optional<Bytes> value = list.Value(i, f);
      if (!value) continue;
      std::uint64_t bytes = list.fields[f].located ? list.ExtentOf(i, f).bytes : value->size();
      // Text that is not UTF-8 gets four bytes for one.
      if (list.fields[f].feed == Feed::kText && list.fields[f].located) bytes *= 4;
      of.Add({1, bytes, bytes});
    }
  }
  return all;
}

}  // namespace sluice
