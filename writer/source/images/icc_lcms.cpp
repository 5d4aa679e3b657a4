// Converts colours by their ICC profiles, with lcms2.
//
// Most profiles in pictures describe sRGB in one of many ways. Understand() finds them by trying a
// grid of colours: if none changes by more than rounding would, no transform is made and pixels are
// copied. Other transforms are built once and cached.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include <lcms2.h>

#include "format/disk/checksum.h"
#include "format/disk/system_error.h"
#include "format/pixels/grey.h"
#include "writer/source/images/icc.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxTransforms = 32;  // one takes up to a few hundred kilobytes
constexpr std::size_t kMaxProfileBytes = 8 << 20;
// The greatest change of a value for which a profile still counts as sRGB.
constexpr int kSameColour = 1;

struct CloseProfile {
  void operator()(void* profile) const noexcept { cmsCloseProfile(profile); }
};
using ProfileHandle = std::unique_ptr<void, CloseProfile>;

bool IsCmyk(ProfileColors colors) noexcept {
  return colors == ProfileColors::kCmyk || colors == ProfileColors::kCmykInverted;
}

cmsColorSpaceSignature SpaceOf(ProfileColors colors) noexcept {
  if (colors == ProfileColors::kGrey) return cmsSigGrayData;
  return IsCmyk(colors) ? cmsSigCmykData : cmsSigRgbData;
}

cmsUInt32Number LayoutOf(ProfileColors colors) noexcept {
  switch (colors) {
    case ProfileColors::kGrey: return TYPE_GRAY_8;
    case ProfileColors::kRgb: return TYPE_RGB_8;
    case ProfileColors::kCmyk: return TYPE_CMYK_8;
    case ProfileColors::kCmykInverted: return TYPE_CMYK_8_REV;
  }
  return TYPE_RGB_8;
}

// The content of a ColorTransform: a transform of lcms2, and for grey sources a table with the
// result for each value.
struct LcmsConversion {
  void* transform = nullptr;
  std::vector<std::uint8_t> greys;

  LcmsConversion() = default;
  ~LcmsConversion() {
    if (transform != nullptr) cmsDeleteTransform(transform);
  }
  LcmsConversion(const LcmsConversion&) = delete;
  LcmsConversion& operator=(const LcmsConversion&) = delete;
};

// Grey with sRGB's white and tone curve.
ProfileHandle GreyOfSrgb() {
  const cmsFloat64Number curve[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  cmsToneCurve* const tone = cmsBuildParametricToneCurve(nullptr, 4, curve);
  if (tone == nullptr) return nullptr;
  ProfileHandle profile(cmsCreateGrayProfile(cmsD50_xyY(), tone));
  cmsFreeToneCurve(tone);
  return profile;
}

// Whether the transform leaves all colours of a grid as they are.
bool ChangesNothing(const ColorTransform& transform) {
  if (IsCmyk(transform.colors())) return false;
  std::vector<std::uint8_t> in;
  for (int red = 0; red < 256; red += 17) {
    if (transform.colors() == ProfileColors::kGrey) {
      in.push_back(static_cast<std::uint8_t>(red));
      continue;
    }
    for (int green = 0; green < 256; green += 17) {
      for (int blue = 0; blue < 256; blue += 17) {
        for (const int value : {red, green, blue})
          in.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  std::vector<std::uint8_t> out(in.size());
  transform.Apply(in.data(), out.data(),
                  transform.colors() == ProfileColors::kGrey ? in.size() : in.size() / 3);
  return std::equal(in.begin(), in.end(), out.begin(),
                    [](int a, int b) { return std::abs(a - b) <= kSameColour; });
}

// The resulting grey for each value, from a profile for grey or for RGB (R, G and B all have that
// value).
std::vector<std::uint8_t> GreysOf(const LcmsConversion& conversion, bool rgb) {
  std::vector<std::uint8_t> in;
  for (int value = 0; value < 256; ++value)
    in.insert(in.end(), rgb ? 3 : 1, static_cast<std::uint8_t>(value));
  cmsDoTransform(conversion.transform, in.data(), in.data(), 256);
  if (!rgb) return in;
  std::vector<std::uint8_t> greys;
  for (std::size_t value = 0; value < 256; ++value)
    greys.push_back(GreyOf(&in[value * 3]));
  return greys;
}

ColorProfiles::Meaning Understand(Bytes bytes, ProfileColors colors) {
  if (bytes.size() > kMaxProfileBytes) return {};
  const ProfileHandle profile(
      cmsOpenProfileFromMem(bytes.data(), static_cast<cmsUInt32Number>(bytes.size())));
  if (!profile) return {};
  // Many grey pictures have an RGB profile.
  const cmsColorSpaceSignature space = cmsGetColorSpace(profile.get());
  const bool grey = space == cmsSigGrayData;
  const bool grey_as_rgb = colors == ProfileColors::kGrey && space == cmsSigRgbData;
  if (space != SpaceOf(colors) && !grey_as_rgb) return {};
  const ProfileHandle srgb = grey ? GreyOfSrgb() : ProfileHandle(cmsCreate_sRGBProfile());
  if (!srgb) return {};
  auto conversion = std::make_unique<LcmsConversion>();
  conversion->transform =
      cmsCreateTransform(profile.get(), grey_as_rgb ? TYPE_RGB_8 : LayoutOf(colors), srgb.get(),
                         grey ? TYPE_GRAY_8 : TYPE_RGB_8, INTENT_PERCEPTUAL, cmsFLAGS_NOCACHE);
  if (conversion->transform == nullptr) return {};
  if (grey || grey_as_rgb) conversion->greys = GreysOf(*conversion, grey_as_rgb);
  auto made = std::make_shared<const ColorTransform>(conversion.release(), colors);
  if (ChangesNothing(*made)) made.reset();
  return {true, std::move(made)};
}

}  // namespace

bool CanConvertProfiles() noexcept {
  return true;
}

std::string ColorLibraryVersion() {
  return std::to_string(cmsGetEncodedCMMversion());
}

ColorTransform::ColorTransform(void* transform, ProfileColors colors)
    : transform_(transform), colors_(colors) {}

ColorTransform::~ColorTransform() {
  delete static_cast<LcmsConversion*>(transform_);
}

void ColorTransform::Apply(const std::uint8_t* in, std::uint8_t* out, std::size_t pixels) const {
  const auto& conversion = *static_cast<const LcmsConversion*>(transform_);
  if (conversion.greys.empty()) {
    cmsDoTransform(conversion.transform, in, out, static_cast<cmsUInt32Number>(pixels));
    return;
  }
  std::transform(in, in + pixels, out,
                 [&greys = conversion.greys](std::uint8_t value) { return greys[value]; });
}

ColorProfiles::Meaning ColorProfiles::Find(Bytes profile, ProfileColors colors) {
  const std::pair key(ToHex(Hash128(profile)), colors);
  if (const auto met = met_.find(key); met != met_.end()) return met->second;
  if (met_.size() >= kMaxTransforms) met_.clear();
  // If lcms2 runs out of memory, it does not fail: it skips steps or falls back to others.
  const AllocationWatch memory;
  Meaning meaning = Understand(profile, colors);
  if (memory.failed()) throw std::bad_alloc();
  return met_[key] = std::move(meaning);
}

}  // namespace sluice
