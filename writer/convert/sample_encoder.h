// One source to one stored sample: read, decode, fit, encode.
#pragma once

#include <functional>
#include <memory>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "writer/fit/fit_picture.h"
#include "writer/fit/jpeg_fitter.h"
#include "writer/fit/placement.h"
#include "writer/source/color_profile.h"
#include "writer/source/color_rows.h"
#include "writer/source/source_list.h"

namespace sluice {

struct Outcome {
  EncodedSample sample;            // if there is no reason
  std::string reason;              // why the source was left out; ASCII, at most kMaxReasonBytes
  std::string cut_short;           // why it was taken in part only; as `reason`
  bool kept = false;               // its JPEG coefficients were kept
  bool profile_dropped = false;    // it had a colour profile, which had no effect
  bool profile_converted = false;  // its colours were brought to sRGB
  bool smaller = false;            // than the size that was asked for
  std::uint64_t boxes_dropped = 0;
};

inline constexpr std::size_t kMaxReasonBytes = 240;

// What is behind an image on its way to a stored one. A JPEG's planes are resized as they are
// decoded.
enum class EncodeStep { kRead, kDecoded, kEncoded };

// Keeps its buffers from source to source. Each worker thread owns one.
class SampleEncoder {
 public:
  // Everything given outlives the encoder. `header_bytes`: of the shards' headers, `reserve_bytes`:
  // of what else a shard keeps free (see CheckLimits).
  SampleEncoder(const SourceList& sources, const ConvertOptions& options, const Schema& schema,
                std::uint64_t header_bytes, std::uint64_t reserve_bytes);

  // Of the list's source of that index. What is wrong with it is the outcome's reason; other
  // troubles (no memory) are thrown.
  Outcome Encode(std::size_t source);
  // What another encoder of the same list made, held against this one's limits.
  Outcome Checked(Outcome outcome) const;

  // Called behind each step of a source's image, for whoever measures them; empty: nobody.
  std::function<void(EncodeStep)> on_step;

 private:
  void Reached(EncodeStep step) const {
    if (on_step) on_step(step);
  }
  void EncodeImage(std::size_t source, Outcome& outcome);
  void EncodeFromJpeg(Outcome& outcome);
  // False where the coefficients cannot be kept.
  bool KeepCoefficients(const JpegFile& file, Outcome& outcome) const;
  bool TakesCutShort() const noexcept { return options_.truncated != Truncated::kRefuse; }
  void EncodeFromPixels(ImageKind kind, Outcome& outcome);
  // How the colours of a picture with that embedded profile are taken. They live until the next.
  ColorRules RulesFor(bool has_profile, Bytes profile, ProfileColors colors, Outcome& outcome);
  // The fields beside the image, once it is known where its pixels went.
  void EncodeFields(std::size_t source, Outcome& outcome);
  void EncodeText(std::size_t source, std::size_t field, FieldValue& value);
  void EncodeMask(std::size_t source, std::size_t field, FieldValue& value);
  void EncodeBoxes(std::size_t source, std::size_t boxes_field, Outcome& outcome);
  // What annotations belong to.
  Placement AnnotatedPlacement() const;
  void CheckPixels(std::uint32_t width, std::uint32_t height) const;
  void Store(Picture picture, FieldValue& value) const;

  const SourceList& sources_;
  const ConvertOptions& options_;
  const Schema& schema_;
  RowLayout layout_;
  std::uint64_t header_bytes_;
  std::uint64_t reserve_bytes_;
  std::vector<std::byte> file_;
  JpegFitter jpeg_fitter_;
  ColorProfiles profiles_;
  std::shared_ptr<const ColorTransform> transform_;  // of the image in hand
  Resampler resampler_;
  Placement placement_;  // of the image in hand
};

}  // namespace sluice
