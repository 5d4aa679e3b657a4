// The versions of a dataset (`sluice log`, `tag`, `restore`, `gc`), and deleted samples (`sluice
// delete`).
//
// A version is a manifest, whole in itself: nothing here is needed to open one. What the commands
// know of the history they read from the manifests of the folder: each names the one before it.
//
// Removing old versions removes shards first and the manifests that name them last. So a command
// that was killed finds what is left to do when it is repeated. A file is removed only if one of
// these manifests names it and no other manifest in the folder does.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <unordered_map>

#include <sys/stat.h>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/disk/limits.h"
#include "format/disk/shard_look.h"
#include "format/parallel.h"
#include "format/remote/remote_manifest.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/new_version.h"
#include "writer/source/list/source_list.h"
#include "writer/text.h"

namespace sluice {

namespace {

struct KeptManifest {
  std::string file;
  Id128 id;
  Manifest manifest;
  std::chrono::system_clock::time_point written;
  bool tag() const { return IsOldManifestName(file) && file != OldManifestName(id); }
};

// The manifests of the folder, the current one first. One that is damaged or of a newer Sluice is
// left out; with `need_all` it is an Error, for callers that must know every shard that is named.
std::vector<KeptManifest> ManifestsIn(const StoredDataset& dataset, bool need_all = false) {
  std::vector<KeptManifest> kept;
  dataset.ForEachFile([&](const std::string& name, std::uint64_t) {
    if (name != kManifestName && !IsOldManifestName(name)) return;
    const std::filesystem::path path = dataset.folder / name;
    KeptManifest one{name, {}, {}, std::chrono::system_clock::now()};
    try {
      ObjectInfo info;
      const std::vector<std::byte> text = dataset.ReadText(name, &info);
      if (!dataset.in_store())
        one.written = std::chrono::file_clock::to_sys(std::filesystem::last_write_time(path));
      else if (info.changed > 0)
        one.written = std::chrono::system_clock::from_time_t(info.changed);
      one.manifest = ManifestFromJson(AsText(text), path.string(), one.id);
    } catch (const Error& error) {
      const bool gone = error.code() == ErrorCode::kNotFound;  // another command has removed it
      const bool passed_over =
          error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kUnsupported;
      if (name == kManifestName || !(gone || (passed_over && !need_all))) throw;
      return;
    }
    kept.push_back(std::move(one));
  });
  std::ranges::sort(kept, [](const KeptManifest& a, const KeptManifest& b) {
    return std::pair(a.file != kManifestName, a.file) < std::pair(b.file != kManifestName, b.file);
  });
  return kept;
}

std::string Samples(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " sample" : " samples");
}

std::vector<std::string> ChangesOf(const Manifest& before, const Manifest& after) {
  std::vector<std::string> changes;
  if (after.samples > before.samples)
    changes.push_back("added " + Samples(after.samples - before.samples));
  else if (after.shards != before.shards)
    changes.push_back("other image shards, with " + Samples(after.samples));
  const std::uint64_t deleted = CountOf(after.deleted);
  const std::uint64_t deleted_before = CountOf(before.deleted);
  if (deleted > deleted_before) changes.push_back("deleted " + Samples(deleted - deleted_before));
  if (deleted < deleted_before)
    changes.push_back("brought back " + Samples(deleted_before - deleted));
  const VisibleFields old = VisibleFields::Of(before);
  const VisibleFields now = VisibleFields::Of(after);
  for (const Field& field : now.schema.fields) {
    if (old.schema.Find(field.name) == Schema::kNone)
      changes.push_back("added the field " + field.name);
    else if (!SameSource(after, now, before, old, field.name))
      changes.push_back("replaced the field " + field.name);
  }
  for (const Field& field : old.schema.fields)
    if (now.schema.Find(field.name) == Schema::kNone)
      changes.push_back("dropped the field " + field.name);
  if (changes.empty()) changes.emplace_back("nothing but the manifest itself");
  return changes;
}

std::string TagOf(const std::string& file) {
  constexpr std::string_view kBefore = "manifest-";
  constexpr std::string_view kAfter = ".json";
  return file.substr(kBefore.size(), file.size() - kBefore.size() - kAfter.size());
}

void CheckTag(const std::string& folder, const std::string& name) {
  constexpr std::size_t kMaxTag = 100;
  const auto good = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  Id128 id;
  if (!name.empty() && name.size() <= kMaxTag && std::ranges::all_of(name, good) &&
      !FromHex(name, id))
    return;
  throw Error(ErrorCode::kInvalidArgument, folder,
              "\"" + ToUtf8(name) +
                  "\" cannot be the name of a version: use 1 to 100 letters, digits, '.', '_' and "
                  "'-', but not 32 hexadecimal digits, which would be an id");
}

// The version of that id or tag.
const KeptManifest& VersionNamed(const std::vector<KeptManifest>& kept, const std::string& folder,
                                 const std::string& version) {
  for (const KeptManifest& one : kept) {
    const bool is_tag = one.tag() && TagOf(one.file) == version;
    if (ToHex(one.id) == version || is_tag || one.file == version) return one;
  }
  throw Error(
      ErrorCode::kNotFound, folder,
      "keeps no version \"" + ToUtf8(version) + "\"; `sluice log` lists those that it keeps");
}

// For a call that was killed after it had made this version, and is repeated.
VersionSummary Unchanged(const StoredDataset& dataset) {
  VersionSummary there;
  there.id = ToHex(dataset.id);
  there.before = dataset.manifest.change ? ToHex(dataset.manifest.change->parent) : "";
  there.samples = dataset.manifest.samples;
  return there;
}

bool SameButForChange(Manifest a, Manifest b) {
  a.change.reset();
  b.change.reset();
  Id128 id;
  return ManifestToJson(a, id) == ManifestToJson(b, id);
}

}  // namespace

std::vector<DatasetVersion> ListVersions(const std::filesystem::path& dataset) {
  const StoredDataset stored(ManifestPlace::Of(dataset).folder);
  const std::vector<KeptManifest> kept = ManifestsIn(stored);
  std::map<std::string, DatasetVersion> versions;
  std::map<std::string, const Manifest*> manifests;
  for (const KeptManifest& one : kept) {
    const std::string id = ToHex(one.id);
    DatasetVersion& version = versions[id];
    if (one.tag()) version.tags.push_back(TagOf(one.file));
    if (version.id.empty() || !one.tag()) version.file = version.current ? version.file : one.file;
    version.id = id;
    version.current = version.current || one.file == kManifestName;
    version.samples = one.manifest.samples;
    version.deleted = CountOf(one.manifest.deleted);
    manifests[id] = &one.manifest;
    if (!one.manifest.change) continue;
    version.parent = ToHex(one.manifest.change->parent);
    version.by = one.manifest.change->by;
    version.note = one.manifest.change->note;
  }
  for (auto& [id, version] : versions) {
    const auto parent = manifests.find(version.parent);
    const std::optional<ManifestChange>& change = manifests.at(id)->change;
    // A program that does not know this member may have copied it into another dataset.
    if (parent == manifests.end() || parent->second->samples != change->samples) continue;
    version.parent_is_kept = true;
    version.changes = ChangesOf(*parent->second, *manifests.at(id));
  }
  std::vector<DatasetVersion> list;
  for (std::string id = ToHex(kept.front().id); versions.contains(id);) {
    list.push_back(std::move(versions.extract(id).mapped()));
    id = list.back().parent_is_kept ? list.back().parent : "";
  }
  for (auto& [id, version] : versions)
    list.push_back(std::move(version));
  return list;
}

void TagVersion(const std::filesystem::path& path, const std::string& name,
                const std::string& version) {
  const LockedDataset locked(path, Places::kFoldersAndStores);
  const std::filesystem::path& folder = locked.stored.folder;
  CheckTag(folder.string(), name);
  const std::vector<KeptManifest> kept = ManifestsIn(locked.stored);
  const KeptManifest& one =
      version.empty() ? kept.front() : VersionNamed(kept, folder.string(), version);
  const std::string file = "manifest-" + name + ".json";
  for (const KeptManifest& other : kept) {
    if (other.file != file) continue;
    if (other.id == one.id) return;
    throw Error(ErrorCode::kExists, (folder / file).string(),
                "is the version " + ToHex(other.id) + " already; choose another name");
  }
  const std::vector<std::byte> text = locked.stored.ReadText(one.file);
  if (locked.stored.in_store())
    locked.stored.store->Put(file, text, true);
  else
    WriteFile(folder / file, text);
}

VersionSummary RestoreVersion(const std::filesystem::path& path, const std::string& version,
                              const std::string& note) {
  const LockedDataset locked(path, Places::kFoldersAndStores);
  const std::filesystem::path& folder = locked.stored.folder;
  const std::vector<KeptManifest> kept = ManifestsIn(locked.stored);
  const KeptManifest& one = VersionNamed(kept, folder.string(), version);
  if (SameButForChange(one.manifest, locked.stored.manifest)) {
    return Unchanged(locked.stored);
  }
  for (std::size_t c = 0; c <= one.manifest.columns.size(); ++c) {
    const Manifest& part = c == 0 ? one.manifest : one.manifest.columns[c - 1];
    const ShardsLook look = locked.stored.in_store() ? LookAtShards(*locked.stored.store, part, {})
                                                     : LookAtShards(folder, part, {});
    if (!look.errors.empty()) throw Error(look.errors.front());
  }
  NewVersion restored(locked, true, false);
  restored.edited() = one.manifest;
  restored.edited().change.reset();
  restored.Record("sluice restore " + version, note);
  restored.edited().change->samples = locked.stored.manifest.samples;
  return restored.FinishVersion();
}

namespace {

void RemoveFiles(const StoredDataset& dataset, const std::vector<std::string>& files,
                 const std::stop_token& stop) {
  constexpr unsigned kRequests = 16;  // to a store at the same time
  ParallelFor(dataset.in_store() ? kRequests : 1, files.size(), stop, [&](unsigned, std::size_t i) {
    if (dataset.in_store())
      dataset.store->Remove(files[i]);
    else
      std::filesystem::remove(dataset.folder / files[i]);
  });
  if (stop.stop_requested()) ThrowStopped();
  if (!dataset.in_store()) SyncFolder(dataset.folder);
}

}  // namespace

OldVersions RemoveOldVersions(const std::filesystem::path& path, double keep_days, bool remove,
                              const std::stop_token& stop) {
  const LockedDataset locked(path, Places::kFoldersAndStores, stop);
  const std::vector<KeptManifest> kept = ManifestsIn(locked.stored, true);
  const auto now = std::chrono::system_clock::now();
  const std::chrono::duration<double> least(keep_days * 86400);
  std::set<std::string> stay;  // ids that the current version and tags have
  for (const KeptManifest& one : kept)
    if (one.tag() || one.file == kManifestName) stay.insert(ToHex(one.id));
  OldVersions old;
  std::set<std::string> named;  // by versions that stay
  std::vector<const KeptManifest*> going;
  for (const KeptManifest& one : kept) {
    const bool goes = !stay.contains(ToHex(one.id)) && now - one.written > least;
    if (goes)
      going.push_back(&one);
    else
      ForEachShard(one.manifest,
                   [&named](const ManifestShard& shard) { named.insert(shard.file); });
  }
  std::map<std::string, std::uint64_t> there;  // a call that was stopped has removed some
  locked.stored.ForEachFile(
      [&there](const std::string& name, std::uint64_t bytes) { there.emplace(name, bytes); });
  std::set<std::string> seen;
  std::vector<std::string> manifests;
  for (const KeptManifest* const one : going) {
    old.versions.push_back(ToHex(one->id));
    manifests.push_back(one->file);
    ForEachShard(one->manifest, [&](const ManifestShard& shard) {
      const auto file = there.find(shard.file);
      if (named.contains(shard.file) || !seen.insert(shard.file).second || file == there.end())
        return;
      old.files.push_back(shard.file);
      old.bytes += file->second;
    });
  }
  if (!remove) return old;
  RemoveFiles(locked.stored, old.files, stop);
  RemoveFiles(locked.stored, manifests, stop);
  return old;
}

namespace {

std::vector<std::uint64_t> NumbersOf(const StoredDataset& dataset, const Deletion& deletion) {
  const std::string folder = dataset.folder.string();
  std::vector<std::uint64_t> numbers = deletion.samples;
  for (const std::uint64_t sample : numbers) {
    if (sample < dataset.manifest.samples) continue;
    throw Error(ErrorCode::kInvalidArgument, folder,
                "has " + std::to_string(dataset.manifest.samples) +
                    " samples, so there is no sample " + std::to_string(sample));
  }
  if (!deletion.keys.empty()) {
    std::unordered_map<std::string, bool> found;
    for (const std::string& key : deletion.keys)
      found.emplace(key, false);
    std::uint64_t sample = 0;
    ForEachKey(dataset, [&](std::string_view key) {
      const auto wanted = found.find(std::string(key));
      if (wanted != found.end()) {
        wanted->second = true;
        numbers.push_back(sample);
      }
      ++sample;
    });
    for (const std::string& key : deletion.keys) {
      if (found.at(key)) continue;
      throw Error(ErrorCode::kNotFound, folder,
                  "has no sample with the key \"" + ToUtf8(key) + "\"");
    }
  }
  std::ranges::sort(numbers);
  const auto same = std::ranges::unique(numbers);
  numbers.erase(same.begin(), same.end());
  return numbers;
}

// The runs of deleted samples, with more of them.
std::vector<DeletedRun> Joined(const std::vector<DeletedRun>& before,
                               const std::vector<std::uint64_t>& more) {
  std::vector<DeletedRun> all = before;
  for (const std::uint64_t sample : more)
    all.push_back({sample, 1});
  std::ranges::sort(all, {}, &DeletedRun::first);
  std::vector<DeletedRun> runs;
  for (const DeletedRun& run : all) {
    if (!runs.empty() && run.first <= runs.back().end())
      runs.back().count = std::max(runs.back().end(), run.end()) - runs.back().first;
    else
      runs.push_back(run);
  }
  return runs;
}

// What may still hold the bytes of the samples.
std::vector<std::string> RemainsOf(const StoredDataset& dataset,
                                   const std::vector<std::uint64_t>& samples) {
  std::vector<std::string> remains = {
      "the shards of this dataset: `sluice subset` writes a dataset without them, which can take "
      "this one's place"};
  std::uint64_t first = 0;
  std::size_t linked = 0;
  std::string example;
  for (const ManifestShard& shard : dataset.manifest.shards) {
    if (dataset.in_store()) break;
    const auto at = std::ranges::lower_bound(samples, first);
    first += shard.samples;
    struct stat info {};
    if (at == samples.end() || *at >= first) continue;
    if (stat((dataset.folder / shard.file).c_str(), &info) != 0 || info.st_nlink < 2) continue;
    if (linked++ == 0) example = shard.file;
  }
  if (linked > 0) {
    remains.push_back(std::to_string(linked) + (linked == 1 ? " shard has" : " shards have") +
                      " a further name elsewhere on this disk, as `sluice merge` and `append` give "
                      "them: " +
                      example);
  }
  std::size_t versions = 0;
  for (const KeptManifest& one : ManifestsIn(dataset)) {
    if (one.file == kManifestName) continue;
    if (one.tag()) {
      remains.push_back("the version " + TagOf(one.file) + ", which can be opened as " +
                        ShownPath((dataset.folder / one.file).string()));
    } else {
      ++versions;
    }
  }
  if (versions > 0) {
    remains.push_back(std::to_string(versions) + (versions == 1 ? " version" : " versions") +
                      " before this one, which can be opened (`sluice log`); `sluice gc` removes "
                      "old versions");
  }
  remains.push_back(
      "copies of the dataset, older objects of a bucket that keeps versions, caches and stages of "
      "blocks (`sluice cache`), kept pictures, and backups");
  return remains;
}

}  // namespace

DeletionSummary DeleteSamples(const std::filesystem::path& path, const Deletion& deletion) {
  const LockedDataset locked(path, Places::kFoldersAndStores);
  const StoredDataset& dataset = locked.stored;
  const std::string folder = dataset.folder.string();
  const std::vector<std::uint64_t> numbers = NumbersOf(dataset, deletion);
  if (numbers.empty())
    throw Error(ErrorCode::kInvalidArgument, folder, "no sample was named to delete");
  NewVersion version(locked, true, false);
  std::vector<DeletedRun>& runs = version.edited().deleted;
  const std::uint64_t before = CountOf(runs);
  runs = Joined(runs, numbers);
  DeletionSummary summary;
  summary.deleted = CountOf(runs) - before;
  if (summary.deleted == 0) {
    summary.made = Unchanged(dataset);
    summary.remains = RemainsOf(dataset, numbers);
    return summary;
  }
  if (CountOf(runs) == dataset.manifest.samples) {
    throw Error(ErrorCode::kInvalidArgument, folder,
                "would have no sample left; remove the dataset instead");
  }
  if (runs.size() > kMaxDeletedRuns) {
    throw Error(ErrorCode::kLimit, folder,
                "can have at most " + std::to_string(kMaxDeletedRuns) +
                    " runs of deleted samples; make a dataset of the others with `sluice subset`");
  }
  version.Record("sluice delete: " + Samples(summary.deleted), deletion.note);
  summary.made = version.FinishVersion();
  summary.remains = RemainsOf(dataset, numbers);
  return summary;
}

}  // namespace sluice
