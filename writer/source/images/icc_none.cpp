// Colour profiles in a build without lcms2.
#include "writer/source/images/icc.h"

namespace sluice {

bool CanConvertProfiles() noexcept {
  return false;
}

std::string ColorLibraryVersion() {
  return {};
}

ColorTransform::ColorTransform(void* transform, ProfileColors colors)
    : transform_(transform), colors_(colors) {}

ColorTransform::~ColorTransform() = default;

void ColorTransform::Apply(const std::uint8_t*, std::uint8_t*, std::size_t) const {}

ColorProfiles::Meaning ColorProfiles::Find(Bytes, ProfileColors) {
  return {};
}

}  // namespace sluice
