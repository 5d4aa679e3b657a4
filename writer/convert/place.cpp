// A process may be killed after any request, and others work in the same store. So the order of
// requests matters: first the plan, which claims the place; a shard's objects before its receipt;
// the manifest after all receipts. The list of sources is removed last of all.
// One upload runs in the background. PutShard() waits for the one before, so an error of an upload
// appears in the next PutShard() or in Flush(). RemoveIfFinished() and the destructor wait for the
// upload, too, but leave its error alone.
// Errors name files in the local folder, which the user never chose: ThrowShown() rewords them.
#include "writer/convert/place.h"

#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "format/parallel.h"
#include "format/remote/cache/remote_shards.h"
#include "format/remote/object_store.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"
#include "writer/convert/planned_sources.h"
#include "writer/convert/report.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr unsigned kRequests = 16;  // requests to the store at the same time

// A store, and the local folder that has its files except shards.
class StorePlace final : public ConversionPlace {
 public:
  StorePlace(std::shared_ptr<ObjectStore> store, std::stop_token stop);
  ~StorePlace() override;

  void BringManifest() const override;
  void BringReceipts(const ConversionInput& input, const PlanPart& part) override;
  void PutPlan() override;
  void PutShard(const ConversionInput& input, const MadeShard& made) override;
  void Flush() override;
  void RemoveIfFinished() const override;
  void Finish() override;

 private:
  void ThrowShown(const Error& error) const override;
  // Names and sizes of the store's objects.
  std::map<std::string, std::uint64_t> List() const;
  bool Bring(const char* name, std::uint64_t limit) const;
  void Put(const char* name) const;
  bool PutNew(const char* name) const;
  void Upload(const std::vector<FinishedShard>& parts, const std::string& receipt_name,
              const std::string& receipt) const;

  const std::shared_ptr<ObjectStore> store_;
  const std::stop_token stop_;
  const std::stop_callback<std::function<void()>> on_stop_;
  std::vector<std::string> put_;  // names of the receipts that this process uploads
  std::future<void> uploading_;
};

StorePlace::StorePlace(std::shared_ptr<ObjectStore> store, std::stop_token stop)
    : ConversionPlace(MakeUploadFolder()),
      store_(std::move(store)),
      stop_(std::move(stop)),
      on_stop_(stop_, [this] { store_->StopCalls(); }) {
  try {
    if (Bring(kPlanName, kMaxManifestBytes)) {
      Bring(kPlannedSourcesName, UINT32_MAX);
      BringManifest();
    } else if (!List().empty()) {
      throw Error(ErrorCode::kExists, store_->url(),
                  "holds objects that are not from a conversion; choose another place");
    }
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder(), ignored);
    throw;
  }
}

StorePlace::~StorePlace() {
  if (uploading_.valid()) uploading_.wait();
  std::error_code ignored;
  fs::remove_all(folder(), ignored);
}

bool StorePlace::Bring(const char* name, std::uint64_t limit) const {
  try {
    WriteFile(folder() / name, store_->Get(name, limit));
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return false;
  }
}

void StorePlace::BringManifest() const {
  if (!fs::exists(folder() / kManifestName)) Bring(kManifestName, kMaxManifestBytes);
}

std::map<std::string, std::uint64_t> StorePlace::List() const {
  std::map<std::string, std::uint64_t> objects;
  store_->List("", [&](std::string_view object, const ObjectInfo& info) {
    if (stop_.stop_requested()) ThrowStopped();
    objects.emplace(object, info.bytes);
  });
  return objects;
}

void StorePlace::BringReceipts(const ConversionInput& input, const PlanPart& part) {
  const Plan& plan = input.plan;
  const Schema& schema = input.schema;
  const std::map<std::string, std::uint64_t> there = List();
  const auto shard_schema = std::make_shared<const ShardSchema>(schema);
  const std::uint64_t count = (plan.shards() - part.number + part.of - 1) / part.of;
  ParallelFor(kRequests, count, stop_, [&](unsigned, std::size_t i) {
    const auto shard = static_cast<std::uint32_t>(part.number + i * part.of);
    const std::string receipt = ReceiptName(shard);
    if (there.count(receipt) == 0) return;
    const std::vector<std::byte> text = store_->Get(receipt, kMaxReceiptBytes);
    const std::optional<MadeShard> made = MadeByReceipt(AsText(text), plan, schema, shard);
    bool good = made.has_value();
    Manifest manifest;
    manifest.schema = schema;
    for (std::size_t p = 0; good && p < made->parts.size(); ++p) {
      const ManifestShard& entry = made->parts[p].shard;
      const auto object = there.find(entry.file);
      good = object != there.end() && object->second == entry.bytes;
      manifest.shards.push_back(entry);
    }
    if (good && !manifest.shards.empty()) {
      const auto remote = RemoteShards::Open(store_, manifest, {}, 0);
      try {
        for (std::uint32_t p = 0; p < manifest.shards.size(); ++p)
          ShardFile(remote->PartsOf(p), shard_schema, manifest.shards[p]);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnsupported) throw;
        good = false;
      }
    }
    // An empty file under the shard's name lets messages call the shard damaged, not missing
    // (IsShardNamed).
    if (good) {
      WriteFile(folder() / receipt, text);
    } else {
      WriteFile(folder() / ShardFileName(shard), {});
    }
  });
  if (stop_.stop_requested()) ThrowStopped();
}

bool StorePlace::PutNew(const char* name) const {
  std::vector<std::byte> content;
  ReadFile(folder() / name, kMaxManifestBytes, content);
  try {
    store_->Put(name, content, true);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kExists) throw;
    return store_->Get(name, kMaxManifestBytes) == content;
  }
}

void StorePlace::Put(const char* name) const {
  std::vector<std::byte> content;
  ReadFile(folder() / name, UINT32_MAX, content);
  store_->PutLarge(name, content.size(),
                   [&content](std::uint64_t offset, std::span<std::byte> buffer) {
                     std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset),
                                 buffer.size(), buffer.begin());
                   });
}

// The plan is uploaded first: it claims the place for this conversion.
void StorePlace::PutPlan() {
  if (fs::exists(folder() / kManifestName)) return;
  if (!PutNew(kPlanName)) {
    throw Error(ErrorCode::kExists, store_->url(),
                "holds the plan of another conversion already; choose another place");
  }
  Put(kPlannedSourcesName);
}

void StorePlace::Upload(const std::vector<FinishedShard>& parts, const std::string& receipt_name,
                        const std::string& receipt) const {
  for (const FinishedShard& part : parts) {
    const fs::path path = folder() / part.shard.file;
    {
      const FileHandle file = OpenForReading(path);
      store_->PutLarge(part.shard.file, part.shard.bytes,
                       [&](std::uint64_t offset, std::span<std::byte> buffer) {
                         if (stop_.stop_requested()) ThrowStopped();
                         ReadExactly(file, path, offset, buffer);
                       });
    }
    fs::remove(path);
  }
  store_->Put(receipt_name, AsBytes(receipt));
}

void StorePlace::PutShard(const ConversionInput& input, const MadeShard& made) {
  Flush();
  put_.push_back(ReceiptName(made.origin.shard));
  uploading_ = std::async(
      std::launch::async,
      [this, parts = made.parts, name = ReceiptName(made.origin.shard),
       receipt = ReceiptText(input.plan, input.schema, made)] { Upload(parts, name, receipt); });
}

void StorePlace::Flush() {
  if (uploading_.valid()) uploading_.get();
}

void StorePlace::RemoveIfFinished() const {
  if (uploading_.valid()) uploading_.wait();
  if (put_.empty()) return;
  try {
    store_->Head(kManifestName);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return;
  }
  for (const std::string& receipt : put_)
    store_->Remove(receipt);
}

void StorePlace::Finish() {
  if (fs::exists(folder() / kSkippedName)) Put(kSkippedName);
  if (fs::exists(folder() / kDuplicatesName)) Put(kDuplicatesName);
  if (!PutNew(kManifestName)) {
    throw Error(ErrorCode::kExists, store_->url(),
                "another dataset was finished there meanwhile; choose another place");
  }
  std::vector<std::string> receipts;
  for (const auto& [name, bytes] : List())
    if (name.starts_with("shard-") && name.ends_with(".made.json")) receipts.push_back(name);
  ParallelFor(kRequests, receipts.size(), stop_,
              [&](unsigned, std::size_t i) { store_->Remove(receipts[i]); });
  if (stop_.stop_requested()) ThrowStopped();  // the list is removed last
  store_->Remove(kPlannedSourcesName);
}

void StorePlace::ThrowShown(const Error& error) const {
  const std::string& own = folder().native();
  if (!error.file().starts_with(own)) return;
  if (error.code() == ErrorCode::kIo) {
    throw Error(error.code(), error.file(), error.place(),
                error.sentence() +
                    " (TMPDIR names the disk where shards are made before they go to " +
                    store_->url() + ")");
  }
  throw Error(error.code(), store_->url() + error.file().substr(own.size()), error.place(),
              error.sentence());
}

}  // namespace

std::unique_ptr<ConversionPlace> OpenPlace(const fs::path& dataset, const std::stop_token& stop) {
  if (IsStoreUrl(dataset.native()))
    return std::make_unique<StorePlace>(OpenStore(dataset.native()), stop);
  return std::make_unique<ConversionPlace>(dataset);
}

}  // namespace sluice
