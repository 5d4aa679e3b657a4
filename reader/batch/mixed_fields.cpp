// Rows are mixed from the last to the first, as in batch_mix.cpp: a row's partner is the row before
// it, which is still unmixed, and the first row's partner is the last row as RowBefore has saved
// it.
//
// The rules are those that detectors are trained with. MixUp joins the boxes of both samples. A
// cut must not touch a box of its own row: three rectangles are tried, and where each of them does,
// or where the first that does not shows no box of the partner, the row stays as it is. The
// partner's boxes are cut off at the rectangle, and dropped if less than a tenth of their area lies
// in it.
#include "reader/batch/mixed_fields.h"

#include <algorithm>
#include <cstring>

#include <sluice/error.h>

#include "reader/batch/slot.h"

namespace sluice {

namespace {

constexpr int kTries = 3;
constexpr double kLeastVisible = 0.1;

// Calls f with the value's numbers.
template <class Value, class F>
auto WithNumbersOf(const Followers::Numbers& field, Value& value, const F& f) {
  using Byte = std::remove_pointer_t<decltype(value.data())>;
  using Double = std::conditional_t<std::is_const_v<Byte>, const double, double>;
  using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
  if (field.doubles)
    return f(std::span(reinterpret_cast<Double*>(value.data()), value.size() / sizeof(double)));
  return f(std::span(reinterpret_cast<Float*>(value.data()), value.size() / sizeof(float)));
}

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
  WithNumbersOf(boxes, value, [&](auto numbers) {
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
                         const SlotLayout& layout, const Followers& followers, bool blends) {
  const auto refuse = [&](const std::string& name, const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                "field \"" + name + "\" follows the image that MixUp or CutMix mixes, and " + why +
                    "; leave it out of LoaderOptions::output.fields, or mix in a batch_function");
  };
  const auto name_of = [&](const Followers::Numbers& field) {
    return field.variable ? layout.variables[field.index].name : layout.arrays[field.index].name;
  };
  for (const Followers::Boxes& boxes : followers.boxes) {
    if (boxes.leader != choice.image) continue;
    if (!boxes.variable) refuse(name_of(boxes), "has no room for the boxes of two samples");
    if (!boxes.instances.empty())
      refuse(layout.variables[boxes.instances[0]].name, "its objects are not mixed");
    boxes_.push_back(boxes);
    variables_.push_back(boxes.index);
    variables_.insert(variables_.end(), boxes.companions.begin(), boxes.companions.end());
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

void MixedFields::Save(const Slot& slot, std::size_t row, RowBefore& saved) const {
  saved.images.resize(1 + images_.size());
  const auto save = [&](std::size_t image, std::vector<std::uint8_t>& to) {
    const std::uint8_t* const from = PixelsOf(slot, image, row);
    to.assign(from, from + slot.images[image].image.sample_bytes());
  };
  save(0, saved.images[0]);
  for (std::size_t i = 0; i < images_.size(); ++i)
    save(images_[i], saved.images[i + 1]);
  saved.variables.resize(slot.variables.size());
  for (const std::size_t v : variables_)
    saved.variables[v] = slot.variables[v].rows[row];
}

const std::vector<std::byte>& MixedFields::ValueOf(std::size_t variable, const Slot& slot,
                                                   std::size_t row, const RowBefore& saved) const {
  return row == 0 ? saved.variables[variable] : slot.variables[variable].rows[row - 1];
}

std::optional<MixDraw> MixedFields::Draw(const MixStep& step, const Slot& slot, std::size_t row,
                                         const RowBefore& saved) const {
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
      const std::vector<double> shares =
          SharesIn(cut, boxes, ValueOf(boxes.index, slot, row, saved), shape);
      return std::ranges::any_of(shares, [](double share) { return share >= kLeastVisible; });
    });
    return shows ? std::optional(draw) : std::nullopt;
  }
  return std::nullopt;
}

std::string MixedFields::Unfit(const Slot& slot, std::size_t row) const {
  const auto entries = [&](std::size_t v) {
    return slot.variables[v].rows[row].size() / slot.layout->variables[v].entry_bytes;
  };
  for (const Followers::Boxes& of : boxes_) {
    const std::size_t boxes = entries(of.index);
    for (const std::size_t v : of.companions) {
      if (entries(v) == boxes) continue;
      return "field \"" + slot.layout->variables[v].name + "\" has " + std::to_string(entries(v)) +
             (entries(v) == 1 ? " entry" : " entries") + " for " + std::to_string(boxes) +
             (boxes == 1 ? " box" : " boxes") +
             ", and MixUp and CutMix need one for each box; leave the field out of "
             "LoaderOptions::output.fields, or the sample out of the dataset";
    }
  }
  return {};
}

void MixedFields::Mix(const MixDraw& draw, Slot& slot, std::size_t row,
                      const RowBefore& saved) const {
  const auto mix = [&](std::size_t image, std::size_t of_saved) {
    const std::uint8_t* const partner =
        row == 0 ? saved.images[of_saved].data() : PixelsOf(slot, image, row - 1);
    MixImage(PixelsOf(slot, image, row), partner, slot.images[image].image, draw);
  };
  mix(0, 0);
  for (std::size_t i = 0; i < images_.size(); ++i)
    mix(images_[i], i + 1);
  for (const Followers::Boxes& boxes : boxes_)
    MixBoxes(boxes, draw, slot, row, saved);
}

void MixedFields::MixBoxes(const Followers::Boxes& boxes, const MixDraw& draw, Slot& slot,
                           std::size_t row, const RowBefore& saved) const {
  const ImageBatch& shape = slot.images[0].image;
  const SlotLayout& layout = *slot.layout;
  const std::size_t box_bytes = layout.variables[boxes.index].entry_bytes;
  std::vector<std::byte>& own = slot.variables[boxes.index].rows[row];
  const std::vector<std::byte>& partner = ValueOf(boxes.index, slot, row, saved);
  const std::size_t partner_boxes = partner.size() / box_bytes;
  std::vector<std::uint8_t> kept(partner_boxes, 1);
  const Box cut = draw.cut ? BoxOf(*draw.cut) : Box();
  if (draw.cut) {
    const std::vector<double> shares = SharesIn(cut, boxes, partner, shape);
    for (std::size_t b = 0; b < partner_boxes; ++b)
      kept[b] = shares[b] >= kLeastVisible ? 1 : 0;
  }
  // Adds the partner's entries, and returns the first of them.
  const auto add = [&](std::size_t v) {
    const std::size_t bytes = layout.variables[v].entry_bytes;
    std::vector<std::byte>& to = slot.variables[v].rows[row];
    const std::vector<std::byte>& from = ValueOf(v, slot, row, saved);
    const std::size_t first = to.size();
    for (std::size_t b = 0; b < partner_boxes; ++b) {
      const auto at = from.begin() + static_cast<std::ptrdiff_t>(b * bytes);
      if (kept[b] != 0) to.insert(to.end(), at, at + static_cast<std::ptrdiff_t>(bytes));
    }
    if (to.size() > first) slot.variables[v].present[row] = 1;
    return first;
  };
  for (const std::size_t v : boxes.companions) {
    const std::size_t first = add(v);
    if (!draw.cut) continue;
    const auto points = std::ranges::find(points_, v, &Followers::Points::index);
    if (points == points_.end() || points->shape.values != 3) continue;
    std::span<std::byte> added = std::span(slot.variables[v].rows[row]).subspan(first);
    WithNumbersOf(*points, added, [&](auto numbers) {
      const double x_scale = points->coordinates.relative ? double(shape.width) : 1;
      const double y_scale = points->coordinates.relative ? double(shape.height) : 1;
      for (std::size_t p = 0; p + 3 <= numbers.size(); p += 3) {
        const double x = double(numbers[p]) * x_scale, y = double(numbers[p + 1]) * y_scale;
        if (!(x >= cut.left && x <= cut.right && y >= cut.top && y <= cut.bottom))
          numbers[p + 2] = 0;
      }
    });
  }
  const std::size_t first = add(boxes.index);
  std::span<std::byte> added = std::span(own).subspan(first);
  if (!draw.cut) return;
  WithNumbersOf(boxes, added, [&](auto numbers) {
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
