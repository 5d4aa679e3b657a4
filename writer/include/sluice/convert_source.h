// The source of a conversion: a folder, a table, a list of paths, label files, or archives.
//
//   sluice::ConvertSource source = sluice::ConvertSource::Table("labels.csv");
//   source.rows.columns = {{"bbox", sluice::ColumnType::kBoxes}};
//   sluice::Convert(source, "data/photos");
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

// The kind of field that a table's column becomes. A row without a value (an empty cell, null, no
// such member) is left out if the type is kClass, kInt, kFloat or kFloats. For other types, the
// field is absent from the sample.
enum class ColumnType {
  kClass,  // one class: int32 of role label. Names are numbered in the order of their bytes; if all
           // rows have whole numbers, these are the classes' numbers
  kClasses,  // any number of classes, separated by comma, semicolon or bar: int32 [n], role label
  kInt,      // a whole number: int64
  kFloat,    // a number: float32
  kFloats,   // numbers, the same count in each row: float32 of that shape; a .beton file gives its
             // own type and shape
  kBoxes,    // any number of boxes, four numbers each: float32 [n, 4]
  kBoxClasses,  // a class for each box of the first kBoxes column: int32 [n], role label
  kText,        // UTF-8
  kJson,        // any JSON value, stored as its text
  kBytes,       // any bytes
  kMask,        // the path of a mask, relative to the root: see ConvertSource::mask_folder
};

// Whether a column of this type holds classes.
bool HasClasses(ColumnType type) noexcept;

// The four numbers of a box in the table. The dataset always gets corners, in pixels of the stored
// image ("xyxy-pixels"): left, top, right, bottom.
enum class BoxFormat {
  kXyxy,    // left, top, right, bottom
  kXywh,    // left, top, width, height
  kCxcywh,  // the centre's x and y, width, height
};

// A column of a table that becomes a field of the dataset.
struct Column {
  std::string column;  // its heading or member name; kBoxes: one, or four joined by "+"
  ColumnType type = ColumnType::kText;  // the kind of field that it becomes
  std::string field = {};               // name of the dataset's field; empty: the column's
  BoxFormat boxes = BoxFormat::kXyxy;   // what a box's four numbers are
  bool relative = false;  // boxes: numbers are fractions of the image's width and height
  // Of the three types with classes: names of classes 0, 1, ...; empty:
  // ConvertSource::label.classes, or those that occur.
  std::vector<std::string> classes = {};
};

// Which of the folders around an image is its class.
enum class FolderLabels {
  kAuto,  // the outermost; if a single folder holds all others, the outermost in it. There are no
          // classes if all images lie directly in the root. Images in the root and in folders, and
          // folders that look like the parts of a split (train, val), are an error
  kTop,   // the outermost. With kTop and kParent, images directly in the root are left out
  kParent,  // the innermost, by its own name: a/x/1.jpg and b/x/2.jpg are of one class
};

// Whether a file's name ends like that of a table that can be read.
bool IsTableName(const std::filesystem::path& file);
// Label files of object detection and segmentation.
enum class AnnotationFormat {
  kCoco,  // COCO's JSON, a file
  kVoc,   // Pascal VOC's XML: a folder with a file for each image
  kYolo,  // YOLO's texts: a folder with a file for each image, at the image's path
};

// The names of two folders that lie next to each other in a dataset of a label format.
struct LabelTree {
  const char* images = "";  // such as "JPEGImages"; empty for COCO, whose labels are one file
  const char* labels = "";  // such as "Annotations"; empty for COCO
};
// The names that the format's own tools use.
LabelTree TreeOf(AnnotationFormat format) noexcept;

// The parts of label files to take, if they are there.
struct AnnotationParts {
  // Fields "boxes" and "classes"; "crowd" or "difficult" if any box has it. Of a COCO file without
  // a box, outline or key point: a field "label", the class of the whole image.
  bool boxes = true;
  bool masks = true;      // a field "mask": each pixel has its class's number + 1, or 0
  bool keypoints = true;  // a field "keypoints": x, y and visibility of each point of each box
  bool captions = true;   // a field "captions": a JSON list of texts
};

// ConvertSource::rows: how the rows of a table, or the records of archives, become samples.
struct RowOptions {
  // A table's column of paths, or the column of images in Parquet, TFRecord and .beton files.
  // Empty: for a table, the first that exists of path, file, filename, file_name, image, key. (If
  // another column is named key, it gives the samples' keys, unless `columns` takes it.)
  std::string path_column = {};
  // The columns to take. Empty: of tables and TFRecord, "label" or "class" as kClass, and "text" or
  // "caption" as kText; of Parquet, RecordIO and .beton, the columns whose types say how to store
  // them, except lists of boxes in Parquet.
  std::vector<Column> columns = {};
  // A table: rows of the same path make one sample. Boxes and classes of all its rows are joined in
  // the table's order; other columns must have the same value in each row.
  bool group = false;
};

// ConvertSource::label_files: the label files of a source of Kind::kAnnotations.
struct LabelFiles {
  AnnotationFormat format = AnnotationFormat::kCoco;  // their format
  std::filesystem::path path = {};                    // the file or the folder
  AnnotationParts parts = {};                         // what to take of them
  // YOLO: objects of four corners are outlines, which become upright boxes and masks. false: files
  // in which all objects have four corners are refused, because rotated boxes look the same.
  bool outlines = false;
};

// ConvertSource::split: a part of a split. The sources of each class (or all sources, if there are
// no classes) are put in an order that depends only on `seed` and the keys; the part takes the
// sources from the fraction `begin` up to, but not including, `end`. Parts that meet, as [0, a) and
// [a, 1) do, share nothing and leave nothing out. Sources that are left out as faulty are listed by
// the part that begins at 0.
struct SplitPart {
  double begin = 0;        // 0 to 1
  double end = 1;          // 0 to 1
  std::uint64_t seed = 0;  // of the order
  // Of a table, or of archives with columns: all rows that have the same value in this column (such
  // as a patient's number) go to the same part, whatever their class. Numbers of one value (7, 7.0,
  // 007) and texts that differ only in case or in the Unicode form of accents are the same value.
  // The values are put in an order that depends only on `seed` and the value, each with all of its
  // rows; a value goes to the part in which the middle of its rows lies. Rows without a value are
  // left out. Empty: each row by itself.
  std::string by = {};
};

// ConvertSource::label: the classes of samples, and their numbers.
struct LabelOptions {
  // False: no label is stored, and these are not read as classes: folders' names (images may then
  // lie anywhere below the root), a table's columns label and class, archives' .cls.
  bool store = true;
  // For folders and paths: which of an image's folders is its class.
  FolderLabels folders = FolderLabels::kAuto;
  // The folders' names are whole numbers, which are the classes' numbers, as a table's are; another
  // name is an error. False: folders are numbered in the order of their names' bytes (0, 1, 10, 2).
  bool numbers = false;
  // The names of classes 0, 1, ..., in this order. Empty: the names that occur. For columns: the
  // classes of the label or, if no column is the label, of the first column with classes.
  std::vector<std::string> classes = {};
  // Alternatively, the folder or URL of a dataset that has these classes: those of its label or
  // else of its first field with classes (a mask's without the background). A column takes those of
  // the dataset's field of its name, if it has one. Use it for a later conversion that must number
  // the classes alike, such as of validation images.
  std::filesystem::path classes_of = {};
};

// The images to convert. Make one by a constructor or a function below, then set its members.
struct ConvertSource {
  // The kind of sources.
  enum class Kind {
    kFolder,       // a folder of images
    kTable,        // Table()
    kPaths,        // Paths()
    kArchives,     // Archives()
    kAnnotations,  // Annotated()
  };

  // A folder with one sub-folder for each class, or with images directly in it (no labels). See
  // `label`.
  ConvertSource(std::filesystem::path folder)  // NOLINT: a path is a source
      : kind(Kind::kFolder), root(std::move(folder)) {}
  // A table with a row for each sample: `file` ends in .csv, .tsv (both with a line of headings) or
  // .jsonl (an object a line).
  static ConvertSource Table(std::filesystem::path file);
  // Paths below `root`; classes as in a folder that holds only them. If `paths` is empty, the list
  // that an earlier run has left in the dataset's plan is taken.
  static ConvertSource Paths(std::vector<std::string> paths, std::filesystem::path root);
  // Tar archives in WebDataset's naming: members KEY.EXTENSION that follow each other make the
  // sample KEY. Extensions: an image's; cls (class), txt (text), json, mask.png or seg.png (mask).
  // Or files of another kind, known by the first one's content: Parquet with images inside (as
  // Hugging Face's), TFRecord with tf.train.Example, MXNet's RecordIO, FFCV's .beton. Their values
  // are columns, which `rows` chooses from.
  static ConvertSource Archives(std::vector<std::filesystem::path> files);
  // Images below `root` with the boxes, outlines, key points and captions of `annotations`: a file
  // or a folder, as the format says. COCO's and VOC's files name the images; with YOLO, all images
  // below `root` are taken. Classes without `label.classes`: COCO's categories in the order of
  // their ids; VOC's names in the order of their bytes; YOLO's numbers, with the names in
  // classes.txt, obj.names or a .yaml in the folder of labels or in one of the two folders above
  // it.
  static ConvertSource Annotated(AnnotationFormat format, std::filesystem::path annotations,
                                 std::filesystem::path root);

  Kind kind;  // the kind of sources
  // The folder that paths and keys are relative to. Empty, for a table: the table's own folder. It
  // may be the URL of a folder in an object store ("s3://bucket/photos"), but not for archives and
  // YOLO's labels. The store's settings and credentials come from the environment.
  std::filesystem::path root;

  // Of these three, `kind` selects the one that is used.
  std::filesystem::path table = {};
  std::vector<std::string> paths = {};               // relative to `root`
  std::vector<std::filesystem::path> archives = {};  // in the order in which they are read

  RowOptions rows = {};         // how rows and records become samples
  LabelFiles label_files = {};  // of Kind::kAnnotations
  LabelOptions label = {};      // the classes, and their numbers
  SplitPart split = {};         // a part of the sources; all of them by default

  // A folder with a mask for each image, at the image's path with the ending .png. Masks become a
  // field "mask". They are PNG files of the image's size. They are stored losslessly, and resized
  // by taking the nearest pixel; of palette images the indices are stored. Empty: no masks.
  std::filesystem::path mask_folder = {};

  // Whether boxes, masks and key points were drawn on upright images, which matters for images that
  // are turned or mirrored by Exif's orientation (or XMP's, or their file's own). true: the upright
  // image, as viewers, cv2.imread, Ultralytics, Detectron2, CVAT and Label Studio show it. false:
  // the rows as the file stores them. nullopt: as true, with a warning if a turned image has boxes,
  // masks or key points.
  std::optional<bool> upright = std::nullopt;

  // Also takes files that symbolic links lead to outside of `root`, of the folder of label files or
  // of `mask_folder`, whether a scan finds them or a list, table or label file names them. Links to
  // places inside of the folder are always followed (a scan reads each place once); the folder
  // itself may be a link.
  bool follow_links = false;
};

// The source that a path alone means: a table, if it is a file whose name ends like one
// (IsTableName()); archives, if it is any other file; otherwise a folder, or the URL of one, which
// need not exist.
ConvertSource SourceAt(const std::filesystem::path& place);

}  // namespace sluice
