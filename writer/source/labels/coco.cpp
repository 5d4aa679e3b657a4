// COCO's JSON: one file for all images, with lists of images, annotations and categories.
//
// The file can be very large. So its lists are read element by element (ForEachElement), without
// building the whole document. Annotations may come before their images and categories: they are
// kept (Waiting) until the whole file has been read.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <istream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stop_token>
#include <streambuf>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/list/source_list.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;

// Builds one element of a list at a time from the parser's events, and gives it to `visit`.
class ElementEvents : public nlohmann::json_sax<json> {
 public:
  using Visit = std::function<void(const std::string&, const json&)>;
  ElementEvents(std::string file, const std::stop_token& stop, const Visit& visit)
      : file_(std::move(file)), stop_(stop), visit_(visit) {}

  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_integer(number_integer_t value) override { return Value(value); }
  bool number_unsigned(number_unsigned_t value) override { return Value(value); }
  bool number_float(number_float_t value, const string_t&) override { return Value(value); }
  bool string(string_t& value) override { return Value(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Begin(json::object()); }
  bool start_array(std::size_t) override { return Begin(json::array()); }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }

  bool key(string_t& name) override {
    if (depth_ == 1)
      list_ = std::move(name);
    else if (!open_.empty())
      member_ = &(*open_.back())[name];
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    const std::string too_large = TooLargeNumber(error.id, token);
    throw Error(ErrorCode::kCorrupt, file_, "byte " + std::to_string(position),
                !too_large.empty() ? too_large
                : token.empty() || token == "<end of file>"
                    ? "the file ends early"
                    : "is not JSON: " + ToUtf8(token.substr(0, 40)));
  }

 private:
  // Elements stand at depth 2: in a list in the object at the top.
  static constexpr unsigned kElementDepth = 2;

  bool Begin(json empty) {
    if (depth_ == 0 && !empty.is_object()) {
      throw Error(ErrorCode::kCorrupt, file_,
                  "is a list, and not an object with images and annotations as COCO's files are");
    }
    if (depth_ == 1) in_list_ = empty.is_array();
    if (++depth_ > kMaxJsonDepth) {
      throw Error(ErrorCode::kCorrupt, file_, "nests too deeply");
    }
    if (depth_ <= kElementDepth || !in_list_) return true;
    if (open_.empty()) {
      element_ = std::move(empty);
      open_.push_back(&element_);
    } else {
      open_.push_back(Place(std::move(empty)));
    }
    return true;
  }

  bool End() {
    --depth_;
    if (open_.empty()) return true;
    open_.pop_back();
    if (open_.empty()) Finish();
    return true;
  }

  template <class T>
  bool Value(T&& value) {
    if (depth_ == 0) throw Error(ErrorCode::kCorrupt, file_, "is not a JSON object");
    if (!open_.empty()) {
      Place(json(std::forward<T>(value)));
    } else if (depth_ == kElementDepth && in_list_) {
      element_ = json(std::forward<T>(value));
      Finish();
    }
    return true;
  }

  json* Place(json value) {
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  void Finish() {
    if (stop_.stop_requested()) ThrowStopped();
    visit_(list_, element_);
  }

  std::string file_;
  const std::stop_token& stop_;
  const Visit& visit_;
  unsigned depth_ = 0;
  bool in_list_ = false;     // the current member of the object at the top is a list
  std::string list_;         // the name of that member
  json element_;             // the current element of that list
  std::vector<json*> open_;  // from the element to the innermost value that is still open
  json* member_ = nullptr;   // the member of the innermost object that is being read
};

// The file's text, piece by piece, with null in the place of NaN.
class JsonStream : public std::streambuf {
 public:
  explicit JsonStream(std::FILE* file) : file_(file) {}

 private:
  int_type underflow() override {
    made_.clear();
    std::array<char, 1 << 16> piece;
    std::size_t read = 1;
    while (made_.empty() && read > 0) {
      read = std::fread(piece.data(), 1, piece.size(), file_);
      for (std::size_t i = 0; i < read; ++i)
        filter_.Add(piece[i], made_);
      if (read == 0) filter_.Finish(made_);
    }
    setg(made_.data(), made_.data(), made_.data() + made_.size());
    return made_.empty() ? traits_type::eof() : traits_type::to_int_type(made_[0]);
  }

  std::FILE* file_;
  NaNFilter filter_;
  std::string made_;
};

// For a file {"a": [x, y, ...], "b": [...], ...}: calls visit("a", x), visit("a", y), ... in the
// file's order. Other members at the top are passed over. Throws Error: kNotFound, kInvalidArgument
// (a folder), kIo, kCorrupt (not a JSON object, or nested too deeply), kState (stopped).
void ForEachElement(const std::filesystem::path& file, const std::stop_token& stop,
                    const std::function<void(const std::string&, const json&)>& visit) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, file.string(), "is a folder; give the .json file");
  }
  FileHandle handle = OpenForReading(file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(fdopen(handle.get(), "rb"),
                                                               std::fclose);
  if (!stream) throw Error(ErrorCode::kIo, file.string(), "cannot be read");
  handle.Release();
  ElementEvents events(file.string(), stop, visit);
  JsonStream text(stream.get());
  std::istream in(&text);
  json::sax_parse(in, &events);
  if (std::ferror(stream.get()) != 0) throw Error(ErrorCode::kIo, file.string(), "cannot be read");
}

const json& Member(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) Misread(std::string("has no ") + name);
  return *found;
}

std::uint32_t SizeOr0(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(found->get<std::uint64_t>(), UINT32_MAX));
}

bool HasNull(const json& value) {
  return value.is_null() || (value.is_array() && std::any_of(value.begin(), value.end(), HasNull));
}

// JsonStream has put null in the place of NaN.
void RequireNumbers(const json& value, const char* name) {
  if (!HasNull(value)) return;
  Misread(std::string("its ") + name +
          " has NaN, Infinity or null in the place of a number; correct it in the file, or remove "
          "the annotation");
}

// 7 and "7" are different ids. Numbers come before texts.
using Id = std::pair<std::int64_t, std::string>;
Id IdOf(const json& object, const char* name) {
  const json& id = Member(object, name);
  RequireNumbers(id, name);
  // A number that int64 does not hold is told apart by its text.
  if (id.is_number_unsigned() && id.get<std::uint64_t>() > INT64_MAX) return {INT64_MAX, id.dump()};
  if (id.is_number_integer()) return {id.get<std::int64_t>(), ""};
  if (id.is_string()) return {INT64_MAX, id.get<std::string>()};
  // Programs that make the file from a table with gaps write 17 as 17.0.
  constexpr double kMax = 1LL << 53;  // doubles above may have been rounded
  const double number = id.is_number_float() ? id.get<double>() : 0.5;
  if (std::floor(number) == number && std::abs(number) <= kMax) {
    return {static_cast<std::int64_t>(number), ""};
  }
  Misread(std::string("its ") + name + " is neither a number nor a text");
}

struct Category {
  std::string name, super;
  std::vector<std::string> points;
};

// An annotation that waits for the lists of images and categories.
struct Waiting {
  Id image, category;
  std::optional<std::string> caption;
  bool has_object = false;  // and not only a caption
  bool of_whole = false;    // the object is only a class; `fault` is set, in case others have boxes
  std::string fault;        // why the annotation cannot be used; empty: it can
  AnnotatedObject object;
};

// The member; nullptr if it is missing, null or an empty list.
const json* Given(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() || found->empty() ? nullptr : &*found;
}

// The end of a message about an id that `known` lacks, if it has the id in its other form: 7 and
// "7" look alike in a message.
template <class Known>
std::string OtherForm(const Id& id, const Known& known) {
  const bool is_text = id.first == INT64_MAX;
  const std::string text = is_text ? id.second : std::to_string(id.first);
  const auto number = ParseNumber<std::int64_t>(text);
  if (!number || !known.contains(is_text ? Id{*number, ""} : Id{INT64_MAX, text})) return "";
  return "; " + text +
         " is a text in one of the two lists and a number in the other: write both as "
         "numbers";
}

Shape RunsOf(const json& segmentation) {
  Shape shape;
  const json& size = Member(segmentation, "size");
  const std::vector<double> sides = NumbersOf(size);
  if (sides.size() != 2 || !(sides[0] >= 1 && sides[0] <= 65535) ||
      !(sides[1] >= 1 && sides[1] <= 65535)) {
    Misread("its segmentation has no usable size");
  }
  shape.height = static_cast<std::uint32_t>(sides[0]);
  shape.width = static_cast<std::uint32_t>(sides[1]);
  const std::uint64_t pixels = std::uint64_t{shape.width} * shape.height;
  const json& counts = Member(segmentation, "counts");
  if (counts.is_string()) {
    shape.runs = DecodeRuns(counts.get_ref<const std::string&>());
  } else {
    for (const json& count : counts) {
      const double run = count.is_number() ? count.get<double>() : -1;
      if (!(run >= 0 && run <= UINT32_MAX && std::floor(run) == run))
        Misread("its segmentation has a run that is not a whole number: " + count.dump());
      shape.runs.push_back(static_cast<std::uint32_t>(run));
    }
  }
  const auto covered = std::accumulate(shape.runs.begin(), shape.runs.end(), std::uint64_t{0});
  if (covered != pixels) {
    Misread("the runs of its mask are of " + std::to_string(covered) + " pixels in all, but " +
            std::to_string(shape.width) + "x" + std::to_string(shape.height) + " are " +
            std::to_string(pixels));
  }
  return shape;
}

// Outlines of one or two corners enclose nothing, and are left out. (pycocotools takes four numbers
// for a box.)
void AddShapes(const json& segmentation, AnnotatedObject& object) {
  constexpr std::size_t kTriangle = 6;
  if (segmentation.is_object()) {
    object.shapes.push_back(RunsOf(segmentation));
    return;
  }
  if (!segmentation.is_array()) Misread("its segmentation is neither a list of outlines nor RLE");
  const auto add = [&](const json& corners) {
    Shape shape;
    shape.outline = NumbersOf(corners);
    if (shape.outline.size() % 2 != 0) Misread("an outline has half a corner");
    for (const double at : shape.outline) {
      if (!std::isfinite(at)) Misread("an outline has a number that is not finite");
    }
    if (shape.outline.size() >= kTriangle)
      object.shapes.push_back(std::move(shape));
    else
      object.short_outline |= !shape.outline.empty();
  };
  // A list of outlines, or a single outline's corners without a list around them.
  if (!segmentation.empty() && segmentation[0].is_number()) return add(segmentation);
  for (const json& outline : segmentation)
    add(outline);
}

// The area that outlines enclose and runs cover. Where they overlap, it counts more than once.
double AreaOf(const std::vector<Shape>& shapes) {
  double area = 0;
  for (const Shape& shape : shapes) {
    for (std::size_t i = 1; i < shape.runs.size(); i += 2)
      area += shape.runs[i];
    const std::vector<double>& at = shape.outline;
    double twice = 0;
    for (std::size_t i = 0; i < at.size(); i += 2) {
      const std::size_t next = (i + 2) % at.size();
      twice += at[i] * at[next + 1] - at[next] * at[i + 1];
    }
    area += std::abs(twice) / 2;
  }
  return area;
}

// The box around all outlines and runs of an object.
std::array<double, 4> BoxAround(const std::vector<Shape>& shapes) {
  constexpr double kFar = std::numeric_limits<double>::max();
  std::array<double, 4> box = {kFar, kFar, -kFar, -kFar};
  const auto add = [&box](double left, double top, double right, double bottom) {
    box = {std::min(box[0], left), std::min(box[1], top), std::max(box[2], right),
           std::max(box[3], bottom)};
  };
  for (const Shape& shape : shapes) {
    for (std::size_t i = 0; i + 1 < shape.outline.size(); i += 2)
      add(shape.outline[i], shape.outline[i + 1], shape.outline[i], shape.outline[i + 1]);
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < shape.runs.size(); at += shape.runs[i++]) {
      if (i % 2 == 0 || shape.runs[i] == 0) continue;
      const std::uint64_t last = at + shape.runs[i] - 1;
      const std::uint64_t left = at / shape.height, right = last / shape.height;
      // A run in several columns reaches the bottom of one and begins at the top of the next.
      const bool whole = left < right;
      add(static_cast<double>(left), whole ? 0 : static_cast<double>(at % shape.height),
          static_cast<double>(right) + 1,
          static_cast<double>(whole ? shape.height : last % shape.height + 1));
    }
  }
  if (box[0] > box[2]) Misread("has no bbox, and its segmentation is empty");
  return box;
}

// Sets the object's box and area. If its box is missing, one is drawn around the segmentation.
void AddBox(const json& annotation, AnnotatedObject& object) {
  const json* const given = Given(annotation, "bbox");
  const json* const segmentation = Given(annotation, "segmentation");
  if (given == nullptr && segmentation == nullptr) Misread("has no bbox");
  if (given == nullptr) {
    AnnotatedObject drawn;
    AddShapes(*segmentation, drawn);
    object.box = BoxAround(drawn.shapes);
  } else {
    const std::vector<double> box = CornersOf(*given, BoxFormat::kXywh);
    if (box.size() != 4) Misread("its bbox does not have four numbers");
    std::copy_n(box.begin(), 4, object.box.begin());
  }
  object.area = (object.box[2] - object.box[0]) * (object.box[3] - object.box[1]);
}

// "annotation 17"
std::string NameOf(const json& annotation) {
  const auto id = annotation.find("id");
  return id == annotation.end() || id->is_structured() ? "an annotation"
                                                       : "annotation " + ToUtf8(TextOf(*id));
}

Waiting AnnotationOf(const json& annotation, const AnnotationParts& parts) {
  Waiting waiting;
  waiting.image = IdOf(annotation, "image_id");
  try {
    const json* const segmentation = Given(annotation, "segmentation");
    const json* const box = Given(annotation, "bbox");
    const json* const points = Given(annotation, "keypoints");
    const bool placed = segmentation != nullptr || box != nullptr || points != nullptr;
    const json* const caption = Given(annotation, "caption");
    if (caption != nullptr) waiting.caption = ToUtf8(TextOf(*caption));
    // A caption that is null is a missing one.
    if (annotation.contains("caption") && !placed && Given(annotation, "category_id") == nullptr)
      return waiting;
    waiting.has_object = true;
    if (annotation.contains("segments_info"))
      Misread("is of COCO's panoptic form, which is not read");
    AnnotatedObject& object = waiting.object;
    waiting.category = IdOf(annotation, "category_id");
    waiting.of_whole = !placed;
    if (box != nullptr) RequireNumbers(*box, "bbox");
    if (segmentation != nullptr && (box == nullptr || parts.masks || parts.instances))
      RequireNumbers(*segmentation, "segmentation");
    if (points != nullptr && parts.keypoints) RequireNumbers(*points, "keypoints");
    AddBox(annotation, object);
    const json* const crowd = Given(annotation, "iscrowd");
    object.flagged = crowd != nullptr && *crowd != 0 && *crowd != false;
    if ((parts.masks || parts.instances) && segmentation != nullptr)
      AddShapes(*segmentation, object);
    const auto area = annotation.find("area");
    object.has_area = area != annotation.end() && area->is_number();
    if (object.has_area)
      object.area = area->get<double>();
    else if (!object.shapes.empty())
      object.area = AreaOf(object.shapes);
    if (parts.keypoints && points != nullptr) {
      for (const double number : NumbersOf(*points))
        object.points.push_back(NarrowNumber(number));
      if (object.points.size() % 3 != 0) Misread("its keypoints are not x, y, v each");
    }
  } catch (const Error& error) {
    waiting.fault = NameOf(annotation) + ": " + error.sentence();
  }
  return waiting;
}

// The pairs of points that a flip exchanges, found by "left" and "right" in their names: "1-2,3-4".
std::string FlipPairs(const std::vector<std::string>& points) {
  std::string pairs;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t at = points[i].find("left");
    if (at == std::string::npos) continue;
    std::string other = points[i];
    other.replace(at, 4, "right");
    const auto found = std::find(points.begin(), points.end(), other);
    if (found == points.end()) continue;
    pairs += (pairs.empty() ? "" : ",") + std::to_string(i) + "-" +
             std::to_string(found - points.begin());
  }
  return pairs;
}

class CocoFile {
 public:
  CocoFile(const ConvertSource& source, const std::stop_token& stop) : source_(source) {
    std::uint64_t number = 0;
    ForEachElement(
        source.label_files.path, stop, [&](const std::string& list, const json& element) {
          ++number;
          try {
            if (list == "images") AddImage(element);
            if (list == "categories") AddCategory(element);
            if (list == "annotations")
              waiting_.push_back(AnnotationOf(element, source_.label_files.parts));
          } catch (const Error& error) {
            throw Error(
                ErrorCode::kCorrupt, source_.label_files.path.string(),
                (list == "annotations" ? NameOf(element) + ": " : "an element of " + list + " ") +
                    error.sentence());
          }
        });
    if (read_.images.empty()) {
      throw Error(ErrorCode::kCorrupt, source.label_files.path.string(),
                  "has no list of images, as COCO's files have");
    }
  }

  Annotations Finish() {
    NumberCategories();
    SettlePoints();
    // iNaturalist's form: each annotation is the class of a whole image.
    const auto any = [this](auto has) {
      return std::any_of(waiting_.begin(), waiting_.end(), has);
    };
    read_.labels = any([](const Waiting& one) { return one.of_whole; }) &&
                   !any([](const Waiting& one) { return one.has_object && one.fault.empty(); });
    std::uint64_t lost = 0;
    std::string other_form;
    for (Waiting& one : waiting_) {
      const auto image = images_.find(one.image);
      if (image == images_.end()) {
        ++lost;
        if (other_form.empty()) other_form = OtherForm(one.image, images_);
        continue;
      }
      Give(one, image->second);
      // Freed as soon as it is given to its image: the file's annotations may take gigabytes.
      one.object = {};
    }
    if (lost > 0 && lost == waiting_.size()) {
      throw Error(ErrorCode::kCorrupt, source_.label_files.path.string(),
                  "none of its " + std::to_string(lost) +
                      " annotations belongs to an image of the file: no image has the annotation's "
                      "image_id as its id" +
                      other_form);
    }
    if (lost > 0) {
      read_.warnings.push_back((lost == 1 ? "1 annotation is of an image"
                                          : std::to_string(lost) + " annotations are of images") +
                               std::string(" that the file does not list") + other_form);
    }
    read_.flag = "crowd";
    DropFaulty();
    return std::move(read_);
  }

 private:
  void AddImage(const json& element) {
    AnnotatedImage image;
    image.path = PathOf(element);
    image.place = source_.label_files.path.filename().string();
    image.width = SizeOr0(element, "width");
    image.height = SizeOr0(element, "height");
    const Id id = IdOf(element, "id");
    if (id.second.empty()) image.id = id.first;
    const auto [known, added] = images_.emplace(id, read_.images.size());
    if (added) {
      read_.images.push_back(std::move(image));
      return;
    }
    // Merged files may list an image twice.
    const std::string& other = read_.images[known->second].path;
    if (image.path == other) return;
    Misread("has the same id as another image: " + element["id"].dump() + " is " + ToUtf8(other) +
            " and " + ToUtf8(image.path) + "; give each image an id of its own");
  }

  // LVIS has no file_name; its URLs end in the folder and the name, "train2017/000000391895.jpg".
  std::string PathOf(const json& element) const {
    const auto url = element.find("coco_url");
    if (element.contains("file_name") || url == element.end()) {
      return TextOf(Member(element, "file_name"));
    }
    const std::filesystem::path path(TextOf(*url));
    return path.parent_path().filename() / path.filename();
  }

  void AddCategory(const json& element) {
    Category category{ToUtf8(TextOf(Member(element, "name"))), "", {}};
    const json* const super = Given(element, "supercategory");
    if (super != nullptr && super->is_string()) category.super = ToUtf8(TextOf(*super));
    const auto points = element.find("keypoints");
    if (points != element.end() && points->is_array()) category.points = NamesOf(*points);
    const auto [known, added] = categories_.emplace(IdOf(element, "id"), category);
    if (added || known->second.name == category.name) return;
    Misread("has the same id as another category: " + element["id"].dump() + " is " +
            known->second.name + " and " + category.name + "; give each category an id of its own");
  }

  // Without ConvertSource::label.classes, classes are in the order of their categories' ids.
  void NumberCategories() {
    std::vector<std::string> names = source_.label.classes;
    std::set<std::string> seen;
    for (const auto& [id, category] : categories_) {
      if (id.second.empty()) read_.category_ids.emplace(category.name, id.first);
      if (source_.label.classes.empty() && seen.insert(category.name).second) {
        names.push_back(category.name);
      }
    }
    if (source_.label.classes.empty()) WarnOfGroup(names);
    read_.names = ClassNames(std::move(names));
  }

  // Roboflow's exports begin with a category that only groups the others.
  void WarnOfGroup(const std::vector<std::string>& names) {
    std::set<Id> used;
    for (const Waiting& one : waiting_) {
      if (one.has_object) used.insert(one.category);
    }
    std::set<std::string> groups;  // the supercategories of other categories
    for (const auto& [id, category] : categories_) {
      if (category.super != category.name) groups.insert(category.super);
    }
    for (const auto& [id, category] : categories_) {
      if (used.contains(id) || !groups.contains(category.name)) continue;
      const auto number = std::find(names.begin(), names.end(), category.name) - names.begin();
      read_.warnings.push_back("no annotation has the category \"" + category.name +
                               "\", the supercategory of others; it is class " +
                               std::to_string(number) +
                               ", and the class numbers count it. To leave it out, name the other "
                               "classes in their order (--classes)");
      return;
    }
  }

  void SettlePoints() {
    for (const Waiting& one : waiting_) {
      const std::size_t points = one.object.points.size() / 3;
      if (points == 0) continue;
      if (read_.points == 0) read_.points = points;
      if (read_.points == points) continue;
      read_.warnings.push_back(
          "key points are left out: objects have different numbers of key points");
      // One fixed shape is needed for all objects.
      read_.points = 0;
      return;
    }
    for (const auto& [id, category] : categories_) {
      if (category.points.size() == read_.points) read_.flip_pairs = FlipPairs(category.points);
    }
  }

  void Give(Waiting& one, std::size_t image) {
    read_.objects = !read_.labels && (read_.objects || one.has_object);
    if (!one.fault.empty() && !(read_.labels && one.of_whole)) {
      faulty_.emplace(image, one.fault);
      return;
    }
    if (one.caption) read_.images[image].captions.push_back(std::move(*one.caption));
    if (!one.has_object) return;
    const auto category = categories_.find(one.category);
    if (category == categories_.end()) {
      const std::string id = one.category.second.empty() ? std::to_string(one.category.first)
                                                         : ToUtf8(one.category.second);
      faulty_.emplace(image, "its category_id " + id + " is not the id of one of the categories" +
                                 OtherForm(one.category, categories_));
      return;
    }
    const std::optional<std::int32_t> number = read_.names.Add(category->second.name);
    if (!number) {
      faulty_.emplace(
          image, "its category \"" + category->second.name + "\" is not one of the given classes");
      return;
    }
    one.object.label = *number;
    read_.images[image].objects.push_back(std::move(one.object));
  }

  void DropFaulty() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < read_.images.size(); ++i) {
      const auto fault = faulty_.find(i);
      if (fault != faulty_.end()) {
        read_.broken.push_back(
            {read_.images[i].path, read_.images[i].place + ": " + fault->second});
        continue;
      }
      if (kept != i) read_.images[kept] = std::move(read_.images[i]);
      ++kept;
    }
    read_.images.resize(kept);
  }

  const ConvertSource& source_;
  Annotations read_;
  std::map<Id, std::size_t> images_;  // index in read_.images
  std::map<Id, Category> categories_;
  std::vector<Waiting> waiting_;
  std::map<std::size_t, std::string> faulty_;  // index of the image, and the first reason
};

}  // namespace

Annotations ReadCoco(const ConvertSource& source, const std::stop_token& stop) {
  return CocoFile(source, stop).Finish();
}

}  // namespace sluice
