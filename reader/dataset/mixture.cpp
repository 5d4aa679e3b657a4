// How the datasets of a mixture become one: their schemas are joined by the names of fields, their
// shards follow one another, and a field that one dataset lacks is absent in that dataset's rows.
// Datasets that would give one name two meanings are refused by an error that names both.
#include <algorithm>
#include <span>

#include <sluice/error.h>
#include <sluice/mixture.h>

#include "format/disk/checksum.h"
#include "format/disk/manifest.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

namespace {

[[noreturn]] void RefuseMixing(const DatasetFacts& dataset, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(), "Mixture: " + what);
}

// The longer of two lists of class names. Throws unless it begins with the other.
const std::vector<std::string>& Longer(const Field& field, const std::vector<std::string>& a,
                                       const std::vector<std::string>& b,
                                       const DatasetFacts& dataset, const DatasetFacts& other) {
  // A dataset that lacks the last classes gives its other classes the same numbers.
  const std::vector<std::string>& longer = a.size() >= b.size() ? a : b;
  const std::vector<std::string>& shorter = a.size() >= b.size() ? b : a;
  if (std::equal(shorter.begin(), shorter.end(), longer.begin())) return longer;
  RefuseMixing(
      dataset,
      "field \"" + field.name + "\" has other classes than in " + other.folder.string() +
          ", or another order of them, so one number would mean two classes; convert one dataset "
          "with the classes of the other (--classes-of)");
}

std::string AttributeOf(const Field& field, const char* name) {
  const auto found = field.attributes.find(name);
  return found == field.attributes.end() ? "" : found->second;
}

void RequireSame(const Field& field, const Field& known, const DatasetFacts& dataset,
                 const DatasetFacts& other) {
  const auto refuse = [&](const std::string& what) {
    RefuseMixing(dataset, "field \"" + field.name + "\" has another " + what + " than in " +
                              other.folder.string() +
                              "; convert one of the datasets with another name for the field");
  };
  if (field.kind != known.kind) refuse("kind");
  const bool numbers = field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable;
  if (numbers && field.dtype != known.dtype) refuse("element type");
  if (numbers && field.shape != known.shape) refuse("shape");
  if (field.role != known.role) refuse("role");
  if (field.follows != known.follows) refuse("image that it belongs to");
  if (field.coordinates != known.coordinates) refuse("convention of coordinates");
  const auto differs = [&](const char* attribute) {
    return AttributeOf(field, attribute) != AttributeOf(known, attribute);
  };
  if (differs("flip_pairs")) refuse("list of flip_pairs");
  if (differs("channels")) refuse("list of channels");
  if (differs("no_data")) refuse("number for no data");
}

// Fields in the order in which the datasets first have them.
Schema JoinedSchema(const std::vector<MixedDataset>& datasets) {
  Schema joined;
  std::vector<const DatasetFacts*> first_with;  // by field
  for (const MixedDataset& mixed : datasets) {
    for (const Field& field : mixed.dataset->facts->manifest.schema.fields) {
      const std::size_t at = joined.Find(field.name);
      if (at == Schema::kNone) {
        joined.fields.push_back(field);
        first_with.push_back(mixed.dataset->facts.get());
        continue;
      }
      RequireSame(field, joined.fields[at], *mixed.dataset, *first_with[at]);
      joined.fields[at].classes = std::vector<std::string>(
          Longer(field, joined.fields[at].classes, field.classes, *mixed.dataset, *first_with[at]));
    }
  }
  try {
    // Each schema is valid alone; joined, they may exceed a limit of the format.
    joined.Validate(false);
  } catch (const Error& error) {
    RefuseMixing(*datasets[0].dataset,
                 "its fields and those of the other datasets do not form a valid schema: " +
                     error.sentence());
  }
  return joined;
}

// The figures of a dataset's manifest that the mixture sums up, as a manifest with the joined
// schema.
Manifest InSchema(const Manifest& own, const Schema& joined) {
  Manifest manifest;
  manifest.schema = joined;
  manifest.samples = own.samples;
  std::size_t image = 0;
  std::size_t value = 0;
  const bool values_known = !own.values.empty() || NoValues(own.schema).empty();
  // By field, since a manifest lists figures by image field, and those of the mixture lie
  // elsewhere.
  std::vector<ImageFigures> images(own.schema.fields.size());
  std::vector<ManifestValues> values(own.schema.fields.size());
  for (std::size_t f = 0; f < own.schema.fields.size(); ++f) {
    if (own.schema.fields[f].kind == FieldKind::kImage) images[f] = own.images[image++];
    if (!own.values.empty() && HasValues(own.schema.fields[f])) values[f] = own.values[value++];
  }
  for (const Field& field : joined.fields) {
    const std::size_t f = own.schema.Find(field.name);
    if (field.kind == FieldKind::kImage)
      manifest.images.push_back(f == Schema::kNone ? ImageFigures() : images[f]);
    if (HasValues(field) && values_known)
      manifest.values.push_back(f == Schema::kNone ? ManifestValues() : values[f]);
  }
  return manifest;
}

// Adds a dataset's shards and summaries to the manifest of the mixture.
void Add(const Manifest& part, const DatasetFacts& dataset, Manifest& all) {
  all.samples += part.samples;
  std::size_t image = 0;
  for (const Field& field : all.schema.fields) {
    if (field.kind != FieldKind::kImage) continue;
    const ImageFigures& images = part.images[image];
    ImageFigures& sum = all.images[image++];
    // One batch has one type of pixels, so a mixture cannot have two.
    if (images.present > 0 && sum.present > 0 && images.pixel_type != sum.pixel_type) {
      RefuseMixing(dataset, "the images of field \"" + field.name + "\" are of type " +
                                std::string(NameOf(images.pixel_type)) +
                                ", but those of another dataset of type " +
                                std::string(NameOf(sum.pixel_type)) +
                                "; leave one of the datasets out");
    }
    sum.Add(images);
  }
  for (std::size_t v = 0; v < all.values.size() && !part.values.empty(); ++v)
    all.values[v].Add(part.values[v]);
  for (ManifestShard shard : dataset.manifest.shards) {
    // A whole path: the shards of a mixture lie in several folders.
    shard.file = (dataset.folder / shard.file).string();
    all.shards.push_back(std::move(shard));
  }
}

// The rule of a mixture with weights; empty without weights. MixturePlan checks the rule's values.
std::optional<MixtureRule> RuleOf(const Mixture& mixture) {
  const auto weighted = [](const Mixture::Part& part) { return part.weight != 0; };
  if (std::ranges::none_of(mixture.parts, weighted)) {
    if (mixture.shares == MixtureShares::kOfSamples && mixture.length == MixtureLength::kFirst &&
        mixture.samples == 0) {
      return std::nullopt;
    }
    throw Error(ErrorCode::kInvalidArgument,
                "Mixture: without weights an epoch has every sample once; give each dataset a "
                "weight, or leave shares, length and samples as they are");
  }
  if (mixture.samples != 0 && mixture.length != MixtureLength::kSamples) {
    throw Error(ErrorCode::kInvalidArgument,
                "Mixture: samples is set; set length to kSamples (\"samples\"), too");
  }
  MixtureRule rule{{}, mixture.shares, mixture.length, mixture.samples};
  for (const Mixture::Part& part : mixture.parts)
    rule.weights.push_back(part.weight);
  return rule;
}

}  // namespace

struct DatasetFacts::Joined {
  // Made as a whole before DatasetFacts, whose members are initialized from it.
  explicit Joined(const Mixture& mixture);

  std::vector<MixedDataset> datasets;
  std::optional<MixtureRule> rule;  // empty without weights
  Manifest manifest;
  ReadLimits limits;  // no tighter than any dataset's
  std::string name;   // for messages
  std::string id;
};

DatasetFacts::DatasetFacts(const Mixture& mixture_of) : DatasetFacts(Joined(mixture_of)) {}

DatasetFacts::DatasetFacts(Joined joined)
    : folder(joined.name),
      path(folder),
      place(folder),
      id(std::move(joined.id)),
      stored(joined.manifest.schema),
      manifest(std::move(joined.manifest)),
      layout(manifest.schema),
      limits(manifest, joined.limits),
      shape(ShapeOf(manifest)),
      parts(std::move(joined.datasets)),
      mixture(std::move(joined.rule)) {
  Summarize();
}

DatasetFacts::Joined::Joined(const Mixture& mixture) : rule(RuleOf(mixture)) {
  if (mixture.parts.empty())
    throw Error(ErrorCode::kInvalidArgument, "Mixture: it has no datasets");
  std::uint64_t shards_before = 0, samples_before = 0;
  for (const Mixture::Part& part : mixture.parts) {
    const std::shared_ptr<DatasetState>& dataset = part.dataset.state();
    if (dataset->facts->store != nullptr) {
      RefuseMixing(
          *dataset,
          "datasets at URLs, or on file systems that cannot map files, cannot be mixed yet; copy "
          "this one to a local disk (`sluice copy`), or join the datasets with `sluice merge`");
    }
    if (dataset->facts->supply != nullptr) {
      RefuseMixing(*dataset,
                   "sources that are played without a conversion cannot be mixed yet; convert this "
                   "one (`sluice convert`), or play one list of all files (ConvertSource::Paths)");
    }
    if (dataset->facts->manifest.samples == 0)
      RefuseMixing(*dataset, "it has no samples; leave it out");
    datasets.push_back({dataset, static_cast<std::uint32_t>(shards_before), samples_before,
                        RecordLayout(dataset->facts->manifest.schema), dataset->facts->limits});
    shards_before += dataset->facts->shards.size();
    samples_before += dataset->facts->manifest.samples;
  }
  if (shards_before > UINT32_MAX)
    throw Error(ErrorCode::kLimit, "Mixture: it has more than 4294967295 shards");
  manifest.schema = JoinedSchema(datasets);
  std::vector<Manifest> manifests;
  for (const MixedDataset& mixed : datasets)
    manifests.push_back(InSchema(mixed.dataset->facts->manifest, manifest.schema));
  manifest.images.resize(manifests[0].images.size());
  // The sizes of values are known only if those of every dataset are.
  manifest.values = NoValues(manifest.schema);
  limits.max_pixels = 0;
  for (std::size_t k = 0; k < datasets.size(); ++k) {
    MixedDataset& mixed = datasets[k];
    const ReadLimits& own = mixed.dataset->facts->limits.read_limits();
    mixed.layout = mixed.dataset->facts->LayoutIn(manifest.schema, 0);
    for (std::uint32_t c = 1; c <= mixed.dataset->facts->columns.size(); ++c)
      mixed.columns.push_back(mixed.dataset->facts->LayoutIn(manifest.schema, c));
    for (const DeletedRun& run : mixed.dataset->facts->manifest.deleted)
      manifest.deleted.push_back({run.first + mixed.first_sample, run.count});
    mixed.limits = ValueLimits(manifests[k], own);
    Add(manifests[k], *mixed.dataset, manifest);
    limits.max_pixels = std::max(limits.max_pixels, own.max_pixels);
    for (std::size_t f = 0; f < manifest.schema.fields.size(); ++f) {
      if (HasValues(manifest.schema.fields[f]))
        limits.max_value_bytes = std::max(limits.max_value_bytes, mixed.limits.bytes(f));
    }
  }
  const auto known = [this](const Manifest& part) {
    return part.values.size() == manifest.values.size();
  };
  if (!std::ranges::all_of(manifests, known)) manifest.values.clear();
  manifest.name = "mixture";
  std::string ids = "mixture";
  for (const MixedDataset& mixed : datasets)
    ids += " " + mixed.dataset->facts->id;
  id = ToHex(Hash128(std::as_bytes(std::span(ids))));
  name = "mixture of " + datasets[0].dataset->facts->folder.string();
  if (datasets.size() == 2) name += " and " + datasets[1].dataset->facts->folder.string();
  if (datasets.size() > 2) name += " and " + std::to_string(datasets.size() - 1) + " others";
}

Mixture::Origin Mixture::Of(std::uint64_t sample) const {
  std::uint64_t left = sample;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (left < parts[k].dataset.size()) return {k, left};
    left -= parts[k].dataset.size();
  }
  throw Error(ErrorCode::kInvalidArgument, "Mixture: there is no sample " + std::to_string(sample) +
                                               "; it has " + std::to_string(sample - left));
}

}  // namespace sluice
