// `sluice merge`: one dataset of several, in their order.
//
// A shard is hard-linked if its dataset has exactly the merged classes (a shard's header lists
// them), none of its samples is left out, and it did not occur before. Every other shard is written
// again, with an id that depends on all of the merged datasets. Samples that an earlier input also
// has are refused, kept or left out, as the options say.
#include <algorithm>
#include <array>
#include <map>

#include <sluice/convert_option_list.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/json.h"
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

class Merging {
 public:
  Merging(const std::vector<std::filesystem::path>& inputs, const MergeOptions& options,
          const EditHooks& hooks)
      : options_(options), hooks_(hooks) {
    for (const std::filesystem::path& input : inputs) {
      datasets_.emplace_back(input, hooks.stop);
      const StoredDataset& dataset = datasets_.back();
      if (datasets_.size() == 1) schema_ = dataset.manifest.schema;
      maps_.push_back(ReconcileClasses(dataset.manifest.schema, input.string(), schema_));
      ids_.push_back(dataset.id);
      total_ += dataset.manifest.samples;
    }
    for (const StoredDataset& dataset : datasets_)
      RequireShards(dataset, hooks.stop);
    shared_ = FindSharedSamples(datasets_, maps_, schema_, hooks.stop);
    // After a stop, the list of shared samples is incomplete; Into() reports the stop.
    if (shared_.count > 0 && options.duplicates == Duplicates::kRefuse &&
        !hooks.stop.stop_requested()) {
      Refuse();
    }
  }

  MergeSummary Into(const std::filesystem::path& out) {
    const Manifest& front = datasets_[0].manifest;
    // An automatic name describes the schema, so the result gets the name of the merged schema.
    const bool described = front.name == DescribedName(front.schema);
    DatasetBuild build(out, described ? DescribedName(schema_) : front.name, schema_, total_,
                       hooks_);
    build.Skip(0);  // throws if a stop was requested meanwhile
    for (const StoredDataset& dataset : datasets_)
      build.Keep(dataset.manifest);
    for (std::size_t d = 0; d < datasets_.size(); ++d) {
      std::uint64_t first = 0;  // number of the shard's first sample in its dataset
      for (std::size_t s = 0; s < datasets_[d].manifest.shards.size(); ++s) {
        AddShard(d, s, first, build);
        first += datasets_[d].manifest.shards[s].samples;
      }
    }
    MergeSummary summary;
    summary.made = build.Finish(MadeByEdit("merge", ids_, CommonOptions(datasets_)));
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
  [[noreturn]] void Refuse() const {
    throw Error(
        ErrorCode::kInvalidArgument, datasets_[shared_.dataset].folder.string(),
        "holds \"" + shared_.key + "\", which an earlier dataset also has; " +
            std::to_string(shared_.count) +
            " samples are shared in all; merge with `--duplicates drop` to leave them out, or "
            "`keep` to keep them twice");
  }

  // `first`: the number of the shard's first sample in its dataset.
  void AddShard(std::size_t d, std::size_t s, std::uint64_t first, DatasetBuild& build) {
    const StoredDataset& dataset = datasets_[d];
    const ShardFile shard = dataset.Open(s);
    std::vector<std::uint64_t> left_out;  // numbers within the shard
    if (options_.duplicates == Duplicates::kDrop)
      left_out = Within(shared_.again[d], first, shard.samples());
    const std::uint32_t times = seen_[shard.id().bytes]++;
    const bool same = dataset.manifest.schema == schema_ && IsIdentity(maps_[d]);
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
    build.BeginShard(MergedId(shard.id(), schema_, left_out, times, ids_), shard.block_samples());
    auto next = left_out.begin();
    for (std::uint64_t i = 0; i < shard.samples(); ++i) {
      if (next != left_out.end() && *next == i) {
        ++next;
        continue;
      }
      EncodedSample sample = CopySample(shard, i, keys);
      try {
        MapLabels(dataset.manifest.schema, schema_, maps_[d], sample);
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
  std::vector<StoredDataset> datasets_;
  std::vector<LabelMaps> maps_;
  std::vector<Id128> ids_;
  Schema schema_;
  std::uint64_t total_ = 0;
  SharedSamples shared_;
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
