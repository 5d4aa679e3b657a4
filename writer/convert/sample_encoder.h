// Turns one source into one stored sample: reads, decodes, fits and encodes it.
#pragma once

#include <optional>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "writer/convert/image_encoder.h"
#include "writer/fit/fit.h"
#include "writer/source/images/png.h"
#include "writer/source/list/source_list.h"

namespace sluice {

// Keeps its buffers from source to source. Each worker thread owns one.
class SampleEncoder {
 public:
  // All arguments must outlive the encoder. `header_bytes`: size of the shards' headers;
  // `reserve_bytes`: other bytes that a shard keeps free (see CheckLimits).
  SampleEncoder(const SourceList& sources, const ConvertOptions& options, const Schema& schema,
                std::uint64_t header_bytes, std::uint64_t reserve_bytes);

  // Encodes the list's source of that index. If the source is at fault, the outcome has the reason;
  // other errors (no memory, a fault of the disk or store) are thrown.
  // Without `with_image`, the sample lacks its image, and must not have boxes, masks or key points,
  // which need the image's size.
  Outcome Encode(std::size_t source, bool with_image = true);
  // Checks an outcome of another encoder for the same list against this encoder's limits.
  Outcome Checked(Outcome outcome) const;

  // Makes the source's image. Public, for its settings.
  ImageEncoder images;
  const std::atomic<bool>* give_up = nullptr;  // as for ReadImageFile()

 private:
  void EncodeImage(std::size_t source, Outcome& outcome);
  // The fields besides the image, once the image's placement is known.
  void EncodeFields(std::size_t source, Outcome& outcome);
  void EncodeText(std::size_t source, std::size_t field, FieldValue& value);
  void EncodeMask(std::size_t source, std::size_t field, FieldValue& value);
  void StoreMask(MaskPicture mask, FieldValue& value) const;
  void EncodeValues(std::size_t source, std::size_t field, FieldValue& value);
  void EncodeBoxes(std::size_t source, std::size_t boxes_field, Outcome& outcome);
  void EncodePoints(std::size_t source, std::size_t field, FieldValue& value) const;
  void EncodeInstances(std::size_t source, std::size_t field, FieldValue& value) const;
  // Throws if the image does not have the size that its label file gives it.
  void CheckDescribed(const Source& source) const;
  // Throws if an image that annotates the source's has another size.
  void CheckSize(std::uint32_t width, std::uint32_t height, const char* what = "") const;
  // The placement that annotations refer to.
  Placement AnnotatedPlacement() const;
  // The end of an error about annotations that describe another size than the image's: names the
  // option (--as-stored, --upright) under which the sizes agree. Empty if the sizes agree under
  // neither.
  std::string OrientationAdvice(std::uint32_t width, std::uint32_t height) const;

  const SourceList& sources_;
  const ConvertOptions& options_;
  const Schema& schema_;
  RecordLayout layout_;
  std::uint64_t header_bytes_;
  std::uint64_t reserve_bytes_;
  std::vector<std::byte> file_;
  std::string geo_;  // of the current source, if its image's values are stored
  // Indices of the current source's boxes that were kept; nullopt if the source has no boxes.
  std::optional<std::vector<std::size_t>> boxes_taken_;
};

}  // namespace sluice
