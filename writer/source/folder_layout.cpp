// Users arrange folders in many ways, so a layout that could be meant in two ways is refused with
// advice (RequireClear): images in the root and in folders, folders that are the parts of a split,
// trees of images/ and labels/ as YOLO's, or labelTxt/ as DOTA's. Whether a file is an image, its
// content says; so all files are looked into before the layout is judged.
#include "writer/source/folder_layout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <sluice/convert_option_list.h>
#include <sluice/error.h>
#include <sluice/nearest_name.h>
#include <sluice/shown_path.h>

#include "writer/source/labels/split_folders.h"
#include "writer/source/list/class_names.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/list_checks.h"
#include "writer/source/list/look.h"
#include "writer/source/list/paths.h"
#include "writer/source/list/store_files.h"
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

// A folder, with '/' at its end, that holds images/ and a folder of label files of that format.
struct LabelledFolder {
  std::string folder;
  AnnotationFormat format = AnnotationFormat::kYolo;
};

// Where the images lie, and which classes that gives.
struct Layout {
  // The folder (with '/' at its end) that holds everything, as an unpacked zip may leave it, and is
  // therefore not a class; empty if no folder does.
  std::string outer;
  std::optional<LabelledFolder> labelled;
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

// The first folder that has images in its images/, and texts in its labels/ or labelTxt/.
std::optional<LabelledFolder> FindLabelledFolder(const FolderTree& tree,
                                                 const std::vector<Look>& looks) {
  std::map<std::string, AnnotationFormat> with_labels;
  for (const WalkedFile& file : tree.files) {
    if (!file.key.ends_with(".txt")) continue;
    for (const AnnotationFormat format : {AnnotationFormat::kYolo, AnnotationFormat::kDota}) {
      const std::string labels = std::string(TreeOf(format).labels) + "/";
      if (std::optional<std::string> above = Above(file.key, labels))
        with_labels.emplace(*above, format);
    }
  }
  for (std::size_t i = 0; i < tree.files.size() && !with_labels.empty(); ++i) {
    if (looks[i].sniffed.kind == ImageKind::kNone) continue;
    std::optional<std::string> above = Above(tree.files[i].key, "images/");
    const auto found = above ? with_labels.find(*above) : with_labels.end();
    if (found != with_labels.end()) return LabelledFolder{found->first, found->second};
  }
  return std::nullopt;
}

// The rest of a path inside of the folder; empty if it does not lie there.
std::string_view PathInside(std::string_view key, std::string_view outer) {
  return key.starts_with(outer) ? key.substr(outer.size()) : std::string_view();
}

constexpr const char* kChoices =
    "--labels top (the outermost folder), parent (the innermost) or none";

// Looks into the files, decides what the layout means, and gives each image its class.
class FolderReader {
 public:
  FolderReader(const ConvertSource& source, SourceList list, FolderTree tree)
      : source_(source),
        list_(std::move(list)),
        tree_(std::move(tree)),
        looks_(tree_.files.size()),
        root_(NamedFolder(list_.root)) {}

  SourceList Run(unsigned threads, const ConvertHooks& hooks) {
    LookIntoAll(list_, threads, looks_.size(), hooks, [this](std::size_t i) {
      looks_[i] = LookInto(list_, tree_.files[i].key, tree_.files[i].bytes);
    });
    layout_ = LayoutIn({});
    while (HasOuterFolder()) {
      Layout inner = LayoutIn(layout_.outer + layout_.top.begin()->first + "/");
      if (inner.direct) break;
      layout_ = std::move(inner);
    }
    RequireClear();
    list_.broken = std::move(tree_.broken);
    list_.passed_over = std::move(tree_.passed_over);
    list_.warnings = std::move(tree_.warnings);
    const bool by_default = source_.label.folders == FolderLabels::kAuto;
    list_.labelled = source_.label.store && !(by_default && layout_.direct);
    Sort();
    RequireImages(list_.root, list_);
    list_.fields.push_back({Field::Image(), Feed::kImage});
    if (list_.labelled) {
      list_.fields.push_back({Field::Label(), Feed::kLabel});
      NumberClasses();
      if (by_default) WarnOfInnerFolders();
    } else if (source_.label.store) {
      for (const auto& entry : layout_.classes) {
        list_.warnings.push_back(
            ToUtf8(entry.first) +
            ": the sub-folder has no image and is not a class, because the images lie next to it");
      }
    }
    WarnOfBackslashes();
    std::ranges::sort(list_.broken, {}, &LeftOut::path);
    std::ranges::sort(list_.passed_over, {}, &LeftOut::path);
    if (source_.kind == ConvertSource::Kind::kPaths) {
      WarnOfRepeats(list_);
    } else {
      WarnOfOtherParts();
      std::ranges::sort(list_.sources, {}, &Source::key);
    }
    return std::move(list_);
  }

 private:
  Layout LayoutIn(std::string outer) const {
    const FolderLabels labels = source_.label.folders;
    Layout layout;
    layout.outer = std::move(outer);
    layout.labelled = FindLabelledFolder(tree_, looks_);
    for (std::size_t i = 0; i < tree_.files.size(); ++i) {
      if (!looks_[i].trouble.empty() || looks_[i].sniffed.kind == ImageKind::kNone) continue;
      const std::string key(PathInside(tree_.files[i].key, layout.outer));
      const std::size_t slash = key.find('/');
      std::optional<std::string>& place =
          slash == std::string::npos ? layout.direct : layout.in_folder;
      if (!place) place = tree_.files[i].key;
      if (slash == std::string::npos) continue;
      bool& nested = layout.top[key.substr(0, slash)];
      nested = nested || key.find('/', slash + 1) != std::string::npos;
      layout.classes.emplace(ClassOf(key, labels), 0);
    }
    // Folders without images are classes as well: for top (and auto), every outermost folder; for
    // parent, every folder that holds no folder.
    const bool top = labels != FolderLabels::kParent;
    for (auto folder = tree_.folders.begin(); folder != tree_.folders.end(); ++folder) {
      const auto inside = tree_.folders.lower_bound(*folder + "/");
      const bool leaf = inside == tree_.folders.end() || !inside->starts_with(*folder + "/");
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

  // Whether the layout has a single top folder that may hold the classes instead of being one: an
  // image lies deeper in it, and the caller has not named it as a class. (If an image also lies
  // directly in it, Run() still takes it as a class.)
  bool HasOuterFolder() const {
    const bool one = source_.label.store && source_.label.folders == FolderLabels::kAuto &&
                     !layout_.direct && layout_.top.size() == 1 && layout_.classes.size() == 1;
    if (!one) return false;
    const auto& [name, nested] = *layout_.top.begin();
    const std::vector<std::string>& wanted = source_.label.classes;
    if (!nested || std::find(wanted.begin(), wanted.end(), ToUtf8(name)) != wanted.end())
      return false;
    // A folder that is named like a part of a split is refused later, unless the source itself has
    // the same name (as in train/train).
    return !IsSplitName(name) || root_.filename() == name;
  }

  // Refuses a layout that could be meant in several ways.
  void RequireClear() const {
    if (!source_.label.store || source_.label.folders != FolderLabels::kAuto) return;
    if (layout_.labelled) {
      const std::string root = list_.root.string(), folder = ToUtf8(layout_.labelled->folder);
      const AnnotationFormat format = layout_.labelled->format;
      throw Error(ErrorCode::kInvalidArgument, root,
                  "holds " + folder + "images/ and " + folder + TreeOf(format).labels +
                      "/ with texts, as " + (format == AnnotationFormat::kDota ? "DOTA" : "YOLO") +
                      "'s datasets do; --" + option_list::WordOf(format) + " " + root + " " + root +
                      " reads the labels (with --split-folders if there are several such folders); "
                      "or say what the classes are with " +
                      kChoices);
    }
    if (layout_.direct && layout_.in_folder) {
      throw Error(ErrorCode::kInvalidArgument, list_.root.string(),
                  "holds images both directly (" + ToUtf8(*layout_.direct) +
                      ") and in sub-folders (" + ToUtf8(*layout_.in_folder) +
                      "), so its classes are unclear; say what they are with " + kChoices);
    }
    std::vector<TopFolder> folders;
    std::vector<std::string> names;
    for (const auto& [name, nested] : layout_.top) {
      folders.push_back({name, nested});
      names.push_back(layout_.outer + name);
    }
    if (folders.empty() || !LookLikeSplit(folders)) return;
    const bool one = names.size() == 1;
    throw Error(ErrorCode::kInvalidArgument, list_.root.string(),
                "holds " + FolderNames(names) + ", which " +
                    (one ? "looks like a part of a split and not like a class; make a dataset of it"
                         : "look like the parts of a split and not like classes; make a dataset of "
                           "each") +
                    " (--split-folders" +
                    (layout_.outer.empty() ? "" : " with SOURCE/" + ToUtf8(layout_.outer)) +
                    "), or say what the classes are with " + kChoices);
  }

  // Sorts the files into sources, broken files and files that are not images.
  void Sort() {
    for (std::size_t i = 0; i < tree_.files.size(); ++i) {
      std::string& key = tree_.files[i].key;
      if (!TakeOrLeave(looks_[i], key, list_)) continue;
      std::int32_t label = 0;
      if (list_.labelled) {
        const auto found = layout_.classes.find(
            std::string(ClassOf(PathInside(key, layout_.outer), source_.label.folders)));
        if (found == layout_.classes.end()) {
          list_.broken.push_back(
              {key, "lies in no folder that would be its class; --labels none takes it"});
          continue;
        }
        label = found->second;
      }
      list_.sources.push_back({std::move(key), looks_[i].bytes, label});
      list_.sources.back().changed = looks_[i].changed;
    }
  }

  // Gives the classes their final numbers; so far, they have the order of their names' bytes.
  void NumberClasses() {
    const std::set<std::string> wanted(source_.label.classes.begin(), source_.label.classes.end());
    ClassNames names(source_.label.classes);
    std::vector<std::int32_t> added;
    for (const auto& [folder, number] : layout_.classes) {
      const std::string name = ToUtf8(folder);
      // A folder must have the name of its class; the class's number is not accepted.
      if (!wanted.empty() && !wanted.contains(name)) {
        throw Error(ErrorCode::kInvalidArgument, (list_.root / layout_.outer / folder).string(),
                    "the sub-folder is not one of the " + std::to_string(wanted.size()) +
                        (source_.label.classes_of.empty()
                             ? " given classes"
                             : " classes of " + ShownPath(source_.label.classes_of.native())) +
                        NamesInstead(name, source_.label.classes, "these are"));
      }
      added.push_back(*names.Add(folder));
    }
    names.Settle({list_.root, "the folders",
                  "if all names are whole numbers, --numbers keeps them, as in a table"},
                 list_.warnings, source_.label.numbers ? Numbering::kNumbers : Numbering::kNames);
    for (Source& one : list_.sources)
      one.label = names.NumberOf(added[static_cast<std::size_t>(one.label)]);
    list_.classes = names.Names();
  }

  // Warns of classes with sub-folders: these may be the classes that were meant.
  void WarnOfInnerFolders() {
    if (!layout_.outer.empty()) {
      list_.warnings.push_back(ToUtf8(layout_.outer) +
                               " holds all images, so it is not a class; the folders in it are the "
                               "classes (--labels top makes the outermost folder the class)");
    }
    std::map<std::string, std::string> inner;  // the first in each top folder
    for (const Source& source : list_.sources) {
      const std::size_t top = source.key.find('/', layout_.outer.size());
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
    list_.warnings.push_back(
        FolderNames(outer) +
        (one ? " holds folders of its own, such as " : " hold folders of their own, such as ") +
        ToUtf8(inner.begin()->second) + ", and " +
        (one ? "is a class itself" : "are classes themselves") +
        "; to say what the classes are, use " + kChoices);
  }

  // Warns of names that hold a path of Windows. Their folders, which are the classes, are lost.
  void WarnOfBackslashes() {
    const auto has_one = [](const Source& source) {
      return source.key.find('\\') != std::string::npos;
    };
    const auto first = std::find_if(list_.sources.begin(), list_.sources.end(), has_one);
    if (first == list_.sources.end()) return;
    const auto count = std::count_if(first, list_.sources.end(), has_one);
    list_.warnings.push_back(
        std::to_string(count) + (count == 1 ? " image has" : " images have") +
        " a \\ in the name, such as " + ToUtf8(first->key) +
        ": a zip from Windows, probably, that was unpacked without its folders; unpack it again "
        "with `unzip` or `7z x`, which keep the folders, because the folders are the classes");
  }

  // Warns if another part of the same split, as train/ next to val/, has classes that are missing
  // here. One class then has different numbers in the two, unless both get the same list.
  void WarnOfOtherParts() {
    if (!list_.labelled || list_.store != nullptr || source_.label.numbers ||
        !source_.label.classes.empty())
      return;
    if (!IsSplitName(root_.filename().string())) return;
    std::map<std::string, std::size_t> here;
    for (std::size_t number = 0; number < list_.classes.size(); ++number)
      here.emplace(list_.classes[number], number);
    std::map<std::string, std::string> lacking;  // part -> its first class that is missing here
    std::error_code ignored;
    for (const auto& part : std::filesystem::directory_iterator(root_.parent_path(), ignored)) {
      const std::string name = part.path().filename().string();
      if (name == root_.filename() || !IsSplitName(name)) continue;
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
    list_.warnings.push_back(
        ToUtf8(name) + "/ next to this folder has the class " + missing +
        ", which is missing here, so some classes have other numbers here than there; give both "
        "the same list (--classes or --classes-of), or convert both with --split-folders");
  }

  const ConvertSource& source_;
  SourceList list_;
  FolderTree tree_;
  std::vector<Look> looks_;           // of the tree's files
  const std::filesystem::path root_;  // ends with the folder's name
  Layout layout_;
};

// The files that a list of paths names.
FolderTree ListedFiles(const ConvertSource& source, const SourceList& list) {
  FolderTree tree;
  IgnoredFiles ignored;
  LinksOut links(list.root, source.follow_links);
  const RootPath root(list);
  for (std::size_t i = 0; i < source.paths.size(); ++i) {
    std::optional<std::string> key = root.KeyOf(source.paths[i]);
    if (!key) {
      throw Error(ErrorCode::kInvalidArgument, list.root.string(),
                  "path " + std::to_string(i + 1) + " of the list, " + ToUtf8(source.paths[i]) +
                      ", does not lie in this folder");
    }
    if (ignored.Take(*key, tree.passed_over) || links.Take(*key, *key, tree.passed_over)) continue;
    AddFoldersOf(*key, tree.folders);
    tree.files.push_back({std::move(*key), kUnknownBytes});
  }
  links.Warn(tree.warnings);
  return tree;
}

FolderTree FilesIn(const ConvertSource& source, const SourceList& list,
                   const std::stop_token& stop) {
  if (list.store != nullptr) return list.store->List();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(list.root, ignored))
    return WalkFolder(list.root, {source.follow_links}, stop);
  throw Error(ErrorCode::kInvalidArgument, list.root.string(),
              "is a file, not a folder of images; give files that hold images (tar, Parquet, "
              ".beton and others) to ConvertSource::Archives(), and a table to "
              "ConvertSource::Table()");
}

}  // namespace

SourceList ReadFolder(const ConvertSource& source, SourceList list, unsigned threads,
                      const ConvertHooks& hooks) {
  FolderTree tree = source.kind == ConvertSource::Kind::kPaths ? ListedFiles(source, list)
                                                               : FilesIn(source, list, hooks.stop);
  return FolderReader(source, std::move(list), std::move(tree)).Run(threads, hooks);
}

}  // namespace sluice
