// Rows are mixed from the last to the first, as in batch_mix.cpp: a row's partner is the row before
// it, which is still unmixed, and the first row's partner is the last row as RowBefore has saved
// it.
//
// The rules are those that detectors are trained with. MixUp joins the boxes of both samples. A
// cut must not touch a box of its own row: three rectangles are tried, and where each of them does,
// or where the first that does not shows no box of the partner, the row stays as it is. The
// partner's boxes are cut off at the rectangle, and dropped if less than a tenth of their area lies
// in it. Instances show what is left to see: the row's own outside of the rectangle, and those of
// the partner's boxes in it. An object that shows nothing keeps its place, since its box does.
#include "reader/batch/mixed_fields.h"

#include <algorithm>
#include <numeric>

#include <sluice/error.h>

#include "reader/batch/slot.h"

namespace sluice {

namespace {

constexpr int kTries = 3;
constexpr double kLeastVisible = 0.1;

Box BoxOf(const CutRectangle& cut) noexcept {
  return {double(cut.left), double(cut.top), double(cut.left + cut.width),
          double(cut.top + cut.height)};
}

// The share of each box's area that lies in the cut.
std::vector<double> SharesIn(const Box& cut, const Followers::Boxes& boxes,
                             const std::vector<std::byte>& value, const ImageBatch& shape) {
  std::vector<double> shares;
  const double width = double(shape.width), height = double(shape.height);
  const std::size_t values = boxes.coordinates.of_box();
  WithNumbers(boxes.doubles, value, [&](auto numbers) {
    for (std::size_t at = 0; at + values <= numbers.size(); at += values) {
      if (values == 8) {
        const OrientedBox box = OrientedAt(&numbers[at], boxes.coordinates, width, height);
        shares.push_back(SeenIn(box, cut).area / box.area());
      } else {
        const Box box = CornersAt(&numbers[at], boxes.coordinates, width, height);
        shares.push_back(box.CutOff(cut).area() / box.area());
      }
    }
  });
  return shares;  // not a number for a box without an area
}

// The numbers of the boxes that a mixed row shows of its partner.
std::vector<std::size_t> ShownBy(const MixDraw& draw, const Followers::Boxes& boxes,
                                 const std::vector<std::byte>& value, const ImageBatch& shape) {
  const std::size_t bytes = boxes.coordinates.of_box() * (boxes.doubles ? 8 : 4);
  std::vector<std::size_t> shown(value.size() / bytes);
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (!draw.cut) return shown;
  const std::vector<double> shares = SharesIn(BoxOf(*draw.cut), boxes, value, shape);
  std::erase_if(shown, [&](std::size_t box) { return !(shares[box] >= kLeastVisible); });
  return shown;
}

}  // namespace

bool MixedFields::Any(const DatasetFacts& dataset, const FieldChoice& choice) {
  const std::vector<Field>& fields = dataset.manifest.schema.fields;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const Role role = fields[f].role;
    if (f != choice.image && choice.chosen[f] && choice.leaders[f] == choice.image &&
        (role == Role::kBoxes || role == Role::kMask)) {
      return true;
    }
  }
  return false;
}

MixedFields::MixedFields(const DatasetFacts& dataset, const FieldChoice& choice,
                         const SlotLayout& layout, const Followers& followers,
                         std::span<const MixStep> steps,
                         std::span<const std::uint64_t> max_instances) {
  const auto any_step = [&](MixKind kind) {
    return std::ranges::any_of(steps, [=](const MixStep& step) { return step.kind == kind; });
  };
  const bool blends = any_step(MixKind::kBlend), pastes = any_step(MixKind::kPaste);
  const auto refuse = [&](const std::string& name, const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                "field \"" + name +
                    "\" follows the image that MixUp, CutMix or CopyPaste mixes, and " + why +
                    "; leave it out of LoaderOptions::output.fields, or mix in a batch_function");
  };
  const auto name_of = [&](const Followers::Numbers& field) {
    return field.variable ? layout.variables[field.index].name : layout.arrays[field.index].name;
  };
  for (const Followers::Boxes& boxes : followers.boxes) {
    if (boxes.leader != choice.image) continue;
    if (!boxes.variable) refuse(name_of(boxes), "has no room for the boxes of two samples");
    if (pastes && !boxes_.empty())
      refuse(name_of(boxes), "CopyPaste has no instances for a second field of boxes");
    if (pastes && boxes.coordinates.of_box() == 8)
      refuse(name_of(boxes), "CopyPaste makes no oriented boxes of the masks that it leaves");
    if (pastes && boxes.instances.size() > 1) {
      refuse(layout.variables[boxes.instances[1]].name,
             "CopyPaste pastes by the first field of instances");
    }
    boxes_.push_back(boxes);
    objects_.insert(objects_.end(), boxes.instances.begin(), boxes.instances.end());
    variables_.push_back(boxes.index);
    variables_.insert(variables_.end(), boxes.companions.begin(), boxes.companions.end());
  }
  if (pastes && objects_.empty()) {
    throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                "transform: CopyPaste needs a field of instances that follows the image, and "
                "batches have none: boxes would paste their background; name the field and its "
                "boxes in LoaderOptions::output.fields, convert the dataset with --take "
                "boxes,instances, or leave CopyPaste out");
  }
  for (const std::size_t v : objects_) {
    bounds_.push_back(max_instances[v]);
    variables_.push_back(v);
  }
  for (const Followers::Points& points : followers.points) {
    if (points.leader != choice.image) continue;
    if (!points.variable || std::ranges::find(variables_, points.index) == variables_.end())
      refuse(name_of(points), "its points belong to no boxes");
    points_.push_back(points);
  }
  for (std::size_t i = layout.views; i < layout.images.size(); ++i) {
    const SlotLayout::ImageField& image = layout.images[i];
    if (image.leader != choice.image || image.field == choice.image) continue;
    if (image.nearest && blends) refuse(image.name, "MixUp cannot mix a mask's numbers");
    if (image.image.width != layout.picture().image.width ||
        image.image.height != layout.picture().image.height) {
      refuse(image.name, "has another size");
    }
    images_.push_back(i);
  }
}

void MixedFields::SaveImages(const Slot& slot, std::size_t row, RowBefore& saved) const {
  saved.images.resize(1 + images_.size());
  for (std::size_t i = 0; i < saved.images.size(); ++i) {
    const std::size_t image = i == 0 ? 0 : images_[i - 1];
    const std::uint8_t* const from = PixelsOf(slot, image, row);
    saved.images[i].assign(from, from + slot.images[image].image.sample_bytes());
  }
}

void MixedFields::SaveValues(const Slot& slot, std::size_t row, RowBefore& saved) const {
  saved.variables.resize(slot.variables.size());
  for (const std::size_t v : variables_)
    saved.variables[v] = slot.variables[v].rows[row];
}

const std::vector<std::byte>& MixedFields::Partner::ValueOf(std::size_t variable) const {
  return saved_ != nullptr ? saved_->variables[variable] : slot_.variables[variable].rows[row_ - 1];
}

const std::uint8_t* MixedFields::Partner::PixelsOf(std::size_t image, std::size_t of_saved) const {
  return saved_ != nullptr ? saved_->images[of_saved].data()
                           : sluice::PixelsOf(slot_, image, row_ - 1);
}

std::optional<MixDraw> MixedFields::Draw(const MixStep& step, const Slot& slot, std::size_t row,
                                         const Partner& partner) const {
  const ImageBatch& shape = slot.images[0].image;
  RandomStream draws = DrawsOf(step, slot.draw_seed, slot.positions[row]);
  if (!IsMixed(step, draws)) return std::nullopt;
  for (int i = 0; i < kTries; ++i) {
    const MixDraw draw = DrawMix(step, shape.width, shape.height, draws);
    if (!draw.cut) return draw;
    const Box cut = BoxOf(*draw.cut);
    const bool touches = std::ranges::any_of(boxes_, [&](const Followers::Boxes& boxes) {
      const std::vector<double> shares =
          SharesIn(cut, boxes, slot.variables[boxes.index].rows[row], shape);
      return std::ranges::any_of(shares, [](double share) { return share > 0; });
    });
    if (touches) continue;
    const bool shows = std::ranges::any_of(boxes_, [&](const Followers::Boxes& boxes) {
      return !ShownBy(draw, boxes, partner.ValueOf(boxes.index), shape).empty();
    });
    return shows ? std::optional(draw) : std::nullopt;
  }
  return std::nullopt;
}

std::string MixedFields::Unfit(const Slot& slot, std::size_t row) const {
  const auto entries = [&](std::size_t v) {
    return slot.variables[v].rows[row].size() / slot.layout->variables[v].entry_bytes;
  };
  const auto unfit = [&](std::size_t v, const std::string& why) {
    return "field \"" + slot.layout->variables[v].name + "\" " + why +
           "; leave the field out of LoaderOptions::output.fields, or the sample out of the "
           "dataset";
  };
  const auto differs = [&](std::size_t v, std::size_t found, std::size_t boxes,
                           const std::string& one, const std::string& several) {
    return unfit(v, "has " + std::to_string(found) + " " + (found == 1 ? one : several) + " for " +
                        std::to_string(boxes) + (boxes == 1 ? " box" : " boxes") +
                        ", and MixUp, CutMix and CopyPaste need one for each box");
  };
  for (const Followers::Boxes& of : boxes_) {
    const std::size_t boxes = entries(of.index);
    for (const std::size_t v : of.companions)
      if (entries(v) != boxes) return differs(v, entries(v), boxes, "entry", "entries");
    for (const std::size_t v : of.instances) {
      RowObjects objects = ObjectsIn(slot);
      if (const char* const defect = objects.Open(slot.variables[v].rows[row]))
        return unfit(v, std::string("cannot be mixed: ") + defect);
      if (objects.size() != boxes) return differs(v, objects.size(), boxes, "object", "objects");
    }
  }
  return {};
}

RowObjects MixedFields::ObjectsIn(const Slot& slot) const {
  const ImageBatch& shape = slot.images[0].image;
  return {static_cast<std::uint32_t>(shape.width), static_cast<std::uint32_t>(shape.height)};
}

bool MixedFields::WithinBound(std::size_t objects, const ObjectScratch& scratch) const noexcept {
  constexpr std::size_t kMostDoublings = 16;
  return scratch.builder.bytes() <= bounds_[objects] << std::min(scratch.step + 1, kMostDoublings);
}

bool MixedFields::JoinObjects(const Slot& slot, std::size_t row, const Partner& partner,
                              std::span<const std::size_t> chosen,
                              const std::optional<CutRectangle>& cut,
                              ObjectScratch& scratch) const {
  RowObjects own = ObjectsIn(slot), others = own;
  const std::vector<PixelRun> area = cut ? own.RunsOf(*cut) : std::vector<PixelRun>();
  scratch.values.resize(objects_.size());
  for (std::size_t k = 0; k < objects_.size(); ++k) {
    scratch.builder = {};
    own.Open(slot.variables[objects_[k]].rows[row]);
    others.Open(partner.ValueOf(objects_[k]));
    const auto add = [&](const RowObjects& of, std::size_t object, bool inside) {
      if (cut)
        of.Add(PartsOf(of.RunsOf(object), area, inside), scratch.builder);
      else
        scratch.builder.AddObject(of.BytesOf(object));
      return WithinBound(k, scratch);
    };
    for (std::size_t i = 0; i < own.size(); ++i)
      if (!add(own, i, false)) return false;
    for (const std::size_t i : chosen)
      if (!add(others, i, true)) return false;
    scratch.builder.Finish(scratch.values[k]);
  }
  return true;
}

void MixedFields::TakeObjects(Slot& slot, std::size_t row, ObjectScratch& scratch) const {
  for (std::size_t k = 0; k < objects_.size(); ++k) {
    slot.variables[objects_[k]].rows[row].swap(scratch.values[k]);
    slot.variables[objects_[k]].present[row] = 1;
  }
}

std::size_t MixedFields::AddEntries(std::size_t variable, std::span<const std::size_t> chosen,
                                    Slot& slot, std::size_t row, const Partner& partner) const {
  const std::size_t bytes = slot.layout->variables[variable].entry_bytes;
  std::vector<std::byte>& to = slot.variables[variable].rows[row];
  const std::vector<std::byte>& from = partner.ValueOf(variable);
  const std::size_t first = to.size();
  for (const std::size_t entry : chosen) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(entry * bytes);
    to.insert(to.end(), at, at + static_cast<std::ptrdiff_t>(bytes));
  }
  if (to.size() > first) slot.variables[variable].present[row] = 1;
  return first;
}

bool MixedFields::Mix(const MixDraw& draw, Slot& slot, std::size_t row, const Partner& partner,
                      ObjectScratch& scratch) const {
  const ImageBatch& shape = slot.images[0].image;
  std::vector<std::vector<std::size_t>> chosen;  // by field of boxes: those of the partner
  for (const Followers::Boxes& boxes : boxes_)
    chosen.push_back(ShownBy(draw, boxes, partner.ValueOf(boxes.index), shape));
  if (has_objects() && !JoinObjects(slot, row, partner, chosen[0], draw.cut, scratch)) return false;
  const auto mix = [&](std::size_t image, std::size_t of_saved) {
    MixImage(PixelsOf(slot, image, row), partner.PixelsOf(image, of_saved),
             slot.images[image].image, draw);
  };
  mix(0, 0);
  for (std::size_t i = 0; i < images_.size(); ++i)
    mix(images_[i], i + 1);
  for (std::size_t b = 0; b < boxes_.size(); ++b)
    MixBoxes(boxes_[b], chosen[b], draw, slot, row, partner);
  TakeObjects(slot, row, scratch);
  return true;
}

void MixedFields::HidePoints(std::size_t variable, std::size_t first, Slot& slot, std::size_t row,
                             const std::function<bool(double x, double y)>& hides) const {
  const ImageBatch& shape = slot.images[0].image;
  const auto points = std::ranges::find(points_, variable, &Followers::Points::index);
  if (points == points_.end() || points->shape.values != 3) return;
  std::span<std::byte> of = std::span(slot.variables[variable].rows[row]).subspan(first);
  WithNumbers(points->doubles, of, [&](auto numbers) {
    const double x_scale = points->coordinates.relative ? double(shape.width) : 1;
    const double y_scale = points->coordinates.relative ? double(shape.height) : 1;
    for (std::size_t p = 0; p + 3 <= numbers.size(); p += 3)
      if (hides(double(numbers[p]) * x_scale, double(numbers[p + 1]) * y_scale)) numbers[p + 2] = 0;
  });
}

void MixedFields::MixBoxes(const Followers::Boxes& boxes, std::span<const std::size_t> chosen,
                           const MixDraw& draw, Slot& slot, std::size_t row,
                           const Partner& partner) const {
  const ImageBatch& shape = slot.images[0].image;
  const Box cut = draw.cut ? BoxOf(*draw.cut) : Box();
  for (const std::size_t v : boxes.companions) {
    const std::size_t first = AddEntries(v, chosen, slot, row, partner);
    if (!draw.cut) continue;
    HidePoints(v, first, slot, row, [&cut](double x, double y) {
      return !(x >= cut.left && x <= cut.right && y >= cut.top && y <= cut.bottom);
    });
  }
  const std::size_t first = AddEntries(boxes.index, chosen, slot, row, partner);
  if (!draw.cut) return;
  std::span<std::byte> added = std::span(slot.variables[boxes.index].rows[row]).subspan(first);
  WithNumbers(boxes.doubles, added, [&](auto numbers) {
    const double width = double(shape.width), height = double(shape.height);
    const std::size_t values = boxes.coordinates.of_box();
    for (std::size_t at = 0; at + values <= numbers.size(); at += values) {
      auto* const to = &numbers[at];
      if (values == 8) {
        const OrientedBox box = OrientedAt(to, boxes.coordinates, width, height);
        SetOriented(SeenIn(box, cut).box, boxes.coordinates, width, height, to);
      } else {
        const Box box = CornersAt(to, boxes.coordinates, width, height);
        SetCorners(box.CutOff(cut), boxes.coordinates, width, height, to);
      }
    }
  });
}

}  // namespace sluice
