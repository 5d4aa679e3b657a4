#include "writer/source/images/orientation.h"

#include <memory>
#include <new>

#include <libexif/exif-data.h>

#include "format/disk/system_error.h"

namespace sluice {

namespace {
constexpr std::string_view kExifPrefix("Exif\0\0", 6);

// The value of Exif's tag "Orientation"; 0 if it is missing or not valid.
unsigned ExifOrientation(Bytes exif) {
  if (exif.empty()) return 0;
  std::vector<std::byte> prefixed;
  if (!AsText(exif).starts_with(kExifPrefix)) {
    const Bytes prefix = AsBytes(kExifPrefix);
    prefixed.assign(prefix.begin(), prefix.end());
    prefixed.insert(prefixed.end(), exif.begin(), exif.end());
    exif = prefixed;
  }
  if (exif.size() > UINT32_MAX) return 0;
  const AllocationWatch memory;
  const std::unique_ptr<ExifData, void (*)(ExifData*)> data(
      exif_data_new_from_data(reinterpret_cast<const unsigned char*>(exif.data()),
                              static_cast<unsigned>(exif.size())),
      &exif_data_unref);
  if (memory.failed()) throw std::bad_alloc();  // libexif skips what it has no memory for
  if (!data) return 0;
  const ExifEntry* const entry =
      exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry == nullptr || entry->format != EXIF_FORMAT_SHORT || entry->components < 1 ||
      entry->size < 2) {
    return 0;
  }
  const unsigned value = exif_get_short(entry->data, exif_data_get_byte_order(data.get()));
  return value >= 1 && value <= 8 ? value : 0;
}

// XMP has the orientation as an attribute (tiff:Orientation="6") or an element
// (<tiff:Orientation>6</tiff:Orientation>).
unsigned XmpOrientation(Bytes xmp) {
  constexpr std::string_view kName = "tiff:Orientation";
  constexpr std::string_view kBefore = " \t\r\n=\"'>";
  const std::string_view text = AsText(xmp);
  const std::size_t name = text.find(kName);
  if (name == std::string_view::npos) return 0;
  const std::size_t at = text.find_first_not_of(kBefore, name + kName.size());
  if (at == std::string_view::npos || at + 1 >= text.size()) return 0;
  const bool one_digit =
      text[at] >= '1' && text[at] <= '8' && (text[at + 1] < '0' || text[at + 1] > '9');
  return one_digit ? static_cast<unsigned>(text[at] - '0') : 0;
}

}  // namespace

Orientation ReadOrientation(Bytes exif, Bytes xmp) {
  const unsigned value = ExifOrientation(exif);
  return OrientationOf(value != 0 ? value : XmpOrientation(xmp));
}

}  // namespace sluice
