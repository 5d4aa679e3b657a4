// Programs may be reading the folder meanwhile. So new shards get only names that no manifest there
// has, neither the current one nor an older one, and a copy of the old manifest is kept before it
// is replaced. The order of writing is that of dataset_build.cpp: shards, the folder, the manifest.
// After a failure, only what was added here is removed.
//
// In a store, several programs may do so at once. Shards there are named by their content, so that
// two programs never write one object with different bytes, and the manifest is replaced by a
// conditional request that one of them wins. The loser removes its shards, unless a manifest names
// them. Nobody else can name them later: their ids come from the version before, on which no
// manifest can be built any more. After other failures it is not known whether the request was
// served, so the shards stay, and the repeated command finds them.
#include "writer/edit/new_version.h"

#include <algorithm>

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
std::set<std::string> NamesInUse(const StoredDataset& dataset) {
  std::set<std::string> names;
  dataset.ForEachFile([&](const std::string& name, std::uint64_t) {
    if (name != kManifestName && !IsOldManifestName(name)) return;
    try {
      Id128 id;
      const std::vector<std::byte> text = dataset.ReadText(name);
      const Manifest manifest =
          ManifestFromJson(AsText(text), (dataset.folder / name).string(), id);
      ForEachShard(manifest, [&names](const ManifestShard& shard) { names.insert(shard.file); });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnsupported &&
          error.code() != ErrorCode::kNotFound) {
        throw;
      }
    }
  });
  return names;
}

bool HasObject(ObjectStore& store, const std::string& name, std::uint64_t* bytes = nullptr) {
  try {
    const ObjectInfo info = store.Head(name);
    if (bytes != nullptr) *bytes = info.bytes;
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return false;
  }
}

Error OtherWriter(const StoredDataset& dataset) {
  return Error(ErrorCode::kState, dataset.folder.string(),
               "another program has changed the dataset meanwhile, and nothing of this change was "
               "made; run the same command again");
}

}  // namespace

NewVersion::NewVersion(const LockedDataset& dataset, bool with_shards, bool direct)
    : dataset_(dataset.stored),
      folder_(dataset.stored.folder),
      old_id_(dataset.stored.id),
      manifest_(dataset.stored.manifest) {
  if (dataset_.in_store()) {
    ForEachShard(manifest_, [this](const ManifestShard& shard) { used_.insert(shard.file); });
    ObjectInfo info;
    old_text_ = dataset_.ReadText(kManifestName, &info);
    old_etag_ = info.etag;
    Id128 id;
    ManifestFromJson(AsText(old_text_), (folder_ / kManifestName).string(), id);
    if (id != old_id_) throw OtherWriter(dataset_);
    if (!dataset_.store->ComparesEtags()) {
      throw Error(ErrorCode::kUnsupported, folder_.string(),
                  "the store has no conditional requests (PUT with If-Match), so two programs that "
                  "change a dataset at once could lose a change; use `sluice copy` to bring the "
                  "dataset into a folder, change it there, and copy it to another place");
    }
  } else {
    used_ = NamesInUse(dataset_);
  }
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
  } while (!MayHave(shard_folder() / name, schema, own));
  taken_.push_back(name);
  return name;
}

const std::filesystem::path& NewVersion::shard_folder() {
  if (!dataset_.in_store()) return folder_;
  if (uploads_.empty()) uploads_ = MakeUploadFolder();
  return uploads_;
}

NewVersion::~NewVersion() {
  std::error_code ignored;
  if (!uploads_.empty()) std::filesystem::remove_all(uploads_, ignored);
  if (finished_ || dataset_.in_store()) return;
  try {
    Id128 now;
    ReadManifest(folder_, now);
    if (old_is_kept_ && now == old_id_) std::filesystem::remove(OldManifest());
    const std::set<std::string> named = NamesInUse(dataset_);
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
  if (dataset_.in_store())
    ReplaceInStore();
  else
    Finish();
  ManifestToJson(manifest_, id);
  VersionSummary summary;
  summary.id = ToHex(id);
  summary.before = ToHex(old_id_);
  summary.samples = manifest_.samples;
  return summary;
}

// Uploads the new shards, and gives them their names in the store.
void NewVersion::UploadShards() {
  std::vector<std::string> uploaded;
  for (Manifest& column : manifest_.columns) {
    for (ManifestShard& shard : column.shards) {
      if (std::ranges::find(taken_, shard.file) == taken_.end()) continue;
      const std::filesystem::path path = shard_folder() / shard.file;
      shard.file = "shard-" + ToHex(shard.digest) + ".sluice";
      uploaded.push_back(shard.file);
      std::uint64_t bytes = 0;
      if (HasObject(*dataset_.store, shard.file, &bytes) && bytes == shard.bytes) continue;
      const FileHandle file = OpenForReading(path);
      dataset_.store->PutLarge(shard.file, shard.bytes,
                               [&](std::uint64_t offset, std::span<std::byte> buffer) {
                                 ReadExactly(file, path, offset, buffer);
                               });
    }
  }
  taken_ = std::move(uploaded);
}

void NewVersion::ReplaceInStore() {
  UploadShards();
  ObjectStore& store = *dataset_.store;
  Id128 id;
  const std::string text = ManifestToJson(manifest_, id);
  store.Put(OldManifestName(old_id_), old_text_);
  try {
    store.Replace(kManifestName, AsBytes(text), old_etag_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kExists) {
      throw Error(error.code(), error.file(), error.place(),
                  error.sentence() + "; `sluice log` says whether the change was made");
    }
    // The next program to change the dataset may have replaced this version already.
    if (HasObject(store, OldManifestName(id))) return;
    const std::set<std::string> named = NamesInUse(dataset_);
    for (const std::string& name : taken_)
      if (!named.contains(name)) store.Remove(name);
    throw OtherWriter(dataset_);
  }
}

namespace {

std::filesystem::path FolderOf(const std::filesystem::path& dataset, Places places) {
  if (places == Places::kFolders) RequireFolder(dataset);
  const ManifestPlace place = ManifestPlace::Of(dataset);
  if (place.is_old()) {
    throw Error(ErrorCode::kInvalidArgument, dataset.string(),
                "is an older manifest, which is never changed; `sluice copy` or `sluice subset` "
                "makes a dataset of it, which can be");
  }
  return IsStoreUrl(dataset.string()) ? place.folder : NamedFolder(place.folder);
}

}  // namespace

LockedDataset::LockedDataset(const std::filesystem::path& dataset, Places places,
                             const std::stop_token& stop)
    // Comes first: throws if this is not a dataset.
    : stored(FolderOf(dataset, places), stop) {
  if (stored.in_store()) return;
  lock = LockFolder(stored.folder);
  // Read again, now that nobody else can change it.
  stored = StoredDataset(stored.folder);
  RemoveLeftovers(stored.folder);
}

}  // namespace sluice
