// Embedded colour profiles (ICC), and the transforms from their colours to sRGB.
//
// A build without lcms2 has the same interface, but cannot convert any profile.
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

// Converts a profile's colours to sRGB: grey to grey, all others to RGB. Uses the perceptual
// rendering intent, which is meant for photographs.
class ColorTransform {
 public:
  ColorTransform(void* transform, ProfileColors colors);  // from Find(); takes ownership
  ~ColorTransform();
  ColorTransform(const ColorTransform&) = delete;
  ColorTransform& operator=(const ColorTransform&) = delete;

  ProfileColors colors() const noexcept { return colors_; }
  // `in` and `out` may be the same memory if the transform does not change the number of values per
  // pixel.
  void Apply(const std::uint8_t* in, std::uint8_t* out, std::size_t pixels) const;

 private:
  void* transform_;
  ProfileColors colors_;
};

// Caches the transforms of recent profiles, because most pictures of a source share a few. Not
// thread-safe.
class ColorProfiles {
 public:
  struct Meaning {
    bool understood = false;  // false: the profile is broken, or for another kind of pixels
    std::shared_ptr<const ColorTransform> transform;  // null if the colours are sRGB already
  };
  Meaning Find(Bytes profile, ProfileColors colors);

 private:
  // The key's string is the profile's digest.
  std::map<std::pair<std::string, ProfileColors>, Meaning> met_;
};

}  // namespace sluice
