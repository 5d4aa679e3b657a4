// DOTA's labels of aerial images: a text file for each image, with a line for each object.
//
//   imagesource:GoogleEarth
//   gsd:0.146343590398
//   2753 2408 2861 2385 2888 2468 2805 2502 plane 0
//
// The lines about the image, which some versions lack, stand before the first object. An object is
// four corners in pixels, in their order around an oriented box, then its class and, in most files,
// whether it is difficult: 0 or 1 (other tools also write 2 and 3, which become 1).
#include <cmath>
#include <map>

#include "format/ascii.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/labels/label_texts.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::size_t kCornerNumbers = 8;

std::vector<std::string_view> WordsIn(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at < line.size();
       at = line.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// Numbers classes in the order in which they occur.
class ClassesSeen {
 public:
  std::int32_t NumberOf(std::string_view name) {
    const auto [found, added] =
        numbers_.emplace(ToUtf8(name), static_cast<std::int32_t>(names_.size()));
    if (added) names_.push_back(found->first);
    return found->second;
  }
  const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  std::map<std::string, std::int32_t> numbers_;
  std::vector<std::string> names_;
};

void ReadLine(std::string_view line, ClassesSeen& classes, AnnotatedImage& image) {
  const std::vector<std::string_view> words = WordsIn(line);
  std::array<double, kCornerNumbers> corners{};
  for (std::size_t i = 0; i < std::min(words.size(), kCornerNumbers); ++i) {
    const std::optional<double> number = ParseNumber<double>(words[i]);
    // "gsd:0.15", "acquisition dates:2016-05-04"
    if (i == 0 && !number && image.objects.empty() && line.find(':') != std::string_view::npos)
      return;
    if (!number || !std::isfinite(*number)) {
      Misread("\"" + ToUtf8(words[i]) +
              "\" is not a number, and an object begins with the x and y of its four corners");
    }
    corners[i] = *number;
  }
  if (words.size() != kCornerNumbers + 1 && words.size() != kCornerNumbers + 2) {
    Misread("it has " + std::to_string(words.size()) +
            " words, and an object is eight numbers, its class (without a blank) and, if it is "
            "known, whether it is difficult");
  }
  AnnotatedObject object;
  object.corners = corners;
  object.label = classes.NumberOf(words[kCornerNumbers]);
  if (words.size() > kCornerNumbers + 1) {
    const auto difficult = ParseNumber<std::uint32_t>(words.back());
    if (!difficult) {
      Misread("it ends in \"" + ToUtf8(words.back()) +
              "\" and not in 0 or 1, for whether it is difficult");
    }
    object.flagged = *difficult != 0;
  }
  image.objects.push_back(std::move(object));
}

}  // namespace

// If its class is a number, the line may as well be an outline of the other format.
bool IsDotaLine(std::string_view line) {
  if (line.starts_with("imagesource:") || line.starts_with("gsd:")) return true;
  const std::vector<std::string_view> words = WordsIn(line);
  const auto is_number = [](std::string_view word) {
    return ParseNumber<double>(word).has_value();
  };
  return (words.size() == kCornerNumbers + 1 || words.size() == kCornerNumbers + 2) &&
         std::all_of(words.begin(), words.begin() + kCornerNumbers, is_number) &&
         !is_number(words[kCornerNumbers]);
}

Annotations ReadDota(const ConvertSource& source, const std::stop_token& stop) {
  RequireFolder(source, ".txt");
  Annotations read;
  read.names = ClassNames(source.label.classes);
  read.flag = "difficult";
  read.objects = true;
  read.oriented = true;
  ClassesSeen classes;
  ReadLabelTexts(
      source, stop,
      [&](std::string_view line, AnnotatedImage& image) { ReadLine(line, classes, image); }, read);
  TakeNumbersByName(classes.names(), read);
  return read;
}

}  // namespace sluice
