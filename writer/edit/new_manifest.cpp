#include "writer/edit/new_manifest.h"

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "writer/edit/dataset_build.h"
#include "writer/manifest_totals.h"

namespace sluice {

namespace {

bool IsManifestName(const std::string& name) {
  return name == kManifestName || (name.starts_with("manifest-") && name.ends_with(".json"));
}

// The shard names in all manifests of the folder, old ones included. An unreadable manifest counts
// as empty: nobody can open a dataset by it.
std::set<std::string> NamesInUse(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!IsManifestName(entry.path().filename().string())) continue;
    std::vector<std::byte> text;
    try {
      ReadFile(entry.path(), kMaxManifestBytes, text);
      Id128 id;
      const Manifest manifest = ManifestFromJson(AsText(text), entry.path().string(), id);
      for (const ManifestShard& shard : manifest.shards)
        names.insert(shard.file);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnsupported) throw;
    }
  }
  return names;
}

}  // namespace

NewManifest::NewManifest(const std::filesystem::path& folder, bool with_shards, bool direct)
    : folder_(folder), manifest_(ReadManifest(folder, old_id_)), used_(NamesInUse(folder)) {
  if (direct) direct_.emplace();
  next_ = static_cast<std::uint32_t>(manifest_.shards.size());
  if (with_shards) return;
  Manifest empty = BeginManifest(manifest_.name, manifest_.schema);
  empty.made = manifest_.made;
  manifest_ = std::move(empty);
}

NewManifest::~NewManifest() {
  if (finished_) return;
  try {
    Id128 now;
    ReadManifest(folder_, now);
    if (old_is_kept_ && now == old_id_) std::filesystem::remove(OldManifest());
    const std::set<std::string> named = NamesInUse(folder_);
    for (const std::string& name : taken_)
      if (!named.contains(name)) std::filesystem::remove(folder_ / name);
  } catch (const std::exception&) {
    // They stay; the next append reuses their names.
  }
}

std::filesystem::path NewManifest::OldManifest() const {
  return folder_ / ("manifest-" + ToHex(old_id_) + ".json");
}

std::string NewManifest::FreeName() {
  for (;;) {
    if (next_ >= kMaxShards) {
      throw Error(ErrorCode::kLimit, folder_.string(), "a dataset can have at most 1000000 shards");
    }
    std::string name = ShardFileName(next_++);
    if (used_.insert(name).second) return name;
  }
}

// Whether the shard may get that name. A file that has it already is in no manifest. A call that
// was killed may have left it, which is so if it is the same shard; any other file is somebody's.
bool NewManifest::MayHave(const std::filesystem::path& to, const ManifestShard& shard) const {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(to, error))) return true;
  try {
    const ShardFile left(to, manifest_.schema, ShardExpectation::Of(shard));
  } catch (const Error&) {
    return false;
  }
  return std::filesystem::remove(to, error);
}

void NewManifest::Take(const std::filesystem::path& from, FinishedShard survey) {
  std::filesystem::path to;
  do {
    survey.shard.file = FreeName();
    to = folder_ / survey.shard.file;
  } while (!MayHave(to, survey.shard));
  taken_.push_back(survey.shard.file);
  LinkOrCopy(from, to, direct_ ? &*direct_ : nullptr);
  AddShard(survey, manifest_);
}

EditSummary NewManifest::Finish() {
  SyncFolder(folder_);  // the new shards' names, before a manifest names them
  std::vector<std::byte> old;
  ReadFile(folder_ / kManifestName, kMaxManifestBytes, old);
  old_is_kept_ = !std::filesystem::exists(OldManifest());
  WriteFile(OldManifest(), old);
  Id128 id;
  const std::string text = ManifestToJson(manifest_, id);
  WriteFile(folder_ / kManifestName, AsBytes(text));
  finished_ = true;
  return Summarize(manifest_);
}

EditSummary Summarize(const Manifest& manifest) {
  EditSummary summary;
  summary.samples = manifest.samples;
  summary.shards = manifest.shards.size();
  for (const ManifestShard& shard : manifest.shards)
    summary.bytes += shard.bytes;
  summary.classes = ClassesOf(manifest.schema);
  return summary;
}

std::vector<std::string> ClassesOf(const Schema& schema) {
  const std::size_t field = schema.ClassField();
  return field == Schema::kNone ? std::vector<std::string>() : schema.fields[field].classes;
}

}  // namespace sluice
