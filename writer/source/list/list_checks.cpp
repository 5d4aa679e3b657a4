// RequireImages() and LookedForIn() only word an error: a source without images ends the
// conversion, so they may take time to find out what the user probably meant, such as the folder in
// which a list's files really lie.
#include "writer/source/list/list_checks.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/list/folder_walk.h"
#include "writer/text.h"

namespace sluice {

namespace {

// Whether a file holds images, by its name. Such a file is a source itself; its folder is not.
bool HoldsImages(const LeftOut& file) {
  constexpr std::string_view kEndings[] = {".parquet", ".tfrecord", ".rec", ".beton", ".tar"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) {
    return std::string_view(file.path).ends_with(ending);
  });
}

// Of a list or table whose first file does not exist: where it was looked for, what is there, and
// the folder that was probably meant.
std::string LookedForIn(const SourceList& list) {
  constexpr std::uint64_t kMaxFiles = 10'000;
  std::error_code ignored;
  if (list.store != nullptr || !list.archives.empty() || list.broken.empty()) return {};
  const std::filesystem::path root = list.root.empty() ? "." : list.root;
  const std::filesystem::path missing = list.broken[0].path;
  if (std::filesystem::exists(root / missing, ignored)) return {};
  std::string text = "; paths are relative to the folder " + ToUtf8(root.native());
  if (!std::filesystem::exists(root, ignored)) return text + ", which does not exist";
  FolderTree tree;
  try {
    tree = WalkFolder(root, {.max_files = kMaxFiles}, {});
  } catch (const Error&) {
    return text;  // it cannot be listed
  }
  if (tree.files.empty()) return text + ", which holds no file";
  text += ", which holds " + std::string(tree.cut ? "more than " : "") +
          std::to_string(tree.files.size()) + " files, such as " + ToUtf8(tree.files[0].key);
  for (const WalkedFile& file : tree.files) {
    const std::string stem = std::filesystem::path(file.key).replace_extension().native();
    for (const std::string_view path : {std::string_view(file.key), std::string_view(stem)})
      if (path.ends_with("/" + missing.native()))
        return text + "; give the folder " +
               ToUtf8((root / path.substr(0, path.size() - missing.native().size() - 1)).native()) +
               ", which holds " + ToUtf8(file.key.substr(path.size() - missing.native().size()));
  }
  return text;
}

}  // namespace

void RequireImages(const std::filesystem::path& place, const SourceList& list) {
  if (!list.sources.empty()) return;
  const auto counted = [](std::size_t count, const char* one, const char* several) {
    return count == 1 ? "1 " + std::string(one) : std::to_string(count) + ' ' + several;
  };
  std::error_code ignored;
  const bool dataset = std::ranges::any_of(list.passed_over, [](const LeftOut& file) {
    return file.path.ends_with(".sluice") && file.path.find('/') == std::string::npos;
  });
  std::string sentence = "has no image that can be converted (" + ConvertedKinds() + ")";
  if (!list.broken.empty()) {
    sentence =
        "gives no sample: " +
        counted(list.broken.size(), "source was left out: ", "sources were left out, such as ") +
        ToUtf8(list.broken[0].path) + " (" + list.broken[0].reason + ")" + LookedForIn(list);
  } else if (dataset) {
    sentence =
        "is a dataset, not images; `sluice merge` joins datasets, `sluice transcode` stores the "
        "images of one differently, and `sluice copy` copies it";
  } else if (list.passed_over.empty()) {
    if (std::filesystem::is_directory(place, ignored)) sentence += "; it holds no file";
  } else {
    const auto holder = std::find_if(list.passed_over.begin(), list.passed_over.end(), HoldsImages);
    const LeftOut& one = holder == list.passed_over.end() ? list.passed_over[0] : *holder;
    sentence += "; " +
                counted(list.passed_over.size(),
                        "file was passed over: ", "files were passed over, such as ") +
                ToUtf8(one.path) + " (" + one.reason + ")";
    if (HoldsImages(one))
      sentence += "; give such files themselves as the sources, not their folder";
  }
  throw Error(ErrorCode::kNotFound, place.string(), sentence);
}

void WarnOfRepeats(SourceList& list, const std::string& advice) {
  std::vector<std::uint64_t> hashes;  // the keys themselves would take much more memory to sort
  hashes.reserve(list.sources.size());
  for (const Source& source : list.sources)
    hashes.push_back(Hash64(AsBytes(source.key)));
  std::sort(hashes.begin(), hashes.end());
  std::uint64_t images = 0;
  std::uint64_t repeated = 0;
  for (auto begin = hashes.begin(); begin != hashes.end();) {
    const auto end = std::upper_bound(begin, hashes.end(), *begin);
    if (end - begin > 1 && images++ == 0) repeated = *begin;
    begin = end;
  }
  if (images == 0) return;
  const auto first = std::find_if(
      list.sources.begin(), list.sources.end(),
      [repeated](const Source& source) { return Hash64(AsBytes(source.key)) == repeated; });
  list.warnings.push_back((images == 1 ? "an image is" : std::to_string(images) + " images are") +
                          std::string(" listed more than once, such as ") + ToUtf8(first->key) +
                          "; each occurrence becomes a sample" + advice);
}

}  // namespace sluice
