// Pascal VOC's XML: a file for each image.
//
// A label file names its image, but tools that rename files leave the old name inside, and trees
// differ in where images lie. So the name inside is used only if such an image exists; if an image
// with the label file's own name exists as well, that is an error. Files come in the encodings of
// old programs.
#include <algorithm>
#include <cmath>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/ascii.h"
#include "format/disk/file.h"
#include "format/xml.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/look.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

struct XmlElement {
  std::string name;
  std::string text;  // the element's own text, trimmed, without that of nested elements
  std::vector<XmlElement> inside;

  // The first element of that name inside; nullptr if it is missing.
  const XmlElement* Find(std::string_view wanted) const noexcept {
    const auto found = std::find_if(inside.begin(), inside.end(),
                                    [wanted](const XmlElement& one) { return one.name == wanted; });
    return found == inside.end() ? nullptr : &*found;
  }
};

// The document's encoding, by its byte order mark or its XML declaration; empty for UTF-8 and
// ASCII.
std::string EncodingOf(std::string_view document) {
  if (document.starts_with("\xff\xfe") || document.starts_with("\xfe\xff")) return "UTF-16";
  if (document.starts_with(std::string_view("<\0", 2))) return "UTF-16LE";
  if (document.starts_with(std::string_view("\0<", 2))) return "UTF-16BE";
  if (!document.starts_with("<?xml")) return {};
  document = document.substr(0, document.find("?>"));
  const std::size_t begin = document.find_first_of("\"'", document.find("encoding"));
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = document.substr(begin + 1);
  const std::string name = LowerCase(rest.substr(0, rest.find(document[begin])));
  // Programs that keep texts as UTF-16 declare it even if they write UTF-8.
  const bool plain = name.starts_with("utf") || name == "ascii" || name == "us-ascii";
  return plain ? "" : name;
}

// The document with "&amp;" for each & that begins no entity, since some programs write & as it is.
std::string WithLoneAmpersandsEscaped(std::string_view document) {
  constexpr std::string_view kEntities[] = {"#", "amp;", "lt;", "gt;", "quot;", "apos;"};
  std::string escaped;
  for (std::size_t at = 0; at < document.size(); ++at) {
    escaped += document[at];
    const auto follows = [rest = document.substr(at + 1)](std::string_view entity) {
      return rest.starts_with(entity);
    };
    if (document[at] == '&' && std::ranges::none_of(kEntities, follows)) escaped += "amp;";
  }
  return escaped;
}

// The document's outermost element. Throws Error(kCorrupt), with the place, if it is not well
// formed or nests too deeply.
XmlElement ParseXml(std::string_view document) {
  const std::string encoding = EncodingOf(document);
  std::string converted;
  if (!encoding.empty())
    document = converted = FromEncoding(document, encoding);
  else if (!IsUtf8(document))
    document = converted = ToUtf8(document);
  // Finished elements, by depth: an element's children are finished before it is.
  std::vector<std::vector<XmlElement>> ended(1);
  const auto end = [&ended](std::string_view path, std::string&& text) {
    const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
    if (ended.size() < depth + 2) ended.resize(depth + 2);
    ended[depth].push_back({std::string(path.substr(path.rfind('/') + 1)),
                            std::string(Trimmed(text)), std::exchange(ended[depth + 1], {})});
  };
  document = Trimmed(document);  // some programs begin with an empty line
  const XmlRules rules{.max_depth = 32, .document_type = true};
  std::string fault;
  if (!ReadXml(document, end, rules, &fault)) {
    ended = {{}};
    if (!ReadXml(WithLoneAmpersandsEscaped(document), end, rules))
      Misread("is not valid XML: " + fault);
  }
  return std::move(ended[0].front());
}

const XmlElement& ChildOf(const XmlElement& element, const char* name) {
  const XmlElement* const found = element.Find(name);
  if (found == nullptr) Misread("has " + ToUtf8(element.name) + " without " + name);
  return *found;
}

double NumberIn(const XmlElement& element, const char* name) {
  const std::vector<double> numbers = NumbersOf(ChildOf(element, name).text);
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
  const std::string& name = ChildOf(object, "name").text;
  const std::optional<std::int32_t> number = names.Add(name);
  if (!number)
    Misread("has the class \"" + ToUtf8(name) + "\", which is not one of the given classes");
  made.label = *number;
  const XmlElement& box = ChildOf(object, "bndbox");
  // VOC counts pixels from 1, and a box includes its last pixel.
  made.box = {NumberIn(box, "xmin") - 1, NumberIn(box, "ymin") - 1, NumberIn(box, "xmax"),
              NumberIn(box, "ymax")};
  made.before_first_pixel = made.box[0] < 0 || made.box[1] < 0;
  if (made.box[2] < made.box[0] || made.box[3] < made.box[1]) {
    Misread("has a bndbox that ends before it begins");
  }
  const XmlElement* const difficult = object.Find("difficult");
  made.flagged = difficult != nullptr && difficult->text == "1";
  return made;
}

// The path of a label file's image, without ending. It is the label file's own path or, in a tree
// such as VOC's, where labels and images have separate folders, the same path in the folder of
// images.
std::string ImagePathOf(const std::filesystem::path& root, const std::string& stem) {
  const std::filesystem::path path = stem;
  for (const auto& [labels, images] : {std::pair("Annotations", "JPEGImages"),
                                       {"Annotations", "images"},
                                       {"annotations", "images"},
                                       {"labels", "images"}}) {
    std::filesystem::path other;
    bool found = false;
    for (const std::filesystem::path& part : path) {
      std::error_code ignored;
      const bool this_one =
          !found && part == labels && std::filesystem::is_directory(root / other / images, ignored);
      other /= this_one ? std::filesystem::path(images) : part;
      found = found || this_one;
    }
    if (found) return other.native();
  }
  return stem;
}

}  // namespace

Annotations ReadVoc(const ConvertSource& source, bool in_store, const std::stop_token& stop) {
  Annotations read;
  read.names = ClassNames(source.label.classes);
  read.flag = "difficult";
  read.objects = true;
  RequireFolder(source, ".xml");
  std::error_code ignored_error;
  const bool one_tree =
      std::filesystem::equivalent(source.label_files.path, source.root, ignored_error);
  const FolderTree tree = WalkFolder(source.label_files.path, {source.follow_links}, stop);
  read.broken = tree.broken;
  read.passed_over = tree.passed_over;
  read.warnings.insert(read.warnings.end(), tree.warnings.begin(), tree.warnings.end());
  std::vector<std::byte> content;
  for (const WalkedFile& file : tree.files) {
    if (stop.stop_requested()) ThrowStopped();
    if (!file.key.ends_with(".xml")) {
      if (one_tree || IsImageName(file.key))
        continue;  // an image next to its labels; in a tree such as VOC's, also lists of samples
      read.broken.push_back({file.key, "is among the label files, but is not an .xml"});
      continue;
    }
    const std::string stem = file.key.substr(0, file.key.size() - 4);
    AnnotatedImage image;
    image.path = ImagePathOf(source.root, stem);
    image.place = file.key;
    try {
      ReadFile(source.label_files.path / file.key, kMaxLabelFileBytes, content);
      const XmlElement root = ParseXml(AsText(content));
      if (root.name != "annotation") Misread("is not an annotation, as Pascal VOC's files are");
      // Tools that rename files leave the old name inside.
      const XmlElement* const name = root.Find("filename");
      std::error_code ignored;
      if (name != nullptr && !name->text.empty()) {
        const std::filesystem::path own = image.path;
        const std::filesystem::path beside = own.parent_path() / name->text;
        const std::filesystem::path renamed = own.native() + beside.extension().native();
        const bool there = in_store || std::filesystem::exists(source.root / beside, ignored);
        if (there && renamed != beside && std::filesystem::exists(source.root / renamed, ignored)) {
          Misread("names the image " + ToUtf8(beside.native()) + " in its element filename, but " +
                  ToUtf8(renamed.native()) + " by its own file name; correct one of the two");
        }
        if (there)
          image.path = beside.native();
        else
          image.place += " (whose <filename> " + ToUtf8(name->text) + " does not exist)";
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
  if (read.images.empty() && read.broken.empty() && tree.warnings.empty()) {
    throw Error(ErrorCode::kNotFound, source.label_files.path.string(), "holds no .xml file");
  }
  return read;
}

}  // namespace sluice
