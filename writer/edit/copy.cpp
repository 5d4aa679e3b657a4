// `sluice copy`: copies a dataset unchanged, from and to a folder or an object store.
//
// Shards come first and the manifest last, so that a copy that was stopped is not a dataset yet,
// and the same call resumes it. Each shard is compared with its checksums before it is copied. If a
// shard is at the target already, every byte of it is read there; a sound shard is left alone.
//
// A folder is locked meanwhile. In a store, an object says which dataset is being copied there:
// shards of two datasets have the same names, and one copy would put its own over the other's.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include <sluice/copy.h>

#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "format/remote/local_store.h"
#include "writer/convert/dataset_folder.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

namespace {

// In a store, the object that claims the place. Its content is the dataset's id.
constexpr const char* kClaimName = "sluice-copy.txt";

// Locks a folder. At a URL, see kClaimName.
FileHandle LockOf(const std::filesystem::path& target) {
  if (IsStoreUrl(target.string())) return FileHandle();
  CreateFolder(target);
  return LockFolder(target);
}

std::shared_ptr<ObjectStore> TargetAt(const std::filesystem::path& target) {
  if (IsStoreUrl(target.string())) return OpenStore(target.string());
  return std::make_shared<LocalStore>(target);
}

class Copying {
 public:
  Copying(const std::filesystem::path& source, const std::filesystem::path& target,
          const CopyOptions& options)
      : options_(options),
        source_(source, options.stop),
        manifest_text_(ManifestText()),
        lock_(LockOf(target)),
        target_(TargetAt(target)),
        on_stop_(options_.stop, [this] { target_->StopCalls(); }),
        is_store_(IsStoreUrl(target.string()) || StoreIfUnmappable(target) != nullptr) {
    report_.target = target_->url();
    report_.samples = source_.manifest.samples;
    AddPart(source_);
    for (std::size_t c = 0; c < source_.manifest.columns.size(); ++c)
      AddPart(source_.Column(c));
  }

  CopyReport Run() {
    try {
      return CopyAll();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kState && options_.stop.stop_requested()) throw Stopped();
      throw;
    }
  }

 private:
  CopyReport CopyAll() {
    bool finished = TargetIsFinished();
    if (lock_) RemoveWhatWasLeft(target_->url(), finished);
    if (!finished) {
      RequireAllShards(source_, options_.stop);
      Claim();
      // Another copy may have put its manifest, and removed its claim, before this claim was made.
      try {
        finished = TargetIsFinished();
      } catch (const Error&) {
        target_->Remove(kClaimName);
        throw;
      }
    }
    ParallelFor(std::max(options_.threads, 1U), shards_.size(), options_.stop,
                [this](unsigned, std::size_t shard) { CopyShard(shards_[shard]); });
    if (options_.stop.stop_requested()) throw Stopped();
    if (!finished) PutManifest();
    if (claimed_) target_->Remove(kClaimName);
    return report_;
  }
  // The dataset's own shards, or those of a column.
  struct Part {
    StoredDataset source;
    std::shared_ptr<RemoteShards> target;  // null if the target's shards can be mapped
    std::shared_ptr<const ShardSchema> schema;
  };
  struct PartShard {
    const Part* part;
    std::size_t number;
    const ManifestShard& entry() const { return part->source.manifest.shards[number]; }
  };

  void AddPart(const StoredDataset& source) {
    const Manifest& manifest = source.manifest;
    parts_.push_back(std::make_unique<Part>(
        Part{source, is_store_ ? RemoteShards::Open(target_, manifest, {}, 0) : nullptr,
             std::make_shared<const ShardSchema>(manifest.schema)}));
    for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
      shards_.push_back({parts_.back().get(), s});
      report_.bytes += manifest.shards[s].bytes;
    }
    report_.shards = shards_.size();
  }

  // Claims the place in a store, unless a call that copies the same dataset has done so: they may
  // work together, since each object is written whole. Throws Error(kExists).
  void Claim() {
    if (lock_) return;
    const std::string id = ToHex(source_.id);
    try {
      target_->Put(kClaimName, AsBytes(id), true);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kExists) throw;
      if (AsText(target_->Get(kClaimName, kMaxManifestBytes)) != id) {
        throw Error(ErrorCode::kExists, target_->url(),
                    "another dataset is being copied there, or a copy of it was stopped; choose "
                    "another place (or, if no such copy runs, remove the object " +
                        std::string(kClaimName) + " there)");
      }
    }
    claimed_ = true;
  }
  // Uploads the manifest, unless another call that copies the same dataset has done so.
  void PutManifest() {
    try {
      target_->Put(kManifestName, manifest_text_, true);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kExists || !TargetIsFinished()) throw;
    }
  }

  Error Stopped() const {
    return Error(ErrorCode::kState, target_->url(),
                 "was stopped before it was finished; run the same command again to resume");
  }

  // The text of the manifest by which the shards are chosen. It is read before the first shard is
  // copied, since another command may replace the manifest meanwhile (`sluice append` does), and
  // the new one names other shards.
  std::vector<std::byte> ManifestText() const {
    const std::string& name = source_.manifest_name;
    std::vector<std::byte> text;
    if (source_.store != nullptr) {
      text = source_.store->Get(name, kMaxManifestBytes);
    } else {
      ReadFile(source_.folder / name, kMaxManifestBytes, text);
    }
    Id128 id;
    const std::string path = (source_.folder / name).string();
    ManifestFromJson(AsText(text), path, id);
    if (id != source_.id) {
      throw Error(ErrorCode::kState, path,
                  "was replaced while it was read; run the same command again");
    }
    return text;
  }

  // Whether the target has this dataset's manifest already. Throws Error(kExists) if it holds
  // something else.
  bool TargetIsFinished() {
    const auto holds = [this](const char* what) {
      return Error(ErrorCode::kExists, target_->url(),
                   "holds " + std::string(what) + " already; choose another place");
    };
    if (!IsThere(kManifestName)) {
      if (IsThere(kPlanName)) throw holds("an unfinished conversion");
      return false;
    }
    Id128 id;
    ManifestFromJson(AsText(target_->Get(kManifestName, kMaxManifestBytes)),
                     target_->url() + "/" + kManifestName, id);
    if (id != source_.id) throw holds("another dataset");
    return true;
  }

  bool IsThere(const char* object) {
    try {
      target_->Head(object);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
      return false;
    }
  }

  // Whether the target has the shard, whole: every byte is read and compared with its checksum.
  bool HasShard(const PartShard& of) {
    const ManifestShard& entry = of.entry();
    try {
      if (target_->Head(entry.file).bytes != entry.bytes) return false;
      RequireWhole(OpenAtTarget(of), options_.stop);
      return true;
    } catch (const Error& error) {
      if (!SaysDataIsLost(error)) throw;
      return false;
    }
  }

  ShardFile OpenAtTarget(const PartShard& of) const {
    const ManifestShard& entry = of.entry();
    if (of.part->target != nullptr)
      return ShardFile(of.part->target->PartsOf(static_cast<std::uint32_t>(of.number)),
                       of.part->schema, entry);
    return ShardFile(std::filesystem::path(target_->url()) / entry.file, of.part->schema->schema,
                     ShardExpectation::Of(entry));
  }

  void CopyShard(const PartShard& of) {
    const ManifestShard& entry = of.entry();
    const bool there = HasShard(of);
    if (!there) {
      const ShardFile shard = of.part->source.Open(of.number);
      RequireWhole(shard, options_.stop);
      target_->PutLarge(entry.file, entry.bytes,
                        [&](std::uint64_t offset, std::span<std::byte> buffer) {
                          if (options_.stop.stop_requested()) throw Stopped();
                          const Bytes part = shard.bytes().subspan(offset, buffer.size());
                          const ReadGuard guard = shard.Guard();
                          std::memcpy(buffer.data(), part.data(), part.size());
                          if (shard.Lost(part) || shard.CutOff(part)) throw shard.Unreadable({});
                        });
    }
    const std::lock_guard lock(mutex_);
    report_.shards_already_there += there ? 1 : 0;
    done_ += entry.bytes;
    if (options_.on_progress) options_.on_progress(done_, report_.bytes);
  }

  const CopyOptions& options_;
  const StoredDataset source_;
  const std::vector<std::byte> manifest_text_;
  const FileHandle lock_;  // of the target, if it is a folder
  const std::shared_ptr<ObjectStore> target_;
  const std::stop_callback<std::function<void()>> on_stop_;
  const bool is_store_;  // whether the target's shards cannot be mapped
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<PartShard> shards_;  // of all parts
  bool claimed_ = false;
  std::mutex mutex_;  // guards what follows
  CopyReport report_;
  std::uint64_t done_ = 0;
};

}  // namespace

CopyReport CopyDataset(const std::filesystem::path& source, const std::filesystem::path& target,
                       const CopyOptions& options) {
  return Copying(source, target, options).Run();
}

}  // namespace sluice
