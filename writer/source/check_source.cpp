#include "writer/source/check_source.h"

#include <algorithm>
#include <set>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "writer/text.h"

namespace sluice {

namespace {

bool LiesIn(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  const auto [end_of_outer, unused] =
      std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end_of_outer == outer.end();
}

}  // namespace

void CheckSource(const ConvertSource& source) {
  const auto require = [](bool holds, const std::string& sentence) {
    if (!holds) throw Error(ErrorCode::kInvalidArgument, sentence);
  };
  using Kind = ConvertSource::Kind;
  const bool archives = source.kind == Kind::kArchives;
  const bool table = source.kind == Kind::kTable;
  const bool folders = source.kind == Kind::kFolder || source.kind == Kind::kPaths;
  const bool annotated = source.kind == Kind::kAnnotations;
  require(!archives || !source.archives.empty(), "give at least one archive");
  require(!archives || source.mask_folder.empty(),
          "mask_folder is for image files; an archive has its masks inside, as KEY.mask.png");
  require(table || !source.rows.group, "rows.group (--group) needs a table as the source");
  require(!annotated || source.label.store,
          "label files are given, but label.store is false (--no-labels)");
  require(table || archives || (source.rows.columns.empty() && source.rows.path_column.empty()),
          "rows.columns and rows.path_column (--field, --path-column) need a table, or Parquet, "
          "TFRecord, RecordIO or .beton files as the source");
  require(source.split.by.empty() || table || archives,
          "split.by (--split-by) needs a table, or Parquet, TFRecord, RecordIO or .beton files as "
          "the source");
  require(source.split.begin >= 0 && source.split.begin < source.split.end && source.split.end <= 1,
          "a part of a split must lie between 0 and 1 and not be empty");
  const bool named = !source.label.classes.empty() || !source.label.classes_of.empty();
  require(source.label.store || !(named || source.label.numbers),
          "classes are given (label.classes, label.classes_of or label.numbers), but label.store "
          "is false (--no-labels)");
  require(source.label.classes.empty() || source.label.classes_of.empty(),
          "both label.classes and label.classes_of (a dataset to take the classes from) are given; "
          "give one");
  require(!source.label.numbers || !named,
          "label.numbers takes the classes' numbers from the folders' names, so it excludes "
          "label.classes and label.classes_of, which number the classes, too");
  require(!source.label.numbers || folders,
          "label.numbers needs a folder or a list of paths as the source; whole numbers in tables "
          "and archives are the classes' numbers anyway");
  require(source.label.folders == FolderLabels::kAuto || folders,
          "label.folders (--labels top or parent) needs a folder or a list of paths as the "
          "source");
  for (const Column& column : source.rows.columns) {
    require(source.label.store || !HasClasses(column.type),
            "the column \"" + ToUtf8(column.column) +
                "\" holds classes, but label.store is false (--no-labels)");
  }
  std::set<std::string> names;
  for (const std::string& name : source.label.classes) {
    require(ToUtf8(name) == name, "the class " + ToUtf8(name) + " is not UTF-8");
    require(names.insert(name).second, "the class " + name + " was given twice");
  }
}

void CheckFoldersApart(const ConvertSource& source, const std::filesystem::path& dataset) {
  if (source.kind != ConvertSource::Kind::kFolder) return;
  const auto refuse = [&dataset] {
    throw Error(ErrorCode::kInvalidArgument, ShownPath(dataset.native()),
                "the dataset would be inside the source folder and become part of it; choose a "
                "folder elsewhere");
  };
  if (IsStoreUrl(source.root.native())) {
    if ((ShownPath(dataset.native()) + "/").starts_with(ShownPath(source.root.native()) + "/"))
      refuse();
    return;
  }
  std::error_code error;
  const std::filesystem::path from = std::filesystem::canonical(source.root, error);
  if (error) return;  // the scan reports what is wrong with the source
  std::filesystem::path to = std::filesystem::weakly_canonical(std::filesystem::absolute(dataset));
  if (!to.has_filename()) to = to.parent_path();
  if (LiesIn(to, from)) refuse();
}

}  // namespace sluice
