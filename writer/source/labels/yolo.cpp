// YOLO's labels: a text file for each image, a line for each object, and the classes' names in a
// file next to them. That file may be a .yaml, of which a small parser here reads three members
// (names, kpt_shape, flip_idx; nc only to compare it).
//
// The parser is not one for YAML: it takes the forms that training programs write, a list or
// numbered entries, in a block or in brackets, and refuses what it does not understand (YamlNames).
// A name that is read wrongly would give all objects of a class a wrong label, so it never guesses.
//
// Nothing in a line says what it is, so its numbers after the class decide: four are a box, with as
// many more as kpt_shape says a box with key points, and any other even number from six on is an
// outline. Oriented boxes look like outlines of four corners (RequireKindOfCorners()).
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/labels/label_texts.h"
#include "writer/source/list/paths.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxYoloClasses = 65'536;

// A YAML scalar without its quotes, or without the comment after it.
std::string Scalar(std::string_view text) {
  text = Trimmed(text);
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    const std::size_t end = text.find(text[0], 1);
    return std::string(text.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  return std::string(Trimmed(text.substr(0, text.find(" #"))));
}

// The pieces of "[a, 'b, c']" or "{0: a}" between its commas.
std::vector<std::string_view> Pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  char quote = 0;
  bool fresh = true;  // a quote here would begin a text; elsewhere it is an apostrophe
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (i < text.size() && quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    if (fresh && (c == '"' || c == '\'')) quote = c;
    fresh = c == ',' || c == ':' || (fresh && (c == ' ' || c == '\t'));
    if (c == ',') {
      if (!Trimmed(text.substr(begin, i - begin)).empty()) {
        pieces.push_back(text.substr(begin, i - begin));
      }
      begin = i + 1;
    }
  }
  return pieces;
}

// Gathers the names of classes, from a list or from entries NUMBER: NAME.
class YamlNames {
 public:
  void Add(std::string_view name) { Put(next_++, NameIn(name)); }
  void AddNumbered(std::string_view entry) {
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    const std::optional<std::size_t> number =
        ParseNumber<std::size_t>(Scalar(entry.substr(0, colon)));
    if (!number || colon == entry.size())
      Fail("\"" + ToUtf8(Trimmed(entry)) + "\" is not NUMBER: NAME");
    Put(*number, NameIn(entry.substr(colon + 1)));
  }
  [[noreturn]] static void Refuse(std::string_view value) {
    Fail("\"" + ToUtf8(value) + "\" is not a list of names");
  }
  std::vector<std::string> Finish() {
    std::vector<std::string> names;
    for (auto& [number, name] : names_) {
      if (number != names.size()) Fail("class " + std::to_string(names.size()) + " has no name");
      names.push_back(std::move(name));
    }
    return names;
  }

 private:
  [[noreturn]] static void Fail(const std::string& sentence) {
    throw Error(ErrorCode::kCorrupt, "the names of classes are not understood: " + sentence +
                                         "; give them with --classes, one a line");
  }
  // A name; YAML's features that are not read (anchors, tags, blocks) are refused.
  static std::string NameIn(std::string_view text) {
    text = Trimmed(text);
    const std::string shown = "\"" + ToUtf8(text) + "\"";
    if (text.empty() || std::string_view("\"'").find(text[0]) == std::string_view::npos) {
      const bool special =
          !text.empty() && std::string_view("&*!|>%@`").find(text[0]) != std::string_view::npos;
      if (special) Fail(shown + " is not a plain name");
      return Scalar(text);
    }
    std::string name;
    for (std::size_t i = 1; i < text.size(); ++i) {
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      if (text[0] == '\'' && text[i] == '\'' && next == '\'') {
        ++i;
      } else if (text[0] == '"' && text[i] == '\\') {
        if (next != '"' && next != '\\') Fail(shown + " has an escape");
        ++i;
      } else if (text[i] == text[0]) {
        const std::string_view rest = Trimmed(text.substr(i + 1));
        if (!rest.empty() && rest[0] != '#') Fail(shown + " has text after its end");
        return name;
      }
      name += text[i];
    }
    Fail(shown + " has no end");
  }
  void Put(std::size_t number, std::string name) {
    if (number >= kMaxYoloClasses) Fail("there are more than 65536");
    names_[number] = ToUtf8(name);
  }
  std::map<std::size_t, std::string> names_;
  std::size_t next_ = 0;
};

// The whole numbers of "[17, 3]", or of "- 17 - 3"; nullopt for other texts.
std::optional<std::vector<std::size_t>> NumbersOfList(std::string_view list) {
  list = Trimmed(list);
  const bool in_brackets = list.starts_with('[') && list.ends_with(']');
  if (in_brackets) list = list.substr(1, list.size() - 2);
  if (!in_brackets && !list.starts_with('-')) return std::nullopt;
  std::string text(list);
  std::replace(text.begin(), text.end(), in_brackets ? ',' : '-', ' ');
  std::vector<std::size_t> numbers;
  for (std::string_view rest = Trimmed(text); !rest.empty(); rest = Trimmed(rest)) {
    const std::string_view piece = rest.substr(0, rest.find(' '));
    const std::optional<std::size_t> number = ParseNumber<std::size_t>(piece);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    rest.remove_prefix(piece.size());
  }
  return numbers;
}

// "1-2,3-4" of the numbers that the points have in a mirrored image. An empty list says nothing
// about them, as a missing one does.
std::string PairsOf(const std::string& flip_idx, std::size_t points) {
  const std::optional<std::vector<std::size_t>> flipped = NumbersOfList(flip_idx);
  if (flipped && flipped->empty()) return {};
  std::string pairs;
  bool usable = flipped && flipped->size() == points;
  for (std::size_t i = 0; usable && i < points; ++i) {
    const std::size_t other = (*flipped)[i];
    // Only exchanges in pairs: mirroring twice must give the same points again.
    usable = other < points && (*flipped)[other] == i;
    if (usable && i < other)
      pairs += (pairs.empty() ? "" : ",") + std::to_string(i) + "-" + std::to_string(other);
  }
  if (!usable) {
    Misread("flip_idx does not exchange pairs of the " + std::to_string(points) +
            " points of kpt_shape; it gives each point's number in the mirrored image, such as "
            "[0, 2, 1]");
  }
  return pairs.empty() ? "none" : pairs;
}

}  // namespace

YoloNames ParseYoloYaml(std::string_view text) {
  YoloNames found;
  YamlNames names;
  std::string shape, flipped;   // the lists kpt_shape and flip_idx
  std::string* list = nullptr;  // the one that the lines belong to
  bool inside = false;          // inside the block after "names:"
  std::string flow;             // "[a," of a list in a line, which may continue in the next
  for (std::string_view line : LinesOf(text)) {
    const std::string_view trimmed = Trimmed(line);
    if (trimmed.empty() || trimmed[0] == '#') continue;
    // A line at the left edge begins another member of the file, except an entry of a list: "- cat"
    // may stand there as well.
    if (flow.empty() && line[0] != ' ' && line[0] != '\t' && line[0] != '-') {
      inside = line.starts_with("names:");
      if (line.starts_with("nc:"))
        found.counted = ParseNumber<std::size_t>(Scalar(line.substr(3))).value_or(0);
      list = line.starts_with("kpt_shape:")  ? &shape
             : line.starts_with("flip_idx:") ? &flipped
                                             : nullptr;
      if (list != nullptr) *list = Scalar(line.substr(line.find(':') + 1));
      if (!inside) continue;
      const std::string_view value = Trimmed(line.substr(6));
      if (!value.empty() && (value[0] == '[' || value[0] == '{'))
        flow = value;
      else if (!value.empty() && value[0] != '#')
        names.Refuse(value);
    } else if (list != nullptr) {
      list->append(" ").append(Scalar(trimmed));
    } else if (!flow.empty()) {
      flow.append(" ").append(trimmed);
    } else if (inside) {
      if (trimmed[0] == '-')
        names.Add(trimmed.substr(1));
      else
        names.AddNumbered(trimmed);
    }
    const std::size_t end =
        flow.empty() ? std::string::npos : flow.find(flow[0] == '[' ? ']' : '}');
    if (end == std::string::npos) continue;
    for (const std::string_view piece : Pieces(std::string_view(flow).substr(1, end - 1))) {
      if (flow[0] == '[')
        names.Add(piece);
      else
        names.AddNumbered(piece);
    }
    flow.clear();
    inside = false;
  }
  found.classes = names.Finish();
  const auto sides = NumbersOfList(shape);
  if (sides && sides->size() == 2) {
    found.points = std::min<std::size_t>((*sides)[0], 4096);
    found.point_numbers = (*sides)[1] == 2 ? 2 : 3;
  }
  if (found.points > 0 && !flipped.empty()) found.flip_pairs = PairsOf(flipped, found.points);
  return found;
}

namespace {

// The settings in the first file that has names of classes: in the folder of labels, else in the
// folder above it, else in the one above that.
YoloNames FindYoloNames(const std::filesystem::path& labels) {
  std::vector<std::filesystem::path> read;
  std::filesystem::path folder = NamedFolder(labels);
  std::vector<std::byte> content;
  for (int up = 0; up < 3; ++up, folder = folder.parent_path()) {
    std::vector<std::filesystem::path> files;
    std::error_code unreadable;
    for (std::filesystem::directory_iterator entry(folder, unreadable), end;
         !unreadable && entry != end; entry.increment(unreadable)) {
      const std::string ending = entry->path().extension();
      const std::string name = entry->path().filename();
      if (name == "classes.txt" || name == "obj.names" || ending == ".yaml" || ending == ".yml") {
        files.push_back(entry->path());
      }
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      read.push_back(file);
      const std::string_view text = ReadLabelText(file, content);
      YoloNames found;
      if (file.extension() == ".yaml" || file.extension() == ".yml") {
        try {
          found = ParseYoloYaml(text);
        } catch (const Error& error) {
          throw Error(error.code(), file.string(), error.sentence());
        }
      } else {
        for (const std::string_view line : LinesOf(text)) {
          if (!Trimmed(line).empty()) found.classes.push_back(ToUtf8(Trimmed(line)));
        }
      }
      if (found.classes.empty()) continue;
      found.files = std::move(read);
      return found;
    }
  }
  YoloNames none;
  none.files = std::move(read);
  return none;
}

std::array<double, 4> ExtentOf(const std::vector<double>& outline) {
  std::array<double, 4> box = {outline[0], outline[1], outline[0], outline[1]};
  for (std::size_t i = 0; i + 1 < outline.size(); i += 2) {
    box = {std::min(box[0], outline[i]), std::min(box[1], outline[i + 1]),
           std::max(box[2], outline[i]), std::max(box[3], outline[i + 1])};
  }
  return box;
}

void RequireFraction(double number) {
  constexpr double kRounded = 0.01;  // the tolerance of Ultralytics
  if (number >= -kRounded && number <= 1 + kRounded) return;
  Misread("has the number " + Cell(number).dump() +
          ", but YOLO's are fractions of the image's sides, from 0 to 1");
}

// Reads "class x y width height", the same followed by key points, or the corners of an outline,
// "class x y x y x y ...".
AnnotatedObject ObjectOf(std::string_view line, const YoloNames& settings, bool oriented) {
  std::vector<double> numbers;
  try {
    numbers = NumbersOf(std::string(line));
  } catch (const Error&) {
    if (!IsDotaLine(line)) throw;
    Misread("it is a line of DOTA's labels; read them as such (--dota)");
  }
  for (const double number : numbers) {
    if (!std::isfinite(number)) Misread("a number is not finite");
  }
  if (numbers.size() < 5) Misread("it has no class and four numbers");
  if (numbers[0] < 0 || numbers[0] >= static_cast<double>(kMaxYoloClasses) ||
      std::floor(numbers[0]) != numbers[0]) {
    Misread("a class is not a whole number from 0 to 65535");
  }
  AnnotatedObject object;
  object.label = static_cast<std::int32_t>(numbers[0]);
  numbers.erase(numbers.begin());
  if (oriented) {
    if (numbers.size() != object.corners.size()) {
      Misread("it has " + std::to_string(numbers.size()) +
              " numbers after the class, and an oriented box has the eight of its four corners");
    }
    std::for_each(numbers.begin(), numbers.end(), RequireFraction);
    std::copy(numbers.begin(), numbers.end(), object.corners.begin());
    object.box = ExtentOf(numbers);
    return object;
  }
  const std::size_t of_points = settings.points * settings.point_numbers;
  if (numbers.size() == 4 || (of_points > 0 && numbers.size() == 4 + of_points)) {
    std::for_each_n(numbers.begin(), 4, RequireFraction);
    const auto [x, y, width, height] = std::array{numbers[0], numbers[1], numbers[2], numbers[3]};
    if (width < 0 || height < 0) Misread("a box has a negative width or height");
    object.box = {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
    for (std::size_t i = 4; i < numbers.size(); i += settings.point_numbers) {
      std::for_each_n(&numbers[i], 2, RequireFraction);
      const float seen = settings.point_numbers == 3 ? NarrowNumber(numbers[i + 2]) : 2.0F;
      // As in COCO, a point that is not labelled is 0, 0, 0.
      object.points.push_back(seen == 0 ? 0 : NarrowNumber(numbers[i]));
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
    Misread("it has " + std::to_string(numbers.size() + 1) +
            " numbers, which make neither a box nor an outline; key points need kpt_shape in the "
            ".yaml with the names");
  }
  object.area = (object.box[2] - object.box[0]) * (object.box[3] - object.box[1]);
  return object;
}

// Refuses a set whose objects are all outlines of four corners, unless the caller says that these
// are outlines or oriented boxes (YOLO-OBB), which look the same.
void RequireKindOfCorners(const ConvertSource& source, const Annotations& read) {
  if (source.label_files.outlines || read.oriented) return;
  std::size_t objects = 0;
  for (const AnnotatedImage& image : read.images) {
    for (const AnnotatedObject& object : image.objects) {
      if (object.shapes.empty() || object.shapes[0].outline.size() != 8) return;
      ++objects;
    }
  }
  if (objects == 0) return;
  throw Error(
      ErrorCode::kInvalidArgument, source.label_files.path.string(),
      "all " + std::to_string(objects) +
          " objects have four corners, which may be oriented boxes (YOLO-OBB) or outlines; say "
          "which by label_files.oriented = true (--oriented) or label_files.outlines = true "
          "(--outlines), which also takes the upright boxes around them");
}

}  // namespace

std::vector<std::filesystem::path> YoloNameFiles(const std::filesystem::path& labels) {
  return FindYoloNames(labels).files;
}

Annotations ReadYolo(const ConvertSource& source, const std::stop_token& stop) {
  RequireFolder(source, ".txt");
  Annotations read;
  read.relative = true;
  read.objects = true;
  read.oriented = source.label_files.oriented;
  if (read.oriented && source.label_files.outlines) {
    throw Error(ErrorCode::kInvalidArgument, source.label_files.path.string(),
                "its objects are outlines or oriented boxes, not both");
  }
  YoloNames settings = FindYoloNames(source.label_files.path);
  // Classes that other sources have, too, are matched by name; other given names are new names for
  // the labels' numbers.
  const std::vector<std::string>& given = source.label.classes;
  const auto is_given = [&](const std::string& name) {
    return std::find(given.begin(), given.end(), name) != given.end();
  };
  const bool by_name = !settings.classes.empty() &&
                       (!source.label.classes_of.empty() ||
                        std::all_of(settings.classes.begin(), settings.classes.end(), is_given));
  if (!given.empty() && !by_name) {
    settings.classes = given;
  } else if (settings.counted > 0 && settings.counted != settings.classes.size()) {
    read.warnings.push_back("the .yaml names " + std::to_string(settings.classes.size()) +
                            " classes, but says that there are " +
                            std::to_string(settings.counted) + " (nc)");
  }
  read.points = settings.points;
  read.flip_pairs = settings.flip_pairs;
  ReadLabelTexts(
      source, stop,
      [&](std::string_view line, AnnotatedImage& image) {
        image.objects.push_back(ObjectOf(line, settings, read.oriented));
      },
      read);
  RequireKindOfCorners(source, read);
  std::int32_t most = -1;  // the largest class number
  for (const AnnotatedImage& image : read.images) {
    for (const AnnotatedObject& object : image.objects)
      most = std::max(most, object.label);
  }
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
  read.names = ClassNames(by_name ? given : classes);
  if (by_name) TakeNumbersByName(settings.classes, read);
  return read;
}

}  // namespace sluice
