// Each kind of source has a reader of its own (folder_layout.h, records/, labels/). Done here is
// what all kinds have in common: the root is opened first, once; masks and a part of a split come
// last.
#include "writer/source/open_source.h"

#include <sluice/error.h>

#include "writer/source/folder_layout.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/labels/masks.h"
#include "writer/source/labels/split_part.h"
#include "writer/source/list/dataset_classes.h"
#include "writer/source/records/records.h"
#include "writer/source/stack_files.h"

namespace sluice {

SourceList OpenSource(const ConvertSource& source, unsigned threads, const ConvertHooks& hooks,
                      const FormOptions& form) {
  if (!source.label.classes_of.empty() && source.label.classes.empty()) {
    ConvertSource named = source;
    named.label.classes = ClassesOfDataset(source.label.classes_of, hooks.stop).label;
    return OpenSource(named, threads, hooks, form);
  }
  using Kind = ConvertSource::Kind;
  if (!form.stack.empty() && source.kind != Kind::kFolder && source.kind != Kind::kPaths) {
    throw Error(ErrorCode::kInvalidArgument,
                "stack (--stack) needs a folder or a list of paths as the source");
  }
  SourceList list;
  list.keeps_pixels = form.pixels == PixelValues::kKeep;
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
  if (!form.stack.empty()) StackFiles(form.stack, list);
  if (!source.mask_folder.empty()) AddMaskFolder(source, threads, hooks.stop, list);
  list.upright = source.upright;
  if (source.split.begin > 0 || source.split.end < 1) TakeSplit(source, list);
  return list;
}

}  // namespace sluice
