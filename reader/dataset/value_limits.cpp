#include "reader/dataset/value_limits.h"

#include <algorithm>

#include "format/disk/limits.h"

namespace sluice {

namespace {
// The largest value if neither the manifest nor the user gives a limit.
constexpr std::uint64_t kUsualValueBytes = std::uint64_t{64} << 20;
}  // namespace

ValueLimits::ValueLimits(const Manifest& manifest, const ReadLimits& limits)
    : limits_(limits),
      values_known_(!manifest.values.empty()),
      images_(manifest.schema.fields.size()),
      values_(manifest.schema.fields.size()) {
  std::size_t image = 0;
  std::size_t value = 0;
  for (std::size_t f = 0; f < manifest.schema.fields.size(); ++f) {
    const Field& field = manifest.schema.fields[f];
    if (field.kind == FieldKind::kImage) images_[f] = manifest.images[image++];
    if (values_known_ && HasValues(field)) values_[f] = manifest.values[value++];
  }
}

std::uint64_t ValueLimits::bytes(std::size_t field) const noexcept {
  const std::uint64_t allowed = limits_.max_value_bytes != 0
                                    ? std::min(limits_.max_value_bytes, kMaxInflatedBytes)
                                : values_known_ ? kMaxInflatedBytes
                                                : kUsualValueBytes;
  return values_known_ ? std::min(allowed, values_[field].max_bytes) : allowed;
}

std::uint64_t ValueLimits::pixels(std::size_t field) const noexcept {
  const ManifestImages& images = images_[field];
  return std::min(limits_.max_pixels, std::uint64_t{images.max_width} * images.max_height);
}

ValueFault ValueLimits::CheckBytes(std::size_t field, std::uint64_t bytes) const noexcept {
  if (bytes <= this->bytes(field)) return {};
  if (values_known_ && bytes > values_[field].max_bytes)
    return {"the value is larger than the manifest says", ErrorCode::kCorrupt};
  return {"the value takes more memory than ReadLimits::max_value_bytes (--max-value-bytes) allows",
          ErrorCode::kLimit};
}

ValueFault ValueLimits::CheckEntry(std::size_t field, const ImagePayload& image) const noexcept {
  const ManifestImages& images = images_[field];
  if (image.width <= images.max_width && image.height <= images.max_height &&
      image.channels <= images.max_channels && image.bytes.size() <= images.max_payload_bytes &&
      static_cast<std::uint32_t>(image.pixel_type) <= images.pixel_type) {
    return {};
  }
  return {"the image is larger than the manifest says", ErrorCode::kCorrupt};
}

ValueFault ValueLimits::CheckImage(std::size_t field, const ImagePayload& image) const noexcept {
  if (const ValueFault over = CheckEntry(field, image)) return over;
  if (std::uint64_t{image.width} * image.height <= limits_.max_pixels) return {};
  return {"the image has more pixels than ReadLimits::max_pixels (--max-pixels) allows",
          ErrorCode::kLimit};
}

}  // namespace sluice
