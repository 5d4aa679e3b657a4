// `sluice append --repack`: the same samples in a new random order, in new shards of the same
// folder.
//
// Samples are read in random order from all shards, so shards stay open. Keys are stored
// compressed, thousands of them together. They must not be decompressed again for each sample, so
// they are first decompressed into a file. The permutation has a random stream of its own. Programs
// that have the dataset open are not disturbed: the old manifest and its shards stay.
#include <algorithm>
#include <deque>
#include <optional>

#include <nlohmann/json.hpp>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "format/disk/checksum.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/plan.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/new_version.h"
#include "writer/source/list/source_list.h"

namespace sluice {

namespace {

// Shards that are mapped at a time; a process may have 65,530 mappings.
constexpr std::size_t kMaxMapped = 4096;

// The keys of all samples, decompressed, in a new file.
class KeyFile {
 public:
  KeyFile(const StoredDataset& dataset, const std::filesystem::path& path,
          const std::stop_token& stop)
      : path_(path) {
    AtomicFile file(path_);
    std::string keys;  // keys that are not written yet
    ends_.reserve(dataset.manifest.samples);
    for (std::size_t s = 0; s < dataset.manifest.shards.size(); ++s) {
      const ShardFile shard = dataset.Open(s);
      KeyChunk chunk;
      for (std::uint64_t i = 0; i < shard.samples(); ++i) {
        if (stop.stop_requested()) ThrowStopped();
        keys += KeyOf(shard, i, chunk);
        ends_.push_back(file.size() + keys.size());
        if (keys.size() < kWriteBytes) continue;
        file.Write(AsBytes(keys));
        keys.clear();
      }
    }
    file.Write(AsBytes(keys));
    file.Commit();
    file_ = OpenForReading(path_);
  }

  std::string Key(std::uint64_t sample) const {
    const std::uint64_t begin = sample == 0 ? 0 : ends_[sample - 1];
    std::string key(ends_[sample] - begin, '\0');
    ReadExactly(file_, path_, begin, std::as_writable_bytes(std::span(key)));
    return key;
  }

 private:
  static constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
  std::filesystem::path path_;
  std::vector<std::uint64_t> ends_;  // where each sample's key ends in the file
  FileHandle file_;
};

// Reads samples by their number; opens shards when they are needed.
class SampleReader {
 public:
  SampleReader(const StoredDataset& dataset, const KeyFile& keys)
      : dataset_(dataset), keys_(keys), shards_(dataset.manifest.shards.size()) {
    std::uint64_t end = 0;
    for (const ManifestShard& shard : dataset.manifest.shards)
      ends_.push_back(end += shard.samples);
  }

  EncodedSample Read(std::uint64_t sample) {
    const auto shard = static_cast<std::size_t>(
        std::upper_bound(ends_.begin(), ends_.end(), sample) - ends_.begin());
    const std::uint64_t first = shard == 0 ? 0 : ends_[shard - 1];
    EncodedSample copy = CopyValues(Open(shard), sample - first);
    copy.key = keys_.Key(sample);
    return copy;
  }

  const ShardFile& Open(std::size_t shard) {
    if (!shards_[shard]) {
      if (open_.size() == kMaxMapped) {
        shards_[open_.front()].reset();
        open_.pop_front();
      }
      const ManifestShard& entry = dataset_.manifest.shards[shard];
      shards_[shard].emplace(dataset_.folder / entry.file, dataset_.manifest.schema,
                             ShardExpectation::Of(entry));
      open_.push_back(shard);
    }
    return *shards_[shard];
  }

 private:
  const StoredDataset& dataset_;
  const KeyFile& keys_;
  std::vector<std::uint64_t> ends_;  // of each shard: the number of its last sample, plus 1
  std::vector<std::optional<ShardFile>> shards_;
  std::deque<std::size_t> open_;  // the shards that are open, the first opened at the front
};

// Describes how the dataset was made, for later appends, and that it was permuted since.
std::string MadeByRepack(const std::string& before, const Id128& from, std::uint64_t seed) {
  nlohmann::json made = nlohmann::json::parse(before, nullptr, false);
  if (!made.is_object()) made = nlohmann::json::object();
  made["repacked"] = {{"from", ToHex(from)}, {"seed", seed}};
  return made.dump();
}

void WriteShards(const StoredDataset& stored, const KeyFile& keys, std::uint64_t seed,
                 DatasetBuild& build) {
  if (stored.manifest.shards.empty()) return;  // a subset may have none
  SampleReader reader(stored, keys);
  const std::uint32_t block_samples = reader.Open(0).block_samples();
  const Id128 base = Hash128({std::as_bytes(std::span(stored.id.bytes)),
                              std::as_bytes(std::span<const std::uint64_t>(&seed, 1))});
  // The conversion's order has another stream (0), or this one could repeat it.
  for (const std::uint64_t sample : Permutation<std::uint64_t>(stored.manifest.samples, seed, 1))
    build.Fill(base, block_samples, reader.Read(sample));
}

}  // namespace

EditSummary RepackDataset(const std::filesystem::path& dataset, std::uint64_t seed,
                          const EditHooks& hooks) {
  const LockedDataset locked(dataset);
  const StoredDataset& stored = locked.stored;
  const std::filesystem::path& folder = stored.folder;
  RequireShards(stored, hooks.stop);
  WorkFolder work(folder.native() + ".repack");
  work.Empty();  // removes what a killed call has left
  const std::filesystem::path staging = work.path() / "dataset";
  EditSummary summary;
  {
    DatasetBuild build(staging, stored.manifest.name, stored.manifest.schema,
                       stored.manifest.samples, hooks);
    WriteShards(stored, KeyFile(stored, work.path() / "keys", hooks.stop), seed, build);
    const std::string made = MadeByRepack(stored.manifest.made, stored.id, seed);
    std::vector<std::string> warnings = build.Finish(made).warnings;
    NewVersion version(locked, false, hooks.direct);
    version.SetMade(made);
    version.ChangeMeta(hooks.meta);
    version.TakeAll(StoredDataset(staging));
    summary = version.Finish();
    summary.warnings = std::move(warnings);
  }
  work.Remove();
  return summary;
}

}  // namespace sluice
