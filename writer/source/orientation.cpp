#include "writer/source/orientation.h"

#include <memory>

#include <libexif/exif-data.h>

namespace sluice {

namespace {
constexpr std::string_view kExifPrefix("Exif\0\0", 6);
}  // namespace

unsigned ReadExifOrientation(Bytes exif) {
  std::vector<std::byte> prefixed;
  if (!AsText(exif).starts_with(kExifPrefix)) {
    const Bytes prefix = AsBytes(kExifPrefix);
    prefixed.assign(prefix.begin(), prefix.end());
    prefixed.insert(prefixed.end(), exif.begin(), exif.end());
    exif = prefixed;
  }
  if (exif.size() > UINT32_MAX) return 1;
  const std::unique_ptr<ExifData, void (*)(ExifData*)> data(
      exif_data_new_from_data(reinterpret_cast<const unsigned char*>(exif.data()),
                              static_cast<unsigned>(exif.size())),
      &exif_data_unref);
  if (!data) return 1;
  const ExifEntry* const entry =
      exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry == nullptr || entry->format != EXIF_FORMAT_SHORT || entry->components < 1 ||
      entry->size < 2) {
    return 1;
  }
  const unsigned value = exif_get_short(entry->data, exif_data_get_byte_order(data.get()));
  return value >= 1 && value <= 8 ? value : 1;
}

}  // namespace sluice
