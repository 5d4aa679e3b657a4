// Finds the label file of each image, and those without an image.
//
// Trees differ in where label files lie. An image's may be in a folder next to that of the images
// (labels/ next to images/, as the format's own tools have it), at the image's own path in the
// folder of labels, or have a name that differs in case or accents.
#include "writer/source/labels/label_texts.h"

#include <set>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "writer/source/list/alike.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/look.h"
#include "writer/source/list/paths.h"
#include "writer/text.h"

namespace sluice {

namespace {

// Where an image's labels may lie below the folder of labels. As for YOLO's own tools, images/ in
// the path becomes labels/; if there is no such file, the labels have the path of the image.
std::vector<std::string> LabelPlacesOf(const std::string& key, const LabelTree& tree) {
  const std::string place = std::filesystem::path(key).replace_extension(".txt").native();
  const std::string images = std::string(tree.images) + "/";
  std::size_t at = place.rfind(images);
  while (at != std::string::npos && at > 0 && place[at - 1] != '/')
    at = place.rfind(images, at - 1);
  if (at == std::string::npos) return {place};
  std::string beside = place;
  beside.replace(at, images.size(), std::string(tree.labels) + "/");
  return {beside, place};
}

// Finds label files.
struct LabelFinder {
  const std::filesystem::path& folder;
  LabelTree tree;
  AlikeFiles files;
  std::set<std::string> places = {};  // of all images
  TakenForOthers taken = {};

  // The path of an image's label file. If no such file exists, it is the path of the only file with
  // a similar name (AlikeFiles), unless that is a place for another image's labels; otherwise it is
  // the last place of LabelPlacesOf().
  std::string LabelsOf(const std::string& key) {
    const std::vector<std::string> own = LabelPlacesOf(key, tree);
    for (const std::string& place : own) {
      std::error_code ignored;
      if (std::filesystem::exists(folder / place, ignored)) return place;
    }
    for (const std::string& place : own) {
      const std::vector<std::string> alike = files.Like(place);
      if (alike.size() != 1 || places.contains(alike[0])) continue;
      taken.Add(place, alike[0]);
      return alike[0];
    }
    return own.back();
  }
};

void ReadLines(std::string_view text, const ReadLabelLine& read_line, AnnotatedImage& image) {
  const std::vector<std::string_view> lines = LinesOf(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (Trimmed(lines[i]).empty()) continue;
    try {
      read_line(lines[i], image);
    } catch (const Error& error) {
      Misread("line " + std::to_string(i + 1) + ": " + error.sentence());
    }
  }
}

// Lists label files without an image. Other texts in the folder (names, lists, licences) are not
// listed; they cannot be read as labels.
void AddUnused(const ConvertSource& source, const std::set<std::string>& used,
               const ReadLabelLine& read_line, const std::stop_token& stop, Annotations& read) {
  const std::filesystem::path& folder = source.label_files.path;
  std::vector<std::byte> content;
  for (const WalkedFile& file : WalkFolder(folder, {source.follow_links}, stop).files) {
    if (!file.key.ends_with(".txt") || used.contains(file.key)) continue;
    if (stop.stop_requested()) ThrowStopped();
    try {
      AnnotatedImage image;
      ReadLines(ReadLabelText(folder / file.key, content), read_line, image);
      read.passed_over.push_back({file.key, "a label file without an image"});
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace

std::string_view ReadLabelText(const std::filesystem::path& file, std::vector<std::byte>& content) {
  ReadFile(file, kMaxLabelFileBytes, content);
  DecodeUtf16(content);
  return AsText(content);
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  std::vector<std::string_view> lines;
  while (!text.empty())
    lines.push_back(TakeLine(text));
  return lines;
}

void ReadLabelTexts(const ConvertSource& source, const std::stop_token& stop,
                    const ReadLabelLine& read_line, Annotations& read) {
  const FolderTree tree = WalkFolder(source.root, {source.follow_links}, stop);
  read.broken = tree.broken;
  read.passed_over = tree.passed_over;
  read.warnings.insert(read.warnings.end(), tree.warnings.begin(), tree.warnings.end());
  LinksOut links(source.label_files.path, source.follow_links);
  LabelFinder finder{source.label_files.path, TreeOf(source.label_files.format),
                     AlikeFiles(source.label_files.path)};
  for (const WalkedFile& file : tree.files) {
    if (file.key.ends_with(".txt")) continue;  // label files, next to their images
    // All places are known before the first label file is looked for: a file with a similar name
    // must not be taken from the image that it belongs to.
    for (std::string& place : LabelPlacesOf(file.key, finder.tree))
      finder.places.insert(std::move(place));
  }
  std::vector<std::byte> content;
  std::set<std::string> used;
  std::uint64_t without = 0;  // images without a label file
  for (const WalkedFile& file : tree.files) {
    if (stop.stop_requested()) ThrowStopped();
    AnnotatedImage image;
    image.path = file.key;
    if (file.key.ends_with(".txt")) continue;  // label files, next to their images
    image.place = finder.LabelsOf(file.key);
    used.insert(image.place);
    if (links.Take(image.place, file.key, read.passed_over)) continue;
    try {
      ReadLines(ReadLabelText(source.label_files.path / image.place, content), read_line, image);
    } catch (const Error& error) {
      // Files that are not images need no labels.
      if (LookInto(source.root / file.key).sniffed.kind == ImageKind::kNone) {
        if (IsImageName(file.key)) read.broken.push_back({file.key, "is not an image"});
        continue;
      }
      if (error.code() != ErrorCode::kNotFound) {
        read.broken.push_back({file.key, image.place + ": " + error.sentence()});
        continue;
      }
      ++without;
    }
    read.images.push_back(std::move(image));
  }
  links.Warn(read.warnings);
  if (!finder.taken.Report().empty()) read.warnings.push_back(finder.taken.Report());
  if (without > 0 && without == read.images.size() && read.broken.empty()) {
    throw Error(ErrorCode::kNotFound, source.label_files.path.string(),
                "has no label file for any image, such as " + ToUtf8(read.images[0].place) +
                    " for " + ToUtf8(read.images[0].path) + " of " + source.root.string());
  }
  if (without > 0) {
    read.warnings.push_back(std::to_string(without) +
                            (without == 1 ? " image has" : " images have") +
                            " no label file, and no box");
  }
  AddUnused(source, used, read_line, stop, read);
}

void TakeNumbersByName(const std::vector<std::string>& own, Annotations& read) {
  const auto take = [&](AnnotatedImage& image) {
    for (AnnotatedObject& object : image.objects) {
      const std::string& name = own[static_cast<std::size_t>(object.label)];
      const std::optional<std::int32_t> number = read.names.Add(name);
      if (!number) {
        read.broken.push_back({image.path, image.place + ": its class \"" + name +
                                               "\" is not one of the given classes"});
        return true;
      }
      object.label = *number;
    }
    return false;
  };
  std::erase_if(read.images, take);
}

}  // namespace sluice
