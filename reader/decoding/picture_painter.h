// Paints a sample's picture into its row of a slot: every view of it (PicturePainter), through the
// view's frame and steps (ViewPainter).
//
// The picture comes from one of three places: a device that has it already, the cache of decoded
// pictures, or the payload. What several views of a payload share is read once, and each view has
// the pixels that it would have alone (PayloadDecoder::DecodeViews).
#pragma once

#include <cstdint>
#include <vector>

#include "format/pixels/decode.h"
#include "format/pixels/nearest.h"
#include "reader/batch/batch_recipe.h"
#include "reader/batch/slot.h"
#include "reader/decoding/decoded_picture_use.h"
#include "reader/decoding/wide_painter.h"
#include "reader/transform/frame.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

// Which of a row's parts is painted. In a row of several, what none of them shows gets the border's
// colour after the last one, and then come the steps; all are painted by one painter.
struct PaintedPart {
  bool first = true, last = true;
  bool alone() const noexcept { return first && last; }
};

// Paints one view: decodes a picture through its frame, warps it, changes its pixels and stores its
// numbers in the row of a batch.
class ViewPainter {
 public:
  // Where the row is in the epoch. The steps' draws depend on it.
  struct Place {
    std::uint64_t draw_seed = 0;
    std::uint64_t position = 0;
    std::size_t stage = 0;  // which of the program's lists of steps applies in this epoch
  };

  using Part = PaintedPart;

  // `decode(region, target)` writes 8-bit pixels, and returns a Defect if it cannot.
  template <class Decode>
  Defect Paint(const Decode& decode, const Frame& frame, const PixelProgram& program,
               const Place& place, const PixelTarget& row, const Part& part = {}) {
    if (!frame.warped && program.idle(place.stage)) return PaintPart(decode, frame, row, part);
    const Pixels after_warp = PixelsFor(frame, program, row);
    const Pixels before_warp = frame.warped ? Unwarped(frame, row.channels) : after_warp;
    if (const Defect defect = PaintPart(
            decode, frame, PixelTarget{before_warp.data, row.channels, PixelOrder::kInterleaved},
            part)) {
      return defect;
    }
    if (part.last) Finish(before_warp, after_warp, frame, program, place, row);
    return nullptr;
  }

  // Paints a mask into its row, in the row's layout; `fill`: bits of a value. `pick_nearest(region,
  // data, keeps_border)` makes the mask as it is before the warp, if the frame has one. The warp
  // takes nearest pixels; pixels from outside the mask get `fill`.
  template <class PickNearest>
  void PaintMask(const PickNearest& pick_nearest, const Frame& frame, std::uint32_t value_bytes,
                 std::uint32_t fill, const PixelTarget& row, const Part& part = {}) {
    const Frame whole = part.alone() ? WithWholeRegion(frame) : frame;
    const std::size_t values =
        std::size_t{whole.region.width()} * whole.region.height() * row.channels;
    if (frame.warped) unwarped_.resize(values * value_bytes);
    std::uint8_t* const data = frame.warped ? unwarped_.data() : row.data;
    if (part.first && !part.last) SetValues(data, values, value_bytes, fill);
    pick_nearest(whole.region, data, !part.alone());
    if (frame.warped && part.last) WarpMask(whole, value_bytes, fill, row);
  }

  // From now on, times each step. Null: no longer.
  void TimeParts(PartTimes* times) noexcept { scratch_.times = times; }

 private:
  template <class Decode>
  Defect PaintPart(const Decode& decode, const Frame& frame, PixelTarget target, const Part& part) {
    if (part.alone()) return decode(frame.region, target);
    target.keeps_border = true;
    if (part.first) painted_.clear();
    painted_.push_back(ShownOf(frame.region));
    const Defect defect = decode(frame.region, target);
    if (defect == nullptr && part.last) FillBetween(frame.region, target);
    return defect;
  }
  // Gives the pixels that none of the row's parts shows the region's colour.
  void FillBetween(const Region& region, const PixelTarget& target) const noexcept;
  // The memory that steps work in: the row itself, if it has the layout and the type that they
  // need.
  Pixels PixelsFor(const Frame& frame, const PixelProgram& program, const PixelTarget& row);
  // Memory for the picture before its warp.
  Pixels Unwarped(const Frame& frame, std::uint32_t channels);
  // Warps the picture if the frame has a warp, runs the steps, and writes the row's numbers.
  void Finish(const Pixels& before_warp, const Pixels& after_warp, const Frame& frame,
              const PixelProgram& program, const Place& place, const PixelTarget& row);
  // A mask's values are picked only once: a region that was chosen for the warp becomes as large as
  // it is in the mask, and the warp does the rest.
  static Frame WithWholeRegion(const Frame& frame);
  void WarpMask(const Frame& frame, std::uint32_t value_bytes, std::uint32_t fill,
                const PixelTarget& row);

  std::vector<std::uint8_t> pixels_, unwarped_;
  std::vector<PixelRect> painted_;  // by part of the row, where that has several
  StepScratch scratch_;
};

// The pixels of the largest canvas of a Mosaic among the steps; 0 without one.
std::uint64_t CanvasPixels(const Pipeline& transform,
                           const std::vector<ScheduledTransform>& schedule);

// Paints all views of a picture. Each decoder thread has one.
class PicturePainter {
 public:
  enum class From {
    kDevice,   // the device has the picture and paints the row: nothing is left to do
    kCache,    // Paint() takes the decoded picture, and needs no payload
    kPayload,  // Paint() decodes the payload, or leaves that to a device
  };

  // `cache` and `device` may be null.
  PicturePainter(const BatchRecipe& recipe, DecodedPictureCache* cache,
                 std::unique_ptr<DevicePainter> device);

  // Bytes of memory that it takes at most, for pictures of that many pixels.
  static std::uint64_t MemoryBytes(const BatchRecipe& recipe, std::uint64_t pixels);

  // For each row, call Clear(), FrameViews(), Find() and Paint(), in this order. Clear() takes back
  // what a device was to paint in the row.
  void Clear(Slot& slot, std::size_t row) {
    if (device_ != nullptr) slot.device->TakeBack(row);
  }
  // Computes the frame of each view, and sets the sizes of the row's images and its map. Returns
  // false if the row has no room for these sizes. `boxes`: the picture's, if a step looks at them;
  // which of them the first view's steps drop is noted there. `part`: of the row.
  bool FrameViews(const ImagePayload& payload, Slot& slot, std::size_t row, std::size_t part,
                  PictureBoxes* boxes);
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
      pixels += std::uint64_t{frame.width()} * frame.height();
    return pixels;
  }
  void TimeParts(PartTimes* times) noexcept { view_painter_.TimeParts(times); }
  // Whether Paint() makes, or has made, a picture for the cache, so that its payload must be
  // verified.
  bool keeps() const noexcept { return from_ == From::kPayload && cached_.pending(); }
  // Puts that picture into the cache. The caller must have verified its payload.
  void Keep(std::uint64_t sample) { cached_.Keep(sample); }

 private:
  // The row's stage of the view's steps.
  std::size_t RowStageOf(const Slot& slot, std::size_t view, std::size_t row) const;
  Defect PaintViews(const ImagePayload& payload, PayloadDecoder& decoder, Slot& slot,
                    std::size_t row);
  const std::vector<ViewProgram>& views_;
  const SlotLayout& layout_;
  const std::unique_ptr<DevicePainter> device_;
  const bool read_later_;  // see PixelTarget
  CachedPicture cached_;
  From from_ = From::kPayload;
  std::size_t part_ = 0;         // of the row that is painted
  std::vector<Frame> frames_;    // by view
  std::vector<Region> regions_;  // by view
  ViewPainter view_painter_;
  WidePainter wide_painter_;
};

}  // namespace sluice
