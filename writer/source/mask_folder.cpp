#include "writer/source/mask_folder.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/parallel.h"
#include "writer/source/look.h"

namespace sluice {

namespace {

std::string MaskPathOf(const std::string& key) {
  return std::filesystem::path(key).replace_extension(".png").native();
}

}  // namespace

void AddMaskFolder(const std::filesystem::path& folder, unsigned threads,
                   const std::stop_token& stop, SourceList& list) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kNotFound, folder.string(), "the folder of masks does not exist");
  }
  std::vector<Look> looks(list.sources.size());
  ParallelFor(threads, looks.size(), stop, [&](unsigned, std::size_t i) {
    looks[i] = LookInto(folder / MaskPathOf(list.sources[i].key));
  });
  if (stop.stop_requested()) ThrowStopped();
  std::vector<Source> sources;
  SourceValues values;
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    const std::string path = MaskPathOf(list.sources[i].key);
    std::string trouble = looks[i].trouble;
    if (trouble.empty() && looks[i].sniffed.kind != ImageKind::kPng) trouble = "is no PNG";
    if (!trouble.empty()) {
      list.broken.push_back({list.sources[i].key, "its mask " + path + " " + trouble});
      continue;
    }
    for (std::size_t f = 0; f < list.fields.size(); ++f)
      values.Add(list.Value(i, f));
    values.Add(MaskValue(looks[i].bytes, path));
    sources.push_back(std::move(list.sources[i]));
  }
  list.sources = std::move(sources);
  list.values = std::move(values);
  SourceField field{Field::Mask("mask", "image"), Feed::kMask};
  field.folder = folder;
  list.fields.push_back(std::move(field));
  std::sort(list.broken.begin(), list.broken.end(),
            [](const LeftOut& a, const LeftOut& b) { return a.path < b.path; });
  RequireImages(folder, list);
}

}  // namespace sluice
