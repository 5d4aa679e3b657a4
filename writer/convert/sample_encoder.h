// Turns one source into one stored sample: reads, decodes, fits and encodes it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "writer/encode/jpeg.h"
#include "writer/fit/fit.h"
#include "writer/source/images/color_rows.h"
#include "writer/source/images/icc.h"
#include "writer/source/images/png.h"
#include "writer/source/list/source_list.h"

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
  bool shrunk = false;             // stored with fewer pixels than the part that was taken had
  bool reencoded = false;          // it was a JPEG, and is stored with other coefficients
  bool dim = false;     // has more than 8 bits a value, and uses less than a quarter of the range
  bool turned = false;  // its orientation turns it, and it has boxes, masks or points
  std::uint64_t boxes_dropped = 0;
};

inline constexpr std::size_t kMaxReasonBytes = 240;

// The last step that an image has passed on its way to a stored one. kDecoded includes resizing: a
// JPEG's planes are resized while they are decoded.
enum class EncodeStep { kRead, kDecoded, kEncoded };

// Keeps its buffers from source to source. Each worker thread owns one.
class SampleEncoder {
 public:
  // All arguments must outlive the encoder. `header_bytes`: size of the shards' headers;
  // `reserve_bytes`: other bytes that a shard keeps free (see CheckLimits).
  SampleEncoder(const SourceList& sources, const ConvertOptions& options, const Schema& schema,
                std::uint64_t header_bytes, std::uint64_t reserve_bytes);

  // Encodes the list's source of that index. If the source is at fault, the outcome has the reason;
  // other errors (no memory) are thrown.
  Outcome Encode(std::size_t source);
  // Checks an outcome of another encoder for the same list against this encoder's limits.
  Outcome Checked(Outcome outcome) const;

  // Called after each step of a source's image, to measure the steps; may be empty.
  std::function<void(EncodeStep)> on_step;

 private:
  void Reached(EncodeStep step) const {
    if (on_step) on_step(step);
  }
  void EncodeImage(std::size_t source, Outcome& outcome);
  void EncodeFromJpeg(Outcome& outcome);
  // False if the coefficients cannot be kept.
  bool KeepCoefficients(const JpegFile& file, const JpegSource& source, Outcome& outcome);
  // False if the picture must be decoded.
  bool Recode(const JpegFile& file, const JpegSource& source, Outcome& outcome);
  bool TakesCutShort() const noexcept { return options_.form.truncated != Truncated::kRefuse; }
  void EncodeFromPixels(ImageKind kind, Outcome& outcome);
  // The colour rules for a picture with that embedded profile. They are valid until the next call.
  ColorRules RulesFor(bool has_profile, Bytes profile, ProfileColors colors, Outcome& outcome);
  // The fields besides the image, once the image's placement is known.
  void EncodeFields(std::size_t source, Outcome& outcome);
  void EncodeText(std::size_t source, std::size_t field, FieldValue& value);
  void EncodeMask(std::size_t source, std::size_t field, FieldValue& value);
  void StoreMask(MaskPicture mask, FieldValue& value) const;
  void EncodeBoxes(std::size_t source, std::size_t boxes_field, Outcome& outcome);
  void EncodePoints(std::size_t source, std::size_t field, FieldValue& value) const;
  // Throws if the image does not have the size that its label file gives it.
  void CheckDescribed(const Source& source) const;
  // The placement that annotations refer to.
  Placement AnnotatedPlacement() const;
  // The end of a sentence about annotations for an image of another size: the option that would
  // make the size right, if there is one.
  std::string OtherWay(std::uint32_t width, std::uint32_t height) const;
  void CheckPixels(std::uint32_t width, std::uint32_t height) const;
  void Store(Picture picture, FieldValue& value);

  const SourceList& sources_;
  const ConvertOptions& options_;
  const Schema& schema_;
  RowLayout layout_;
  std::uint64_t header_bytes_;
  std::uint64_t reserve_bytes_;
  std::vector<std::byte> file_;
  JpegFitter jpeg_fitter_;
  baseline::BlockReader blocks_{kernels::Chosen()};
  JpegRecoder recoder_;
  ColorProfiles profiles_;
  std::shared_ptr<const ColorTransform> transform_;  // of the current image
  std::optional<std::uint16_t> greatest_;  // of the current image: see ColorRules::greatest
  Resampler resampler_;
  Placement placement_;  // of the current image
  // Indices of the current source's boxes that were kept; nullopt if the source has no boxes.
  std::optional<std::vector<std::size_t>> boxes_taken_;
};

}  // namespace sluice
