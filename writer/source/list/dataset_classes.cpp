#include "writer/source/list/dataset_classes.h"

#include <memory>

#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/remote/object_store.h"
#include "format/remote/remote_manifest.h"

namespace sluice {

DatasetClasses ClassesIn(const Schema& schema) {
  DatasetClasses classes;
  for (const Field& field : schema.fields) {
    if (field.role != Role::kLabel || field.classes.empty()) continue;
    classes.fields.emplace(field.name, field.classes);
    if (classes.label.empty()) classes.label = field.classes;
  }
  if (const std::size_t label = schema.ClassField(); label != Schema::kNone)
    classes.label = schema.fields[label].classes;
  if (const std::size_t mask = schema.FindRole(Role::kMask);
      classes.label.empty() && mask != Schema::kNone && !schema.fields[mask].classes.empty()) {
    const std::vector<std::string>& names = schema.fields[mask].classes;
    classes.label.assign(names.begin() + 1, names.end());
  }
  return classes;
}

DatasetClasses ClassesOfDataset(const std::filesystem::path& dataset, const std::stop_token& stop) {
  std::shared_ptr<ObjectStore> store;
  const ManifestPlace place = ManifestPlace::Of(dataset);
  if (IsStoreUrl(dataset.native())) store = OpenStore(place.folder.native());
  const std::stop_callback on_stop(stop, [&store] {
    if (store != nullptr) store->StopCalls();
  });
  Id128 id;
  const Manifest manifest =
      store != nullptr ? ReadManifest(*store, id, place.name) : ReadManifest(dataset, id);
  DatasetClasses classes = ClassesIn(VisibleFields::Of(manifest).schema);
  if (!classes.label.empty()) return classes;
  throw Error(ErrorCode::kInvalidArgument, ShownPath(dataset.native()),
              "has no field with classes, so no class numbers can be taken from it "
              "(--classes-of)");
}

}  // namespace sluice
