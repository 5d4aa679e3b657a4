// CopyPaste: objects of one row are pasted into another one, pixels and all that belongs to them.
//
// Which objects are pasted is the only difference between the two rules. After torchvision's
// reference script, as many numbers below n are drawn as the partner has objects, n, and each
// object that was drawn is pasted once. After Ultralytics (`flip`), the partner is the row itself,
// mirrored. Its objects are pasted if they hide less than 30% of each of the row's boxes; those
// that hide least come first.
//
// All else is common. What is pasted hides what was there: own masks lose the pasted pixels, an
// object of which nothing is left is dropped, and one of which a part is left gets the box around
// that part. Objects that lose nothing keep their box, which may be more exact than their mask. An
// object without a pixel has nothing to paste, and its box would be of background: it is left out.
#include <algorithm>

#include "reader/batch/mixed_fields.h"
#include "reader/batch/slot.h"
#include "reader/transform/annotations.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

constexpr double kMostHidden = 0.3;

std::vector<Box> BoxesIn(const Followers::Boxes& boxes, const std::vector<std::byte>& value,
                         const ImageBatch& shape) {
  std::vector<Box> found;
  WithNumbers(boxes.doubles, value, [&](auto numbers) {
    for (std::size_t at = 0; at + 4 <= numbers.size(); at += 4)
      found.push_back(
          CornersAt(&numbers[at], boxes.coordinates, double(shape.width), double(shape.height)));
  });
  return found;
}

// The largest share of a box that the other one hides.
double MostHidden(const std::vector<Box>& boxes, const Box& by) noexcept {
  constexpr double kNoArea = 1e-7;
  double most = 0;
  for (const Box& box : boxes) {
    const double hidden = box.CutOff(by).area() / (box.area() + kNoArea);
    if (!(hidden <= most)) most = hidden;
  }
  return most;
}

PointMap MirrorOf(const ImageBatch& shape) {
  PointMap mirror;
  mirror.before = {-1, 0, double(shape.width), 0, 1, 0};
  mirror.map = mirror.before;
  mirror.shown = mirror.shown_after = {0, 0, double(shape.width), double(shape.height)};
  mirror.width = mirror.target_width = static_cast<std::uint32_t>(shape.width);
  mirror.height = mirror.target_height = static_cast<std::uint32_t>(shape.height);
  return mirror;
}

}  // namespace

void MixedFields::Paste(const MixStep& step, Slot& slot, std::size_t row, const Partner& partner,
                        ObjectScratch& scratch) const {
  RandomStream draws = DrawsOf(step, slot.draw_seed, slot.positions[row]);
  if (!IsMixed(step, draws)) return;
  const std::size_t box_bytes = slot.layout->variables[boxes_[0].index].entry_bytes;
  const std::size_t objects = partner.ValueOf(boxes_[0].index).size() / box_bytes;
  PasteObjects(DrawObjects(objects, draws), false, slot, row, partner, scratch);
}

void MixedFields::PasteMirrored(const MixStep& step, Slot& slot, std::size_t row, RowBefore& saved,
                                ObjectScratch& scratch) const {
  const Followers::Boxes& boxes = boxes_[0];
  const ImageBatch& shape = slot.images[0].image;
  SaveValues(slot, row, saved);
  const std::vector<Box> own = BoxesIn(boxes, saved.variables[boxes.index], shape);
  const std::vector<std::uint8_t> seen = MirrorValues(slot, saved);
  const std::vector<Box> mirrored = BoxesIn(boxes, saved.variables[boxes.index], shape);
  std::vector<std::pair<double, std::size_t>> fitting;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double hidden = MostHidden(own, mirrored[i]);
    if (seen[i] != 0 && hidden < kMostHidden) fitting.emplace_back(hidden, i);
  }
  std::ranges::sort(fitting);
  const double count = RoundHalfEven(step.probability * double(fitting.size()));
  std::vector<std::size_t> chosen(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < chosen.size(); ++i)
    chosen[i] = fitting[i].second;
  if (chosen.empty()) return;
  SaveImages(slot, row, saved);
  for (std::size_t i = 0; i < saved.images.size(); ++i)
    MirrorImage(saved.images[i].data(), slot.images[i == 0 ? 0 : images_[i - 1]].image);
  PasteObjects(chosen, true, slot, row, {slot, saved}, scratch);
}

std::vector<std::uint8_t> MixedFields::MirrorValues(const Slot& slot, RowBefore& saved) const {
  const PointMap mirror = MirrorOf(slot.images[0].image);
  std::vector<std::uint8_t> seen;
  WithNumbers(boxes_[0].doubles, saved.variables[boxes_[0].index], [&](auto numbers) {
    MapBoxes(numbers, boxes_[0].coordinates, mirror, {BoxRule{0, 0}}, seen);
  });
  for (const Followers::Points& points : points_) {
    WithNumbers(points.doubles, saved.variables[points.index], [&](auto numbers) {
      MapPoints(numbers, points.shape, points.coordinates, mirror);
    });
  }
  return seen;
}

void MixedFields::PasteObjects(std::span<const std::size_t> chosen, bool mirrored, Slot& slot,
                               std::size_t row, const Partner& partner,
                               ObjectScratch& scratch) const {
  const Followers::Boxes& boxes = boxes_[0];
  const ImageBatch& shape = slot.images[0].image;
  RowObjects own = ObjectsIn(slot), others = own;
  own.Open(slot.variables[objects_[0]].rows[row]);
  others.Open(partner.ValueOf(objects_[0]));
  const auto runs_of = [&](std::size_t object) {
    std::vector<PixelRun> runs = others.RunsOf(object);
    return mirrored ? others.Mirrored(runs) : runs;
  };
  std::vector<std::size_t> pasted;
  scratch.pasted.clear();
  for (const std::size_t object : chosen) {
    const std::vector<PixelRun> runs = runs_of(object);
    scratch.pasted.insert(scratch.pasted.end(), runs.begin(), runs.end());
    if (!runs.empty()) pasted.push_back(object);
  }
  if (pasted.empty()) return;
  JoinRuns(scratch.pasted);

  std::vector<std::uint8_t> kept(own.size(), 1);
  std::vector<std::pair<std::size_t, Box>> new_boxes;
  scratch.builder = {};
  scratch.values.resize(1);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::vector<PixelRun> before = own.RunsOf(i);
    const std::vector<PixelRun> left = PartsOf(before, scratch.pasted, false);
    kept[i] = left.empty() && !before.empty() ? 0 : 1;
    if (kept[i] == 0) continue;
    if (left != before) new_boxes.emplace_back(i, MaskOf(left, shape.height).box);
    own.Add(left, scratch.builder);
    if (!WithinBound(0, scratch)) return;
  }
  for (const std::size_t object : pasted) {
    own.Add(runs_of(object), scratch.builder);
    if (!WithinBound(0, scratch)) return;
  }
  scratch.builder.Finish(scratch.values[0]);

  scratch.covered.assign(shape.width * shape.height, 0);
  own.Paint(scratch.pasted, scratch.covered);
  for (std::size_t i = 0; i <= images_.size(); ++i) {
    const std::size_t image = i == 0 ? 0 : images_[i - 1];
    PasteImage(PixelsOf(slot, image, row), partner.PixelsOf(image, i), slot.images[image].image,
               scratch.covered);
  }
  const auto covers = [&](double x, double y) {
    return x >= 0 && x < double(shape.width) && y >= 0 && y < double(shape.height) &&
           scratch.covered[static_cast<std::size_t>(y) * shape.width +
                           static_cast<std::size_t>(x)] != 0;
  };
  const auto replace = [&](std::size_t v) {
    Compact(slot.variables[v].rows[row], slot.layout->variables[v].entry_bytes, kept);
    AddEntries(v, pasted, slot, row, partner);
  };
  for (const std::size_t v : boxes.companions) {
    HidePoints(v, 0, slot, row, covers);
    replace(v);
  }
  WithNumbers(boxes.doubles, slot.variables[boxes.index].rows[row], [&](auto numbers) {
    for (const auto& [i, box] : new_boxes)
      SetCorners(box, boxes.coordinates, double(shape.width), double(shape.height),
                 &numbers[4 * i]);
  });
  replace(boxes.index);
  TakeObjects(slot, row, scratch);
}

}  // namespace sluice
