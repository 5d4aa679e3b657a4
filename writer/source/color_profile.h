// Embedded colour profiles (ICC), and what brings their colours to sRGB.
//
// Of a build without lcms2 the same, except that no profile is ever understood.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "format/disk/bytes.h"

namespace sluice {

// Whether this build can.
bool CanConvertProfiles() noexcept;
std::string ColorLibraryVersion();

// The values of a pixel that a profile gives a meaning to, 8 bits each.
enum class ProfileColors : std::uint8_t {
  kGrey,
  kRgb,
  kCmyk,          // 255: all of the ink
  kCmykInverted,  // 0: all of the ink
};

// From a profile's colours to sRGB: grey to grey, others to RGB. By the perceptual intent, which is
// the one for pictures.
class ColorTransform {
 public:
  ColorTransform(void* transform, ProfileColors colors);  // of Find(); takes it over
  ~ColorTransform();
  ColorTransform(const ColorTransform&) = delete;
  ColorTransform& operator=(const ColorTransform&) = delete;

  ProfileColors colors() const noexcept { return colors_; }
  // `in` and `out` may be the same memory where as many values come out as go in.
  void Apply(const std::uint8_t* in, std::uint8_t* out, std::size_t pixels) const;

 private:
  void* transform_;
  ProfileColors colors_;
};

// Keeps the transforms of the profiles it has met lately: most pictures of a source share a few.
// One thread at a time.
class ColorProfiles {
 public:
  struct Meaning {
    bool understood = false;  // else it is broken, or for pixels of another kind
    std::shared_ptr<const ColorTransform> transform;  // none where the colours are sRGB's already
  };
  Meaning Find(Bytes profile, ProfileColors colors);

 private:
  std::map<std::pair<std::string, ProfileColors>, Meaning> met_;  // by digest
};

}  // namespace sluice
