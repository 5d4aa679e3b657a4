// Programs may be reading the folder meanwhile. So new shards get only names that no manifest there
// has, neither the current one nor an older one, and a copy of the old manifest is kept before it
// is replaced. The order of writing is that of dataset_build.cpp: shards, the folder, the manifest.
// After a failure, only what was added here is removed.
#include "writer/edit/new_version.h"

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "writer/convert/dataset_folder.h"
#include "writer/edit/dataset_build.h"
#include "writer/shard_writer.h"
#include "writer/source/list/paths.h"

namespace sluice {

namespace {

// The names of shards in all manifests of the folder, old manifests included. A manifest that
// cannot be read counts as empty: nobody can open a dataset by it.
std::set<std::string> NamesInUse(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != kManifestName && !IsOldManifestName(name)) continue;
    std::vector<std::byte> text;
    try {
      ReadFile(entry.path(), kMaxManifestBytes, text);
      Id128 id;
      const Manifest manifest = ManifestFromJson(AsText(text), entry.path().string(), id);
      ForEachShard(manifest, [&names](const ManifestShard& shard) { names.insert(shard.file); });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnsupported) throw;
    }
  }
  return names;
}

}  // namespace

NewVersion::NewVersion(const LockedDataset& dataset, bool with_shards, bool direct)
    : folder_(dataset.stored.folder),
      old_id_(dataset.stored.id),
      manifest_(dataset.stored.manifest),
      used_(NamesInUse(folder_)) {
  if (direct) direct_.emplace();
  Record("sluice append");
  next_ = static_cast<std::uint32_t>(manifest_.shards.size());
  if (with_shards) return;
  Manifest empty = BeginManifest(manifest_.name, VisibleFields::Of(manifest_).schema);
  empty.made = manifest_.made;
  KeepMembers(manifest_, empty);
  empty.change = manifest_.change;
  manifest_ = std::move(empty);
}

void NewVersion::Record(std::string by, std::string note) {
  const std::uint64_t samples = manifest_.change && manifest_.change->parent == old_id_
                                    ? manifest_.change->samples
                                    : manifest_.samples;
  manifest_.change = ManifestChange{old_id_, samples, std::move(by), std::move(note)};
}

std::string NewVersion::NameFor(const Schema& schema, const Id128& id) {
  ShardExpectation own;
  own.id = id;
  std::string name;
  do {
    name = FreeName();
  } while (!MayHave(folder_ / name, schema, own));
  taken_.push_back(name);
  return name;
}

NewVersion::~NewVersion() {
  if (finished_) return;
  try {
    Id128 now;
    ReadManifest(folder_, now);
    if (old_is_kept_ && now == old_id_) std::filesystem::remove(OldManifest());
    const std::set<std::string> named = NamesInUse(folder_);
    for (const std::string& name : taken_)
      if (!named.contains(name)) std::filesystem::remove(folder_ / name);
  } catch (const std::exception&) {
    // Shards that cannot be removed stay. A repeated append finds them by their names (MayHave).
  }
}

std::filesystem::path NewVersion::OldManifest() const {
  return folder_ / OldManifestName(old_id_);
}

std::string NewVersion::FreeName() {
  for (;;) {
    if (next_ >= kMaxShards) {
      throw Error(ErrorCode::kLimit, folder_.string(), "a dataset can have at most 1000000 shards");
    }
    std::string name = ShardFileName(next_++);
    if (used_.insert(name).second) return name;
  }
}

// Whether the shard may get the name `to`, which no manifest has. If there is a file of that name
// and it is this very shard, an earlier call left it, and it is removed. Any other file may be the
// user's, so it stays, and the shard needs another name.
bool NewVersion::MayHave(const std::filesystem::path& to, const Schema& schema,
                         const ShardExpectation& shard) const {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(to, error))) return true;
  try {
    const ShardFile left(to, schema, shard);
  } catch (const Error&) {
    return false;
  }
  return std::filesystem::remove(to, error);
}

void NewVersion::TakeAll(const StoredDataset& from) {
  for (std::size_t s = 0; s < from.manifest.shards.size(); ++s) {
    const std::string& file = from.manifest.shards[s].file;
    FinishedShard survey = SurveyShard(from.Open(s), file);
    std::filesystem::path to;
    do {
      survey.shard.file = FreeName();
      to = folder_ / survey.shard.file;
    } while (!MayHave(to, manifest_.schema, ShardExpectation::Of(survey.shard)));
    taken_.push_back(survey.shard.file);
    LinkOrCopy(from.folder / file, to, direct_ ? &*direct_ : nullptr);
    AddShard(survey, manifest_);
  }
}

EditSummary NewVersion::Finish() {
  SyncFolder(folder_);  // the new names are durable before a manifest has them
  std::vector<std::byte> old;
  ReadFile(folder_ / kManifestName, kMaxManifestBytes, old);
  old_is_kept_ = !std::filesystem::exists(OldManifest());
  WriteFile(OldManifest(), old);
  WriteManifest(manifest_, folder_);
  finished_ = true;
  return Summarize(manifest_);
}

VersionSummary NewVersion::FinishVersion() {
  Id128 id;
  ManifestFromJson(ManifestToJson(manifest_, id), folder_.string(), id);
  VersionSummary summary;
  summary.id = ToHex(id);
  summary.before = ToHex(old_id_);
  summary.samples = manifest_.samples;
  Finish();
  return summary;
}

namespace {

std::filesystem::path FolderOf(const std::filesystem::path& dataset) {
  RequireFolder(dataset);
  const ManifestPlace place = ManifestPlace::Of(dataset);
  if (place.is_old()) {
    throw Error(ErrorCode::kInvalidArgument, dataset.string(),
                "is an older manifest, which is never changed; `sluice copy` or `sluice subset` "
                "makes a dataset of it, which can be");
  }
  return NamedFolder(place.folder);
}

}  // namespace

LockedDataset::LockedDataset(const std::filesystem::path& dataset, Changed changed)
    // Comes first: throws if this is not a dataset.
    : stored(FolderOf(dataset), {}, changed), lock(LockFolder(stored.folder)) {
  // Read again, now that nobody else can change it.
  stored = StoredDataset(stored.folder, {}, changed);
  RemoveLeftovers(stored.folder);
}

}  // namespace sluice
