#include "writer/source/folder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "writer/source/labels/splits.h"
#include "writer/source/list/class_names.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/look.h"
#include "writer/source/list/paths.h"
#include "writer/source/list/store_files.h"
#include "writer/text.h"

namespace sluice {

namespace {

// The class that the folders' names give the file or, with the file's name cut off, the folder;
// empty for a file that lies directly in the root.
std::string_view ClassOf(std::string_view key, FolderLabels labels) {
  const std::size_t end = key.rfind('/');
  if (end == std::string_view::npos) return {};
  const std::string_view folder = key.substr(0, end);
  switch (labels) {
    case FolderLabels::kPath: return folder;
    case FolderLabels::kParent: return folder.substr(folder.rfind('/') + 1);
    default: return folder.substr(0, folder.find('/'));
  }
}

// Where the images lie, and which classes that gives.
struct Layout {
  std::optional<std::string> yolo;       // a folder with images/ and labels/, with '/' at its end
  std::optional<std::string> direct;     // the first image in the root
  std::optional<std::string> in_folder;  // the first one elsewhere
  std::map<std::string, std::int32_t> classes;
  std::map<std::string, bool> top;  // folders that hold images: whether in folders of their own
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

Layout LayoutOf(const FolderTree& tree, const std::vector<Look>& looks, FolderLabels labels) {
  Layout layout;
  layout.yolo = YoloFolder(tree, looks);
  for (std::size_t i = 0; i < tree.files.size(); ++i) {
    if (!looks[i].trouble.empty() || looks[i].sniffed.kind == ImageKind::kNone) continue;
    const std::string& key = tree.files[i].key;
    const std::size_t slash = key.find('/');
    std::optional<std::string>& place =
        slash == std::string::npos ? layout.direct : layout.in_folder;
    if (!place) place = key;
    if (slash == std::string::npos) continue;
    bool& nested = layout.top[key.substr(0, slash)];
    nested = nested || key.find('/', slash + 1) != std::string::npos;
    layout.classes.emplace(ClassOf(key, labels), 0);
  }
  // A folder without images is a class all the same, unless it is there to hold others.
  const bool top = labels == FolderLabels::kAuto || labels == FolderLabels::kTop;
  for (auto folder = tree.folders.begin(); folder != tree.folders.end(); ++folder) {
    const auto inside = tree.folders.lower_bound(*folder + "/");
    const bool leaf = inside == tree.folders.end() || !inside->starts_with(*folder + "/");
    if (top ? folder->find('/') == std::string::npos : leaf) {
      layout.classes.emplace(ClassOf(*folder + "/", labels), 0);
    }
  }
  std::int32_t number = 0;
  for (auto& entry : layout.classes)
    entry.second = number++;
  return layout;
}

constexpr const char* kChoices =
    "--labels top (the outermost folder), parent (the innermost), path (all of them) or none";

// Refuses what could be meant in several ways.
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
    names.push_back(name);
  }
  if (folders.empty() || !LookLikeSplit(folders)) return;
  const bool one = names.size() == 1;
  throw Error(ErrorCode::kInvalidArgument, list.root.string(),
              "holds " + FolderNames(names) + ", which " +
                  (one ? "looks like a part of a split and not like a class; make a dataset of it"
                       : "look like the parts of a split and not like classes; make a dataset of "
                         "each") +
                  " (--split-folders), or say what the classes are with " + kChoices);
}

// Sorts the files into sources, broken files and files that are not images.
void Sort(FolderTree& tree, const std::vector<Look>& looks, const Layout& layout,
          FolderLabels labels, SourceList& list) {
  for (std::size_t i = 0; i < tree.files.size(); ++i) {
    std::string& key = tree.files[i].key;
    if (!TakeOrLeave(looks[i], key, list)) continue;
    std::int32_t label = 0;
    if (list.labelled) {
      const auto found = layout.classes.find(std::string(ClassOf(key, labels)));
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

// Numbers the classes, which are numbered in the order of their names' bytes so far.
void NumberClasses(const ConvertSource& source, const Layout& layout, SourceList& list) {
  const std::set<std::string> wanted(source.label.classes.begin(), source.label.classes.end());
  ClassNames names(source.label.classes);
  std::vector<std::int32_t> added;
  for (const auto& [folder, number] : layout.classes) {
    const std::string name = ToUtf8(folder);
    // A folder is called as its class is; the class's number would not do.
    if (!wanted.empty() && !wanted.contains(name)) {
      throw Error(ErrorCode::kInvalidArgument, (list.root / folder).string(),
                  "the sub-folder is not one of the " + std::to_string(wanted.size()) +
                      (source.label.classes_of.empty()
                           ? " given classes"
                           : " classes of " + ShownPath(source.label.classes_of.native())));
    }
    added.push_back(*names.Add(folder));
  }
  names.Settle({list.root, "the folders", "--numbers keeps the numbers, as of a table's classes"},
               list.warnings, source.label.numbers ? Numbering::kNumbers : Numbering::kNames);
  for (Source& one : list.sources)
    one.label = names.NumberOf(added[static_cast<std::size_t>(one.label)]);
  list.classes = names.Names();
}

// Classes that have folders of their own: these may be the classes that were meant.
void WarnOfInnerFolders(SourceList& list) {
  std::map<std::string, std::string> inner;  // the first in each top folder
  for (const Source& source : list.sources) {
    const std::size_t top = source.key.find('/');
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

SourceList ListOf(const ConvertSource& source, SourceList list, FolderTree tree, unsigned threads,
                  const ConvertHooks& hooks) {
  std::vector<Look> looks(tree.files.size());
  LookIntoAll(list, threads, looks.size(), hooks, [&](std::size_t i) {
    looks[i] = LookInto(list, tree.files[i].key, tree.files[i].bytes);
  });

  const Layout layout = LayoutOf(tree, looks, source.label.folders);
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
    if (source.label.folders == FolderLabels::kAuto) WarnOfInnerFolders(list);
  } else if (source.label.store) {
    for (const auto& entry : layout.classes) {
      list.warnings.push_back(
          ToUtf8(entry.first) +
          ": the sub-folder has no image and is not a class, because the images lie beside it");
    }
  }
  SortBy(list.broken, &LeftOut::path);
  SortBy(list.passed_over, &LeftOut::path);
  return list;
}

}  // namespace

SourceList ScanFolder(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks) {
  SourceList list;
  list.SetRoot(source.root, hooks.stop);
  FolderTree tree = list.store != nullptr
                        ? list.store->List()
                        : WalkFolder(source.root, source.follow_links, hooks.stop);
  list = ListOf(source, std::move(list), std::move(tree), threads, hooks);
  SortBy(list.sources, &Source::key);
  return list;
}

SourceList ScanPaths(const ConvertSource& source, const std::vector<std::string>& paths,
                     unsigned threads, const ConvertHooks& hooks) {
  SourceList list;
  list.SetRoot(source.root, hooks.stop);
  FolderTree tree;
  IgnoredFiles ignored;
  const RootPath root(list.root);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::optional<std::string> key = root.KeyOf(paths[i]);
    if (!key) {
      throw Error(ErrorCode::kInvalidArgument, list.root.string(),
                  "path " + std::to_string(i + 1) + " of the list, " + ToUtf8(paths[i]) +
                      ", does not lie in this folder");
    }
    if (ignored.Take(*key, tree.passed_over)) continue;
    AddFoldersOf(*key, tree.folders);
    tree.files.push_back({std::move(*key), kUnknownBytes});
  }
  list = ListOf(source, std::move(list), std::move(tree), threads, hooks);
  WarnOfRepeats(list);
  return list;
}

}  // namespace sluice
