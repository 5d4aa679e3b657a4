// Turns the caller's source into the list of samples to convert.
//
// A folder, or a list of paths below one, is read here: files are looked into, and the folders that
// they lie in give the classes. Users arrange folders in many ways, so a layout that could be meant
// in two ways is refused with advice (RequireClear): images in the root and in folders, folders
// that are the parts of a split, YOLO's trees of images/ and labels/. All other kinds of sources
// have readers of their own (records/, labels/). Two things that all kinds have in common come
// last: a folder of masks, and a part of a split.
#include "writer/source/open_source.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <sluice/error.h>
#include <sluice/nearest_name.h>
#include <sluice/shown_path.h>

#include "format/disk/file.h"
#include "format/remote/object_store.h"
#include "writer/source/images/sniff.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/labels/masks.h"
#include "writer/source/labels/splits.h"
#include "writer/source/list/class_names.h"
#include "writer/source/list/dataset_classes.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/look.h"
#include "writer/source/list/paths.h"
#include "writer/source/list/store_files.h"
#include "writer/source/records/record_fields.h"
#include "writer/source/records/records.h"
#include "writer/text.h"

namespace sluice {

namespace {

// The class of a file, or of a folder given with '/' at its end, by the names of the folders it
// lies in; empty for a file that lies directly in the root.
std::string_view ClassOf(std::string_view key, FolderLabels labels) {
  const std::size_t end = key.rfind('/');
  if (end == std::string_view::npos) return {};
  const std::string_view folder = key.substr(0, end);
  return labels == FolderLabels::kParent ? folder.substr(folder.rfind('/') + 1)
                                         : folder.substr(0, folder.find('/'));
}

// Where the images lie, and which classes that gives.
struct Layout {
  // The folder (with '/' at its end) that holds everything, as an unpacked zip may leave it, and is
  // therefore not a class; empty if no folder does.
  std::string outer;
  std::optional<std::string> yolo;       // a folder with images/ and labels/, with '/' at its end
  std::optional<std::string> direct;     // the first image in the root
  std::optional<std::string> in_folder;  // the first image in a folder
  // The numbers of the classes by their names, which are names of folders below `outer`.
  std::map<std::string, std::int32_t> classes;
  // The top folders that hold images, and whether any image lies in a sub-folder of the top folder.
  std::map<std::string, bool> top;
};

// "a/" of "a/images/x/1.jpg" if the part is "images/"; nullopt if there is no such folder.
std::optional<std::string> Above(const std::string& key, std::string_view part) {
  for (std::size_t at = key.rfind(part); at != std::string::npos; at = key.rfind(part, at - 1)) {
    if (at == 0 || key[at - 1] == '/') return key.substr(0, at);
  }
  return std::nullopt;
}

// The first folder that has images in its images/ and texts in its labels/.
std::optional<std::string> YoloFolder(const FolderTree& tree, const std::vector<Look>& looks) {
  std::set<std::string> with_labels;
  for (const WalkedFile& file : tree.files) {
    if (!file.key.ends_with(".txt")) continue;
    if (std::optional<std::string> above = Above(file.key, "labels/")) with_labels.insert(*above);
  }
  for (std::size_t i = 0; i < tree.files.size() && !with_labels.empty(); ++i) {
    if (looks[i].sniffed.kind == ImageKind::kNone) continue;
    std::optional<std::string> above = Above(tree.files[i].key, "images/");
    if (above && with_labels.contains(*above)) return above;
  }
  return std::nullopt;
}

// The rest of a path inside of the folder; empty if it does not lie there.
std::string_view PathInside(std::string_view key, std::string_view outer) {
  return key.starts_with(outer) ? key.substr(outer.size()) : std::string_view();
}

Layout LayoutOf(const FolderTree& tree, const std::vector<Look>& looks, FolderLabels labels,
                std::string outer = {}) {
  Layout layout;
  layout.outer = std::move(outer);
  layout.yolo = YoloFolder(tree, looks);
  for (std::size_t i = 0; i < tree.files.size(); ++i) {
    if (!looks[i].trouble.empty() || looks[i].sniffed.kind == ImageKind::kNone) continue;
    const std::string key(PathInside(tree.files[i].key, layout.outer));
    const std::size_t slash = key.find('/');
    std::optional<std::string>& place =
        slash == std::string::npos ? layout.direct : layout.in_folder;
    if (!place) place = tree.files[i].key;
    if (slash == std::string::npos) continue;
    bool& nested = layout.top[key.substr(0, slash)];
    nested = nested || key.find('/', slash + 1) != std::string::npos;
    layout.classes.emplace(ClassOf(key, labels), 0);
  }
  // Folders without images are classes as well: for top (and auto), every outermost folder; for
  // parent, every folder that holds no folder.
  const bool top = labels != FolderLabels::kParent;
  for (auto folder = tree.folders.begin(); folder != tree.folders.end(); ++folder) {
    const auto inside = tree.folders.lower_bound(*folder + "/");
    const bool leaf = inside == tree.folders.end() || !inside->starts_with(*folder + "/");
    const std::string_view in_outer = PathInside(*folder, layout.outer);
    if (top ? !in_outer.empty() && in_outer.find('/') == std::string::npos : leaf) {
      layout.classes.emplace(ClassOf(std::string(in_outer) + "/", labels), 0);
    }
  }
  std::int32_t number = 0;
  for (auto& entry : layout.classes)
    entry.second = number++;
  return layout;
}

// The folder as an absolute path that ends with its name.
std::filesystem::path NamedFolder(const std::filesystem::path& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

// Whether the layout has a single top folder that may hold the classes instead of being one: an
// image lies deeper in it, and the caller has not named it as a class. (If an image also lies
// directly in it, ListOf() still takes it as a class.)
bool HasOuterFolder(const ConvertSource& source, const SourceList& list, const Layout& layout) {
  const bool one = source.label.store && source.label.folders == FolderLabels::kAuto &&
                   !layout.direct && layout.top.size() == 1 && layout.classes.size() == 1;
  if (!one) return false;
  const auto& [name, nested] = *layout.top.begin();
  const std::vector<std::string>& wanted = source.label.classes;
  if (!nested || std::find(wanted.begin(), wanted.end(), ToUtf8(name)) != wanted.end())
    return false;
  // A folder that is named like a part of a split is refused later, unless the source itself has
  // the same name (as in train/train).
  return !IsSplitName(name) || NamedFolder(list.root).filename() == name;
}

constexpr const char* kChoices =
    "--labels top (the outermost folder), parent (the innermost) or none";

// Refuses a layout that could be meant in several ways.
void RequireClear(const ConvertSource& source, const SourceList& list, const Layout& layout) {
  if (!source.label.store || source.label.folders != FolderLabels::kAuto) return;
  if (layout.yolo) {
    const std::string root = list.root.string();
    throw Error(ErrorCode::kInvalidArgument, root,
                "holds " + ToUtf8(*layout.yolo) + "images/ and " + ToUtf8(*layout.yolo) +
                    "labels/ with texts, as YOLO's datasets do; --yolo " + root + " " + root +
                    " reads the labels (with --split-folders if there are several such folders); "
                    "or say what the classes are with " +
                    kChoices);
  }
  if (layout.direct && layout.in_folder) {
    throw Error(ErrorCode::kInvalidArgument, list.root.string(),
                "holds images both directly (" + ToUtf8(*layout.direct) + ") and in sub-folders (" +
                    ToUtf8(*layout.in_folder) +
                    "), so its classes are unclear; say what they are with " + kChoices);
  }
  std::vector<TopFolder> folders;
  std::vector<std::string> names;
  for (const auto& [name, nested] : layout.top) {
    folders.push_back({name, nested});
    names.push_back(layout.outer + name);
  }
  if (folders.empty() || !LookLikeSplit(folders)) return;
  const bool one = names.size() == 1;
  throw Error(ErrorCode::kInvalidArgument, list.root.string(),
              "holds " + FolderNames(names) + ", which " +
                  (one ? "looks like a part of a split and not like a class; make a dataset of it"
                       : "look like the parts of a split and not like classes; make a dataset of "
                         "each") +
                  " (--split-folders" +
                  (layout.outer.empty() ? "" : " with SOURCE/" + ToUtf8(layout.outer)) +
                  "), or say what the classes are with " + kChoices);
}

// Sorts the files into sources, broken files and files that are not images.
void Sort(FolderTree& tree, const std::vector<Look>& looks, const Layout& layout,
          FolderLabels labels, SourceList& list) {
  for (std::size_t i = 0; i < tree.files.size(); ++i) {
    std::string& key = tree.files[i].key;
    if (!TakeOrLeave(looks[i], key, list)) continue;
    std::int32_t label = 0;
    if (list.labelled) {
      const auto found =
          layout.classes.find(std::string(ClassOf(PathInside(key, layout.outer), labels)));
      if (found == layout.classes.end()) {
        list.broken.push_back(
            {key, "lies in no folder that would be its class; --labels none takes it"});
        continue;
      }
      label = found->second;
    }
    list.sources.push_back({std::move(key), looks[i].bytes, label});
    list.sources.back().changed = looks[i].changed;
  }
}

template <class Entry, class Member>
void SortBy(std::vector<Entry>& entries, Member member) {
  std::sort(entries.begin(), entries.end(),
            [member](const Entry& a, const Entry& b) { return a.*member < b.*member; });
}

// Gives the classes their final numbers; so far, they have the order of their names' bytes.
void NumberClasses(const ConvertSource& source, const Layout& layout, SourceList& list) {
  const std::set<std::string> wanted(source.label.classes.begin(), source.label.classes.end());
  ClassNames names(source.label.classes);
  std::vector<std::int32_t> added;
  for (const auto& [folder, number] : layout.classes) {
    const std::string name = ToUtf8(folder);
    // A folder must have the name of its class; the class's number is not accepted.
    if (!wanted.empty() && !wanted.contains(name)) {
      throw Error(ErrorCode::kInvalidArgument, (list.root / layout.outer / folder).string(),
                  "the sub-folder is not one of the " + std::to_string(wanted.size()) +
                      (source.label.classes_of.empty()
                           ? " given classes"
                           : " classes of " + ShownPath(source.label.classes_of.native())) +
                      NamesInstead(name, source.label.classes, "these are"));
    }
    added.push_back(*names.Add(folder));
  }
  names.Settle({list.root, "the folders",
                "if all names are whole numbers, --numbers keeps them, as in a table"},
               list.warnings, source.label.numbers ? Numbering::kNumbers : Numbering::kNames);
  for (Source& one : list.sources)
    one.label = names.NumberOf(added[static_cast<std::size_t>(one.label)]);
  list.classes = names.Names();
}

// Warns of classes with sub-folders: these may be the classes that were meant.
void WarnOfInnerFolders(const Layout& layout, SourceList& list) {
  if (!layout.outer.empty()) {
    list.warnings.push_back(ToUtf8(layout.outer) +
                            " holds all images, so it is not a class; the folders in it are the "
                            "classes (--labels top makes the outermost folder the class)");
  }
  std::map<std::string, std::string> inner;  // the first in each top folder
  for (const Source& source : list.sources) {
    const std::size_t top = source.key.find('/', layout.outer.size());
    const std::size_t end = source.key.find('/', top + 1);
    if (end != std::string::npos) {
      inner.emplace(source.key.substr(0, top), source.key.substr(0, end + 1));
    }
  }
  if (inner.empty()) return;
  std::vector<std::string> outer;
  for (const auto& [top, first] : inner)
    outer.push_back(top);
  const bool one = outer.size() == 1;
  list.warnings.push_back(
      FolderNames(outer) +
      (one ? " holds folders of its own, such as " : " hold folders of their own, such as ") +
      ToUtf8(inner.begin()->second) + ", and " +
      (one ? "is a class itself" : "are classes themselves") +
      "; to say what the classes are, use " + kChoices);
}

// Warns of names that hold a path of Windows. Their folders, which are the classes, are lost.
void WarnOfBackslashes(SourceList& list) {
  const auto has_one = [](const Source& source) {
    return source.key.find('\\') != std::string::npos;
  };
  const auto first = std::find_if(list.sources.begin(), list.sources.end(), has_one);
  if (first == list.sources.end()) return;
  const auto count = std::count_if(first, list.sources.end(), has_one);
  list.warnings.push_back(
      std::to_string(count) + (count == 1 ? " image has" : " images have") +
      " a \\ in the name, such as " + ToUtf8(first->key) +
      ": a zip from Windows, probably, that was unpacked without its folders; unpack it again with "
      "`unzip` or `7z x`, which keep the folders, because the folders are the classes");
}

// Warns if another part of the same split, as train/ next to val/, has classes that are missing
// here. One class then has different numbers in the two, unless both get the same list.
void WarnOfOtherParts(const ConvertSource& source, SourceList& list) {
  if (!list.labelled || list.store != nullptr || source.label.numbers ||
      !source.label.classes.empty())
    return;
  const std::filesystem::path root = NamedFolder(list.root);
  if (!IsSplitName(root.filename().string())) return;
  std::map<std::string, std::size_t> here;
  for (std::size_t number = 0; number < list.classes.size(); ++number)
    here.emplace(list.classes[number], number);
  std::map<std::string, std::string> lacking;  // part -> its first class that is missing here
  std::error_code ignored;
  for (const auto& part : std::filesystem::directory_iterator(root.parent_path(), ignored)) {
    const std::string name = part.path().filename().string();
    if (name == root.filename() || !IsSplitName(name)) continue;
    std::set<std::string> classes;
    for (const auto& folder : std::filesystem::directory_iterator(part.path(), ignored)) {
      const std::string of = ToUtf8(folder.path().filename().string());
      if (!FindIgnoredPart(of + "/") && folder.is_directory(ignored)) classes.insert(of);
    }
    std::string missing;
    std::size_t number = 0;  // of the class in that part
    for (const std::string& one : classes) {
      const auto found = here.find(one);
      if (found == here.end() && missing.empty()) missing = one;
      if (found != here.end() && !missing.empty() && found->second != number)
        lacking[name] = missing;
      ++number;
    }
  }
  if (lacking.empty()) return;
  const auto& [name, missing] = *lacking.begin();
  list.warnings.push_back(
      ToUtf8(name) + "/ next to this folder has the class " + missing +
      ", which is missing here, so some classes have other numbers here than there; give both the "
      "same list (--classes or --classes-of), or convert both with --split-folders");
}

SourceList ListOf(const ConvertSource& source, SourceList list, FolderTree tree, unsigned threads,
                  const ConvertHooks& hooks) {
  std::vector<Look> looks(tree.files.size());
  LookIntoAll(list, threads, looks.size(), hooks, [&](std::size_t i) {
    looks[i] = LookInto(list, tree.files[i].key, tree.files[i].bytes);
  });

  Layout layout = LayoutOf(tree, looks, source.label.folders);
  while (HasOuterFolder(source, list, layout)) {
    Layout inner =
        LayoutOf(tree, looks, source.label.folders, layout.outer + layout.top.begin()->first + "/");
    if (inner.direct) break;
    layout = std::move(inner);
  }
  RequireClear(source, list, layout);
  list.broken = std::move(tree.broken);
  list.passed_over = std::move(tree.passed_over);
  list.warnings = std::move(tree.warnings);
  const bool flat = source.label.folders == FolderLabels::kAuto && layout.direct;
  list.labelled = source.label.store && !flat;
  Sort(tree, looks, layout, source.label.folders, list);
  RequireImages(list.root, list);
  list.fields.push_back({Field::Image(), Feed::kImage});
  if (list.labelled) {
    list.fields.push_back({Field::Label(), Feed::kLabel});
    NumberClasses(source, layout, list);
    if (source.label.folders == FolderLabels::kAuto) WarnOfInnerFolders(layout, list);
  } else if (source.label.store) {
    for (const auto& entry : layout.classes) {
      list.warnings.push_back(
          ToUtf8(entry.first) +
          ": the sub-folder has no image and is not a class, because the images lie next to it");
    }
  }
  WarnOfBackslashes(list);
  SortBy(list.broken, &LeftOut::path);
  SortBy(list.passed_over, &LeftOut::path);
  return list;
}

}  // namespace

SourceList ScanFolder(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(source.root, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, source.root.string(),
                "is a file, not a folder of images; give files that hold images (tar, Parquet, "
                ".beton and others) to ConvertSource::Archives(), and a table to "
                "ConvertSource::Table()");
  }
  SourceList list;
  list.SetRoot(source.root, hooks.stop);
  FolderTree tree = list.store != nullptr
                        ? list.store->List()
                        : WalkFolder(source.root, {source.follow_links}, hooks.stop);
  list = ListOf(source, std::move(list), std::move(tree), threads, hooks);
  WarnOfOtherParts(source, list);
  SortBy(list.sources, &Source::key);
  return list;
}

SourceList ScanPaths(const ConvertSource& source, const std::vector<std::string>& paths,
                     unsigned threads, const ConvertHooks& hooks) {
  SourceList list;
  list.SetRoot(source.root, hooks.stop);
  FolderTree tree;
  IgnoredFiles ignored;
  LinksOut links(list.root, source.follow_links);
  const RootPath root(list.root);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::optional<std::string> key = root.KeyOf(paths[i]);
    if (!key) {
      throw Error(ErrorCode::kInvalidArgument, list.root.string(),
                  "path " + std::to_string(i + 1) + " of the list, " + ToUtf8(paths[i]) +
                      ", does not lie in this folder");
    }
    if (ignored.Take(*key, tree.passed_over) || links.Take(*key, *key, tree.passed_over)) continue;
    AddFoldersOf(*key, tree.folders);
    tree.files.push_back({std::move(*key), kUnknownBytes});
  }
  links.Warn(tree.warnings);
  list = ListOf(source, std::move(list), std::move(tree), threads, hooks);
  WarnOfRepeats(list);
  return list;
}

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

ConvertSource SourceAt(const std::filesystem::path& place) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(place, ignored)) return {place};
  return IsTableName(place) ? ConvertSource::Table(place) : ConvertSource::Archives({place});
}

void CheckSource(const ConvertSource& source) {
  const auto require = [](bool holds, const std::string& sentence) {
    if (!holds) throw Error(ErrorCode::kInvalidArgument, sentence);
  };
  require(source.kind != Kind::kArchives || !source.archives.empty(), "give at least one archive");
  require(source.kind != Kind::kArchives || source.mask_folder.empty(),
          "mask_folder is for image files; an archive has its masks inside, as KEY.mask.png");
  require(source.kind == Kind::kTable || !source.rows.group,
          "rows.group (--group) needs a table as the source");
  require(source.kind != Kind::kAnnotations || source.label.store,
          "label files are given, but label.store is false (--no-labels)");
  require(source.kind == Kind::kTable || source.kind == Kind::kArchives ||
              (source.rows.columns.empty() && source.rows.path_column.empty()),
          "rows.columns and rows.path_column (--field, --path-column) need a table, or Parquet, "
          "TFRecord, RecordIO or .beton files as the source");
  require(source.split.by.empty() || source.kind == Kind::kTable || source.kind == Kind::kArchives,
          "split.by (--split-by) needs a table, or Parquet, TFRecord, RecordIO or .beton files as "
          "the source");
  require(source.split.begin >= 0 && source.split.begin < source.split.end && source.split.end <= 1,
          "a part of a split must lie between 0 and 1 and not be empty");
  require(source.kind != Kind::kAnnotations ||
              source.label_files.format != AnnotationFormat::kYolo ||
              !IsStoreUrl(source.root.native()),
          "YOLO's labels are for images in a folder; bring them to a local disk");
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
  require(!source.label.numbers || source.kind == Kind::kFolder || source.kind == Kind::kPaths,
          "label.numbers needs a folder or a list of paths as the source; whole numbers in tables "
          "and archives are the classes' numbers anyway");
  require(source.label.folders == FolderLabels::kAuto || source.kind == Kind::kFolder ||
              source.kind == Kind::kPaths,
          "label.folders (--labels top or parent) needs a folder or a list of paths as the "
          "source");
  for (const Column& column : source.rows.columns) {
    const bool label = FieldOfColumn(column, false).role == Role::kLabel;
    require(source.label.store || !label,
            "the column \"" + ToUtf8(column.column) +
                "\" holds classes, but label.store is false (--no-labels)");
  }
  std::set<std::string> names;
  for (const std::string& name : source.label.classes) {
    require(ToUtf8(name) == name, "the class " + ToUtf8(name) + " is not UTF-8");
    require(names.insert(name).second, "the class " + name + " was given twice");
  }
}

namespace {

// All files must be of the first one's kind; the reader of that kind refuses the others.
SourceList OpenArchives(const ConvertSource& source, unsigned threads,
                        const std::stop_token& stop) {
  const FileHandle file = OpenForReading(source.archives.front());
  std::array<std::byte, kBetonStartBytes> start{};
  const Bytes begin = Bytes(start).first(ReadAt(file, source.archives.front(), 0, start));
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
  if (!source.rows.columns.empty() || !source.rows.path_column.empty() ||
      !source.split.by.empty()) {
    throw Error(ErrorCode::kInvalidArgument, source.archives.front().string(),
                "is an archive without columns, so --field, --path-column and --split-by do not "
                "apply; the names of its members say what each member is");
  }
  return ReadArchives(source, threads, stop);
}

}  // namespace

SourceList OpenSource(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks) {
  if (!source.label.classes_of.empty() && source.label.classes.empty()) {
    ConvertSource named = source;
    named.label.classes = ClassesOfDataset(source.label.classes_of, hooks.stop).label;
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
  if (!source.mask_folder.empty()) AddMaskFolder(source, threads, hooks.stop, list);
  list.upright = source.upright;
  if (source.split.begin > 0 || source.split.end < 1) TakeSplit(source, list);
  return list;
}

}  // namespace sluice
