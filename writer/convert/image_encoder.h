// Turns the bytes of an image file into a stored image: decodes, fits and encodes it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "writer/encode/jpeg.h"
#include "writer/fit/fit.h"
#include "writer/source/images/color_lines.h"
#include "writer/source/images/icc.h"
#include "writer/source/images/sniff.h"

namespace sluice {

struct Outcome {
  EncodedSample sample;            // valid if `reason` is empty
  std::string reason;              // why the source was left out; ASCII, at most kMaxReasonBytes
  std::string cut_short;           // why the image was taken only in part; limited like `reason`
  bool unreadable = false;         // the reason is that a file is gone or cannot be read
  bool kept = false;               // its JPEG coefficients were kept
  bool channels_dropped = false;   // as ConvertSummary::channels_dropped
  bool profile_dropped = false;    // it had a colour profile, which was ignored
  bool profile_converted = false;  // its colours were converted to sRGB
  bool smaller = false;            // smaller than the requested size
  bool shrunk = false;             // the part of the source that is stored had more pixels
  bool reencoded = false;          // it was a JPEG, and is stored with other coefficients
  bool rounded = false;            // has more than 8 bits a value, and is stored with 8
  bool dim = false;     // has more than 8 bits a value, and uses less than a quarter of the range
  bool turned = false;  // the orientation turns the image, and there are boxes, masks or points
  std::uint64_t boxes_dropped = 0;
};

inline constexpr std::size_t kMaxReasonBytes = 240;

// The last step that an image has passed on its way to a stored one. kDecoded includes resizing: a
// JPEG's planes are resized while they are decoded.
enum class EncodeStep { kRead, kDecoded, kEncoded };

// Makes a sentence a reason: printable ASCII, because reasons go into tables and JSON, and at most
// kMaxReasonBytes, because shards keep room for them.
std::string ToReason(const std::string& sentence);

// Keeps its buffers from image to image. Each thread owns one.
class ImageEncoder {
 public:
  // `options` must outlive the encoder.
  explicit ImageEncoder(const ConvertOptions& options) : options_(options) {}

  // Sets the first field of `outcome.sample`, and the outcome's members about images. Throws an
  // Error whose sentence() says what is wrong with the file, without naming it. May change `file`.
  void Encode(std::vector<std::byte>& file, Outcome& outcome);
  // From now on, a JPEG whose coefficients would be kept is returned with its own bytes: no restart
  // markers are added, and its coefficients are not checked. This is for samples that are played
  // once and not stored. The pixels are the same.
  void TakeJpegsAsTheyAre() noexcept { as_they_are_ = true; }
  // Places an image whose values are stored as they are, instead of Encode(). Its size is kept.
  void Place(std::uint32_t width, std::uint32_t height, Orientation orientation);
  // The placement of the image that was encoded last.
  const Placement& placement() const noexcept { return placement_; }

  // Called after each step of an image, to measure the steps; may be empty.
  std::function<void(EncodeStep)> on_step;

 private:
  void Reached(EncodeStep step) const {
    if (on_step) on_step(step);
  }
  void EncodeFromJpeg(std::vector<std::byte>& content, Outcome& outcome);
  // False if the file cannot be taken as it is.
  bool TakeAsItIs(Bytes file, Outcome& outcome);
  // False if the coefficients cannot be kept.
  bool KeepCoefficients(const JpegFile& file, const JpegSource& source, Outcome& outcome);
  // False if the picture must be decoded to pixels.
  bool Recode(const JpegFile& file, const JpegSource& source, Outcome& outcome);
  bool TakesCutShort() const noexcept { return options_.form.truncated != Truncated::kRefuse; }
  void EncodeFromPixels(ImageKind kind, Bytes file, Outcome& outcome);
  // The colour rules for a picture with that embedded profile. They are valid until the next call.
  ColorRules RulesFor(bool has_profile, Bytes profile, ProfileColors colors, Outcome& outcome);
  void CheckPixels(std::uint32_t width, std::uint32_t height) const;
  void Store(Picture picture, FieldValue& value);

  const ConvertOptions& options_;
  JpegFitter jpeg_fitter_;
  baseline::BlockReader blocks_{kernels::Chosen()};
  JpegRecoder recoder_;
  bool as_they_are_ = false;
  baseline::Header header_;  // of the current image, if it is taken as it is
  ColorProfiles profiles_;
  std::shared_ptr<const ColorTransform> transform_;  // of the current image
  std::optional<std::uint16_t> greatest_;  // of the current image: see ColorRules::greatest
  Resampler resampler_;
  Placement placement_;  // of the current image
};

}  // namespace sluice
