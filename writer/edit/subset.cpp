#include <algorithm>
#include <map>
#include <numeric>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/random.h"
#include "writer/convert/options.h"
#include "writer/edit/dataset_build.h"

namespace sluice {

namespace {

// Of each sample, its class, out of the directories' columns; -1 for all where there are none.
std::vector<std::int64_t> ClassesOfSamples(const StoredDataset& dataset) {
  std::vector<std::int64_t> classes;
  classes.reserve(dataset.manifest.samples);
  const Schema& schema = dataset.manifest.schema;
  const std::size_t field = ClassField(schema);
  const std::vector<std::size_t> columns = ColumnFields(schema);
  const auto column =
      static_cast<std::size_t>(std::find(columns.begin(), columns.end(), field) - columns.begin());
  for (std::size_t s = 0; s < dataset.manifest.shards.size(); ++s) {
    const ShardFile shard = dataset.Open(s);
    for (std::uint64_t i = 0; i < shard.samples(); ++i) {
      if (field == Schema::kNone) {
        classes.push_back(-1);
        continue;
      }
      const std::size_t size = SizeOf(schema.fields[field].dtype);
      classes.push_back(
          ClassNumber(schema.fields[field], shard.Column(column).subspan(i * size, size)));
    }
  }
  return classes;
}

// At most `count` of them at random, in their order.
void TakeAtRandom(std::uint64_t count, std::uint64_t seed, std::uint64_t stream,
                  std::vector<std::uint64_t>& samples) {
  if (samples.size() <= count) return;
  RandomStream random(seed, Purpose::kSubset, stream);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::swap(samples[i], samples[i + random.Below(samples.size() - i)]);
  }
  samples.resize(count);
  std::sort(samples.begin(), samples.end());
}

std::vector<std::uint64_t> Select(const StoredDataset& dataset, const Selection& selection) {
  const std::uint64_t size = dataset.manifest.samples;
  const auto refuse = [&dataset](const std::string& sentence) {
    throw Error(ErrorCode::kInvalidArgument, dataset.folder.string(), sentence);
  };
  std::vector<std::uint64_t> samples = selection.samples;
  if (samples.empty()) {
    samples.resize(size);
    std::iota(samples.begin(), samples.end(), std::uint64_t{0});
  }
  std::sort(samples.begin(), samples.end());
  samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  if (!samples.empty() && samples.back() >= size) {
    refuse("has " + std::to_string(size) + " samples; there is no number " +
           std::to_string(samples.back()));
  }
  const std::size_t field = ClassField(dataset.manifest.schema);
  const bool by_class = !selection.classes.empty() || selection.per_class;
  if (by_class && field == Schema::kNone) refuse("has no classes to select by");
  if (by_class) {
    const std::vector<std::int64_t> classes = ClassesOfSamples(dataset);
    const std::vector<std::string>& names = dataset.manifest.schema.fields[field].classes;
    std::vector<bool> wanted(names.size(), selection.classes.empty());
    for (const std::string& name : selection.classes) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) refuse("has no class \"" + name + "\"");
      wanted[static_cast<std::size_t>(found - names.begin())] = true;
    }
    std::map<std::int64_t, std::vector<std::uint64_t>> of_class;
    for (const std::uint64_t sample : samples) {
      const std::int64_t number = classes[sample];
      if (number >= 0 && static_cast<std::size_t>(number) < wanted.size() &&
          wanted[static_cast<std::size_t>(number)]) {
        of_class[number].push_back(sample);
      }
    }
    samples.clear();
    for (auto& [number, members] : of_class) {
      if (selection.per_class) {
        TakeAtRandom(*selection.per_class, selection.seed, static_cast<std::uint64_t>(number) + 1,
                     members);
      }
      samples.insert(samples.end(), members.begin(), members.end());
    }
    std::sort(samples.begin(), samples.end());
  }
  if (selection.count) TakeAtRandom(*selection.count, selection.seed, 0, samples);
  return samples;
}

}  // namespace

EditSummary SubsetDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                          const Selection& selection, const EditHooks& hooks) {
  const StoredDataset stored(dataset);
  const std::vector<std::uint64_t> samples = Select(stored, selection);
  DatasetBuild build(out, stored.manifest.name, stored.manifest.schema, samples.size(), hooks);
  const Id128 chosen = Hash128({std::as_bytes(std::span(stored.id.bytes)),
                                std::as_bytes(std::span<const std::uint64_t>(samples))});
  std::uint64_t first = 0;  // of the shard, in the dataset
  auto next = samples.begin();
  std::uint64_t bytes = 0;  // of the shard in the making
  std::uint32_t number = 0;
  for (std::size_t s = 0; s < stored.manifest.shards.size() && next != samples.end(); ++s) {
    const std::uint64_t end = first + stored.manifest.shards[s].samples;
    if (*next < end) {
      const ShardFile shard = stored.Open(s);
      KeyChunk keys;
      for (; next != samples.end() && *next < end; ++next) {
        if (bytes == 0 || bytes > kShardBytes) {
          build.EndShard();
          build.BeginShard(ShardId(std::as_bytes(std::span(chosen.bytes)), number++),
                           shard.block_samples());
          bytes = 0;
        }
        EncodedSample sample = CopySample(shard, *next - first, keys);
        bytes += BlockBytesOf(sample, shard.schema(), shard.layout());
        build.Add(std::move(sample));
      }
    }
    first = end;
  }
  return build.Finish(MadeByEdit("subset", {stored.id}, OptionsOfMade(stored.manifest.made)));
}

}  // namespace sluice
