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

// The kind of field that a table's column becomes. A row may lack a value: an empty cell, null, or
// no such member. If the type is kClass, kInt, kFloat or kFloats, such a row is left out. With any
// other type, the row's sample lacks the field.
enum class ColumnType {
  // One class: int32 of role label. Names are numbered in the order of their bytes. If all rows
  // have whole numbers, these are the classes' numbers.
  kClass,
  kClasses,  // any number of classes, separated by comma, semicolon or bar: int32 [n], role label
  kInt,      // a whole number: int64
  kFloat,    // a number: float32
  // Numbers, the same count n in each row: float32 [n]. A column of a .beton file keeps the type
  // and the shape that it has there.
  kFloats,
  kBoxes,       // any number of boxes, four numbers each: float32 [n, 4]
  kBoxClasses,  // a class for each box of the first kBoxes column: int32 [n], role label
  kText,        // UTF-8
  kJson,        // any JSON value, stored as its text
  kBytes,       // any bytes
  kMask,        // the path of a mask, relative to the root: see ConvertSource::mask_folder
  // The path of a second image of the same size, relative to the root: a PNG, PPM, PFM, NPY or TIFF
  // file, of which the values are stored as they are (PixelValues::kKeep). It follows the image, as
  // depth
  // does. The first such file that can be read decides the type and the number of channels.
  kImage,
};

// Whether a column of this type holds classes.
bool HasClasses(ColumnType type) noexcept;

// The meaning of the four numbers of a box in the table. The dataset always stores left, top, right
// and bottom, in pixels of the stored image ("xyxy-pixels").
enum class BoxFormat {
  kXyxy,    // left, top, right, bottom
  kXywh,    // left, top, width, height
  kCxcywh,  // the centre's x and y, width, height
};

// A column of a table, and the field of the dataset that it becomes.
struct Column {
  // The column's heading, or the member's name. For kBoxes, it may also be four of these, joined by
  // "+".
  std::string column;
  ColumnType type = ColumnType::kText;  // the kind of field
  std::string field = {};               // the field's name; empty: the column's name
  BoxFormat boxes = BoxFormat::kXyxy;   // what a box's four numbers are
  bool relative = false;  // true: a box's numbers are fractions of the image's width and height
  // For kImage: its values are never mixed: the nearest pixel is taken, as of a mask.
  bool nearest = false;
  // For the three types with classes: the names of classes 0, 1, ... Empty: the names in
  // ConvertSource::label.classes, or else those that occur.
  std::vector<std::string> classes = {};
};

// Which of the folders that an image lies in is its class.
enum class FolderLabels {
  // The outermost folder. If a single folder holds all others, the outermost folder in that one. A
  // source whose images all lie directly in the root has no classes. It is an error if images lie
  // in the root and in folders, or if the folders look like the parts of a split (train, val).
  kAuto,
  // The outermost folder. With kTop and kParent, images directly in the root are left out.
  kTop,
  // The innermost folder, by its own name: a/x/1.jpg and b/x/2.jpg have the same class.
  kParent,
};

// Whether the file's name ends like the name of a table that Sluice can read.
bool IsTableName(const std::filesystem::path& file);
// Label files of object detection and segmentation.
enum class AnnotationFormat {
  kCoco,  // COCO's JSON, a file
  kVoc,   // Pascal VOC's XML: a folder with a file for each image
  kYolo,  // YOLO's texts: a folder with a file for each image, at the image's path
  kDota,  // DOTA's texts: likewise, with oriented boxes
};

// The names of two folders, next to each other, in which a label format's tools keep a dataset.
struct LabelTree {
  const char* images = "";  // such as "JPEGImages"; empty for COCO, whose labels are one file
  const char* labels = "";  // such as "Annotations"; empty for COCO
};
// Returns the names that the format's own tools use.
LabelTree TreeOf(AnnotationFormat format) noexcept;

// The parts of label files to take, if the files have them.
struct AnnotationParts {
  // The fields "boxes" and "classes"; also "crowd" (COCO) or "difficult" (VOC, DOTA): for each box,
  // 1 if it is marked so and otherwise 0.
  //
  // For COCO, also "area", in pixels of the source picture: that of the file or, if an object has
  // none there, that of its outlines and runs, if masks or instances are taken, or else of its box.
  // Also "image_id" if all ids are numbers, and "source_size" (height and width) if each image has
  // them; the field "classes" has its categories' ids as the attribute category_ids. A COCO file
  // without a box, outline or key point has a field "label" instead: the class of the whole image.
  bool boxes = true;
  bool masks = true;      // a field "mask": for each pixel, 0 or its class's number + 1
  bool keypoints = true;  // a field "keypoints": for each box, its points' x, y and visibility
  bool captions = true;   // a field "captions": a JSON list of texts
  // A field "instances": each box's outlines or runs. It needs `boxes`. It is an error if no object
  // has an outline or runs. A warning counts objects without any, whose masks are empty.
  bool instances = false;
};

// ConvertSource::rows: how the rows of a table, or the records of archives, become samples.
struct RowOptions {
  // The column of paths in a table, or the column of images in Parquet, TFRecord and .beton files.
  // Empty, for a table: the first that exists of path, file, filename, file_name, image, key. If
  // the paths are in another column, a column named key has the samples' keys (unless `columns`
  // takes it).
  std::string path_column = {};
  // The columns to take. Empty means:
  //
  //   tables, TFRecord            "label" or "class" as kClass, "text" or "caption" as kText
  //   Parquet, RecordIO, .beton   all columns whose types say how to store them, except lists of
  //                               boxes in Parquet
  std::vector<Column> columns = {};
  // True: the rows of a table that have the same path make one sample. Their boxes, and the boxes'
  // classes, are joined in the table's order. Every other column must have the same value in all of
  // these rows. If one of the rows is left out, so is the sample.
  bool group = false;
};

// ConvertSource::label_files: the label files of a source of Kind::kAnnotations.
struct LabelFiles {
  AnnotationFormat format = AnnotationFormat::kCoco;  // their format
  std::filesystem::path path = {};                    // the file or the folder of label files
  AnnotationParts parts = {};                         // what to take from them
  // For YOLO: whether an object of four corners is an outline.
  //
  //   true    it is, and becomes an upright box and a mask
  //   false   it may also be a rotated box, which looks the same; so label files in which all
  //           objects have four corners are refused
  bool outlines = false;
  // For YOLO: whether every object is an oriented box: its class, then four corners (YOLO-OBB). The
  // field "boxes" then holds eight numbers to a box.
  bool oriented = false;
};

// ConvertSource::split: a part of a split. The sources of each class (without classes, all sources)
// are put in an order that depends only on `seed` and the keys. The part takes the sources from the
// fraction `begin` of that order up to, but not including, the fraction `end`. Parts that meet,
// such as [0, a) and [a, 1), share no source and leave none out. Sources that are left out as
// faulty are listed only by the part that begins at 0, for all parts.
struct SplitPart {
  double begin = 0;        // 0 to 1
  double end = 1;          // 0 to 1
  std::uint64_t seed = 0;  // of the order
  // A column of a table, or of archives with columns: all rows with the same value in this column
  // go to the same part, whatever their class. An example is a column of patients' numbers. Empty:
  // each row is split by itself.
  //
  // The numbers 7, 7.0 and 007 are the same value. So are texts that differ only in case or in the
  // Unicode form of accents. Rows without a value are left out.
  //
  // The values, each with all of its rows, are put in an order that depends only on `seed` and the
  // value. A value goes to the part in which the middle of its rows lies.
  std::string by = {};
};

// ConvertSource::label: the classes of samples, and their numbers.
struct LabelOptions {
  // False: no label is stored. Then these are not read as classes: the names of folders, a table's
  // columns label and class, and .cls files in archives. Images may lie anywhere below the root.
  bool store = true;
  // For folders and lists of paths: which of an image's folders is its class.
  FolderLabels folders = FolderLabels::kAuto;
  // True: the folders' names are whole numbers, which are the classes' numbers (as in a table). Any
  // other name is an error. False: folders are numbered in the order of their names' bytes (0, 1,
  // 10, 2).
  bool numbers = false;
  // The names of classes 0, 1, ..., in this order. Empty: the names that occur. For a source with
  // columns, these are the classes of the label. If no column is the label, they are the classes of
  // the first column with classes.
  std::vector<std::string> classes = {};
  // Instead of `classes`: the folder or URL of a dataset, whose classes are taken. Use it for a
  // later conversion that must number the classes in the same way, such as that of validation
  // images. The classes come from the first of these fields that the dataset has:
  //
  //   the field of the same name, for a column
  //   the label
  //   the first field with classes (of a mask, without the background)
  std::filesystem::path classes_of = {};
};

// The images to convert. Make one with a constructor or a function below, then set its members.
struct ConvertSource {
  // Where the images are.
  enum class Kind {
    kFolder,       // a folder of images
    kTable,        // Table()
    kPaths,        // Paths()
    kArchives,     // Archives()
    kAnnotations,  // Annotated()
  };

  // A folder that has one sub-folder for each class, or that holds the images directly (then
  // samples have no label). See `label`.
  ConvertSource(std::filesystem::path folder)  // NOLINT: a path is a source
      : kind(Kind::kFolder), root(std::move(folder)) {}
  // A table with a row for each sample. `file` is a .csv or .tsv file with a line of headings, or a
  // .jsonl file with an object in each line.
  static ConvertSource Table(std::filesystem::path file);
  // Paths below `root`. Classes are as in a folder that holds only these files. If `paths` is
  // empty, Convert() takes the list that an earlier run left in the dataset's plan.
  static ConvertSource Paths(std::vector<std::string> paths, std::filesystem::path root);
  // Tar archives in WebDataset's naming: members KEY.EXTENSION that follow each other make the
  // sample KEY. Extensions: an image's; cls (class), txt (text), json, mask.png or seg.png (mask).
  //
  // Or files of another kind that hold images: Parquet (as Hugging Face's), TFRecord with
  // tf.train.Example, MXNet's RecordIO, FFCV's .beton. The first file's content decides the kind of
  // all files. The values in such files are columns, from which `rows` chooses.
  static ConvertSource Archives(std::vector<std::filesystem::path> files);
  // Images below `root`, with the boxes, outlines, key points and captions of `annotations`, which
  // is a file or a folder, as the format requires. COCO's and VOC's files name the images; with
  // YOLO, all images below `root` are taken. Without `label.classes`, the classes are:
  //
  //   COCO   the categories in the order of their ids
  //   VOC    the names in the order of their bytes
  //   YOLO   the numbers, with the names in classes.txt, obj.names or a .yaml file, in the folder
  //          of labels or one of the two folders above it
  static ConvertSource Annotated(AnnotationFormat format, std::filesystem::path annotations,
                                 std::filesystem::path root);

  Kind kind;  // where the images are
  // The folder that paths and keys are relative to. Empty: the folder of the table. Except for
  // archives and YOLO's labels, it may also be the URL of a folder in an object store
  // ("s3://bucket/photos"). The environment gives the store's settings and credentials.
  std::filesystem::path root;

  // Only one of these three is used; `kind` says which.
  std::filesystem::path table = {};
  std::vector<std::string> paths = {};               // relative to `root`
  std::vector<std::filesystem::path> archives = {};  // in the order in which they are read

  RowOptions rows = {};         // how rows and records become samples
  LabelFiles label_files = {};  // for Kind::kAnnotations
  LabelOptions label = {};      // the classes, and their numbers
  SplitPart split = {};         // a part of the sources; by default all of them

  // A folder with a mask for each image, at the image's path with the ending .png. Masks are PNG
  // files of the image's size and become a field "mask". They are stored losslessly, and resized by
  // taking the nearest pixel. Of palette images, the indices are stored. Empty: no masks.
  std::filesystem::path mask_folder = {};

  // Whether boxes, masks and key points were drawn on upright images. This matters for images that
  // are turned or mirrored by an orientation in Exif, in XMP or in the image file's own format.
  //
  //   true      on the upright image, as viewers, cv2.imread, Ultralytics, Detectron2, CVAT and
  //             Label Studio show it
  //   false     on the rows as the file stores them
  //   nullopt   as true, with a warning if a turned image has boxes, masks or key points
  std::optional<bool> upright = std::nullopt;

  // True: also takes files outside of `root`, of the folder of label files or of `mask_folder`, if
  // symbolic links lead there. Links may be found by a scan, or named by a list, a table or a label
  // file. Links to places inside of the folder are always followed (a scan reads each place once).
  // The folder itself may be a link.
  bool follow_links = false;
};

// Returns the source that a path alone means:
//
//   a table      a file whose name ends like a table's (IsTableName())
//   archives     any other file
//   a folder     anything else, also the URL of a folder; it need not exist
ConvertSource SourceAt(const std::filesystem::path& place);

}  // namespace sluice
