// The calls for a row share the frames of its views, and where its picture comes from. The cache is
// asked with the first view's frame only: with several views, it keeps whole pictures, which do not
// depend on the frame. PaintViews() reads a payload for several views together only once some view
// is left to the host, because a device may take all of them. It draws the device's operations for
// every view, even if the host has decoded it. Wide images have a painter of their own.
#include "reader/decoding/picture_painter.h"

#include <algorithm>
#include <array>

#include "format/pixels/lines.h"
#include "format/pixels/nearest.h"
#include "reader/transform/geometry.h"
#include "reader/transform/steps.h"

namespace sluice {

std::uint64_t CanvasPixels(const Pipeline& transform,
                           const std::vector<ScheduledTransform>& schedule) {
  std::uint64_t most = 0;
  InAnyEpoch(transform, schedule, [&most](const Pipeline& steps) {
    for (const Transform& step : steps)
      if (const auto* const mosaic = std::get_if<Mosaic>(&step))
        most = std::max(most, 4 * std::uint64_t{mosaic->cell} * mosaic->cell);
    return false;
  });
  return most;
}

namespace {

// The bytes of the buffers that steps work in. Five pictures have one byte for each value: the
// picture; copies of it before turning, before warping and before an operation; and its planes.
// GaussianBlur works with numbers of two bytes. It has three pictures of them, since it mirrors the
// picture on either side (a kernel reaches no further), and a few rows, for which one more picture
// is counted.
std::uint64_t StepBytesOf(const Pipeline& transform,
                          const std::vector<ScheduledTransform>& schedule, const ImageBatch& image,
                          std::uint64_t picture_pixels) {
  const auto needs_one = [](const Transform& step) {
    return !IsGeometric(step) || Warps(step) || SwapsSides(step);
  };
  const bool any = InAnyEpoch(transform, schedule, [&](const Pipeline& steps) {
    return std::ranges::any_of(steps, needs_one);
  });
  constexpr std::uint64_t kValueBytes = 5 + 3 * 2 + 2 + 1;  // the last 1 is for single lines
  // A picture before its warp may be as large as it is stored, and a mosaic as its canvas.
  std::uint64_t unwarped = 0;
  if (InAnyEpoch(transform, schedule,
                 [](const Pipeline& steps) { return std::ranges::any_of(steps, Warps); }))
    unwarped = std::max(picture_pixels, CanvasPixels(transform, schedule)) * image.channels;
  return any ? kValueBytes * image.height * image.width * image.channels + unwarped : 0;
}

}  // namespace

PicturePainter::PicturePainter(const BatchRecipe& recipe, DecodedPictureCache* cache,
                               std::unique_ptr<DevicePainter> device)
    : views_(recipe.views),
      layout_(recipe.layout),
      device_(std::move(device)),
      read_later_(recipe.RowsLeaveCaches()),
      cached_(cache, recipe.options) {}

std::uint64_t PicturePainter::MemoryBytes(const BatchRecipe& recipe, std::uint64_t pixels) {
  const LoaderOptions& options = recipe.options;
  const SlotLayout& layout = recipe.layout;
  if (layout.picture().wide) {
    std::uint64_t most = 0;
    for (std::size_t v = 0; v < layout.views; ++v)
      most = std::max(most, WidePainter::MemoryBytes(layout, pixels, v, recipe.views[v].geometry));
    return most;
  }
  std::uint64_t steps =
      StepBytesOf(options.transform, options.schedule, layout.picture().image, pixels);
  for (std::size_t v = 0; v < options.views.size(); ++v) {
    const View& view = options.views[v];
    steps = std::max(
        steps, StepBytesOf(view.transform, view.schedule, layout.images[1 + v].image, pixels));
  }
  return steps + (options.views.empty() ? 0 : PayloadDecoder::kViewBytes * pixels);
}

std::size_t PicturePainter::RowStageOf(const Slot& slot, std::size_t view, std::size_t row) const {
  return views_[view].geometry.RowStage(slot.stages[view], slot.view_seeds[view],
                                        slot.positions[row]);
}

bool PicturePainter::FrameViews(const ImagePayload& payload, Slot& slot, std::size_t row,
                                std::size_t part, PictureBoxes* boxes) {
  frames_.clear();
  part_ = part;
  PictureBoxes of_view;  // a further view drops boxes for itself alone
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (boxes != nullptr && v > 0) {
      of_view = {boxes->boxes, std::vector<std::uint8_t>(boxes->boxes.size())};
      boxes = &of_view;
    }
    const Frame& frame = frames_.emplace_back(views_[v].geometry.FrameFor(
        payload.width, payload.height, slot.view_seeds[v], slot.positions[row],
        RowStageOf(slot, v, row), boxes, static_cast<std::uint16_t>(part)));
    if (v == 0) MapOf(slot, row, part) = RowMapOf(frame.Map());
    if (!SetRowSize(slot, v, row, frame.width(), frame.height())) return false;
    std::vector<VisiblePart>& shown = slot.images[v].shown;
    if (!shown.empty()) ShowPart(frame, part, shown[row]);
  }
  return true;
}

PicturePainter::From PicturePainter::Find(const ImagePayload& payload, Slot& slot,
                                          std::size_t row) {
  if (device_ != nullptr && PartsOf(slot, row) == 1 &&
      device_->PaintCached(payload, frames_, slot, row)) {
    from_ = From::kDevice;
  } else {
    const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
    const bool cached =
        cached_.Find(RefOf(slot, row, part_).index, payload, frames_[0].region, channels);
    from_ = cached ? From::kCache : From::kPayload;
  }
  return from_;
}

Defect PicturePainter::Paint(const ImagePayload& payload, PayloadDecoder& decoder, Slot& slot,
                             std::size_t row) {
  if (!layout_.picture().wide) return PaintViews(payload, decoder, slot, row);
  if (const Defect defect = WidePainter::Open(payload, decoder.wide(), layout_.picture()))
    return defect;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const WidePainter::Steps steps{&views_[v].pixels, slot.view_seeds[v], slot.positions[row],
                                   RowStageOf(slot, v, row)};
    const Defect defect =
        wide_painter_.Paint(payload, decoder.wide(), frames_[v], layout_.images[v], steps,
                            OrderOf(slot.images[v].image), PixelsOf(slot, v, row));
    if (defect != nullptr) return defect;
  }
  return nullptr;
}

Defect PicturePainter::PaintViews(const ImagePayload& payload, PayloadDecoder& decoder, Slot& slot,
                                  std::size_t row) {
  const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
  const bool decoded = from_ == From::kCache;
  const ViewPainter::Part part{part_ == 0, part_ + 1 == PartsOf(slot, row)};
  const bool alone = views_.size() == 1 || decoded || cached_.whole(payload);
  bool read_together = false;  // set when the first view is left to the host
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const auto decode = [&](const Region& region, const PixelTarget& target) {
      if (alone) return cached_.Decode(decoder, payload, region, target);
      if (!read_together) {
        regions_.clear();
        for (const Frame& frame : frames_)
          regions_.push_back(frame.region);
        decoder.DecodeViews(payload, regions_);
        read_together = true;
      }
      return decoder.DecodeView(v, payload, region, target);
    };
    const bool left_to_device = device_ != nullptr && !decoded && part.alone() &&
                                device_->Paint(payload, frames_, slot, v, row);
    if (!left_to_device) {
      const PixelTarget target{PixelsOf(slot, v, row), channels, OrderOf(slot.images[v].image),
                               read_later_};
      const Defect defect = view_painter_.Paint(
          decode, frames_[v], views_[v].pixels,
          {slot.view_seeds[v], slot.positions[row], RowStageOf(slot, v, row)}, target, part);
      if (defect != nullptr) return defect;
    }
    if (device_ != nullptr && part.last) device_->DrawOps(frames_, slot, v, row);
  }
  return nullptr;
}

void ViewPainter::FillBetween(const Region& region, const PixelTarget& target) const noexcept {
  std::array<std::uint8_t, 256> colour{};  // of a fourth channel, 0
  std::ranges::copy(region.fill, colour.begin());
  const bool planar = target.order == PixelOrder::kPlanar;
  Pixels pixels{target.data, region.width(), region.height(), planar ? 1 : target.channels};
  for (std::size_t part = 0; part < (planar ? target.channels : 1); ++part) {
    FillOutside(painted_, pixels, &colour[part]);
    pixels.data += pixels.bytes();
  }
}

Pixels ViewPainter::PixelsFor(const Frame& frame, const PixelProgram& program,
                              const PixelTarget& row) {
  Pixels pixels{row.data, frame.width(), frame.height(), row.channels};
  if (row.order == PixelOrder::kInterleaved && !program.output()) return pixels;
  pixels_.resize(pixels.bytes());
  pixels.data = pixels_.data();
  return pixels;
}

Pixels ViewPainter::Unwarped(const Frame& frame, std::uint32_t channels) {
  Pixels unwarped{nullptr, frame.region.width(), frame.region.height(), channels};
  unwarped_.resize(unwarped.bytes());
  unwarped.data = unwarped_.data();
  return unwarped;
}

Frame ViewPainter::WithWholeRegion(const Frame& frame) {
  Frame whole = frame;
  // A part of a mosaic has its place in a canvas, which stays as it is.
  if (!frame.region_for_warp || frame.region.bordered()) return whole;
  AffineMap back;
  const auto enlarge = [](Span& span, double& back_scale) {
    const auto stored = static_cast<std::uint32_t>(std::ceil(span.length));
    if (stored <= span.out) return;
    back_scale = double(span.out) / stored;
    span.out = span.target = stored;
  };
  enlarge(whole.region.x, back.xx);
  enlarge(whole.region.y, back.yy);
  whole.warp = frame.warp * Projection(back);
  return whole;
}

void ViewPainter::Finish(const Pixels& before_warp, const Pixels& after_warp, const Frame& frame,
                         const PixelProgram& program, const Place& place, const PixelTarget& row) {
  if (frame.warped) {
    const PartClock clock(scratch_.times, "warp");
    WarpBilinear(before_warp, frame.warp.Inverse(), frame.warp_fill.data(), after_warp);
    FillOutside({&frame.shown, 1}, after_warp, frame.warp_fill.data());
  }
  program.Run(after_warp, place.draw_seed, place.position, scratch_, place.stage);
  if (after_warp.data == row.data) return;
  const PartClock clock(scratch_.times, "normalize");
  program.Write(after_warp, row.order, row.data);
}

void ViewPainter::WarpMask(const Frame& frame, std::uint32_t value_bytes, std::uint32_t fill,
                           const PixelTarget& row) {
  const bool planar = row.order == PixelOrder::kPlanar;
  const std::uint32_t pixel = value_bytes * (planar ? 1 : row.channels);
  std::uint8_t outside[4 * 255];  // one pixel: at most 255 channels of four bytes
  SetValues(outside, pixel / value_bytes, value_bytes, fill);
  for (std::size_t part = 0; part < (planar ? row.channels : 1); ++part) {
    Pixels in{unwarped_.data(), frame.region.width(), frame.region.height(), pixel};
    Pixels out{row.data, frame.width(), frame.height(), pixel};
    in.data += part * in.bytes();
    out.data += part * out.bytes();
    WarpNearest(in, frame.warp.Inverse(), outside, out);
    FillOutside({&frame.shown, 1}, out, outside);
  }
}

}  // namespace sluice
