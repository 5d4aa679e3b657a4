// From the arguments of `sluice convert` to a ConvertSource: reads the lists of paths and classes
// that they name, and parses --field.
//
// The kind of the source follows from the arguments first (--table, --paths, a format of label
// files), and only then from what lies at SOURCE: a file is an archive, anything else a folder. A
// table as SOURCE is refused with the option to use. Options that do not fit the kind are an error
// and never ignored, because the dataset would lack what they ask for.
//
// A list may come from standard input, which may never end, so reading it stops at an interrupt.
#include "tools/convert_source.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <sluice/convert_option_list.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "tools/cli/declared.h"
#include "tools/cli/output.h"
#include "tools/cli/terminal.h"

namespace sluice {

using cli::UsageError;

namespace {

// Reads a whole text file, or standard input for "-". Drops a byte order mark at the start.
std::string ReadAll(const std::string& file, const std::stop_token& stop) {
  std::string text;
  if (file == "-") {
    cli::ReadStandardInput(stop, [&text](std::string_view piece) { text += piece; });
  } else {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) {
      throw Error(ErrorCode::kInvalidArgument, file, "is a folder; give a file with a list");
    }
    std::ifstream stream = cli::OpenToRead(file);
    text.assign(std::istreambuf_iterator<char>(stream), {});
    if (stream.bad()) throw Error(ErrorCode::kIo, file, "cannot be read");
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

// Splits the text into lines or, if it has zero bytes (as from find -print0), at these. Drops empty
// lines.
std::vector<std::string> LinesOf(const std::string& text) {
  const char end = text.find('\0') == std::string::npos ? '\n' : '\0';
  std::vector<std::string> lines = cli::Split(text, end);
  for (std::string& line : lines) {
    if (end == '\n' && line.ends_with('\r')) line.pop_back();
  }
  std::erase(lines, "");
  return lines;
}

BoxFormat ParseBoxes(const std::string& text, bool& relative) {
  std::string form = text;
  relative = form.ends_with("-relative");
  if (relative) form.resize(form.size() - std::string_view("-relative").size());
  return cli::ParseChoice<BoxFormat>(form, cli::ChoicesOf<BoxFormat>());
}

// Reads the names of classes from the file, one a line.
std::vector<std::string> ReadClasses(const std::string& file, const std::stop_token& stop) {
  const std::string text = ReadAll(file, stop);
  std::vector<std::string> names = LinesOf(text);
  // Leaving out a blank line would change the numbers of the names after it.
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  const std::size_t blank = std::min(text.find("\n\n"), text.find("\n\r\n"));
  if (text.find('\0') == std::string::npos && (text.starts_with("\n") || text.starts_with("\r\n") ||
                                               (last != std::string::npos && blank < last))) {
    throw Error(ErrorCode::kInvalidArgument, file,
                "has an empty line among the names of classes; a class's number is that of its "
                "line, so remove the empty line, or give that class a name");
  }
  if (names.empty()) {
    throw Error(ErrorCode::kInvalidArgument, file, "has no names of classes, one a line");
  }
  return names;
}

// Removes ",WORD=VALUE" from the text and returns VALUE. A value may contain commas: it ends where
// another word of --field begins.
std::optional<std::string> TakeSetting(std::string& text, const std::string& word) {
  const std::string start = "," + word + "=";
  const std::size_t begin = text.find(start);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t value = begin + start.size();
  const std::size_t end =
      std::min({text.find(",name=", value), text.find(",classes=", value), text.size()});
  std::string taken = text.substr(value, end - value);
  text.erase(begin, end - begin);
  return taken;
}

// "boxes,masks"
void ParseParts(const std::string& text, AnnotationParts& parts) {
  cli::ChoiceList<bool AnnotationParts::*> choices;
  option_list::ForEachMember<AnnotationParts>(
      [&](const auto& part) { choices.emplace_back(part.name, part.member); });
  parts = {false, false, false, false, false};
  for (const std::string& word : cli::Split(text))
    parts.*cli::ParseChoice(word, choices) = true;
}

void AddAnnotationOptions(CLI::App& app, SourceArguments& arguments, const std::string& group) {
  std::vector<CLI::Option*> ways;
  for (const option_list::Word<AnnotationFormat>& word :
       option_list::WordsOf<AnnotationFormat>.words) {
    // The labels of a format without a folder for them are one file.
    const bool one_file = *TreeOf(word.value).labels == '\0';
    ways.push_back(cli::AddOption(app, std::string("--") + word.text, one_file ? "JSON" : "DIR",
                                  std::string("labels of the images in SOURCE: ") + word.help,
                                  [&arguments, format = word.value](const std::string& text) {
                                    arguments.given.label_files.format = format;
                                    arguments.given.label_files.path = text;
                                  }));
  }
  CLI::Option* const take =
      cli::AddOption(app, "--take", "PARTS",
                     "what to take from label files: boxes, masks, keypoints, captions, instances, "
                     "separated by commas (default: whatever is there, except instances)",
                     [&arguments](const std::string& text) {
                       ParseParts(text, arguments.given.label_files.parts);
                       arguments.takes_parts = true;
                     });
  for (CLI::Option* const one : ways) {
    for (const char* const other : {"--table", "--paths", "--no-labels", "--numbers"})
      one->excludes(other);
    one->group(group);
    for (CLI::Option* const other : ways) {
      if (one != other) one->excludes(other);
    }
  }
  take->group(group);
  CLI::Option* const outlines =
      cli::AddDeclared(app, arguments.given.label_files, &LabelFiles::outlines);
  CLI::Option* const oriented =
      cli::AddDeclared(app, arguments.given.label_files, &LabelFiles::oriented);
  outlines->excludes(oriented);
  for (CLI::Option* const one : {outlines, oriented})
    one->needs(app.get_option("--yolo"))->group(group);
}

CLI::Option* AddLabels(CLI::App& app, SourceArguments& arguments) {
  const auto take = [&arguments](const std::string& text) {
    arguments.given.label.store = text != "none";
    arguments.given.label.folders =
        cli::ParseChoice<FolderLabels>(text, {{"none", FolderLabels::kAuto},
                                              {"top", FolderLabels::kTop},
                                              {"parent", FolderLabels::kParent}});
  };
  return cli::AddOption(app, "--labels", "HOW",
                        "which of the folders around an image names its class: top (the outermost) "
                        "or parent (the innermost); or none, as --no-labels. Default: top; if "
                        "SOURCE holds train/, val/ and the like, you must choose",
                        take)
      ->check(cli::Choices("none top parent"));
}

}  // namespace

std::vector<std::string> ReadLines(const std::string& file, const std::stop_token& stop) {
  return LinesOf(ReadAll(file, stop));
}

Column ParseColumn(const std::string& text, const std::stop_token& stop) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw UsageError("\"" + text + "\" is not COLUMN=TYPE, such as caption=text");
  }
  Column column;
  column.column = text.substr(0, equals);
  std::string type = text.substr(equals + 1);
  const std::optional<std::string> name = TakeSetting(type, "name");
  const std::optional<std::string> classes = TakeSetting(type, "classes");
  if (name) column.field = *name;
  if (name && name->empty()) throw UsageError("\"" + text + "\" has no name for the field");
  std::string form;
  const std::size_t colon = type.find(':');
  if (colon != std::string::npos) {
    form = type.substr(colon + 1);
    type.resize(colon);
  }
  std::replace(type.begin(), type.end(), '-', '_');  // box-classes
  column.type = cli::ParseChoice<ColumnType>(type, cli::ChoicesOf<ColumnType>());
  if (classes && !HasClasses(column.type)) throw UsageError(type + " takes no classes");
  if (classes) column.classes = ReadClasses(*classes, stop);
  if (form.empty() && colon == std::string::npos) return column;
  if (column.type == ColumnType::kBoxes) {
    column.boxes = ParseBoxes(form, column.relative);
  } else if (column.type == ColumnType::kImage && form == "nearest") {
    column.nearest = true;
  } else {
    throw UsageError("\"" + form + "\" is not a form of " + type);
  }
  return column;
}

void AddSourceOptions(CLI::App& app, SourceArguments& arguments) {
  const std::string group = "What is converted";
  app.add_option(
         "SOURCE", arguments.places,
         "a folder of images, or its URL in an object store (s3://bucket/photos); or several "
         "folders, each of which becomes a dataset DATASET/ITS-NAME, with the same classes; or one "
         "or more files that hold images: tar, Parquet, TFRecord, RecordIO or FFCV's .beton (- is "
         "a tar file from standard input). After the sources comes DATASET: a folder to create, or "
         "a URL in a store")
      ->required()
      ->type_name("... DATASET");
  CLI::Option* const table =
      app.add_option("--table", arguments.table,
                     "a table with a row for each image: .csv or .tsv with headings, or .jsonl; "
                     "its paths are relative to SOURCE (default: the table's folder)")
          ->type_name("FILE");
  CLI::Option* const paths =
      app.add_option("--paths", arguments.paths,
                     "convert the files in this list, one a line (or separated by zero bytes), "
                     "below SOURCE; - reads standard input. DATASET keeps the list, so to resume, "
                     "FILE may be empty")
          ->type_name("FILE");
  CLI::Option* const path_column =
      cli::AddDeclared(app, arguments.given.rows, &RowOptions::path_column);
  CLI::Option* const field =
      app.add_option(
             "--field", arguments.fields,
             "store a column of the table, or of Parquet, TFRecord, RecordIO or .beton files. SPEC "
             "is COLUMN=TYPE[,name=FIELD][,classes=FILE]; FILE has the classes' names, one a line. "
             "May be given several times. Types: class; classes (separated by , ; or |, or a JSON "
             "list); int; float; floats; boxes:FORM; box_classes; text; json; bytes; mask (a "
             "path); image or image:nearest (the path of a second image, such as depth, with its "
             "values as they are; nearest never mixes them). FORM is xyxy (default), xywh or "
             "cxcywh, followed by -relative if the numbers "
             "are fractions of the sides; the four numbers of a box may be in four columns, joined "
             "by +: left+top+right+bottom. "
             "By default, a column named label or class has the type class, and one named text or "
             "caption the type text")
          ->type_name("SPEC")
          ->allow_extra_args(false);
  CLI::Option* const classes =
      app.add_option(
             "--classes", arguments.classes,
             "the names of classes 0, 1, ..., one a line (default: the names in the sources, "
             "in the order of their bytes). If the sources have columns (a table's or --field's), "
             "FILE names the classes of the first column of type class or, if there is none, of "
             "the first of type classes or box_classes")
          ->type_name("FILE");
  LabelOptions& label = arguments.given.label;
  CLI::Option* const classes_of = cli::AddDeclared(app, label, &LabelOptions::classes_of);
  CLI::Option* const numbers = cli::AddDeclared(app, label, &LabelOptions::numbers);
  CLI::Option* const masks = cli::AddDeclared(app, arguments.given, &ConvertSource::mask_folder);
  CLI::Option* const upright = app.add_flag_callback(
      "--upright", [&arguments] { arguments.given.upright = true; },
      "boxes, masks and key points were drawn on the image as its Exif orientation turns it. This "
      "is the default; give --upright to have no warning about images that are stored turned");
  CLI::Option* const as_stored =
      app.add_flag_callback(
             "--as-stored", [&arguments] { arguments.given.upright = false; },
             "boxes, masks and key points were drawn on the image as its file stores it, without "
             "its Exif orientation")
          ->excludes(upright);
  CLI::Option* const follow_links =
      cli::AddDeclared(app, arguments.given, &ConvertSource::follow_links);
  CLI::Option* const no_labels = app.add_flag_callback(
      "--no-labels", [&label] { label.store = false; },
      "store no labels: images may lie anywhere below SOURCE; a table's columns label and class, "
      "and archives' .cls, are not used");
  CLI::Option* const labels = AddLabels(app, arguments);
  no_labels->excludes(classes)->excludes(labels)->excludes(classes_of)->excludes(numbers);
  classes->excludes(classes_of)->excludes(numbers);
  numbers->excludes(classes_of)->excludes(table);
  table->excludes(paths);

  cli::AddDeclared(app, arguments.given.rows, &RowOptions::group)->needs(table)->group(group);
  AddAnnotationOptions(app, arguments, group);
  for (CLI::Option* const option : {table, paths, path_column, field, classes, classes_of, numbers,
                                    no_labels, labels, masks, upright, as_stored, follow_links}) {
    option->group(group);
  }
}

PlaceKind KindOf(const std::string& place) {
  if (IsStoreUrl(place)) return PlaceKind::kStore;
  std::error_code ignored;
  switch (std::filesystem::status(place, ignored).type()) {
    case std::filesystem::file_type::none:
    case std::filesystem::file_type::not_found: return PlaceKind::kMissing;
    case std::filesystem::file_type::directory: return PlaceKind::kFolder;
    case std::filesystem::file_type::regular: return PlaceKind::kFile;
    default: return PlaceKind::kOther;
  }
}

ConvertSource MakeSource(const SourceArguments& arguments, const std::stop_token& stop) {
  using Kind = ConvertSource::Kind;
  // The last place is the dataset.
  const std::vector<std::string> places(arguments.places.begin(), arguments.places.end() - 1);
  const bool listed = !arguments.table.empty() || !arguments.paths.empty();
  if (places.empty() && !listed) throw UsageError("SOURCE and DATASET are required");
  if (arguments.takes_parts && arguments.given.label_files.path.empty())
    throw UsageError(
        "--take chooses from label files: name them with --coco, --voc, --yolo or "
        "--dota, or leave it out");
  if (places.size() > 1 && listed)
    throw UsageError("\"" + places.back() + "\": paths can be relative to one folder only");
  ConvertSource source = arguments.given;
  source.root = places.empty() ? "" : places[0];
  if (!arguments.table.empty()) {
    source.kind = Kind::kTable;
    source.table = arguments.table;
  } else if (!arguments.paths.empty()) {
    source.kind = Kind::kPaths;
    source.paths = ReadLines(arguments.paths, stop);
    if (source.root.empty()) source.root = ".";
  } else if (!source.label_files.path.empty()) {
    if (places.size() > 1) throw UsageError("label files are for the images of one folder");
    source.kind = Kind::kAnnotations;
  } else if (const PlaceKind kind = KindOf(places[0]);
             kind == PlaceKind::kFile || kind == PlaceKind::kOther) {
    if (kind == PlaceKind::kFile && IsTableName(places[0]))
      throw UsageError("\"" + places[0] + "\" is a table: use --table " + places[0]);
    source.kind = Kind::kArchives;
    source.archives = {places.begin(), places.end()};
    source.root.clear();
  } else if (places.size() > 1) {
    throw Error(ErrorCode::kNotFound, places[0], "does not exist");
  }
  const bool has_columns = source.kind == Kind::kTable || source.kind == Kind::kArchives;
  if (!has_columns && (!arguments.fields.empty() || !source.rows.path_column.empty())) {
    if (!places.empty() && KindOf(places[0]) == PlaceKind::kMissing)
      throw Error(ErrorCode::kNotFound, places[0], "does not exist");
    throw UsageError(
        "--field and --path-column need --table, or Parquet, TFRecord, RecordIO or .beton files as "
        "SOURCE");
  }
  for (const std::string& field : arguments.fields) {
    try {
      source.rows.columns.push_back(ParseColumn(field, stop));
    } catch (const UsageError& error) {
      throw UsageError(std::string("--field: ") + error.what());
    }
  }
  if (!arguments.classes.empty()) {
    const auto label =
        std::find_if(source.rows.columns.begin(), source.rows.columns.end(),
                     [](const Column& column) { return column.type == ColumnType::kClass; });
    if (label != source.rows.columns.end() && !label->classes.empty()) {
      throw UsageError("--classes and --field " + label->column +
                       "=class,classes=FILE both name the classes of this column; give only one");
    }
    source.label.classes = ReadClasses(arguments.classes, stop);
  }
  return source;
}

std::string NameOf(const SourceArguments& arguments) {
  if (!arguments.table.empty()) return arguments.table;
  if (!arguments.paths.empty()) return arguments.paths == "-" ? "a list" : arguments.paths;
  if (arguments.places[0] == "-") return "standard input";
  const std::size_t sources = arguments.places.size() - 1;
  return ShownPath(arguments.places[0]) +
         (sources > 1 ? " and " + std::to_string(sources - 1) + " more" : "");
}

}  // namespace sluice
