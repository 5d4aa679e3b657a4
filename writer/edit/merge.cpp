// `sluice merge`: one dataset of several, in their order.
//
// A shard is hard-linked if its dataset has exactly the merged classes (a shard's header lists
// them), none of its samples is left out, and it did not occur before. Every other shard is written
// again, with an id that depends on all of the merged datasets. Samples that an earlier input also
// has are refused, kept or left out, as the options say.
//
// If the datasets have columns, all must have the same ones. Then a column's shards follow each
// other as the image shards do, and each sample keeps its row: so none may be left out.
#include <algorithm>
#include <array>
#include <map>

#include <sluice/convert_option_list.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "writer/convert/options.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/joining.h"
#include "writer/shard_writer.h"

namespace sluice {

namespace {

// The id of a shard that is rewritten because its classes change, because some of its samples are
// left out, or because it occurs a second time. The id depends on all merged datasets, so that it
// differs from the id that an earlier merge gave.
Id128 MergedId(Id128 id, const Schema& schema, const std::vector<std::uint64_t>& left_out,
               std::uint32_t times_before, const std::vector<Id128>& inputs) {
  const std::string text = SchemaToJson(schema);
  const Bytes again = times_before == 0 ? Bytes() : std::as_bytes(std::span(&times_before, 1));
  return Hash128({std::as_bytes(std::span(id.bytes)), AsBytes(text),
                  std::as_bytes(std::span(left_out)), again, std::as_bytes(std::span(inputs))});
}

// The first dataset's options if all datasets' images were made alike; null if not.
nlohmann::json CommonOptions(const std::vector<StoredDataset>& datasets) {
  const auto of_images = [](const StoredDataset& dataset) {
    nlohmann::json options = OptionsOfMade(dataset.manifest.made);
    const auto erase = [&](const auto& option) {
      if (options.is_object()) options.erase(option.name);
    };
    option_list::ForEachMember<ShardOptions>(erase);
    option_list::ForEachMember<RunOptions>(erase);
    return options;
  };
  const nlohmann::json first = of_images(datasets[0]);
  const bool alike =
      std::all_of(datasets.begin(), datasets.end(),
                  [&](const StoredDataset& dataset) { return of_images(dataset) == first; });
  return alike ? OptionsOfMade(datasets[0].manifest.made) : nlohmann::json();
}

// Which column of `theirs` has the fields of each column of `ours`. Throws
// Error(kInvalidArgument) if their fields do not come from the same columns.
std::vector<std::size_t> MatchColumns(const Manifest& ours, const Manifest& theirs,
                                      const std::string& name) {
  const auto refuse = [&name](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, name,
                "cannot be merged with the earlier datasets: " + what +
                    "; `sluice subset` makes a dataset whose columns are fields like others");
  };
  const auto sorted = [](std::vector<std::string> names) {
    std::ranges::sort(names);
    return names;
  };
  if (sorted(ours.hidden) != sorted(theirs.hidden)) refuse("other fields of it were dropped");
  if (ours.columns.size() != theirs.columns.size()) {
    refuse("those have " + std::to_string(ours.columns.size()) + " columns, and it has " +
           std::to_string(theirs.columns.size()));
  }
  const auto names_of = [](const Manifest& column) {
    std::vector<std::string> names;
    for (const Field& field : column.schema.fields)
      names.push_back(field.name);
    return names;
  };
  std::vector<std::size_t> matches;
  for (const Manifest& column : ours.columns) {
    const auto same =
        std::ranges::find(theirs.columns, names_of(column),
                          [&names_of](const Manifest& other) { return names_of(other); });
    if (same == theirs.columns.end())
      refuse("none of its columns has the fields of the one with \"" + names_of(column)[0] + "\"");
    matches.push_back(static_cast<std::size_t>(same - theirs.columns.begin()));
  }
  const VisibleFields seen = VisibleFields::Of(ours);
  const VisibleFields also_seen = VisibleFields::Of(theirs);
  for (std::size_t f = 0; f < seen.sources.size(); ++f) {
    const std::size_t at = also_seen.schema.Find(seen.schema.fields[f].name);
    const std::uint32_t source = seen.sources[f];
    const std::size_t matched = source == 0 ? 0 : matches[source - 1] + 1;
    if (at != Schema::kNone && also_seen.sources[at] != matched)
      refuse("its field \"" + seen.schema.fields[f].name + "\" comes from another column");
  }
  return matches;
}

// The value that samples appended later get ("missing") may differ: it says nothing of the rows
// that are there. The merged schema keeps the first.
void ShareMissing(Schema& merged, Schema& own) {
  for (std::size_t f = 0; f < std::min(merged.fields.size(), own.fields.size()); ++f) {
    std::map<std::string, std::string>& first = merged.fields[f].attributes;
    std::map<std::string, std::string>& other = own.fields[f].attributes;
    if (!first.contains("missing") && other.contains("missing"))
      first["missing"] = other["missing"];
    else if (first.contains("missing"))
      other["missing"] = first["missing"];
  }
}

class Merging {
 public:
  Merging(const std::vector<std::filesystem::path>& inputs, const MergeOptions& options,
          const EditHooks& hooks)
      : options_(options), hooks_(hooks) {
    for (const std::filesystem::path& input : inputs) {
      const StoredDataset dataset(input, hooks.stop);
      const Manifest& manifest = dataset.manifest;
      if (parts_.empty()) parts_.resize(manifest.columns.size() + 1);
      const Manifest& front =
          parts_[0].datasets.empty() ? manifest : parts_[0].datasets[0].manifest;
      const std::vector<std::size_t> matches = MatchColumns(front, manifest, input.string());
      Take(dataset, input.string(), parts_[0]);
      for (std::size_t c = 0; c < matches.size(); ++c)
        Take(dataset.Column(matches[c]), input.string(), parts_[c + 1]);
      ids_.push_back(dataset.id);
      for (const DeletedRun& run : manifest.deleted)
        AddDeleted({total_ + run.first, run.count});
      total_ += manifest.samples;
    }
    if (deleted_.size() > kMaxDeletedRuns) {
      throw Error(ErrorCode::kLimit, inputs.back().string(),
                  "the merged dataset would have more than " + std::to_string(kMaxDeletedRuns) +
                      " runs of deleted samples; leave these out first with `sluice subset`");
    }
    for (const Part& part : parts_)
      for (const StoredDataset& dataset : part.datasets)
        RequireShards(dataset, hooks.stop);
    const Part& images = parts_[0];
    shared_ = FindSharedSamples(images.datasets, images.maps, images.schema, hooks.stop);
    // After a stop, the list of shared samples is incomplete; Into() reports the stop.
    const bool found = shared_.count > 0 && !hooks.stop.stop_requested();
    if (found && options.duplicates == Duplicates::kRefuse) Refuse();
    if (found && options.duplicates == Duplicates::kDrop && (parts_.size() > 1 || any_deleted())) {
      throw Error(ErrorCode::kUnsupported, images.datasets[shared_.dataset].folder.string(),
                  "holds samples of an earlier dataset, and no sample can be left out of datasets "
                  "with columns or deleted samples; make datasets without these with `sluice "
                  "subset`, and merge them");
    }
  }

  MergeSummary Into(const std::filesystem::path& out) {
    const Part& images = parts_[0];
    const Manifest& front = images.datasets[0].manifest;
    // An automatic name describes the schema, so the result gets the name of the merged schema.
    const bool described = front.name == DescribedName(front.schema);
    DatasetBuild build(out, described ? DescribedName(images.schema) : front.name, images.schema,
                       total_ * parts_.size(), hooks_);
    build.Skip(0);  // throws if a stop was requested meanwhile
    for (const StoredDataset& dataset : images.datasets)
      build.Keep(dataset.manifest);
    for (const Part& part : parts_) {
      if (&part != &images) build.BeginColumn(part.schema);
      for (std::size_t d = 0; d < part.datasets.size(); ++d) {
        std::uint64_t first = 0;  // number of the shard's first sample in its dataset
        for (std::size_t s = 0; s < part.datasets[d].manifest.shards.size(); ++s) {
          AddShard(part, d, s, first, build);
          first += part.datasets[d].manifest.shards[s].samples;
        }
      }
    }
    build.EndShard();
    build.edited().hidden = front.hidden;
    build.edited().deleted = deleted_;
    MergeSummary summary;
    summary.made = build.Finish(MadeByEdit("merge", ids_, CommonOptions(images.datasets)));
    std::vector<std::string>& warnings = summary.made.warnings;
    warnings.insert(warnings.begin(), warnings_.begin(), warnings_.end());
    summary.duplicates = shared_.count;
    summary.same_keys = shared_.same_keys;
    if (shared_.same_keys > 0) {
      summary.made.warnings.push_back(std::to_string(shared_.same_keys) +
                                      " samples have the same key as a sample of an earlier "
                                      "dataset, but different content; all are kept");
    }
    return summary;
  }

 private:
  // The image shards of all datasets, or the same column of all.
  struct Part {
    std::vector<StoredDataset> datasets;
    std::vector<LabelMaps> maps;
    Schema schema;
  };

  void Take(StoredDataset dataset, const std::string& name, Part& part) {
    Schema own = dataset.manifest.schema;
    if (part.datasets.empty()) part.schema = own;
    ShareMissing(part.schema, own);
    part.maps.push_back(ReconcileClasses(own, name, part.schema, warnings_));
    part.datasets.push_back(std::move(dataset));
  }

  bool any_deleted() const noexcept { return !deleted_.empty(); }
  void AddDeleted(DeletedRun run) {
    if (any_deleted() && deleted_.back().end() == run.first)
      deleted_.back().count += run.count;
    else
      deleted_.push_back(run);
  }

  [[noreturn]] void Refuse() const {
    throw Error(
        ErrorCode::kInvalidArgument, parts_[0].datasets[shared_.dataset].folder.string(),
        "holds \"" + shared_.key + "\", which an earlier dataset also has; " +
            std::to_string(shared_.count) +
            " samples are shared in all; merge with `--duplicates drop` to leave them out, or "
            "`keep` to keep them twice");
  }

  // `first`: the number of the shard's first sample in its dataset.
  void AddShard(const Part& part, std::size_t d, std::size_t s, std::uint64_t first,
                DatasetBuild& build) {
    const StoredDataset& dataset = part.datasets[d];
    const ShardFile shard = dataset.Open(s);
    std::vector<std::uint64_t> left_out;  // numbers within the shard
    if (options_.duplicates == Duplicates::kDrop)
      left_out = Within(shared_.again[d], first, shard.samples());
    const std::uint32_t times = seen_[shard.id().bytes]++;
    const bool same = dataset.manifest.schema == part.schema && IsIdentity(part.maps[d]);
    if (same && left_out.empty() && times == 0) {
      const std::string& file = dataset.manifest.shards[s].file;
      RequireWhole(shard, hooks_.stop);
      FinishedShard survey = SurveyShard(shard, file);
      survey.shard.unknown = dataset.manifest.shards[s].unknown;
      return dataset.remote != nullptr ? build.Copy(shard, std::move(survey))
                                       : build.Link(dataset.folder / file, std::move(survey));
    }
    KeyChunk keys;
    build.Skip(left_out.size());
    build.BeginShard(MergedId(shard.id(), part.schema, left_out, times, ids_),
                     shard.block_samples());
    auto next = left_out.begin();
    for (std::uint64_t i = 0; i < shard.samples(); ++i) {
      if (next != left_out.end() && *next == i) {
        ++next;
        continue;
      }
      EncodedSample sample = CopySample(shard, i, keys);
      try {
        MapLabels(dataset.manifest.schema, part.schema, part.maps[d], sample);
      } catch (const Error& error) {
        throw AtSample(error, shard, i);
      }
      build.Add(std::move(sample));
    }
    build.EndShard();
  }

  // The numbers that lie in [first, first + count), each minus `first`. `numbers` are sorted.
  static std::vector<std::uint64_t> Within(const std::vector<std::uint64_t>& numbers,
                                           std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> within;
    for (auto next = std::lower_bound(numbers.begin(), numbers.end(), first);
         next != numbers.end() && *next - first < count; ++next) {
      within.push_back(*next - first);
    }
    return within;
  }

  const MergeOptions& options_;
  const EditHooks& hooks_;
  std::vector<Part> parts_;  // the image shards, then each column
  std::vector<Id128> ids_;
  std::vector<DeletedRun> deleted_;
  std::uint64_t total_ = 0;
  SharedSamples shared_;
  std::vector<std::string> warnings_;
  // How often a shard's id has occurred.
  std::map<std::array<std::uint8_t, 16>, std::uint32_t> seen_;
};

}  // namespace

MergeSummary MergeDatasets(const std::vector<std::filesystem::path>& inputs,
                           const std::filesystem::path& out, const MergeOptions& options,
                           const EditHooks& hooks) {
  if (inputs.empty())
    throw Error(ErrorCode::kInvalidArgument, "give at least one dataset to merge");
  return Merging(inputs, options, hooks).Into(out);
}

}  // namespace sluice
