// `sluice append --repack`: the same samples in a new random order, in new shards of the same
// folder.
//
// Samples are read in random order from all shards. Keys are stored
// compressed, thousands of them together. They must not be decompressed again for each sample, so
// they are first decompressed into a file. The permutation has a random stream of its own. Programs
// that have the dataset open are not disturbed: the old manifest and its shards stay.
#include <algorithm>

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

// Describes how the dataset was made, for later appends, and that it was permuted since.
std::string MadeByRepack(const std::string& before, const Id128& from, std::uint64_t seed) {
  nlohmann::json made = nlohmann::json::parse(before, nullptr, false);
  if (!made.is_object()) made = nlohmann::json::object();
  made["repacked"] = {{"from", ToHex(from)}, {"seed", seed}};
  return made.dump();
}

// Columns become fields of the new shards, and deleted samples are left out.
void WriteShards(const StoredDataset& stored, const LivingSamples& samples, const KeyFile& keys,
                 std::uint64_t seed, DatasetBuild& build) {
  if (stored.manifest.shards.empty()) return;  // a subset may have none
  VisibleRows rows(stored, {}, kMaxMapped);
  const std::uint32_t block_samples = stored.Open(0).block_samples();
  const Id128 base = Hash128({std::as_bytes(std::span(stored.id.bytes)),
                              std::as_bytes(std::span<const std::uint64_t>(&seed, 1))});
  // The conversion's order has another stream (0), or this one could repeat it.
  for (const std::uint64_t place : Permutation<std::uint64_t>(samples.size(), seed, 1)) {
    EncodedSample sample = rows.Values(samples[place]);
    sample.key = keys.Key(samples[place]);
    build.Fill(base, block_samples, std::move(sample));
  }
}

}  // namespace

EditSummary RepackDataset(const std::filesystem::path& dataset, std::uint64_t seed,
                          const EditHooks& hooks) {
  const LockedDataset locked(dataset);
  const StoredDataset& stored = locked.stored;
  const std::filesystem::path& folder = stored.folder;
  RequireAllShards(stored, hooks.stop);
  const LivingSamples samples(stored.manifest);
  WorkFolder work(folder.native() + ".repack");
  work.Empty();  // removes what a killed call has left
  const std::filesystem::path staging = work.path() / "dataset";
  EditSummary summary;
  {
    DatasetBuild build(staging, stored.manifest.name, VisibleFields::Of(stored.manifest).schema,
                       samples.size(), hooks);
    WriteShards(stored, samples, KeyFile(stored, work.path() / "keys", hooks.stop), seed, build);
    const std::string made = MadeByRepack(stored.manifest.made, stored.id, seed);
    std::vector<std::string> warnings = build.Finish(made).warnings;
    NewVersion version(locked, false, hooks.direct);
    version.Record("sluice append --repack");
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
