// YOLO's texts: for each image one with a line for each object, in fractions of the image's sides.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/source/annotations.h"
#include "writer/source/folder_walk.h"
#include "writer/source/look.h"
#include "writer/source/table_values.h"
#include "writer/source/yolo_names.h"
#include "writer/text.h"

namespace sluice {

namespace {

std::array<double, 4> ExtentOf(const std::vector<double>& outline) {
  std::array<double, 4> box = {outline[0], outline[1], outline[0], outline[1]};
  for (std::size_t i = 0; i + 1 < outline.size(); i += 2) {
    box = {std::min(box[0], outline[i]), std::min(box[1], outline[i + 1]),
           std::max(box[2], outline[i]), std::max(box[3], outline[i + 1])};
  }
  return box;
}

void RequireFraction(double number) {
  constexpr double kRounded = 0.01;  // as much as Ultralytics lets pass
  if (number >= -kRounded && number <= 1 + kRounded) return;
  Misread("has the number " + Cell(number).dump() +
          ", but YOLO's are fractions of the image's sides, from 0 to 1");
}

// "class x y width height", the same with key points, or "class x y x y x y ...": an outline.
AnnotatedObject ObjectOf(std::string_view line, const YoloNames& settings) {
  std::vector<double> numbers = NumbersOf(std::string(line));
  for (const double number : numbers) {
    if (!std::isfinite(number)) Misread("a number is not finite");
  }
  if (numbers.size() < 5) Misread("a line has no class and four numbers");
  if (numbers[0] < 0 || numbers[0] >= static_cast<double>(kMostYoloClasses) ||
      std::floor(numbers[0]) != numbers[0]) {
    Misread("a class is no whole number from 0 to 65535");
  }
  AnnotatedObject object;
  object.label = static_cast<std::int32_t>(numbers[0]);
  numbers.erase(numbers.begin());
  const std::size_t of_points = settings.points * settings.point_numbers;
  if (numbers.size() == 4 || (of_points > 0 && numbers.size() == 4 + of_points)) {
    std::for_each_n(numbers.begin(), 4, RequireFraction);
    const auto [x, y, width, height] = std::array{numbers[0], numbers[1], numbers[2], numbers[3]};
    if (width < 0 || height < 0) Misread("a box has a negative width or height");
    object.box = {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
    for (std::size_t i = 4; i < numbers.size(); i += settings.point_numbers) {
      std::for_each_n(&numbers[i], 2, RequireFraction);
      const float seen = settings.point_numbers == 3 ? NarrowNumber(numbers[i + 2]) : 2.0F;
      object.points.push_back(seen == 0 ? 0 : NarrowNumber(numbers[i]));  // as COCO has such points
      object.points.push_back(seen == 0 ? 0 : NarrowNumber(numbers[i + 1]));
      object.points.push_back(seen);
    }
  } else if (numbers.size() >= 6 && numbers.size() % 2 == 0) {
    std::for_each(numbers.begin(), numbers.end(), RequireFraction);
    Shape shape;
    shape.outline = numbers;
    object.box = ExtentOf(numbers);
    object.shapes.push_back(std::move(shape));
  } else {
    Misread("a line has " + std::to_string(numbers.size() + 1) +
            " numbers, which make neither a box nor an outline; key points need kpt_shape in the "
            ".yaml with the names");
  }
  object.area = (object.box[2] - object.box[0]) * (object.box[3] - object.box[1]);
  return object;
}

void ReadObjects(std::string_view text, const YoloNames& settings, AnnotatedImage& image) {
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    image.objects.push_back(ObjectOf(line, settings));
  }
}

}  // namespace

namespace {

// Where the labels of an image are: at its path or, as YOLO's own tools look for them, in the
// folder labels/ beside images/.
std::string LabelsOf(const std::filesystem::path& folder, const std::string& key) {
  const std::string place = std::filesystem::path(key).replace_extension(".txt").native();
  constexpr std::string_view kImages = "images/";
  std::size_t at = place.rfind(kImages);
  while (at != std::string::npos && at > 0 && place[at - 1] != '/')
    at = place.rfind(kImages, at - 1);
  if (at == std::string::npos) return place;
  std::string beside = place;
  beside.replace(at, kImages.size(), "labels/");
  std::error_code ignored;
  return std::filesystem::exists(folder / beside, ignored) ? beside : place;
}

// The label files that are no image's. Other texts lie there, too: names, lists, licences.
void AddUnused(const ConvertSource& source, const std::set<std::string>& used,
               const YoloNames& settings, const std::stop_token& stop, Annotations& read) {
  const std::filesystem::path& folder = source.annotations;
  std::vector<std::byte> content;
  for (const WalkedFile& file : WalkFolder(folder, source.follow_links, stop).files) {
    if (!file.key.ends_with(".txt") || used.contains(file.key)) continue;
    if (stop.stop_requested()) ThrowStopped();
    try {
      AnnotatedImage image;
      ReadFile(folder / file.key, kMaxLabelFileBytes, content);
      ReadObjects(AsText(content), settings, image);
      read.passed_over.push_back({file.key, "a label file without an image"});
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace

Annotations ReadYolo(const ConvertSource& source, const std::stop_token& stop) {
  RequireFolder(source, ".txt");
  Annotations read;
  read.relative = true;
  read.objects = true;
  YoloNames settings = FindYoloNames(source.annotations);
  if (!source.classes.empty()) {
    settings.classes = source.classes;
  } else if (settings.counted > 0 && settings.counted != settings.classes.size()) {
    read.warnings.push_back("the .yaml names " + std::to_string(settings.classes.size()) +
                            " classes, but says that there are " +
                            std::to_string(settings.counted) + " (nc)");
  }
  read.points = settings.points;
  const FolderTree tree = WalkFolder(source.root, source.follow_links, stop);
  read.warnings.insert(read.warnings.end(), tree.warnings.begin(), tree.warnings.end());
  std::vector<std::byte> content;
  std::set<std::string> used;
  std::int32_t most = -1;
  std::uint64_t without = 0;
  for (const WalkedFile& file : tree.files) {
    if (stop.stop_requested()) ThrowStopped();
    AnnotatedImage image;
    image.path = file.key;
    image.place = LabelsOf(source.annotations, file.key);
    if (file.key.ends_with(".txt")) continue;  // the labels lie beside the images
    used.insert(image.place);
    try {
      ReadFile(source.annotations / image.place, kMaxLabelFileBytes, content);
      ReadObjects(AsText(content), settings, image);
    } catch (const Error& error) {
      // Files that are no images need no labels.
      if (LookInto(source.root / file.key).sniffed.kind == ImageKind::kNone) {
        if (IsImageEnding(std::string_view(file.key).substr(file.key.rfind('.') + 1)))
          read.broken.push_back({file.key, "is not an image"});
        continue;
      }
      if (error.code() != ErrorCode::kNotFound) {
        read.broken.push_back({file.key, image.place + ": " + error.sentence()});
        continue;
      }
      ++without;
    }
    for (const AnnotatedObject& object : image.objects)
      most = std::max(most, object.label);
    read.images.push_back(std::move(image));
  }
  if (without > 0 && without == read.images.size() && read.broken.empty()) {
    throw Error(ErrorCode::kNotFound, source.annotations.string(),
                "has no label file for any image, such as " + ToUtf8(read.images[0].place) +
                    " for " + ToUtf8(read.images[0].path) + " of " + source.root.string());
  }
  if (without > 0) {
    read.warnings.push_back(std::to_string(without) +
                            (without == 1 ? " image has" : " images have") +
                            " no label file, and no box");
  }
  AddUnused(source, used, settings, stop, read);
  for (std::int32_t number = 0; settings.classes.empty() && number <= most; ++number)
    settings.numbers.push_back(std::to_string(number));
  const std::vector<std::string>& classes =
      settings.classes.empty() ? settings.numbers : settings.classes;
  const auto unknown = [&](const AnnotatedImage& image) {
    return std::any_of(image.objects.begin(), image.objects.end(), [&](const AnnotatedObject& one) {
      return static_cast<std::size_t>(one.label) >= classes.size();
    });
  };
  for (const AnnotatedImage& image : read.images) {
    if (!unknown(image)) continue;
    read.broken.push_back({image.path, image.place + ": has a class beyond the " +
                                           std::to_string(classes.size()) + " named ones"});
  }
  std::erase_if(read.images, unknown);
  read.names = ClassNames(classes);
  return read;
}

}  // namespace sluice
