// Makes samples from the objects that label files describe: the part that coco.cpp, voc.cpp,
// yolo.cpp and dota.cpp have in common.
//
// The readers give images, each with its objects, without looking at a picture. Here the pictures
// are found and looked into, fields are made of what the label files have, and classes are
// numbered. Pictures that no label file describes may have been forgotten, so they are listed as
// passed over. This is not done in an object store, nor for YOLO and DOTA, where they are samples
// without objects.
#include "writer/source/labels/annotations.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include <sluice/convert.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/disk/checksum.h"
#include "format/parallel.h"
#include "writer/source/labels/split_folders.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/list_checks.h"
#include "writer/source/list/look.h"
#include "writer/source/list/paths.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

// Whether the labels are texts at the images' paths (label_texts.h).
bool AreTexts(AnnotationFormat format) {
  return format == AnnotationFormat::kYolo || format == AnnotationFormat::kDota;
}

// How many classes, besides the background, a mask of 8 and of 16 bits can have.
constexpr std::size_t kMaxNarrowClasses = 255, kMaxMaskClasses = 65'535;

class AnnotatedList {
 public:
  AnnotatedList(const ConvertSource& source, SourceList list, Annotations annotations)
      : source_(source), read_(std::move(annotations)), list_(std::move(list)) {
    list_.broken = std::move(read_.broken);
    list_.passed_over = std::move(read_.passed_over);
    list_.warnings = std::move(read_.warnings);
    read_.names.Settle({source_.label_files.path, "the list of objects",
                        "these objects, or name the classes in their order (--classes)"},
                       list_.warnings);
    AddFields();
    if (read_.objects) WarnOfObjects();
  }

  SourceList Run(unsigned threads, const ConvertHooks& hooks) {
    const RootPath root(list_);
    std::vector<Look> looks(read_.images.size());
    LookIntoAll(list_, threads, looks.size(), hooks, [&](std::size_t i) {
      AnnotatedImage& image = read_.images[i];
      const std::optional<std::string> key = root.KeyOf(image.path);
      if (key) image.path = *key;
      if (key)
        looks[i] = LookInto(list_, *key);
      else
        looks[i].trouble = "does not lie below " + list_.root.string();
    });
    SameNames names(list_.root, [this] {
      SameNames::Paths paths;
      for (const AnnotatedImage& image : read_.images)
        paths.insert(image.path);
      return paths;
    });
    LinksOut links(list_.root, source_.follow_links);
    for (std::size_t i = 0; i < looks.size(); ++i) {
      const std::string& path = read_.images[i].path;
      if (list_.store == nullptr) names.Resolve(read_.images[i].path, looks[i]);
      described_.insert(path);
      if (!links.Take(path, path, list_.passed_over)) Take(read_.images[i], looks[i]);
      read_.images[i] = {};
    }
    if (!names.Report().empty()) list_.warnings.push_back(names.Report());
    links.Warn(list_.warnings);
    AddUndescribed(threads, hooks);
    RequireImages(list_.root, list_);
    WarnOfRepeats(list_);
    return std::move(list_);
  }

 private:
  // Lists the images of the folder that have no label file. For YOLO and DOTA, they are samples.
  void AddUndescribed(unsigned threads, const ConvertHooks& hooks) {
    if (list_.store != nullptr || AreTexts(source_.label_files.format)) return;
    const bool voc = source_.label_files.format == AnnotationFormat::kVoc;
    for (const std::vector<LeftOut>* const list : {&list_.broken, &list_.passed_over}) {
      for (const LeftOut& one : *list)
        described_.insert(one.path);
    }
    std::vector<std::string> others;
    FolderTree tree = WalkFolder(list_.root, {source_.follow_links}, hooks.stop);
    for (LeftOut& one : tree.passed_over) {
      if (!described_.contains(one.path)) list_.passed_over.push_back(std::move(one));
    }
    for (WalkedFile& file : tree.files) {
      const std::string xml = std::filesystem::path(file.key).replace_extension(".xml").native();
      if (described_.contains(file.key) || (voc && described_.contains(xml))) continue;
      others.push_back(std::move(file.key));
    }
    std::vector<Look> looks(others.size());
    LookIntoAll(list_, threads, looks.size(), hooks,
                [&](std::size_t i) { looks[i] = LookInto(list_, others[i]); });
    for (std::size_t i = 0; i < looks.size(); ++i) {
      if (looks[i].sniffed.kind == ImageKind::kNone) continue;
      list_.passed_over.push_back(
          {others[i], voc ? "an image without an .xml" : "an image that the JSON does not list"});
    }
  }

  template <class Has>
  bool Any(Has has) const {
    return std::any_of(read_.images.begin(), read_.images.end(), [&](const AnnotatedImage& image) {
      return std::any_of(image.objects.begin(), image.objects.end(), has);
    });
  }

  // Counts the objects for which has(object) is true. If there are any, adds a warning: "3 of 7
  // objects, such as one of a.jpg, " and the text.
  template <class Has>
  void WarnOfObjects(Has has, const std::string& text) {
    std::size_t count = 0, all = 0;
    const AnnotatedImage* first = nullptr;
    for (const AnnotatedImage& image : read_.images) {
      const auto found = static_cast<std::size_t>(std::ranges::count_if(image.objects, has));
      if (found > 0 && first == nullptr) first = &image;
      count += found;
      all += image.objects.size();
    }
    if (first == nullptr) return;
    // COCO describes all images in one file.
    const bool coco = source_.label_files.format == AnnotationFormat::kCoco;
    list_.warnings.push_back(std::to_string(count) + " of " + std::to_string(all) +
                             (all == 1 ? " object" : " objects") + ", such as one of " +
                             ToUtf8(coco ? first->path : first->place) + ", " + text);
  }

  void WarnOfObjects() {
    const AnnotationParts& parts = source_.label_files.parts;
    WarnOfObjects(
        [](const AnnotatedObject& object) { return object.short_outline; },
        "have outlines of fewer than three corners, which are left out (pycocotools takes an "
        "outline of four numbers for a box; write it as three or more corners)");
    if (parts.instances) {
      WarnOfObjects([](const AnnotatedObject& object) { return object.shapes.empty(); },
                    "have no outline or runs: their masks are empty. When loading, "
                    "BoxRule(min_mask=1) drops them");
    }
    if (parts.boxes && Any([](const AnnotatedObject& object) { return object.has_area; })) {
      WarnOfObjects([](const AnnotatedObject& object) { return !object.has_area; },
                    "have no area in the label file: the field \"area\" has that of their outlines "
                    "and runs, if these are taken, and otherwise of their box");
    }
    WarnOfObjects(
        [](const AnnotatedObject& object) { return object.before_first_pixel; },
        "have an xmin or ymin below 1. VOC's files count pixels from 1, so 1 is subtracted from "
        "each xmin and ymin. If these files count from 0, each box begins a pixel too far left and "
        "above: convert the labels from COCO's or YOLO's form, or from a table of "
        "boxes in the form xyxy (--field)");
  }

  static std::string Asked(const AnnotationParts& parts) {
    std::string text;
    for (const auto& [asked, name] : {std::pair{parts.boxes, "boxes"},
                                      {parts.masks, "masks"},
                                      {parts.keypoints, "key points"},
                                      {parts.captions, "captions"},
                                      {parts.instances, "instances"}}) {
      if (asked) text += (text.empty() ? "" : " or ") + std::string(name);
    }
    return text;
  }

  void AddField(Field field, Feed feed) {
    if (feed == Feed::kBoxes || feed == Feed::kBoxClasses || feed == Feed::kPoints ||
        feed == Feed::kInstances) {
      field.follows = "image";
    }
    list_.fields.push_back({std::move(field), feed});
    list_.fields.back().relative = read_.relative;
  }

  // "2,18,90": the number of each class in the label file; empty if one has none.
  std::string CategoryIds(const std::vector<std::string>& classes) const {
    std::string ids;
    for (const std::string& name : classes) {
      const auto id = read_.category_ids.find(name);
      if (id == read_.category_ids.end()) return "";
      ids += (ids.empty() ? "" : ",") + std::to_string(id->second);
    }
    return ids;
  }

  // If images were left out: that they may be the reason for what is missing. Ends in "or ".
  std::string LeftOutText() const {
    if (list_.broken.empty()) return "";
    const std::size_t count = list_.broken.size();
    const LeftOut& first = list_.broken[0];
    return std::to_string(count) + (count == 1 ? " image is" : " images are") +
           " left out, such as " + ToUtf8(first.path) + " (" + first.reason + "); correct " +
           (count == 1 ? "it" : "them") + ", or ";
  }

  void AddFields() {
    const AnnotationParts& parts = source_.label_files.parts;
    if (parts.instances && !parts.boxes) {
      throw Error(ErrorCode::kInvalidArgument, source_.label_files.path.string(),
                  "instances belong to boxes; take boxes, too (--take boxes,instances)");
    }
    const std::vector<std::string> classes = read_.names.Names();
    AddField(Field::Image(), Feed::kImage);
    if (parts.boxes && read_.objects) {
      Field boxes = Field::Variable("boxes", DType::kFloat32, {read_.oriented ? 8U : 4U});
      boxes.role = Role::kBoxes;
      boxes.coordinates = read_.oriented ? "corners-pixels" : "xyxy-pixels";
      AddField(std::move(boxes), Feed::kBoxes);
      Field labels = Field::Variable("classes", DType::kInt32, {});
      labels.role = Role::kLabel;
      labels.classes = classes;
      if (const std::string ids = CategoryIds(classes); !ids.empty())
        labels.attributes["category_ids"] = ids;
      AddField(std::move(labels), Feed::kBoxClasses);
      // Even if no object is marked, so that the parts of one dataset have the same fields.
      if (!read_.flag.empty())
        AddField(Field::Variable(read_.flag, DType::kInt32, {}), Feed::kBoxClasses);
      // This and the next two are for an evaluation by the label file itself.
      if (source_.label_files.format == AnnotationFormat::kCoco)
        AddField(Field::Variable("area", DType::kFloat32, {}), Feed::kBoxClasses);
      const auto all = [this](auto has) { return std::ranges::all_of(read_.images, has); };
      if (all([](const AnnotatedImage& image) { return image.id.has_value(); }))
        AddField(Field::Array("image_id", DType::kInt64, {}), Feed::kElements);
      if (all([](const AnnotatedImage& image) { return image.width > 0 && image.height > 0; }) &&
          source_.label_files.format == AnnotationFormat::kCoco) {
        AddField(Field::Array("source_size", DType::kInt32, {2}), Feed::kElements);
      }
    }
    if (parts.boxes && read_.labels) {
      AddField(Field::Label(), Feed::kLabel);
      list_.labelled = true;
      list_.classes = classes;
    }
    const bool shapes = Any([](const AnnotatedObject& object) { return !object.shapes.empty(); });
    if (parts.instances && !shapes) {
      throw Error(ErrorCode::kNotFound, source_.label_files.path.string(),
                  "has no outlines or runs for these images, so there are no instances to take; " +
                      LeftOutText() + "leave them out (--take boxes)");
    }
    if (parts.instances) AddField(Field::Bytes("instances", Role::kInstances), Feed::kInstances);
    if (parts.masks && shapes) {
      if (classes.size() > kMaxMaskClasses) {
        throw Error(ErrorCode::kLimit, source_.label_files.path.string(),
                    "has more than the 65535 classes that a mask can tell apart; convert without "
                    "masks");
      }
      Field mask = Field::Mask("mask", "image");
      mask.classes = {"background"};
      mask.classes.insert(mask.classes.end(), classes.begin(), classes.end());
      AddField(std::move(mask), Feed::kShapes);
      list_.fields.back().wide = classes.size() > kMaxNarrowClasses;
    }
    if (parts.keypoints && read_.points > 0) {
      Field points = Field::Variable("keypoints", DType::kFloat32,
                                     {static_cast<std::uint32_t>(read_.points), 3});
      points.role = Role::kKeypoints;
      points.coordinates = "xyv-pixels";
      if (!read_.flip_pairs.empty()) points.attributes["flip_pairs"] = read_.flip_pairs;
      AddField(std::move(points), Feed::kPoints);
    }
    const bool captions = parts.captions && std::any_of(read_.images.begin(), read_.images.end(),
                                                        [](const AnnotatedImage& image) {
                                                          return !image.captions.empty();
                                                        });
    if (captions) AddField(Field::Bytes("captions", Role::kJson), Feed::kText);
    if (list_.fields.size() == 1) {
      throw Error(ErrorCode::kNotFound, source_.label_files.path.string(),
                  "has no " + Asked(parts) +
                      " for these images; without label files the images alone are converted");
    }
    list_.MakeSchema().Validate();
  }

  void Take(AnnotatedImage& image, const Look& look) {
    if (look.trouble.empty() && look.sniffed.kind == ImageKind::kNone) {
      list_.broken.push_back({image.path, image.place + ": the file is not an image"});
      return;
    }
    if (!TakeOrLeave(look, image.path, list_)) {
      std::string& reason = list_.broken.back().reason;
      reason = image.place + (look.trouble.empty() ? ": " : ": its image ") + reason;
      return;
    }
    Source taken;
    taken.key = std::move(image.path);
    taken.bytes = look.bytes;
    taken.changed = look.changed;
    if (image.width > UINT16_MAX || image.height > UINT16_MAX) {
      list_.broken.push_back({taken.key, image.place + " describes " + std::to_string(image.width) +
                                             "x" + std::to_string(image.height) +
                                             " pixels, which are more than an image can have"});
      return;
    }
    taken.described_width = static_cast<std::uint16_t>(image.width);
    taken.described_height = static_cast<std::uint16_t>(image.height);
    if (list_.labelled && image.objects.size() != 1) {
      list_.broken.push_back(
          {taken.key, image.place + ": it has " + std::to_string(image.objects.size()) +
                          " annotations, and without boxes exactly one can be its class; a table "
                          "(--table) can give images several classes"});
      return;
    }
    for (AnnotatedObject& object : image.objects)
      taken.label = object.label = read_.names.NumberOf(object.label);
    for (const SourceField& field : list_.fields)
      list_.values.Add(ValueOf(field, image));
    list_.sources.push_back(std::move(taken));
  }

  // The field's bytes; empty for the image itself.
  std::optional<std::vector<std::byte>> ValueOf(const SourceField& field,
                                                AnnotatedImage& image) const {
    std::vector<std::byte> value;
    const auto add = [&value](const auto& range) {
      const Bytes bytes = std::as_bytes(std::span(range));
      value.insert(value.end(), bytes.begin(), bytes.end());
    };
    switch (field.feed) {
      case Feed::kBoxes:
        for (const AnnotatedObject& object : image.objects) {
          if (read_.oriented)
            add(object.corners);
          else
            add(object.box);
        }
        break;
      case Feed::kBoxClasses:
        for (const AnnotatedObject& object : image.objects) {
          const bool label = field.field.role == Role::kLabel;
          const std::int32_t number = label ? object.label : object.flagged ? 1 : 0;
          const float area = NarrowNumber(object.area);
          if (field.field.dtype == DType::kFloat32)
            add(std::span(&area, 1));
          else
            add(std::span(&number, 1));
        }
        break;
      case Feed::kElements:
        if (field.field.dtype == DType::kInt64) {
          add(std::span(&*image.id, 1));
        } else {
          const std::int32_t size[] = {static_cast<std::int32_t>(image.height),
                                       static_cast<std::int32_t>(image.width)};
          add(size);
        }
        break;
      case Feed::kShapes: AddShapes(image, value); break;
      case Feed::kInstances:
        for (std::size_t i = 0; i < image.objects.size(); ++i)
          for (const Shape& shape : image.objects[i].shapes)
            AddShape(shape, static_cast<std::uint32_t>(i), value);
        break;
      case Feed::kPoints:
        for (AnnotatedObject& object : image.objects) {
          object.points.resize(read_.points * 3);
          add(object.points);
        }
        break;
      case Feed::kText: {
        const std::string text =
            nlohmann::json(image.captions)
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        add(AsBytes(text));
        break;
      }
      default: return std::nullopt;
    }
    return value;
  }

  // Larger objects come first: smaller ones are painted over them and stay visible.
  static void AddShapes(AnnotatedImage& image, std::vector<std::byte>& value) {
    std::vector<const AnnotatedObject*> objects;
    for (const AnnotatedObject& object : image.objects)
      objects.push_back(&object);
    std::stable_sort(objects.begin(), objects.end(),
                     [](const auto* a, const auto* b) { return a->area > b->area; });
    for (const AnnotatedObject* const object : objects) {
      for (const Shape& shape : object->shapes)
        AddShape(shape, static_cast<std::uint16_t>(object->label + 1), value);
    }
  }

  const ConvertSource& source_;
  Annotations read_;
  SourceList list_;
  std::set<std::string> described_;  // keys of images, and of label files that could not be read
};

}  // namespace

LabelTree TreeOf(AnnotationFormat format) noexcept {
  switch (format) {
    case AnnotationFormat::kCoco: break;
    case AnnotationFormat::kVoc: return {"JPEGImages", "Annotations"};
    case AnnotationFormat::kYolo: return {"images", "labels"};
    case AnnotationFormat::kDota: return {"images", "labelTxt"};
  }
  return {};
}

void RequireFolder(const ConvertSource& source, const char* of_what) {
  std::error_code ignored;
  if (std::filesystem::is_directory(source.label_files.path, ignored)) return;
  const bool there = std::filesystem::exists(source.label_files.path, ignored);
  throw Error(there ? ErrorCode::kInvalidArgument : ErrorCode::kNotFound,
              source.label_files.path.string(),
              std::string(there ? "is not a folder" : "is not there") +
                  "; give the folder of the " + of_what + " files");
}

void Misread(const std::string& sentence) {
  throw Error(ErrorCode::kCorrupt, sentence);
}

namespace {

// Refuses a tree with several splits, such as images/train, images/val, labels/train, labels/val.
void RequireOneSplit(const ConvertSource& source, const std::stop_token& stop) {
  if (!source.label.store || source.label.folders != FolderLabels::kAuto ||
      source.label_files.format == AnnotationFormat::kCoco) {
    return;
  }
  const auto is_there = [](const std::filesystem::path& folder) {
    std::error_code ignored;
    return std::filesystem::is_directory(folder, ignored);
  };
  std::filesystem::path images = source.root;
  std::filesystem::path labels = source.label_files.path;
  const LabelTree tree = TreeOf(source.label_files.format);
  if (is_there(images / tree.images) && is_there(labels / tree.labels)) {
    images /= tree.images;
    labels /= tree.labels;
  }
  std::vector<std::string> names =
      FindSplitFolders(images, {.follow_links = source.follow_links}, stop).names;
  // A split without a label folder of its own does not count.
  std::erase_if(names, [&](const std::string& name) { return !is_there(labels / name); });
  if (names.size() < 2) return;
  throw Error(ErrorCode::kInvalidArgument, source.root.string(),
              "has images and label files of several splits, " + FolderNames(names) +
                  "; give the folders of one, or make a dataset of each (--split-folders); `sluice "
                  "merge` makes one of several datasets");
}

}  // namespace

// All candidates count, and not only the files of the listed images: an image without a label file
// may get one later.
std::string DigestOfLabelFiles(const ConvertSource& source, const std::stop_token& stop) {
  const std::filesystem::path& folder = source.label_files.path;
  const AnnotationFormat format = source.label_files.format;
  Id128 digest;
  const auto add = [&digest](const std::filesystem::path& file) {
    const std::string line = ToHex(digest) + file.native() + '\n' + StateOf(file).Words();
    digest = Hash128(AsBytes(line));
  };
  for (const WalkedFile& file : WalkFolder(folder, {source.follow_links}, stop).files) {
    if (file.key.ends_with(AreTexts(format) ? ".txt" : ".xml")) add(folder / file.key);
  }
  if (format == AnnotationFormat::kYolo) {
    for (const std::filesystem::path& file : YoloNameFiles(folder))
      add(file);
  }
  return ToHex(digest);
}

SourceList ReadAnnotations(const ConvertSource& source, SourceList list, unsigned threads,
                           const ConvertHooks& hooks) {
  const bool in_store = list.store != nullptr;
  if (in_store && AreTexts(source.label_files.format)) {
    throw Error(ErrorCode::kInvalidArgument,
                "YOLO's and DOTA's labels are for images in a folder; bring them to a local disk");
  }
  if (!in_store) RequireOneSplit(source, hooks.stop);
  Annotations read;
  const std::stop_token& stop = hooks.stop;
  switch (source.label_files.format) {
    case AnnotationFormat::kCoco: read = ReadCoco(source, stop); break;
    case AnnotationFormat::kVoc: read = ReadVoc(source, in_store, stop); break;
    case AnnotationFormat::kYolo: read = ReadYolo(source, stop); break;
    case AnnotationFormat::kDota: read = ReadDota(source, stop); break;
  }
  return AnnotatedList(source, std::move(list), std::move(read)).Run(threads, hooks);
}

}  // namespace sluice
