// The order of writing decides what a crash leaves. Shards are written or linked first, then the
// folder is synced, so that their names are durable, and the manifest comes last: without it, the
// folder is not a dataset.
// Unless it is finished, the folder is removed.
#include "writer/edit/dataset_build.h"

#include <algorithm>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "writer/convert/dataset_folder.h"
#include "writer/shard_writer.h"

namespace sluice {

void LinkOrCopy(const std::filesystem::path& from, const std::filesystem::path& to,
                DirectBuffer* direct) {
  constexpr std::size_t kPart = 1 << 20;
  if (linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  const MappedFile file(from);
  AtomicFile copy(to, direct);
  std::vector<std::byte> part;
  for (Bytes rest = file.bytes(); !rest.empty(); rest = rest.subspan(part.size())) {
    const Bytes taken = rest.first(std::min(rest.size(), kPart));
    {
      const ReadGuard guard = file.Guard();
      part.assign(taken.begin(), taken.end());
    }
    // Bytes that could not be read from the old file are zeros in memory, which the new file must
    // not get.
    if (file.Lost(taken) || file.BytesLeft() < file.bytes().size()) {
      throw Error(ErrorCode::kIo, from.string(),
                  "cannot be read, or was cut short while being read");
    }
    copy.Write(part);
  }
  copy.Commit(FolderSync::kByCaller);
}

DatasetBuild::DatasetBuild(const std::filesystem::path& folder, const std::string& name,
                           const Schema& schema, std::uint64_t total, const EditHooks& hooks)
    : folder_(folder),
      hooks_(hooks),
      made_in_(folder),
      manifest_(BeginManifest(name, schema)),
      schema_(schema),
      layout_(schema),
      total_(total) {
  CheckMetadata(hooks.meta);
  if (hooks.direct) direct_.emplace();
}

std::string DatasetBuild::NextName() {
  if (names_ == kMaxShards) {
    throw Error(ErrorCode::kLimit, folder_.string(), "a dataset can have at most 1000000 shards");
  }
  return ShardFileName(names_++);
}

void DatasetBuild::Count(std::uint64_t samples) {
  done_ += samples;
  if (hooks_.stop.stop_requested()) {
    throw Error(
        ErrorCode::kState, folder_.string(),
        "was stopped before it was finished, and is removed; run the same command to begin again");
  }
  if (hooks_.on_progress) hooks_.on_progress(done_, total_);
}

void DatasetBuild::Append(FinishedShard finished) {
  const auto [other, is_new] = files_.emplace(finished.shard.id.bytes, finished.shard.file);
  if (!is_new) {
    throw Error(ErrorCode::kInvalidArgument, folder_.string(),
                "would hold a shard twice (" + other->second + " and " + finished.shard.file +
                    "): the same samples were given twice");
  }
  AddShard(finished, manifest_.columns.empty() ? manifest_ : manifest_.columns.back());
}

void DatasetBuild::BeginColumn(const Schema& schema) {
  EndShard();
  manifest_.columns.push_back(BeginManifest("", schema));
  schema_ = schema;
  layout_ = RecordLayout(schema);
}

void DatasetBuild::Keep(const Manifest& from) {
  for (std::string& name : KeepMembers(from, manifest_)) {
    if (!hooks_.meta.contains(name)) other_meta_.push_back(std::move(name));
  }
}

void DatasetBuild::Link(const std::filesystem::path& shard, FinishedShard survey) {
  survey.shard.file = NextName();
  LinkOrCopy(shard, folder_ / survey.shard.file, direct_ ? &*direct_ : nullptr);
  const std::uint64_t samples = survey.shard.samples;
  Append(std::move(survey));
  ++linked_;
  Count(samples);
}

void DatasetBuild::Copy(const ShardFile& shard, FinishedShard survey) {
  survey.shard.file = NextName();
  {
    AtomicFile file(folder_ / survey.shard.file, direct_ ? &*direct_ : nullptr);
    const ReadGuard guard = shard.Guard();
    file.Write(shard.bytes());
    if (shard.Lost(shard.bytes())) throw shard.Unreadable({});
    file.Commit(FolderSync::kByCaller);
  }
  const std::uint64_t samples = survey.shard.samples;
  Append(std::move(survey));
  ++linked_;
  Count(samples);
}

void DatasetBuild::BeginShard(Id128 id, std::uint32_t block_samples) {
  id_ = id;
  block_samples_ = block_samples;
  part_ = 0;
}

void DatasetBuild::Add(EncodedSample sample) {
  if (shard_ && !shard_->Fits(sample, kMaxShardBytes)) {
    Append(shard_->Finish({}, FolderSync::kByCaller));
    shard_.reset();
  }
  if (!shard_) {
    shard_.emplace(schema_, folder_,
                   NewShard{.name = NextName(),
                            .id = ShardId(std::as_bytes(std::span(id_.bytes)), 0, part_),
                            .block_samples = block_samples_,
                            .direct = direct_ ? &*direct_ : nullptr});
    ++part_;
  }
  shard_->Add(std::move(sample));
  Count(1);
}

void DatasetBuild::Fill(const Id128& identity, std::uint32_t block_samples, EncodedSample sample) {
  if (filled_bytes_ == 0 || filled_bytes_ > kDefaultShardBytes) {
    EndShard();
    BeginShard(ShardId(std::as_bytes(std::span(identity.bytes)), filled_++), block_samples);
    filled_bytes_ = 0;
  }
  filled_bytes_ += BlockBytesOf(sample, schema_, layout_);
  Add(std::move(sample));
}

void DatasetBuild::EndShard() {
  if (shard_) Append(shard_->Finish({}, FolderSync::kByCaller));
  shard_.reset();
}

EditSummary DatasetBuild::Finish(const std::string& made) {
  EndShard();
  manifest_.made = made;
  ChangeMetadata(hooks_.meta, manifest_.meta);
  SyncFolder(folder_);  // the names of all shards
  WriteManifest(manifest_, folder_);
  made_in_.Finish();
  EditSummary summary = Summarize(manifest_);
  summary.shards_linked = linked_;
  if (direct_ && direct_->refused()) summary.warnings.push_back(DirectRefusal(folder_));
  for (const std::string& name : other_meta_) {
    summary.warnings.push_back("the datasets have different metadata \"" + name +
                               "\"; that of the first dataset that has "
                               "it, \"" +
                               manifest_.meta[name] + "\", was kept; --meta " + name +
                               "=VALUE sets another");
  }
  return summary;
}

std::string MadeByEdit(const char* command, const std::vector<Id128>& inputs,
                       const nlohmann::json& options) {
  nlohmann::json made = {{"by", std::string("sluice ") + command},
                         {"libraries", LibrariesOf({})},
                         {"from", nlohmann::json::array()}};
  for (const Id128& id : inputs)
    made["from"].push_back(ToHex(id));
  if (!options.is_null()) made["options"] = options;
  return made.dump();
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
