// FieldChoice::Of() needs several passes, because fields depend on each other. It first finds the
// decoded image: images that follow no other come first, so that a picture wins over its masks.
// Then it finds each field's leader, and from that which fields are chosen by default: all but
// images, and the images that follow the decoded one. Only then can it check that each chosen
// field's leader is chosen, too. Between these passes, the decoded image becomes its own leader, so
// that a mask can be loaded without its picture.
#include "reader/dataset/field_choice.h"

#include <algorithm>

#include <sluice/error.h>

#include "reader/transform/steps.h"

namespace sluice {

namespace {

bool HasGeometry(const Field& field) {
  return field.kind == FieldKind::kImage || field.role == Role::kBoxes ||
         field.role == Role::kKeypoints || field.role == Role::kInstances;
}

// The image that a field follows: the one it names, or the decoded image for boxes and key points
// that name none.
std::size_t LeaderOf(const Schema& schema, std::size_t field, std::size_t image) {
  const Field& of = schema.fields[field];
  if (!of.follows.empty()) return schema.Find(of.follows);
  if (of.kind == FieldKind::kImage) return field;
  return HasGeometry(of) ? image : Schema::kNone;
}

std::size_t ImageOf(const DatasetFacts& dataset, const LoaderOptions& options,
                    const std::vector<bool>& named) {
  const std::vector<Field>& fields = dataset.manifest.schema.fields;
  if (!options.output.image.empty()) {
    const std::size_t image = dataset.ImageField(options.output.image);
    if (!named.empty() && !named[image]) {
      throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                  "LoaderOptions::output.image is \"" + options.output.image +
                      "\", which LoaderOptions::output.fields leaves out; name it there, too");
    }
    if (dataset.InColumn(image)) {
      throw Error(ErrorCode::kUnsupported, dataset.folder.string(),
                  "field \"" + options.output.image +
                      "\" is a column, and a batch's picture cannot be one; choose an image of the "
                      "image shards, or make a dataset in which it is one with `sluice subset`");
    }
    return image;
  }
  for (const bool leads : {true, false}) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (fields[f].kind != FieldKind::kImage || (!named.empty() && !named[f])) continue;
      if (dataset.InColumn(f)) continue;
      if (fields[f].follows.empty() == leads) return f;
    }
  }
  return Schema::kNone;
}

}  // namespace

FieldChoice FieldChoice::Of(const DatasetFacts& dataset, const LoaderOptions& options) {
  const Schema& schema = dataset.manifest.schema;
  const std::size_t count = schema.fields.size();
  std::vector<bool> named;
  if (!options.output.fields.empty()) {
    named.resize(count);
    for (const std::string& name : options.output.fields)
      named[dataset.FieldIndex(name)] = true;
  }
  FieldChoice choice;
  choice.image = ImageOf(dataset, options, named);
  choice.chosen.resize(count);
  const bool transforms = InAnyEpoch(options.transform, options.schedule,
                                     [](const Pipeline& steps) { return !steps.empty(); });
  for (std::size_t f = 0; f < count; ++f) {
    choice.leaders.push_back(LeaderOf(schema, f, choice.image));
    const Field& field = schema.fields[f];
    choice.chosen[f] = !named.empty() ? named[f]
                                      : field.kind != FieldKind::kImage || f == choice.image ||
                                            choice.leaders[f] == choice.image;
  }
  // An image alone, such as a mask without its picture, leads itself.
  if (choice.image != Schema::kNone) choice.leaders[choice.image] = choice.image;
  for (std::size_t f = 0; f < count; ++f) {
    const Field& field = schema.fields[f];
    if (!choice.chosen[f]) {
      choice.all_payloads =
          choice.all_payloads && (field.kind == FieldKind::kArray || dataset.InColumn(f));
      continue;
    }
    const std::size_t leader = choice.leaders[f];
    const bool needs_leader = field.kind == FieldKind::kImage || (HasGeometry(field) && transforms);
    if (needs_leader && (leader == Schema::kNone || !choice.chosen[leader])) {
      const std::string image =
          leader == Schema::kNone ? "an image" : "image \"" + schema.fields[leader].name + "\"";
      throw Error(
          ErrorCode::kInvalidArgument, dataset.folder.string(),
          "field \"" + field.name + "\" is transformed together with " + image +
              ", which LoaderOptions::output.fields leaves out; add that image to the list");
    }
  }
  if (choice.image == Schema::kNone && transforms) {
    throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(),
                "LoaderOptions::transform has steps, but LoaderOptions::output.fields chooses no "
                "image for them");
  }
  return choice;
}

bool FieldChoice::NeedsPayloads(const Schema& schema) const {
  for (std::size_t f = 0; f < schema.fields.size(); ++f)
    if (chosen[f] && schema.fields[f].kind != FieldKind::kArray) return true;
  return false;
}

FieldChoice FieldChoice::OfShards(const DatasetFacts& dataset) const {
  FieldChoice own = *this;
  for (std::size_t f = 0; f < own.chosen.size(); ++f)
    own.chosen[f] = own.chosen[f] && !dataset.InColumn(f);
  return own;
}

FieldChoice FieldChoice::WithoutImage() const {
  FieldChoice rest = *this;
  if (image != Schema::kNone) rest.chosen[image] = false;
  rest.all_payloads = false;
  return rest;
}

}  // namespace sluice
