// Pascal VOC's XML: a file for each image.
#include <algorithm>
#include <cmath>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/source/annotations.h"
#include "writer/source/folder_walk.h"
#include "writer/source/table_values.h"
#include "writer/source/xml.h"
#include "writer/text.h"

namespace sluice {

namespace {

const XmlElement& Inside(const XmlElement& element, const char* name) {
  const XmlElement* const found = element.Find(name);
  if (found == nullptr) Misread("has " + ToUtf8(element.name) + " without " + name);
  return *found;
}

double NumberIn(const XmlElement& element, const char* name) {
  const std::vector<double> numbers = NumbersOf(Inside(element, name).text);
  if (numbers.size() != 1 || !std::isfinite(numbers[0])) {
    Misread(std::string("has a ") + name + " that is not a number");
  }
  return numbers[0];
}

std::uint32_t SizeIn(const XmlElement& size, const char* name) {
  const double number = NumberIn(size, name);
  return number >= 0 && number <= 65535 ? static_cast<std::uint32_t>(number) : 0;
}

AnnotatedObject ObjectOf(const XmlElement& object, ClassNames& names) {
  AnnotatedObject made;
  const std::string& name = Inside(object, "name").text;
  const std::optional<std::int32_t> number = names.Add(name);
  if (!number) Misread("has the class \"" + ToUtf8(name) + "\", which is not one of those given");
  made.label = *number;
  const XmlElement& box = Inside(object, "bndbox");
  // The first pixel is 1, and the last one belongs to the box.
  made.box = {NumberIn(box, "xmin") - 1, NumberIn(box, "ymin") - 1, NumberIn(box, "xmax"),
              NumberIn(box, "ymax")};
  if (made.box[2] < made.box[0] || made.box[3] < made.box[1]) {
    Misread("has a bndbox that ends before it begins");
  }
  const XmlElement* const difficult = object.Find("difficult");
  made.flagged = difficult != nullptr && difficult->text == "1";
  return made;
}

}  // namespace

Annotations ReadVoc(const ConvertSource& source, const std::stop_token& stop) {
  Annotations read;
  read.names = ClassNames(source.classes);
  read.flag = "difficult";
  read.objects = true;
  RequireFolder(source, ".xml");
  const FolderTree tree = WalkFolder(source.annotations, stop);
  std::vector<std::byte> content;
  for (const WalkedFile& file : tree.files) {
    if (stop.stop_requested()) ThrowStopped();
    if (!file.key.ends_with(".xml")) {
      read.broken.push_back({file.key, "is among the label files, but is no .xml"});
      continue;
    }
    const std::string stem = file.key.substr(0, file.key.size() - 4);
    AnnotatedImage image;
    image.path = stem;
    image.place = file.key;
    try {
      ReadFile(source.annotations / file.key, kMaxLabelFileBytes, content);
      const XmlElement root = ParseXml(AsText(content));
      if (root.name != "annotation") Misread("is no annotation, as Pascal VOC's files are");
      // Tools that rename files leave the old name inside.
      const XmlElement* const name = root.Find("filename");
      std::error_code ignored;
      if (name != nullptr && !name->text.empty()) {
        const std::filesystem::path beside = std::filesystem::path(stem).parent_path() / name->text;
        if (std::filesystem::exists(source.root / beside, ignored)) image.path = beside.native();
      }
      if (const XmlElement* const size = root.Find("size")) {
        image.width = SizeIn(*size, "width");
        image.height = SizeIn(*size, "height");
      }
      for (const XmlElement& object : root.inside) {
        if (object.name == "object") image.objects.push_back(ObjectOf(object, read.names));
      }
      read.images.push_back(std::move(image));
    } catch (const Error& error) {
      read.broken.push_back({file.key, error.sentence()});
    }
  }
  if (tree.files.empty()) {
    throw Error(ErrorCode::kNotFound, source.annotations.string(), "holds no .xml file");
  }
  return read;
}

}  // namespace sluice
