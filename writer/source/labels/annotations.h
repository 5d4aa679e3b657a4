// Images and their objects, as label files describe them, and the samples made of them.
//
// To add a format, write a source file here that fills Annotations. The format also goes into these
// files, where "yolo" shows how:
//   writer/include/sluice/convert_source.h  its AnnotationFormat
//   writer/include/sluice/convert_option_list.h
//   writer/source/labels/annotations.cpp  its reader, and the folders it takes
//   writer/CMakeLists.txt
//   tools/convert_source.cpp              its flag
//   tools/convert_parts.cpp               its advice on splits
//   tools/convert.cpp                     its name in --help
//   writer/README.md
//   writer/source/folder_layout.cpp       its advice on a tree that looks like it
//   reader/python/README.md
//   README.md
//   samples/guides/detection.md
//   samples/guides/segmentation.md        if it has masks
//   bench/README.md                       `sluice-bench epoch` has its flag by itself
//   samples/guides/object-stores.md       this and the next: whether it is read from a store
//   tests/remote/convert_test.cpp
//   tests/writer/annotations_test.cpp
//   tests/writer/turned_test.cpp
//   tests/reader/played_source_test.cpp   this and the next two if it is a folder of files
//   tests/writer/links_test.cpp
//   tests/writer/odd_labels_test.cpp
//   tests/reader/source_changes_test.cpp  each kind against every change to its files
//   tests/tools/convert_source_test.cpp   its flag
//   tests/tools/convert_split_test.cpp
//   tests/python/test_values.py           the words of a refusal
//   tests/python/test_instances.py        its outlines, if it has some
//   tests/fuzz/labels_target.cpp
//   not writer/source/labels/label_texts* the part that YOLO's and DOTA's readers have in common
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "writer/source/labels/masks.h"
#include "writer/source/list/class_names.h"
#include "writer/source/list/source_list.h"

namespace sluice {

// The byte order mark that some editors begin texts with.
inline constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
inline constexpr std::uint64_t kMaxLabelFileBytes = 16'777'216;  // of one image's label file

// Throws Error(kCorrupt) with the reason why the label file of one image cannot be used.
[[noreturn]] void Misread(const std::string& sentence);

struct AnnotatedObject {
  std::int32_t label = 0;           // as ClassNames::Add() numbers it
  std::array<double, 4> box{};      // left, top, right, bottom
  std::array<double, 8> corners{};  // of an oriented box: Annotations::oriented
  double area = 0;                  // larger ones are painted first
  bool has_area = false;            // the area is the one that COCO's file states
  bool flagged = false;             // see Annotations::flag
  bool short_outline = false;       // an outline of fewer than three corners was left out
  bool before_first_pixel = false;  // an xmin or ymin of VOC's is below 1
  std::vector<Shape> shapes;
  std::vector<float> points;  // x, y and visibility of each of Annotations::points points
};

struct AnnotatedImage {
  std::string path;                     // relative to the images' folder; its ending may be missing
  std::string place;                    // for messages: where it is described
  std::uint32_t width = 0, height = 0;  // as described; 0: not given
  std::optional<std::int64_t> id;       // COCO's, if it is a number
  std::vector<AnnotatedObject> objects;
  std::vector<std::string> captions;
};

struct Annotations {
  std::vector<AnnotatedImage> images;
  ClassNames names{{}};
  std::map<std::string, std::int64_t> category_ids;  // of classes, by name: COCO's
  bool relative = false;                             // numbers are fractions of the image's sides
  bool oriented = false;                             // boxes are oriented
  std::string flag;             // name of the field made of AnnotatedObject::flagged
  std::size_t points = 0;       // number of key points per object
  std::string flip_pairs;       // of the points, as the attribute of that name; empty: not known
  bool objects = false;         // whether objects are described, and not only captions
  bool labels = false;          // objects are classes of whole images: they have no box
  std::vector<LeftOut> broken;  // descriptions that cannot be used
  std::vector<LeftOut> passed_over;
  std::vector<std::string> warnings;
};

// Throws Error(kNotFound or kInvalidArgument) unless ConvertSource::label_files.path is a folder.
// `of_what`, for the message: the kind of files that should lie in it.
void RequireFolder(const ConvertSource& source, const char* of_what);

// Reads the label files of `source`, without looking at an image. `in_store`: the images lie in an
// object store.
Annotations ReadCoco(const ConvertSource& source, const std::stop_token& stop);
Annotations ReadVoc(const ConvertSource& source, bool in_store, const std::stop_token& stop);
Annotations ReadYolo(const ConvertSource& source, const std::stop_token& stop);
Annotations ReadDota(const ConvertSource& source, const std::stop_token& stop);

// The settings next to YOLO's labels: the classes' names, and how many key points an object has.
struct YoloNames {
  std::vector<std::string> classes;  // empty: not given
  std::vector<std::string> numbers;  // the classes' numbers as their names, if `classes` is empty
  std::size_t counted = 0;           // "nc" of a .yaml; 0: not given
  std::size_t points = 0;            // key points of each object
  std::size_t point_numbers = 3;     // numbers of each point: x, y, visibility; 2: only x, y
  std::string flip_pairs;            // of the points, as Annotations::flip_pairs
  std::vector<std::filesystem::path> files;  // that were read for this
};
// Reads the members `names` (a list or a map by number, in a line or in several), `nc`, `kpt_shape`
// and `flip_idx` of a YAML text, and ignores all others. Throws Error(kCorrupt). Declared here for
// tests.
YoloNames ParseYoloYaml(std::string_view text);
// The files next to YOLO's labels, or above them, that the settings are read from. Throws Error.
std::vector<std::filesystem::path> YoloNameFiles(const std::filesystem::path& labels);

// A digest of the paths, sizes, times and inodes of all files that ReadVoc(), ReadYolo() or
// ReadDota() may read for this source. It differs as soon as one of them is written to, replaced,
// added or removed, in any folder below ConvertSource::label_files.path, which must be a folder.
// Throws Error.
std::string DigestOfLabelFiles(const ConvertSource& source, const std::stop_token& stop);

// Reads the label files and looks at the images, on `threads` threads. The images lie below the
// root of `list`, which is open (SetRoot). The list gets fields for each part in AnnotationParts
// that is requested and that the label files have. Errors: those of the files; kNotFound (no
// image).
SourceList ReadAnnotations(const ConvertSource& source, SourceList list, unsigned threads,
                           const ConvertHooks& hooks);

}  // namespace sluice
