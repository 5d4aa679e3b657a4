#include "writer/source/open_source.h"

#include <algorithm>
#include <array>
#include <set>

#include <unistd.h>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/disk/file.h"
#include "format/remote/object_store.h"
#include "format/remote/remote_manifest.h"
#include "writer/source/folder.h"
#include "writer/source/images/sniff.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/labels/masks.h"
#include "writer/source/labels/splits.h"
#include "writer/source/records/records.h"
#include "writer/source/records/row_fields.h"
#include "writer/text.h"

namespace sluice {

using Kind = ConvertSource::Kind;

ConvertSource ConvertSource::Table(std::filesystem::path file) {
  ConvertSource source{std::filesystem::path()};
  source.kind = Kind::kTable;
  source.table = std::move(file);
  return source;
}

ConvertSource ConvertSource::Paths(std::vector<std::string> paths, std::filesystem::path root) {
  ConvertSource source(std::move(root));
  source.kind = Kind::kPaths;
  source.paths = std::move(paths);
  return source;
}

ConvertSource ConvertSource::Archives(std::vector<std::filesystem::path> files) {
  ConvertSource source{std::filesystem::path()};
  source.kind = Kind::kArchives;
  source.archives = std::move(files);
  return source;
}

ConvertSource ConvertSource::Annotated(AnnotationFormat format, std::filesystem::path annotations,
                                       std::filesystem::path root) {
  ConvertSource source(std::move(root));
  source.kind = Kind::kAnnotations;
  source.label_files.format = format;
  source.label_files.path = std::move(annotations);
  return source;
}

void CheckSource(const ConvertSource& source) {
  const auto require = [](bool holds, const std::string& sentence) {
    if (!holds) throw Error(ErrorCode::kInvalidArgument, sentence);
  };
  require(source.kind != Kind::kArchives || !source.archives.empty(), "give at least one archive");
  require(source.kind != Kind::kArchives || source.mask_folder.empty(),
          "mask_folder is for image files; an archive has its masks inside, as KEY.mask.png");
  require(source.kind == Kind::kTable || !source.rows.group,
          "group needs a table, and none was given");
  require(source.kind != Kind::kAnnotations || source.label.store,
          "label files are given, but labels are not to be stored");
  require(source.kind == Kind::kTable || source.kind == Kind::kArchives ||
              (source.rows.columns.empty() && source.rows.path_column.empty()),
          "columns need a table, and none was given");
  require(source.split.begin >= 0 && source.split.begin < source.split.end && source.split.end <= 1,
          "a part of a split must lie between 0 and 1 and not be empty");
  require(source.kind != Kind::kAnnotations ||
              source.label_files.format != AnnotationFormat::kYolo ||
              !IsStoreUrl(source.root.native()),
          "YOLO's labels are for images in a folder; bring them to a local disk");
  const bool named = !source.label.classes.empty() || !source.label.classes_of.empty();
  require(source.label.store || !(named || source.label.numbers),
          "classes are given, but labels are not to be stored");
  require(source.label.classes.empty() || source.label.classes_of.empty(),
          "classes are given, and a dataset whose classes they are; give one of them");
  require(!source.label.numbers || !named,
          "classes are given, and so the folders' names do not number them");
  require(!source.label.numbers || source.kind == Kind::kFolder || source.kind == Kind::kPaths,
          "folders' names as the classes' numbers need a folder or a list of paths as the source; "
          "whole numbers in tables and archives are the classes' numbers anyway");
  require(source.label.folders == FolderLabels::kAuto || source.kind == Kind::kFolder ||
              source.kind == Kind::kPaths,
          "labels from folders' names need a folder or a list of paths as the source");
  for (const Column& column : source.rows.columns) {
    const bool label = FieldOfColumn(column, false).role == Role::kLabel;
    require(source.label.store || !label, "the column \"" + ToUtf8(column.column) +
                                              "\" holds classes, but labels are not to be stored");
  }
  std::set<std::string> names;
  for (const std::string& name : source.label.classes) {
    require(ToUtf8(name) == name, "the class " + ToUtf8(name) + " is not UTF-8");
    require(names.insert(name).second, "the class " + name + " was given twice");
  }
}

namespace {

// All files are of the first one's kind; another reader says what is wrong with the others.
SourceList OpenArchives(const ConvertSource& source, unsigned threads,
                        const std::stop_token& stop) {
  const FileHandle file = OpenForReading(source.archives.front());
  std::array<std::byte, kBetonStartBytes> start{};
  const ssize_t got = read(file.get(), start.data(), start.size());
  const Bytes begin = Bytes(start).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (AsText(begin).starts_with("PAR1")) return ReadParquet(source, stop);
  if (IsTfRecord(begin)) return ReadTfRecords(source, stop);
  if (IsRecordIo(begin)) return ReadRecordIo(source, stop);
  if (IsBeton(begin)) return ReadBeton(source, stop);
  const std::string name = source.archives.front().string();
  if (begin.empty()) throw Error(ErrorCode::kCorrupt, name, "is empty");
  const ImageKind kind = Sniff(begin).kind;
  if (kind == ImageKind::kJpeg || kind == ImageKind::kPng) {
    throw Error(ErrorCode::kInvalidArgument, name,
                "is an image, and not a file that holds images; give its folder, or a list of "
                "images (--paths)");
  }
  if (!source.rows.columns.empty() || !source.rows.path_column.empty()) {
    throw Error(ErrorCode::kInvalidArgument, source.archives.front().string(),
                "is an archive without columns; its members' names say what they are");
  }
  return ReadArchives(source, threads, stop);
}

}  // namespace

namespace {

std::vector<std::string> ClassesOfDataset(const std::filesystem::path& dataset) {
  Id128 id;
  const Schema schema = IsStoreUrl(dataset.native())
                            ? ReadManifest(*OpenStore(dataset.native()), id).schema
                            : ReadManifest(dataset, id).schema;
  const std::size_t field = schema.ClassField();
  if (field != Schema::kNone) return schema.fields[field].classes;
  throw Error(ErrorCode::kInvalidArgument, ShownPath(dataset.native()),
              "has no field with classes, and cannot number those of another dataset");
}

}  // namespace

SourceList OpenSource(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks) {
  if (!source.label.classes_of.empty() && source.label.classes.empty()) {
    ConvertSource named = source;
    named.label.classes = ClassesOfDataset(source.label.classes_of);
    return OpenSource(named, threads, hooks);
  }
  SourceList list;
  switch (source.kind) {
    case Kind::kFolder: list = ScanFolder(source, threads, hooks); break;
    case Kind::kTable: list = ReadTable(source, threads, hooks); break;
    case Kind::kPaths: list = ScanPaths(source, source.paths, threads, hooks); break;
    case Kind::kAnnotations: list = ReadAnnotations(source, threads, hooks); break;
    case Kind::kArchives: list = OpenArchives(source, threads, hooks.stop); break;
  }
  if (!source.mask_folder.empty()) AddMaskFolder(source.mask_folder, threads, hooks.stop, list);
  list.upright = source.upright;
  if (source.split.begin > 0 || source.split.end < 1) TakeSplit(source, list);
  return list;
}

}  // namespace sluice
