#include "reader/batch/made_fields.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/limits.h"

namespace sluice {

namespace {

[[noreturn]] void Refuse(const DatasetState& dataset, const Field& field, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
              "LoaderOptions::output.made_fields: field \"" + field.name + "\" " + what);
}

void CheckShape(const DatasetState& dataset, const Field& field) {
  if (field.kind == FieldKind::kImage) {
    Refuse(dataset, field,
           "is an image field; declare an array of shape {height, width, channels} instead");
  }
  if (field.kind == FieldKind::kBytes) return;
  if (std::find(field.shape.begin(), field.shape.end(), 0U) != field.shape.end())
    Refuse(dataset, field, "has an extent of 0 in its shape");
  if (field.shape.size() > kMaxDimensions) Refuse(dataset, field, "has more than 8 extents");
  if (field.elements() > kMaxImagePixels)
    Refuse(dataset, field, "has more than 268435456 elements");
}

}  // namespace

void CheckMadeFields(const DatasetState& dataset, const std::vector<Field>& made,
                     const std::optional<Field>& target) {
  // Names and references are checked like those on disk; shapes have other limits.
  Schema schema;
  for (const Field& field : made) {
    CheckShape(dataset, field);
    if (dataset.manifest.schema.Find(field.name) != Schema::kNone)
      Refuse(dataset, field, "has the name of a field of the dataset; choose another name");
    schema.fields.push_back(field);
    schema.fields.back().shape.clear();
  }
  if (target) {
    schema.fields.push_back(*target);
    schema.fields.back().shape.clear();
  }
  if (!schema.fields.empty()) schema.Validate();
}

}  // namespace sluice
