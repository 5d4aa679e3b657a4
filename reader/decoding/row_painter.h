// Paints a sample's picture into its row of a slot: every view of it, through the view's frame and
// steps.
//
// The picture comes from one of three places: a device that has it already, the cache of decoded
// pictures, or the payload. What several views of a payload share is read once, and each view has
// the pixels that it would have alone (PayloadDecoder::DecodeViews). Each decoder thread has one
// painter.
#pragma once

#include <vector>

#include "format/pixels/decode.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/cached_rows.h"
#include "reader/transform/row_writer.h"

namespace sluice {

class RowPainter {
 public:
  enum class From {
    kDevice,   // the device has the picture and paints the row: nothing is left to do
    kCache,    // Paint() takes the decoded picture, and needs no payload
    kPayload,  // Paint() decodes the payload, or leaves that to a device
  };

  // `cache` and `device` may be null.
  RowPainter(const BatchRecipe& recipe, DecodedCache* cache, std::unique_ptr<DevicePainter> device);

  // Bytes of memory that it takes at most, for pictures of that many pixels.
  static std::uint64_t MemoryBytes(const BatchRecipe& recipe, std::uint64_t pixels);

  // For each row, call Clear(), FrameViews(), Find() and Paint(), in this order. Clear() takes back
  // what a device was to paint in the row.
  void Clear(Slot& slot, std::size_t row) {
    if (device_ != nullptr) slot.device->TakeBack(row);
  }
  // Computes the frame of each view, and sets the sizes of the row's images. Returns false if the
  // row has no room for these sizes.
  bool FrameViews(const ImagePayload& payload, Slot& slot, std::size_t row);
  // Finds where the picture comes from.
  From Find(const ImagePayload& payload, Slot& slot, std::size_t row);
  // Writes the pixels of all views of the row's picture, or leaves them to the device. Masks go
  // through FieldReader::DecodeMask() instead.
  Defect Paint(const ImagePayload& payload, PayloadDecoder& decoder, Slot& slot, std::size_t row);

  // The part of the picture that the first view shows, after FrameViews().
  const Frame& first_frame() const noexcept { return frames_[0]; }
  // The pixels of all views, after FrameViews().
  std::uint64_t shown_pixels() const noexcept {
    std::uint64_t pixels = 0;
    for (const Frame& frame : frames_)
      pixels += std::uint64_t{frame.region.width()} * frame.region.height();
    return pixels;
  }
  // Whether Paint() makes, or has made, a picture for the cache, so that its payload must be
  // verified.
  bool keeps() const noexcept { return from_ == From::kPayload && cached_.pending(); }
  // Puts that picture into the cache. The caller must have verified its payload.
  void Keep(std::uint64_t sample) { cached_.Keep(sample); }

 private:
  Defect PaintViews(const ImagePayload& payload, PayloadDecoder& decoder, Slot& slot,
                    std::size_t row);
  const std::vector<ViewProgram>& views_;
  const SlotLayout& layout_;
  const std::unique_ptr<DevicePainter> device_;
  const bool read_later_;  // see PixelTarget
  CachedPicture cached_;
  From from_ = From::kPayload;
  std::vector<Frame> frames_;    // by view
  std::vector<Region> regions_;  // by view
  RowWriter writer_;
};

}  // namespace sluice
