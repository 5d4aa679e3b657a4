// Embedded colour profiles (ICC) and the transforms from their colours to sRGB.
//
// A build without lcms2 has the same interface, but understands no profile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "format/disk/bytes.h"

namespace sluice {

// Whether this build can convert profiles.
bool CanConvertProfiles() noexcept;
std::string ColorLibraryVersion();

// The values of a pixel that a profile describes, 8 bits each.
enum class ProfileColors : std::uint8_t {
  kGrey,
  kRgb,
  kCmyk,          // 255: all of the ink
  kCmykInverted,  // 0: all of the ink
};

// From a profile's colours to sRGB: grey to grey, others to RGB. Uses the perceptual intent, which
// is meant for pictures.
class ColorTransform {
 public:
  ColorTransform(void* transform, ProfileColors colors);  // from Find(); takes ownership
  ~ColorTransform();
  ColorTransform(const ColorTransform&) = delete;
  ColorTransform& operator=(const ColorTransform&) = delete;

  ProfileColors colors() const noexcept { return colors_; }
  // `in` and `out` may be the same memory if a pixel has as many values before as after.
  void Apply(const std::uint8_t* in, std::uint8_t* out, std::size_t pixels) const;

 private:
  void* transform_;
  ProfileColors colors_;
};

// Caches the transforms of recent profiles: most pictures of a source share a few. One thread at a
// time.
class ColorProfiles {
 public:
  struct Meaning {
    bool understood = false;  // false: it is broken, or for pixels of another kind
    std::shared_ptr<const ColorTransform> transform;  // null if the colours are sRGB's already
  };
  Meaning Find(Bytes profile, ProfileColors colors);

 private:
  std::map<std::pair<std::string, ProfileColors>, Meaning> met_;  // by digest
};

}  // namespace sluice
