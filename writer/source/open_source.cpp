// Each kind of source has a reader of its own (folder_layout.h, records/, labels/). Done here is
// what all kinds have in common: the root is opened first, once; masks and a part of a split come
// last.
#include "writer/source/open_source.h"

#include "writer/source/folder_layout.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/labels/masks.h"
#include "writer/source/labels/split_part.h"
#include "writer/source/list/dataset_classes.h"
#include "writer/source/records/records.h"

namespace sluice {

SourceList OpenSource(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks) {
  if (!source.label.classes_of.empty() && source.label.classes.empty()) {
    ConvertSource named = source;
    named.label.classes = ClassesOfDataset(source.label.classes_of, hooks.stop).label;
    return OpenSource(named, threads, hooks);
  }
  using Kind = ConvertSource::Kind;
  SourceList list;
  const bool own_folder = source.kind == Kind::kTable && source.root.empty();
  if (source.kind != Kind::kArchives)
    list.SetRoot(own_folder ? source.table.parent_path() : source.root, hooks.stop);
  switch (source.kind) {
    case Kind::kFolder:
    case Kind::kPaths: list = ReadFolder(source, std::move(list), threads, hooks); break;
    case Kind::kTable: list = ReadTable(source, std::move(list), threads, hooks); break;
    case Kind::kAnnotations: list = ReadAnnotations(source, std::move(list), threads, hooks); break;
    case Kind::kArchives: list = ReadArchives(source, threads, hooks.stop); break;
  }
  if (!source.mask_folder.empty()) AddMaskFolder(source, threads, hooks.stop, list);
  list.upright = source.upright;
  if (source.split.begin > 0 || source.split.end < 1) TakeSplit(source, list);
  return list;
}

}  // namespace sluice
