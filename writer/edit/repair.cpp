// `sluice repair`: makes a new dataset of a damaged one's samples, without those that have a
// damaged value. If only the manifest is missing, it can also be written anew in place (InPlace).
//
// A shard that is sound is linked. From a damaged one, SalvageShard() takes what it can: it looks
// for blocks at each page of the file, even if the file's header, directory or tail is damaged or
// missing (format/FORMAT.md, "Rebuilding what was lost"). Keys come from the shard's section of
// keys, as far as that can be read (SalvagedKeys). Lost samples are listed one by one, as long as
// the list takes no more memory than the shard itself (LossList). Work and memory are in proportion
// to the file's size, whatever its content claims.
//
// If the dataset has columns, its lost samples would move the rows of these. So their fields become
// fields of the new shards, all of which are written (FoldedIn). The columns must be whole: without
// a damaged one, every sample is still there, so it is replaced or dropped instead.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/block.h"
#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "format/disk/shard_look.h"
#include "format/disk/system_error.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/options.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/stored_dataset.h"
#include "writer/shard_writer.h"

namespace sluice {

namespace {

// The keys in a shard's section of keys, as far as that can be read.
class SalvagedKeys {
 public:
  // `section` may be damaged or empty; it must outlive the object.
  SalvagedKeys(Bytes section, std::uint64_t samples) noexcept;

  // The sample's key; empty if it cannot be read. Valid until the next call.
  std::string_view Of(std::uint64_t sample);
  // If the key of `sample` cannot be read: the next sample that may have a readable one.
  std::uint64_t NextAfter(std::uint64_t sample) const noexcept;

 private:
  Bytes section_;
  std::uint64_t samples_;
  std::uint64_t chunk_samples_ = 0;  // 0: the section is missing
  KeyChunk chunk_;
  std::uint64_t unreadable_until_ = 0;  // end of the last chunk that could not be read
};

// Adds a shard's lost samples, in order, to a list. Samples are listed one by one as long as that
// takes no more memory than the shard itself; the others, and samples without a key, become one
// entry for each run.
class LossList {
 public:
  LossList(std::string shard, std::uint64_t file_bytes, SalvagedKeys& keys,
           std::vector<LostSample>& lost) noexcept
      : shard_(std::move(shard)), room_(file_bytes), keys_(keys), lost_(lost) {}

  // Adds the samples `first` to `end` - 1.
  void Add(std::uint64_t first, std::uint64_t end, const char* why);

 private:
  void AddRun(std::uint64_t first, std::uint64_t end, const char* why);

  std::string shard_;
  std::uint64_t room_;  // bytes that the list may still take
  SalvagedKeys& keys_;
  std::vector<LostSample>& lost_;
  std::uint64_t run_end_ = 0;  // end of the last entry, if it is a run of this shard's samples
};

SalvagedKeys::SalvagedKeys(Bytes section, std::uint64_t samples) noexcept
    : section_(section), samples_(samples) {
  if (section.size() < 2 * sizeof(std::uint32_t)) return;
  const std::uint64_t each = LoadAt<std::uint32_t>(section, 0);
  const std::uint64_t chunks = LoadAt<std::uint32_t>(section, sizeof(std::uint32_t));
  if (each == 0 || each > kMaxKeyChunkSamples) return;
  // If the numbers do not fit together, no chunk is read: the section may claim far more chunks
  // than the file has bytes.
  if (chunks == samples / each + (samples % each != 0 ? 1 : 0)) chunk_samples_ = each;
}

std::string_view SalvagedKeys::Of(std::uint64_t sample) {
  if (chunk_samples_ == 0 || sample >= samples_ || sample < unreadable_until_) return {};
  if (sample < chunk_.first || sample - chunk_.first >= chunk_.count) {
    if (ReadKeyChunk(section_, samples_, sample, chunk_) != nullptr) {
      chunk_.count = 0;
      unreadable_until_ = (sample / chunk_samples_ + 1) * chunk_samples_;
      return {};
    }
  }
  return chunk_.Key(sample);
}

std::uint64_t SalvagedKeys::NextAfter(std::uint64_t sample) const noexcept {
  if (chunk_samples_ == 0 || sample >= samples_) return UINT64_MAX;
  return std::max(sample + 1, unreadable_until_);
}

void LossList::Add(std::uint64_t first, std::uint64_t end, const char* why) {
  while (first < end) {
    const std::string_view key = room_ == 0 ? std::string_view() : keys_.Of(first);
    const std::uint64_t bytes = sizeof(LostSample) + key.size();
    if (bytes > room_) room_ = 0;
    if (!key.empty() && room_ > 0) {
      lost_.push_back({shard_, static_cast<std::int64_t>(first), 1, std::string(key), why});
      run_end_ = 0;
      room_ -= bytes;
      ++first;
      continue;
    }
    const std::uint64_t next = room_ == 0 ? end : std::min(end, keys_.NextAfter(first));
    AddRun(first, next, why);
    first = next;
  }
}

void LossList::AddRun(std::uint64_t first, std::uint64_t end, const char* why) {
  if (run_end_ == first && first > 0 && lost_.back().reason == why) {
    lost_.back().samples += end - first;
  } else {
    lost_.push_back({shard_, static_cast<std::int64_t>(first), end - first, {}, why});
  }
  run_end_ = end;
}

struct Salvage {
  Id128 id;                         // of the shard, from its blocks
  std::uint32_t block_samples = 0;  // in each block
  std::uint64_t taken = 0;          // samples passed on so far
  std::uint64_t sample = 0;         // the number in the shard of the one that is passed on
};

struct FoundBlock {
  std::uint64_t offset = 0;
  BlockHeader header;
  Bytes bytes;  // fewer than the header says if the file ends earlier
  bool whole_table = false;
};

// Whether bytes that look like a block's header can belong to this dataset, after `last` in its
// shard.
bool CanFollow(const BlockHeader& header, const RecordLayout& layout, const FoundBlock* last) {
  // No block before this one is empty or has more than kMaxBlockSamples, so block N begins at a
  // sample from N to N * kMaxBlockSamples.
  const std::uint64_t most = std::uint64_t{header.number} * kMaxBlockSamples;
  if (header.record_bytes != layout.record_bytes() || header.first_sample < header.number ||
      header.first_sample > most) {
    return false;
  }
  return last == nullptr ||
         (header.shard_id == last->header.shard_id && header.number > last->header.number &&
          header.first_sample >= last->header.first_sample + last->header.count);
}

// Finds the blocks of one shard in order: of the shard to which the first block in the file
// belongs. The file may end inside the last block.
std::vector<FoundBlock> FindBlocks(Bytes file, const RecordLayout& layout) {
  std::vector<FoundBlock> blocks;
  for (std::uint64_t at = 0; at < file.size(); at += kPageBytes) {
    FoundBlock found;
    found.offset = at;
    const Bytes rest = file.subspan(at);
    if (ParseCutHeader(rest, found.header) != nullptr ||
        !CanFollow(found.header, layout, blocks.empty() ? nullptr : &blocks.back())) {
      continue;
    }
    const std::uint64_t bytes = found.header.bytes;
    const std::uint64_t table = std::uint64_t{found.header.count} * found.header.record_bytes;
    found.bytes = rest.first(std::min<std::uint64_t>(bytes, rest.size()));
    found.header.bytes = found.bytes.size();
    found.whole_table = Inside(sizeof(BlockHeader), table, found.bytes.size()) &&
                        BlockView(found.bytes, found.header).VerifyTable() == nullptr;
    blocks.push_back(found);
    // Skips the block: its payloads may contain bytes that look like a block. Its header gives its
    // length even if its table is damaged.
    at += AlignUp(bytes, kPageBytes) - kPageBytes;
  }
  return blocks;
}

// The number of samples in each block but the last: block N begins at sample N times this number.
std::uint32_t BlockSamplesOf(const std::vector<FoundBlock>& blocks) {
  for (const FoundBlock& block : blocks) {
    if (block.header.number > 0) {
      return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
          block.header.first_sample / block.header.number, 1, kMaxBlockSamples));
    }
  }
  return blocks.empty() ? 1 : blocks[0].header.count;
}

// The section of keys, which begins at the end of the last block; empty if it is missing. Its
// length follows from the sizes in its entries.
Bytes KeysAt(Bytes file, std::uint64_t offset) {
  // The section's head takes 8 bytes. So does the entry of each frame: the frame's size, and the
  // size of its content.
  constexpr std::uint64_t kFrame = 8;
  if (offset + kFrame > file.size()) return {};
  const Bytes rest = file.subspan(offset);
  const std::uint64_t chunks = LoadAt<std::uint32_t>(rest, 4);
  std::uint64_t size = kFrame + chunks * kFrame;
  if (chunks == 0 || size > rest.size()) return {};
  for (std::uint64_t c = 0; c < chunks; ++c)
    size += LoadAt<std::uint32_t>(rest, kFrame + c * kFrame);
  return size <= rest.size() ? rest.first(size) : Bytes();
}

std::uint64_t PayloadBytesOf(const EncodedSample& sample) noexcept {
  std::uint64_t bytes = 0;
  for (const FieldValue& value : sample.fields)
    if (value.codec != Codec::kAbsent) bytes += value.bytes.size();
  return bytes;
}

// Looks for blocks at each page of the file, even if the file's header, directory or tail is
// damaged or missing (format/FORMAT.md, "Rebuilding what was lost"), and passes on their whole
// samples in order. Keys that cannot be read become NAME#NUMBER. Lost samples are added to `lost`;
// `planned` is the number of samples the shard should have, if known. Work and memory are in
// proportion to the file's size, whatever its content claims.
Salvage SalvageShard(const MappedFile& mapped, const std::string& name, const Schema& schema,
                     std::optional<std::uint64_t> planned,
                     const std::function<void(const Salvage&, EncodedSample&&)>& take,
                     std::vector<LostSample>& lost) {
  const ReadGuard guard = mapped.Guard();
  const Bytes file =
      mapped.bytes().first(std::min<std::uint64_t>(mapped.bytes().size(), kMaxShardBytes));
  const RecordLayout layout(schema);
  const std::vector<FoundBlock> blocks = FindBlocks(file, layout);
  Salvage salvage;
  if (blocks.empty()) {
    lost.push_back({name, -1, planned.value_or(0), {}, "no block can be found in it"});
    return salvage;
  }
  salvage.id = blocks[0].header.shard_id;
  salvage.block_samples = BlockSamplesOf(blocks);
  const FoundBlock& last = blocks.back();
  const std::uint64_t samples = planned.value_or(last.header.first_sample + last.header.count);
  SalvagedKeys keys(KeysAt(file, last.offset + last.header.bytes), samples);
  LossList losses(name, file.size(), keys, lost);
  std::uint64_t next = 0;  // the sample that should come next
  for (const FoundBlock& block : blocks) {
    losses.Add(next, std::min(block.header.first_sample, samples), "its block is damaged");
    next = block.header.first_sample;
    const std::uint64_t end = next + block.header.count;
    if (!block.whole_table) {
      losses.Add(next, std::min(end, samples), "the table of its block is damaged");
      next = end;
      continue;
    }
    const BlockView view(block.bytes, block.header);
    std::uint64_t payload_bytes = 0;  // unless payloads overlap, at most the block's size
    for (std::uint32_t row = 0; row < view.count(); ++row, ++next) {
      EncodedSample sample;
      Defect defect = CopyRecord(schema, layout, view, row, sample);
      payload_bytes += PayloadBytesOf(sample);
      if (payload_bytes > block.bytes.size()) break;
      if (mapped.Lost(block.bytes)) defect = "its block cannot be read";
      if (defect != nullptr) {
        losses.Add(next, next + 1, defect);
        continue;
      }
      sample.key = keys.Of(next);
      if (sample.key.empty()) sample.key = name + "#" + std::to_string(next);
      ++salvage.taken;
      salvage.sample = next;
      take(salvage, std::move(sample));
    }
    // Adds nothing unless `break` ended the loop: otherwise `next` is `end` already.
    losses.Add(next, end, "the payloads of its block overlap");
    next = end;
  }
  losses.Add(next, samples, "its block is damaged");
  return salvage;
}

constexpr const char* kShardEnding = ".sluice";

// The shards to repair: those that the manifest names or, if it is lost, all in the folder.
struct Damaged {
  std::optional<Manifest> manifest;
  std::vector<Id128> ids;  // the manifest's id; empty if the manifest is lost
  std::vector<std::string> files;
  Schema schema;
  std::string schema_text;  // of a shard, if the manifest is lost
};

std::vector<std::string> ShardFiles(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == kShardEnding) {
      files.push_back(entry.path().filename().string());
    }
  }
  // Sorts "shard-00000.sluice" before its further part "shard-00000.1.sluice".
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    const auto stem = [](const std::string& name) {
      return name.substr(0, name.size() - std::string_view(kShardEnding).size());
    };
    return stem(a) < stem(b);
  });
  return files;
}

bool HoldsOldManifest(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::any_of(begin(entries), end(entries), [](const auto& entry) {
    return IsOldManifestName(entry.path().filename().string());
  });
}

Damaged LookAt(const ManifestPlace& place) {
  const std::filesystem::path& folder = place.folder;
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kNotFound, folder.string(), "this folder does not exist");
  }
  Damaged damaged;
  try {
    Id128 id;
    damaged.manifest = ReadManifest(place.path(), id);
    damaged.ids.push_back(id);
    damaged.schema = damaged.manifest->schema;
    for (const ManifestShard& shard : damaged.manifest->shards)
      damaged.files.push_back(shard.file);
    return damaged;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUnfinished) {
      throw Error(ErrorCode::kUnfinished, folder.string(),
                  "its conversion was not finished, or its manifest.json is lost; run the same "
                  "`sluice convert` command again, which completes it either way, or remove "
                  "plan.json to repair the dataset from the shards that exist");
    }
    const bool lost = error.code() != ErrorCode::kUnsupported && SaysDataIsLost(error);
    if (!lost || place.is_old()) throw;
  }
  damaged.files = ShardFiles(folder);
  std::string trouble = "there is none";
  for (const std::string& file : damaged.files) {
    try {
      damaged.schema = ShardFile::ReadSchema(folder / file, &damaged.schema_text);
      return damaged;
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      trouble = error.sentence();
    }
  }
  throw Error(ErrorCode::kCorrupt, folder.string(),
              "the manifest is lost and no shard says what the fields are: " + trouble);
}

bool IsWhole(const ShardFile& shard) {
  try {
    RequireWhole(shard);
    return true;
  } catch (const Error& error) {
    if (!SaysDataIsLost(error)) throw;
    return false;
  }
}

// Makes the samples of a dataset with columns, dropped fields or deleted samples those of one
// without.
class FoldedIn {
 public:
  explicit FoldedIn(const ManifestPlace& place)
      : dataset_(place), visible_(VisibleFields::Of(dataset_.manifest)) {
    const VisibleRows all(dataset_);  // throws if the fields do not fit one row
    for (const Manifest& column : dataset_.manifest.columns) {
      const ShardsLook look = LookAtShards(dataset_.folder, column, {});
      if (!look.errors.empty()) RefuseColumn(look.errors.front());
    }
    for (std::size_t f = 0; f < visible_.sources.size(); ++f)
      if (visible_.sources[f] != 0) in_columns_.push_back(visible_.schema.fields[f].name);
    if (!in_columns_.empty()) rows_.emplace(dataset_, in_columns_);
    for (const ManifestShard& shard : dataset_.manifest.shards)
      first_.push_back(first_.back() + shard.samples);
  }

  const Schema& schema() const noexcept { return visible_.schema; }

  // False for a deleted sample. `index`: its number in the shard.
  bool Fold(std::size_t shard, std::uint64_t index, EncodedSample& sample) {
    const std::uint64_t number = first_[shard] + index;
    if (IsDeleted(dataset_.manifest.deleted, number)) return false;
    EncodedSample values;
    try {
      if (rows_) values = rows_->Values(number);
    } catch (const Error& error) {
      RefuseColumn(error);
    }
    std::vector<FieldValue> fields;
    std::size_t next = 0;
    for (std::size_t f = 0; f < visible_.sources.size(); ++f) {
      const std::string& name = visible_.schema.fields[f].name;
      fields.push_back(visible_.sources[f] != 0
                           ? std::move(values.fields[next++])
                           : std::move(sample.fields[dataset_.manifest.schema.Find(name)]));
    }
    sample.fields = std::move(fields);
    return true;
  }

 private:
  [[noreturn]] void RefuseColumn(const Error& error) const {
    throw Error(error.code(), error.file(), error.place(),
                error.sentence() +
                    "; it belongs to a column, which is not repaired: give its fields other values "
                    "(`sluice column replace`), or drop them (`sluice column drop`)");
  }

  const StoredDataset dataset_;
  const VisibleFields visible_;
  std::vector<std::string> in_columns_;  // names of fields
  std::optional<VisibleRows> rows_;      // of these
  std::vector<std::uint64_t> first_{0};  // by shard: the number of its first sample
};

class Repair {
 public:
  Repair(const ManifestPlace& place, const EditHooks& hooks)
      : folder_(place.folder), hooks_(hooks), damaged_(LookAt(place)) {
    report_.manifest_rebuilt = !damaged_.manifest;
    const std::optional<Manifest>& manifest = damaged_.manifest;
    if (manifest &&
        (!manifest->columns.empty() || !manifest->hidden.empty() || !manifest->deleted.empty())) {
      folded_.emplace(place);
    }
    if (damaged_.manifest || !HoldsOldManifest(folder_)) return;
    report_.made.warnings.emplace_back(
        "the dataset was appended to or repacked (its folder holds a manifest-ID.json), and all "
        "shards in the folder were used: samples of shards that `sluice append --repack` replaced "
        "occur twice");
  }

  RepairReport Into(const std::filesystem::path& out) {
    const std::string name =
        damaged_.manifest ? damaged_.manifest->name : folder_.filename().string();
    DatasetBuild build(out, name, folded_ ? folded_->schema() : damaged_.schema,
                       damaged_.manifest ? damaged_.manifest->samples : 0, hooks_);
    build.Keep(Kept());
    for (std::size_t s = 0; s < damaged_.files.size(); ++s)
      Mend(s, build);
    EditSummary made = build.Finish(MadeByEdit("repair", damaged_.ids, Options()));
    made.warnings.insert(made.warnings.end(), report_.made.warnings.begin(),
                         report_.made.warnings.end());
    report_.made = std::move(made);
    return std::move(report_);
  }

  // Repairs a dataset of which only the manifest is missing.
  RepairReport InPlace() {
    if (damaged_.manifest) {
      throw Error(ErrorCode::kInvalidArgument, folder_.string(),
                  "has a manifest, and only a dataset without one can be repaired in place; give "
                  "a folder for the repaired dataset: sluice repair DATASET NEW");
    }
    CheckMetadata(hooks_.meta);
    Manifest manifest = BeginManifest(folder_.filename().string(), damaged_.schema);
    KeepMembers(Kept(), manifest);
    ChangeMetadata(hooks_.meta, manifest.meta);
    for (const std::string& file : damaged_.files) {
      const ShardFile shard(folder_ / file, damaged_.schema);
      if (!IsWhole(shard)) {
        throw Error(
            ErrorCode::kCorrupt, (folder_ / file).string(),
            "is damaged; give a folder for the repaired dataset: sluice repair DATASET NEW");
      }
      AddShard(SurveyShard(shard, file), manifest);
    }
    manifest.made = MadeByEdit("repair", damaged_.ids, Options());
    WriteManifest(manifest, folder_);
    report_.made.samples = manifest.samples;
    report_.made.shards = report_.made.shards_linked = manifest.shards.size();
    for (const ManifestShard& shard : manifest.shards)
      report_.made.bytes += shard.bytes;
    return std::move(report_);
  }

 private:
  // The manifest whose metadata and unknown members the repaired dataset takes over; if it is lost,
  // one that has only the schema.
  Manifest Kept() const {
    if (damaged_.manifest) return *damaged_.manifest;
    Manifest rebuilt;
    rebuilt.schema = damaged_.schema;
    rebuilt.schema_text = damaged_.schema_text;
    return rebuilt;
  }

  // Repairs a shard. Samples are lost only if reading the shard fails; an error of writing ends the
  // repair.
  void Mend(std::size_t s, DatasetBuild& build) {
    const std::filesystem::path path = folder_ / damaged_.files[s];
    std::optional<FinishedShard> whole = SurveyIfWhole(s);
    if (whole && !folded_) {
      if (damaged_.manifest) whole->shard.unknown = damaged_.manifest->shards[s].unknown;
      return build.Link(path, std::move(*whole));
    }
    std::optional<std::uint64_t> planned;
    if (damaged_.manifest) planned = damaged_.manifest->shards[s].samples;
    MappedFile file;
    try {
      file = MappedFile(path);
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      return LoseShard(s, error.sentence(), build);
    }
    std::size_t number = s;  // of the shard that the file holds
    if (const std::optional<std::size_t> other = OtherIn(s)) {
      if (IdOf(*other) == IdOf(s)) {
        return LoseShard(s, "this file is a copy of " + damaged_.files[*other], build);
      }
      // Files were swapped: the samples planned for the other shard are in this file.
      planned = damaged_.manifest->shards[*other].samples;
      number = *other;
    }
    bool begun = false;
    const std::size_t before = report_.lost.size();
    SalvageShard(
        file, damaged_.files[s], damaged_.schema, planned,
        [&](const Salvage& salvage, EncodedSample&& sample) {
          if (!begun) {
            const Bytes id = std::as_bytes(std::span(salvage.id.bytes));
            build.BeginShard(Hash128({id, AsBytes("mended")}), salvage.block_samples);
          }
          begun = true;
          if (!folded_ || folded_->Fold(number, salvage.sample, sample))
            build.Add(std::move(sample));
        },
        report_.lost);
    build.EndShard();
    for (std::size_t i = before; i < report_.lost.size(); ++i)
      build.Skip(report_.lost[i].samples);
    if (!whole) ++report_.shards_mended;
  }

  // nullopt if a sample, a key or the shard's header, directory or tail is damaged.
  std::optional<FinishedShard> SurveyIfWhole(std::size_t s) {
    ShardExpectation expect;
    if (damaged_.manifest) {
      expect.id = damaged_.manifest->shards[s].id;
      expect.digest = damaged_.manifest->shards[s].digest;
    }
    try {
      const ShardFile shard(folder_ / damaged_.files[s], damaged_.schema, expect);
      if (IsWhole(shard)) return SurveyShard(shard, damaged_.files[s]);
      NoteDamagedKeys(shard, damaged_.files[s]);
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
    }
    return std::nullopt;
  }

  void LoseShard(std::size_t s, const std::string& reason, DatasetBuild& build) {
    const std::uint64_t samples = damaged_.manifest ? damaged_.manifest->shards[s].samples : 0;
    report_.lost.push_back({damaged_.files[s], -1, samples, {}, reason});
    build.Skip(samples);
  }

  // If shard `s`'s file holds another shard of the dataset: that shard's number.
  std::optional<std::size_t> OtherIn(std::size_t s) const {
    if (!damaged_.manifest) return std::nullopt;
    const std::vector<ManifestShard>& shards = damaged_.manifest->shards;
    const std::optional<Id128> id = IdOf(s);
    if (!id || *id == shards[s].id) return std::nullopt;
    const auto other = std::find_if(shards.begin(), shards.end(),
                                    [&id](const ManifestShard& shard) { return shard.id == *id; });
    if (other == shards.end()) return std::nullopt;
    return static_cast<std::size_t>(other - shards.begin());
  }

  // The id in a shard's own header, if it can be read.
  std::optional<Id128> IdOf(std::size_t s) const {
    try {
      return ShardFile(folder_ / damaged_.files[s], damaged_.schema).id();
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      return std::nullopt;
    }
  }

  // The conversion's options, if there is a manifest.
  nlohmann::json Options() const {
    return damaged_.manifest ? OptionsOfMade(damaged_.manifest->made) : nlohmann::json();
  }

  // Warns of damaged keys. They are kept as far as they can be read, but may be wrong: one checksum
  // covers all of them.
  void NoteDamagedKeys(const ShardFile& shard, const std::string& file) {
    try {
      shard.Section(kSectionKeys);
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      report_.lost.push_back({file, -1, 0, {}, "its keys are damaged: some may be wrong"});
    }
  }

  const std::filesystem::path folder_;
  const EditHooks& hooks_;
  Damaged damaged_;
  std::optional<FoldedIn> folded_;  // set if the dataset has columns and the like
  RepairReport report_;
};

}  // namespace

RepairReport RepairDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                           const EditHooks& hooks) {
  RequireFolder(dataset);
  Repair repair(ManifestPlace::Of(dataset), hooks);
  return out.empty() ? repair.InPlace() : repair.Into(out);
}

}  // namespace sluice
