// Annotations are written while samples come, and the images, which are fewer, at the end. Numbers
// of boxes are rounded to thousandths of a pixel: boxes are stored as corners in float32, so a
// width has lost its last digits. Outlines and runs are written as they are stored, so that a
// conversion of the export stores the same again.
//
// Images and categories get the ids that they had in COCO's file where the dataset knows them
// (image_id and category_ids), otherwise those that count from 1.
#include "tools/export_coco.h"

#include <charconv>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/instances.h>

#include "tools/samples.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

double Rounded(double number) {
  return std::round(number * 1000) / 1000;
}

bool IsRelative(const Field& field) {
  return field.coordinates.ends_with("relative");
}

// "xyxy", "xywh", "cxcywh", or another form.
std::string FormOf(const Field& boxes) {
  return boxes.coordinates.empty() ? "xyxy"
                                   : boxes.coordinates.substr(0, boxes.coordinates.find('-'));
}

bool HoldsFloats(const Field& field) {
  return field.dtype == DType::kFloat32 || field.dtype == DType::kFloat64;
}

// The numbers of the attribute category_ids; empty unless each class has one.
std::vector<std::int64_t> CategoryIds(const Field& classes) {
  std::vector<std::int64_t> ids;
  const auto text = classes.attributes.find("category_ids");
  if (text == classes.attributes.end()) return ids;
  const char* at = text->second.data();
  const char* const end = at + text->second.size();
  while (at != end) {
    std::int64_t id = 0;
    const auto read = std::from_chars(at, end, id);
    if (read.ec != std::errc() || (read.ptr != end && *read.ptr != ',')) return {};
    ids.push_back(id);
    at = read.ptr == end ? end : read.ptr + 1;
  }
  if (ids.size() != classes.classes.size()) ids.clear();
  return ids;
}

// How many pixels lie inside of runs.
std::uint64_t PixelsIn(const std::vector<std::uint32_t>& runs) {
  std::uint64_t pixels = 0;
  for (std::size_t i = 1; i < runs.size(); i += 2)
    pixels += runs[i];
  return pixels;
}

// COCO's "segmentation" of an object: its outlines as a list or, if it has runs, all that it covers
// as RLE. `covered`: its Instances::Runs().
Json SegmentationOf(const Instances& instances, std::size_t object,
                    const std::vector<std::uint32_t>& covered, const ImagePayload& image) {
  constexpr std::size_t kTriangle = 6;  // fewer corners cover nothing, and COCO's tools refuse them
  bool has_runs = false;
  Json outlines = Json::array();
  instances.ForEachShape(object, [&](const InstanceShape& shape) {
    has_runs = has_runs || shape.runs;
    if (shape.runs || shape.count() < kTriangle) return;
    Json& outline = outlines.emplace_back(Json::array());
    for (std::size_t i = 0; i < shape.count(); ++i)
      outline.push_back(Shortest(static_cast<float>(shape.corner(i))));
  });
  if (!has_runs) return outlines;
  return {{"size", {image.height, image.width}}, {"counts", covered}};
}

}  // namespace

std::uint64_t CocoEntries::bytes() const noexcept {
  std::uint64_t bytes = image.size();
  for (const std::string& annotation : annotations)
    bytes += sizeof annotation + annotation.size();
  return bytes;
}

const Field* CocoFile::FollowerOf(Role role, FieldKind kind) const {
  for (const Field& field : dataset_.schema().fields) {
    if (field.kind == kind && field.role == role && field.follows == image_) return &field;
  }
  return nullptr;
}

CocoFile::CocoFile(const Dataset& dataset, const std::filesystem::path& file)
    : dataset_(dataset),
      image_(dataset.images().empty() ? "" : dataset.images()[0].field),
      file_(file) {
  boxes_ = FollowerOf(Role::kBoxes);
  const auto refuse = [&dataset](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, dataset.path().string(),
                what + ", so it has no annotations of COCO's form; export it without --coco");
  };
  if (boxes_ == nullptr || image_.empty()) refuse("has no boxes that follow its first image");
  const std::string form = FormOf(*boxes_);
  if (form == "corners") refuse("has oriented boxes");
  if ((form != "xyxy" && form != "xywh" && form != "cxcywh") || !HoldsFloats(*boxes_) ||
      boxes_->elements() != 4) {
    refuse("has boxes of a form that is not known (" + boxes_->coordinates + ")");
  }
  classes_ = FollowerOf(Role::kLabel);
  points_ = FollowerOf(Role::kKeypoints);
  if (points_ != nullptr && (points_->shape.size() != 2 || !HoldsFloats(*points_) ||
                             (points_->shape.back() != 2 && points_->shape.back() != 3))) {
    points_ = nullptr;
  }
  instances_ = FollowerOf(Role::kInstances, FieldKind::kBytes);
  for (const Field& field : dataset.schema().fields) {
    if (field.name == "area" && field.follows == image_ && field.kind == FieldKind::kVariable &&
        HoldsFloats(field) && field.shape.empty()) {
      area_ = &field;
    }
    if (field.name == "crowd" && field.follows == image_ && IsInteger(field.dtype)) crowd_ = &field;
    if (field.name == "image_id" && field.dtype == DType::kInt64 && field.shape.empty() &&
        field.kind == FieldKind::kArray) {
      has_ids_ = true;
    }
  }
  if (classes_ != nullptr) {
    category_ids_ = CategoryIds(*classes_);
    for (std::size_t c = 0; c < classes_->classes.size(); ++c) {
      if (category_ids_.size() < classes_->classes.size() && category_ids_.size() == c)
        category_ids_.push_back(static_cast<std::int64_t>(c + 1));
      categories_.push_back({{"id", category_ids_[c]}, {"name", classes_->classes[c]}});
    }
  } else {
    categories_.push_back({{"id", 1}, {"name", "object"}});
  }
  file_.Write("{\"annotations\":[");
}

// Whether the image has the size of the picture that it was made of.
bool CocoFile::IsOfSourceSize(const Sample& sample, const ImagePayload& image) const {
  const std::size_t f = dataset_.schema().Find("source_size");
  if (f == Schema::kNone || !sample.Has("source_size")) return false;
  return IntegersOf(sample, dataset_.schema().fields[f]) ==
         std::vector<std::int64_t>{image.height, image.width};
}

CocoEntries CocoFile::Of(const Sample& sample, std::uint64_t number,
                         const std::string& path) const {
  const ImagePayload shape = sample.Payload(image_);
  const std::int64_t id = has_ids_ && sample.Has("image_id")
                              ? sample.Integer("image_id")
                              : static_cast<std::int64_t>(number) + 1;
  CocoEntries entries;
  entries.id = id;
  entries.image =
      Json{{"id", id}, {"file_name", path}, {"width", shape.width}, {"height", shape.height}}
          .dump();
  if (!sample.Has(boxes_->name)) return entries;
  const std::string form = FormOf(*boxes_);
  const bool relative = IsRelative(*boxes_);
  const auto numbers = [&](const Field* field) {
    return field != nullptr && sample.Has(field->name) ? ValuesJson(sample, *field) : Json::array();
  };
  const Json boxes = numbers(boxes_), classes = numbers(classes_), crowd = numbers(crowd_);
  const Json points = numbers(points_);
  // An area counts pixels of the source, so it holds only for a picture of that size.
  const Json area = IsOfSourceSize(sample, shape) ? numbers(area_) : Json::array();
  const std::size_t count = boxes.size() / 4;
  Instances instances;
  std::optional<std::span<const std::byte>> value;
  if (instances_ != nullptr && sample.Has(instances_->name)) {
    value = sample.Bytes(instances_->name);
    const char* const defect = instances.Open(*value, shape.width, shape.height);
    if (defect != nullptr)
      throw Error(ErrorCode::kCorrupt, "its field \"" + instances_->name + "\": " + defect);
  }
  const std::size_t of_points = points_ == nullptr ? 0 : points_->elements();
  if ((classes_ != nullptr && classes.size() != count) ||
      (!crowd.empty() && crowd.size() != count) || (!area.empty() && area.size() != count) ||
      (value && instances.size() != count) ||
      (!points.empty() && points.size() != count * of_points)) {
    throw Error(ErrorCode::kCorrupt,
                "its fields have not an entry for each of its " + std::to_string(count) + " boxes");
  }
  const double scale[2] = {relative ? double(shape.width) : 1, relative ? double(shape.height) : 1};
  for (std::size_t b = 0; b < count; ++b) {
    double v[4];
    for (std::size_t i = 0; i < 4; ++i)
      v[i] = boxes[4 * b + i].get<double>() * scale[i % 2];
    if (form == "xyxy") {
      v[2] -= v[0];
      v[3] -= v[1];
    } else if (form == "cxcywh") {
      v[0] -= v[2] / 2;
      v[1] -= v[3] / 2;
    }
    std::int64_t category = 1;
    if (classes_ != nullptr) {
      const auto number_of_class = classes[b].get<std::int64_t>();
      const bool known =
          number_of_class >= 0 && static_cast<std::size_t>(number_of_class) < category_ids_.size();
      category =
          known ? category_ids_[static_cast<std::size_t>(number_of_class)] : number_of_class + 1;
      if (!known) entries.unnamed.insert(category);
    }
    Json one = {{"image_id", id},
                {"category_id", category},
                {"bbox", {Rounded(v[0]), Rounded(v[1]), Rounded(v[2]), Rounded(v[3])}},
                {"area", Rounded(v[2] * v[3])},
                {"iscrowd", crowd.empty() ? 0 : crowd[b].get<int>()}};
    if (value && !instances.BytesOf(b).empty()) {  // else the object has only its box
      const std::vector<std::uint32_t> runs = instances.Runs(b, shape.width, shape.height);
      one["segmentation"] = SegmentationOf(instances, b, runs, shape);
      one["area"] = PixelsIn(runs);
    }
    if (!area.empty()) one["area"] = area[b];
    if (!points.empty()) {
      const std::size_t values = points_->shape.back();
      const bool shares = IsRelative(*points_);
      Json list = Json::array();
      int shown = 0;
      for (std::size_t i = b * of_points; i < (b + 1) * of_points; i += values) {
        const double seen = values == 3 ? points[i + 2].get<double>() : 2;
        const double x = points[i].get<double>() * (shares ? shape.width : 1);
        const double y = points[i + 1].get<double>() * (shares ? shape.height : 1);
        const bool known = std::isfinite(x + y + seen);
        for (const double value : {x, y, seen})
          list.push_back(known ? Rounded(value) : 0.0);
        shown += known && seen > 0 ? 1 : 0;
      }
      one["keypoints"] = std::move(list);
      one["num_keypoints"] = shown;
    }
    entries.annotations.push_back(one.dump());
  }
  return entries;
}

void CocoFile::Add(const CocoEntries& entries) {
  constexpr std::size_t kEnough = 64 << 10;
  if (entries.image.empty()) return;  // the sample has no image
  if (!ids_.insert(entries.id).second) {
    throw Error(ErrorCode::kInvalidArgument, dataset_.path().string(),
                "has two images with the image_id " + std::to_string(entries.id) +
                    ", as merged datasets have; drop that field (`sluice column drop DATASET "
                    "image_id`), and images are numbered from 1");
  }
  unnamed_.insert(entries.unnamed.begin(), entries.unnamed.end());
  images_ += (images_.empty() ? "" : ",\n") + entries.image;
  for (const std::string& annotation : entries.annotations) {
    annotations_ += (added_++ == 0 ? "\n" : ",\n");
    annotations_ += "{\"id\":" + std::to_string(added_) + "," + annotation.substr(1);
  }
  if (annotations_.size() < kEnough) return;
  file_.Write(annotations_);
  annotations_.clear();
}

void CocoFile::Close() {
  for (const std::int64_t id : unnamed_)  // by the number of the class
    categories_.push_back({{"id", id}, {"name", std::to_string(id - 1)}});
  file_.Write(annotations_ + "],\n\"images\":[\n" + images_ +
              "],\n\"categories\":" + categories_.dump() + "}\n");
  file_.Close();
}

}  // namespace sluice
