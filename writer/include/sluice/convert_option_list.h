// Declares the options in ConvertOptions, ConvertSource and their groups, and in TranscodeOptions:
// see option_list.h. The comment at an option's member describes it in full.
//
// A new option gets its member in convert.h (or, for a source, in convert_source.h) and its line
// here; its range, its flag and its keyword in Python come from that line. It also goes into these
// files, where
// "restart_markers|--no-restart-markers" shows how:
//   writer/include/sluice/convert.h
//   writer/convert/options.cpp            combinations; plans omit a new option at its default
//   writer/README.md                      "Options", where a test looks for each
//   writer/encode/jpeg.cpp                where it acts; or sample_encoder.cpp, fit/
//   writer/encode/jpeg.h
//   writer/include/sluice/dataset_edit.h  this and the next two if `transcode` is to have it
//   writer/edit/transcode.cpp
//   tools/transcode.cpp
//   tools/convert.cpp                     if it excludes another flag, or --part takes it
//   tests/writer/options_test.cpp         its effect and its range
//   tests/writer/plan_test.cpp            that it belongs to the plan
//   tests/tools/usage_test.cpp
//   not tests/                            other tests make JPEGs with it
// A new enumeration is bound in reader/python/binding/convert.cpp; a new group is named in
// tests/python/test_options.py.
//
// The plan of a conversion holds every option except those with Changes::kSpeed. A conversion with
// another value of an option that the plan holds is another conversion.
#pragma once

#include <sluice/convert.h>
#include <sluice/dataset_edit.h>
#include <sluice/dataset_writer.h>
#include <sluice/option_list.h>

namespace sluice::option_list {

template <>
inline constexpr auto WordsOf<ImageCodec> =
    Words("ImageCodec", "How convert stores images", Word("jpeg", ImageCodec::kJpeg),
          Word("packed", ImageCodec::kPacked,
               "the same JPEG laid out for decoding twice as fast, 1.4 times as large"),
          Word("raw", ImageCodec::kRaw, "pixels, which need no decoding"));

template <>
inline constexpr auto WordsOf<Fit> =
    Words("Fit", "How `size` treats images of another aspect ratio",
          Word("crop", Fit::kCrop, "fill the size, keep the centre"),
          Word("stretch", Fit::kStretch), Word("pad", Fit::kPad, "fit inside, the rest black"));

template <>
inline constexpr auto WordsOf<Subsampling> = Words("Subsampling",
                                                   "The resolution of a JPEG's colours",
                                                   Word("420", Subsampling::k420, "half"),
                                                   Word("444", Subsampling::k444, "full"));

template <>
inline constexpr auto WordsOf<IccProfiles> =
    Words("IccProfiles", "How to treat a picture's colour profile",
          Word("drop", IccProfiles::kDrop, "values are taken as they are"),
          Word("convert", IccProfiles::kConvert, "colours are brought to sRGB"));

template <>
inline constexpr auto WordsOf<PixelValues> =
    Words("PixelValues", "Which values of an image are stored",
          Word("uint8", PixelValues::kUint8, "colours or grey, rounded to 8 bits"),
          Word("keep", PixelValues::kKeep,
               "the values as they are, of any type and 1 to 64 channels, which the first readable "
               "source decides; of PNG, PPM, PFM, NPY and TIFF. Sizes are kept"));

template <>
inline constexpr auto WordsOf<StackResize> = Words(
    "StackResize", "How the files of a sample get one size",
    Word("refuse", StackResize::kRefuse, "leave the sample out"),
    Word("nearest", StackResize::kNearest, "give them the first one's size by the nearest pixel"),
    Word("linear", StackResize::kLinear, "the same, mixing pixels, except with no data"));

template <>
inline constexpr auto WordsOf<OnError> =
    Words("OnError", "What happens to a source that cannot be converted",
          Word("skip", OnError::kSkip, "leave it out and continue"),
          Word("fail", OnError::kFail, "stop at the first one"));

template <>
inline constexpr auto WordsOf<Truncated> = Words(
    "Truncated", "What happens to images whose data end early",
    Word("refuse", Truncated::kRefuse, "leave them out"),
    Word("warn", Truncated::kWarn, "take what is there, the rest grey or black, and list them"),
    Word("accept", Truncated::kAccept, "the same, but do not list them"));

template <>
inline constexpr auto WordsOf<SourceCheck> = Words(
    "SourceCheck", "Which sources a repeated conversion compares with their samples",
    Word("times", SourceCheck::kTimes, "those written, copied or moved after the conversion began"),
    Word("content", SourceCheck::kContent, "all"));

template <>
inline constexpr auto WordsOf<ColumnType> =
    Words("ColumnType", "The kind of field that a table's column becomes",
          Word("class", ColumnType::kClass), Word("classes", ColumnType::kClasses),
          Word("int", ColumnType::kInt), Word("float", ColumnType::kFloat),
          Word("floats", ColumnType::kFloats), Word("boxes", ColumnType::kBoxes),
          Word("box_classes", ColumnType::kBoxClasses), Word("text", ColumnType::kText),
          Word("json", ColumnType::kJson), Word("bytes", ColumnType::kBytes),
          Word("mask", ColumnType::kMask, "the path of a mask, relative to the root"),
          Word("image", ColumnType::kImage,
               "the path of a second image, which follows the first, with its values as they are"));

template <>
inline constexpr auto WordsOf<BoxFormat> =
    Words("BoxFormat", "The four numbers of a box in a table",
          Word("xyxy", BoxFormat::kXyxy, "left, top, right, bottom"),
          Word("xywh", BoxFormat::kXywh, "left, top, width, height"),
          Word("cxcywh", BoxFormat::kCxcywh, "the centre's x and y, width, height"));

template <>
inline constexpr auto WordsOf<AnnotationFormat> = Words(
    "AnnotationFormat", "Label files",
    Word("coco", AnnotationFormat::kCoco,
         "COCO's .json file, with boxes and classes, masks from outlines and runs, key points, "
         "captions"),
    Word("voc", AnnotationFormat::kVoc,
         "a folder of Pascal VOC's .xml files, with boxes and classes"),
    Word("yolo", AnnotationFormat::kYolo,
         "a folder of YOLO's .txt files, with boxes and classes, masks from outlines, key points. "
         "If no names of classes are given, they come from a classes.txt, obj.names or .yaml file "
         "in the folder or up to two levels above. If a folder SET holds images/ and labels/, name "
         "SET here and as the source"),
    Word("dota", AnnotationFormat::kDota,
         "a folder of DOTA's .txt files, with oriented boxes, classes and which are difficult"));

template <>
inline constexpr auto WordsOf<FolderLabels> =
    Words("FolderLabels", "Which folder of an image is its class",
          Word("auto", FolderLabels::kAuto,
               "the outermost below any folder that holds all others; an error if the folders look "
               "like a split"),
          Word("top", FolderLabels::kTop, "the outermost"),
          Word("parent", FolderLabels::kParent, "the innermost, by its own name"));

template <>
inline constexpr auto OptionsOf<GeometryOptions> = Options<GeometryOptions>(
    "GeometryOptions",
    "Size of the images: by the longest side, by the shorter side, or by both; give at most one",
    Option("max_side", &GeometryOptions::max_side, "shrink so that no side is longer than N pixels",
           {.least = 1, .most = 65535, .changes = Changes::kContent}),
    Option("short_side", &GeometryOptions::short_side,
           "shrink so that the shorter side has N pixels; smaller images stay as they are",
           {.least = 1, .most = 65535, .changes = Changes::kContent}),
    Option("size", &GeometryOptions::size,
           "make every image W x H pixels (N means NxN); may enlarge",
           {.changes = Changes::kContent, .value = "WxH"}),
    Option("fit", &GeometryOptions::fit,
           "how images of another aspect ratio get a size of both sides",
           {.changes = Changes::kContent, .value = "HOW"}));

template <>
inline constexpr auto OptionsOf<FormOptions> = Options<FormOptions>(
    "FormOptions", "How images are stored",
    Option("image", &FormOptions::image, "the form of images",
           {.changes = Changes::kContent, .value = "FORM"}),
    Option("quality", &FormOptions::quality, "JPEG quality, 1 to 100",
           {.least = 1, .most = 100, .changes = Changes::kContent, .value = "Q"}),
    Option("keep", &FormOptions::keep,
           "JPEGs keep their coefficients. Only these are encoded anew, at `quality`: JPEGs that "
           "are resized, whose colours change, that Exif turns at an incomplete block, of unusual "
           "sampling, or that baseline JPEG cannot code",
           Changes::kContent),
    Option("restart_markers", &FormOptions::restart_markers,
           "JPEGs have restart markers, with which a reader skips what lies outside of a crop",
           {.changes = Changes::kContent, .flag = "--no-restart-markers"}),
    Option("subsampling", &FormOptions::subsampling, "resolution of the colours",
           {.changes = Changes::kContent, .value = "S"}),
    Option("channels", &FormOptions::channels, "3 (RGB) or 1 (grey)",
           {.least = 1, .most = 3, .changes = Changes::kContent, .value = "C"}),
    Option("background", &FormOptions::background,
           "the colour behind transparent pixels: three numbers from 0 to 255",
           {.changes = Changes::kContent, .value = "R,G,B"}),
    Option("icc", &FormOptions::icc, "what to do with embedded colour profiles",
           {.changes = Changes::kContent, .value = "HOW"}),
    Option("truncated", &FormOptions::truncated,
           "what to do with images whose data end early, as after a broken download",
           {.changes = Changes::kContent, .value = "WHAT"}),
    Option("pixels", &FormOptions::pixels, "which values are stored",
           {.changes = Changes::kContent, .value = "WHICH"}),
    Option("stack", &FormOptions::stack,
           "with pixels keep: the names of channels that lie in a file each: NAME_B02.tif and "
           "NAME_B03.tif make the sample NAME",
           Changes::kContent),
    Option("stack_resize", &FormOptions::stack_resize,
           "what to do if the files of a sample have different sizes",
           {.changes = Changes::kContent, .value = "HOW"}));

template <>
inline constexpr auto OptionsOf<ShardOptions> = Options<ShardOptions>(
    "ShardOptions", "The dataset",
    Option("shard_bytes", &ShardOptions::shard_bytes,
           "planned size of a shard, 1MB to 128MB; MB is 1000000 bytes, MiB 1048576",
           {.least = double(kMinShardBytes),
            .most = double(kMaxShardBytes),
            .form = NumberForm::kBytes,
            .changes = Changes::kContent,
            .value = "BYTES"}),
    Option(
        "block_samples", &ShardOptions::block_samples,
        "samples in a block (the unit of reading and shuffling), 1 to 65536; auto makes blocks of "
        "about 512 KiB",
        {.most = 65536, .changes = Changes::kContent, .zero = "auto"}),
    Option("seed", &ShardOptions::seed, "seed of the stored order", Changes::kOrder),
    Option("keep_order", &ShardOptions::keep_order,
           "store the samples in the order of their paths, not permuted", Changes::kOrder),
    Option("meta", &ShardOptions::meta,
           "metadata of the dataset, such as its license: names with values. `sluice inspect` "
           "shows them, and edits keep them",
           Changes::kContent));

template <>
inline constexpr auto OptionsOf<RunOptions> = Options<RunOptions>(
    "RunOptions", "Running",
    Option("threads", &RunOptions::threads, "threads to use (default: one for each CPU)",
           {.most = 1024, .zero = ""}),
    Option("on_error", &RunOptions::on_error, "what to do with a broken image", {.value = "WHAT"}),
    Option("max_pixels", &RunOptions::max_pixels,
           "refuse larger images before memory is taken for them",
           {.least = 1, .most = 1 << 28, .form = NumberForm::kCount, .changes = Changes::kContent}),
    Option("dry_run", &RunOptions::dry_run, "look at the sources, plan and count; write nothing"),
    Option("find_duplicates", &RunOptions::find_duplicates,
           "write DATASET/duplicates.tsv, a list of sources that have the same bytes, also across "
           "the parts of a split; all of them are converted"),
    Option("direct", &RunOptions::direct,
           "write shards past the page cache (O_DIRECT), so that other programs' files stay in it; "
           "same bytes"),
    Option(
        "check", &RunOptions::check,
        "which sources a repeated command converts again, to compare them with the stored samples",
        {.value = "WHAT"}));

template <>
inline constexpr auto OptionsOf<ConvertOptions> = Options<ConvertOptions>(
    "ConvertOptions", "The options of Convert()",
    Option("geometry", &ConvertOptions::geometry, OptionsOf<GeometryOptions>.help),
    Option("form", &ConvertOptions::form, OptionsOf<FormOptions>.help),
    Option("shards", &ConvertOptions::shards, OptionsOf<ShardOptions>.help),
    Option("run", &ConvertOptions::run, OptionsOf<RunOptions>.help));

template <>
inline constexpr auto OptionsOf<Column> = Options<Column>(
    "Column", "A column of a table, and the field that it becomes",
    Option("column", &Column::column, "the column's heading, or the member's name"),
    Option("type", &Column::type, "the kind of field that it becomes"),
    Option("field", &Column::field, "the field's name; empty: the column's name"),
    Option("boxes", &Column::boxes, "the four numbers of a box"),
    Option("relative", &Column::relative, "boxes are fractions of the image's sides"),
    Option("nearest", &Column::nearest, "a second image's values are never mixed"),
    Option("classes", &Column::classes, "the names of the column's classes 0, 1, ..."));

template <>
inline constexpr auto OptionsOf<RowOptions> = Options<RowOptions>(
    "RowOptions", "How the rows of a table, or records, become samples",
    Option("path_column", &RowOptions::path_column,
           "the table's column of paths (default: the first of path, file, filename, file_name, "
           "image, key). If the table also has a column key, that gives the samples' keys. For "
           "Parquet, TFRecord and .beton files: the column of images",
           {.value = "NAME"}),
    Option("columns", &RowOptions::columns,
           "the columns to take; empty: label, class, text and caption, but of Parquet, RecordIO "
           "and .beton files all columns whose types say how to store them"),
    Option("group", &RowOptions::group,
           "rows of the table with the same path make one sample, with the boxes and classes of "
           "all of them"));

template <>
inline constexpr auto OptionsOf<AnnotationParts> = Options<AnnotationParts>(
    "AnnotationParts", "What to take from label files, if it is there",
    Option("boxes", &AnnotationParts::boxes, "the fields boxes and classes"),
    Option("masks", &AnnotationParts::masks, "a field mask"),
    Option("keypoints", &AnnotationParts::keypoints, "a field keypoints"),
    Option("captions", &AnnotationParts::captions, "a field captions"),
    Option("instances", &AnnotationParts::instances,
           "a field instances: each box's outlines or runs (only if it is named)"));

template <>
inline constexpr auto OptionsOf<LabelFiles> =
    Options<LabelFiles>("LabelFiles", "Files of boxes, outlines, key points and captions",
                        Option("format", &LabelFiles::format, "COCO's, VOC's, YOLO's or DOTA's"),
                        Option("path", &LabelFiles::path, "the file or folder"),
                        Option("parts", &LabelFiles::parts, OptionsOf<AnnotationParts>.help),
                        Option("outlines", &LabelFiles::outlines,
                               "YOLO's objects of four corners are outlines, and not oriented "
                               "boxes"),
                        Option("oriented", &LabelFiles::oriented,
                               "YOLO's objects are oriented boxes of four corners (YOLO-OBB)"));

template <>
inline constexpr auto OptionsOf<LabelOptions> = Options<LabelOptions>(
    "LabelOptions", "The classes of samples, and their numbers",
    Option("store", &LabelOptions::store,
           "false: no label is stored, and nothing is read as a class"),
    Option("folders", &LabelOptions::folders, "which folder of an image is its class"),
    Option("numbers", &LabelOptions::numbers,
           "the names of class folders are whole numbers, which are the classes' numbers "
           "(default: folders are numbered in the order of their names' bytes: 0, 1, 10, 2)"),
    Option("classes", &LabelOptions::classes, "the names of classes 0, 1, ..."),
    Option("classes_of", &LabelOptions::classes_of,
           "folder or URL of another dataset: use its classes, with the same numbers, as for "
           "validation images that are converted after the training images",
           {.value = "DATASET"}));

template <>
inline constexpr auto OptionsOf<SplitPart> = Options<SplitPart>(
    "SplitPart", "A part of a split, from the fraction begin to before end",
    Option("begin", &SplitPart::begin, "the fraction at which it begins", {.least = 0, .most = 1}),
    Option("end", &SplitPart::end, "the fraction before which it ends", {.least = 0, .most = 1}),
    Option("seed", &SplitPart::seed, "seed of the split"),
    Option("by", &SplitPart::by,
           "rows with the same value in this column (a patient, a sender) all go to the same part; "
           "each part then gets its share of all rows, as nearly as that allows, but not its share "
           "of each class",
           {.flag = "--split-by", .value = "COLUMN"}));

template <>
inline constexpr auto OptionsOf<ConvertSource> = Options<ConvertSource>(
    "ConvertSource",
    "What is converted: a folder (with one sub-folder for each class, or images directly), a "
    "table, a list of paths, archives, Parquet, TFRecord, RecordIO or .beton files, or images with "
    "label files. The attributes say which rows, labels and part of the source are taken.",
    Option("kind", &ConvertSource::kind, "where the samples are"),
    Option("root", &ConvertSource::root, "the folder that paths and keys are relative to"),
    Option("table", &ConvertSource::table, "the table's file"),
    Option("paths", &ConvertSource::paths, "the list of paths"),
    Option("archives", &ConvertSource::archives, "the files with images inside"),
    Option("rows", &ConvertSource::rows, OptionsOf<RowOptions>.help),
    Option("label_files", &ConvertSource::label_files, OptionsOf<LabelFiles>.help),
    Option("label", &ConvertSource::label, OptionsOf<LabelOptions>.help),
    Option("split", &ConvertSource::split, OptionsOf<SplitPart>.help),
    Option("mask_folder", &ConvertSource::mask_folder,
           "a folder of masks: a/b.png in it is the mask of a/b.jpg. Masks are stored losslessly, "
           "and resized by the nearest pixel",
           {.value = "DIR"}),
    Option("upright", &ConvertSource::upright,
           "whether boxes, masks and key points were drawn on the upright image (true), or on the "
           "image as its file stores it, without its Exif orientation (false). Not set: true, with "
           "a warning if an image that is stored turned has any of these"),
    Option("follow_links", &ConvertSource::follow_links,
           "also follow symbolic links that lead out of SOURCE (default: skip them, and warn of "
           "their number)"));

template <>
inline constexpr auto OptionsOf<TranscodeOptions> = Options<TranscodeOptions>(
    "TranscodeOptions", "Another form for images",
    Option("image", &TranscodeOptions::image, "the form of images", {.value = "FORM"}),
    Option("quality", &TranscodeOptions::quality, "quality of JPEGs made from pixels, 1 to 100",
           {.least = 1, .most = 100, .value = "Q"}),
    Option("restart_markers", &TranscodeOptions::restart_markers,
           "JPEGs made from pixels have restart markers", {.flag = "--no-restart-markers"}),
    Option("subsampling", &TranscodeOptions::subsampling, "colours of JPEGs made from pixels",
           {.value = "S"}),
    Option("max_pixels", &TranscodeOptions::max_pixels,
           "do not decode larger images; checked before memory is allocated",
           {.least = 1, .form = NumberForm::kCount}),
    Option("threads", &TranscodeOptions::threads, "threads to use (default: one for each CPU)",
           {.most = 1024, .zero = ""}));

}  // namespace sluice::option_list
