// What is converted: ConvertSource, with the names and defaults of convert_source.h.
#include <sluice/convert.h>

#include "reader/python/binding/gil.h"
#include "reader/python/binding/keywords.h"

namespace sluice::python {

namespace {

void BindColumns(nb::module_& module) {
  Words<ColumnType>(module, "ColumnType", "The kind of field that a table's column becomes")
      .value("CLASS", ColumnType::kClass)
      .value("CLASSES", ColumnType::kClasses)
      .value("INTEGER", ColumnType::kInteger)
      .value("NUMBER", ColumnType::kNumber)
      .value("NUMBERS", ColumnType::kNumbers)
      .value("BOXES", ColumnType::kBoxes)
      .value("BOX_CLASSES", ColumnType::kBoxClasses)
      .value("TEXT", ColumnType::kText)
      .value("JSON", ColumnType::kJson)
      .value("BYTES", ColumnType::kBytes)
      .value("MASK", ColumnType::kMask, "the path of a mask, relative to the root");
  Words<BoxFormat>(module, "BoxFormat", "The four numbers of a box in a table")
      .value("CORNERS", BoxFormat::kCorners, "left, top, right, bottom")
      .value("CORNER_SIZE", BoxFormat::kCornerSize, "left, top, width, height")
      .value("CENTRE_SIZE", BoxFormat::kCentreSize, "the centre's x and y, width, height");
  ByKeywords(
      nb::class_<Column>(module, "Column", "A column of a table, and the field that it becomes"),
      Column(), Required(Member("column", &Column::column)), Member("type", &Column::type),
      Member("field", &Column::field), Member("boxes", &Column::boxes),
      Member("relative", &Column::relative), Member("at_spaces", &Column::at_spaces),
      Member("classes", &Column::classes));
  ByKeywords(nb::class_<RowOptions>(module, "RowOptions", "How rows of a table become samples"),
             RowOptions(), Member("path_column", &RowOptions::path_column),
             Member("columns", &RowOptions::columns), Member("group", &RowOptions::group));
}

void BindAnnotations(nb::module_& module) {
  Words<AnnotationFormat>(module, "AnnotationFormat", "Label files")
      .value("COCO", AnnotationFormat::kCoco, "a .json file")
      .value("VOC", AnnotationFormat::kVoc, "a folder of .xml files")
      .value("YOLO", AnnotationFormat::kYolo, "a folder of .txt files");
  using Parts = AnnotationParts;
  ByKeywords(
      nb::class_<Parts>(module, "AnnotationParts", "What to take from label files, if it is there"),
      Parts(), Member("boxes", &Parts::boxes), Member("masks", &Parts::masks),
      Member("keypoints", &Parts::keypoints), Member("captions", &Parts::captions));
  ByKeywords(
      nb::class_<LabelFiles>(module, "LabelFiles", "Files of boxes, outlines and key points"),
      LabelFiles(), Member("format", &LabelFiles::format), Member("path", &LabelFiles::path),
      Member("parts", &LabelFiles::parts));
}

}  // namespace

bool IsRemote(const ConvertSource& source) {
  return IsRemote(source.root) || IsRemote(source.label.classes_of);
}

ConvertSource SourceOf(const SourceOrFolder& given) {
  return std::visit([](const auto& one) { return ConvertSource(one); }, given);
}

namespace {

void BindLabels(nb::module_& module) {
  Words<FolderLabels>(module, "FolderLabels", "Which folder of an image is its class")
      .value("AUTO", FolderLabels::kAuto, "the outermost, unless the folders look like a split")
      .value("TOP", FolderLabels::kTop, "the outermost")
      .value("PARENT", FolderLabels::kParent, "the innermost, by its own name")
      .value("PATH", FolderLabels::kPath, "all of them, as a path");
  ByKeywords(nb::class_<LabelOptions>(module, "LabelOptions", "The classes of samples"),
             LabelOptions(), Member("store", &LabelOptions::store),
             Member("folders", &LabelOptions::folders), Member("numbers", &LabelOptions::numbers),
             Member("classes", &LabelOptions::classes),
             Member("classes_of", &LabelOptions::classes_of));
  ByKeywords(
      nb::class_<SplitPart>(module, "SplitPart", "A part of a split, from begin to before end"),
      SplitPart(), Member("begin", &SplitPart::begin), Member("end", &SplitPart::end),
      Member("seed", &SplitPart::seed));
}

}  // namespace

void BindSource(nb::module_& module) {
  BindColumns(module);
  BindAnnotations(module);
  BindLabels(module);
  nb::class_<ConvertSource> bound(
      module, "ConvertSource",
      "What is converted: a folder (with one sub-folder for each class, or images directly), a "
      "table, a list of paths, archives, Parquet, TFRecord or RecordIO files, or images with label "
      "files. Its attributes are the members of convert_source.h, which describes each.");
  Words<ConvertSource::Kind>(bound, "Kind")
      .value("FOLDER", ConvertSource::Kind::kFolder)
      .value("TABLE", ConvertSource::Kind::kTable)
      .value("PATHS", ConvertSource::Kind::kPaths)
      .value("ARCHIVES", ConvertSource::Kind::kArchives)
      .value("ANNOTATIONS", ConvertSource::Kind::kAnnotations);
  bound.def(nb::init<std::filesystem::path>(), "folder"_a)
      .def_static("table", &ConvertSource::Table, "file"_a, "A .csv, .tsv or .jsonl file")
      .def_static("paths", &ConvertSource::Paths, "paths"_a, "root"_a)
      .def_static("archives", &ConvertSource::Archives, "files"_a,
                  "Tar files in WebDataset's naming; or Parquet, TFRecord or RecordIO files with "
                  "images inside, whose values are columns")
      .def_static("annotated", &ConvertSource::Annotated, "format"_a, "annotations"_a, "root"_a,
                  "The images below root with the boxes, outlines, key points and captions of "
                  "COCO's, VOC's or YOLO's label files")
      .def_ro("kind", &ConvertSource::kind)
      .def_rw("root", &ConvertSource::root)
      .def_rw("rows", &ConvertSource::rows)
      .def_rw("label_files", &ConvertSource::label_files)
      .def_rw("label", &ConvertSource::label)
      .def_rw("split", &ConvertSource::split)
      .def_rw("mask_folder", &ConvertSource::mask_folder)
      .def_rw("upright", &ConvertSource::upright,
              "whether boxes, masks and key points were drawn on the upright image (True), or on "
              "the image as its file stores it, without its Exif orientation (False). None: "
              "upright, with a warning if a turned image has any")
      .def_rw("follow_links", &ConvertSource::follow_links);
  module.def(
      "find_classes",
      [](const SourceOrFolder& given, unsigned threads) {
        const ConvertSource source = SourceOf(given);
        return Interruptibly(IsRemote(source),
                             [source, threads] { return FindClasses(source, threads); });
      },
      "source"_a, "threads"_a = 0,
      "The classes that the source's samples have, in the order of their numbers");
  module.def(
      "find_split_folders",
      [](const std::filesystem::path& root, bool of_any_name) {
        return FindSplitFolders(root, of_any_name);
      },
      "root"_a, "of_any_name"_a = false, nb::call_guard<Released>(),
      "The folders directly below root that hold images, if they look like the parts of a split "
      "(train, val) and not like classes; each is then a source of its own");
}

}  // namespace sluice::python
