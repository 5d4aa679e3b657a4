#include "writer/convert/store_conversion.h"

#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "format/parallel.h"
#include "format/remote/cache/remote_shards.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/duplicates.h"
#include "writer/convert/planned_sources.h"
#include "writer/convert/receipt.h"

namespace sluice {

namespace {

namespace fs = std::filesystem;

constexpr unsigned kRequests = 16;  // at a time

fs::path NewFolder() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  std::string name = (temporary / "sluice-conversion-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::kIo, temporary.string(),
                "a folder for shards on their way cannot be created there: " +
                    (error ? error.message() : SystemErrorText(errno)) +
                    "; set TMPDIR to a folder for temporary files");
  }
  return name;
}

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), by);
  return text;
}

}  // namespace

StoreConversion::StoreConversion(const fs::path& url, std::stop_token stop)
    : store_(OpenStore(url.native())),
      stop_(std::move(stop)),
      on_stop_(stop_, [this] { store_->StopCalls(); }),
      folder_(NewFolder()) {
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
    fs::remove_all(folder_, ignored);
    throw;
  }
}

StoreConversion::~StoreConversion() {
  if (uploading_.valid()) uploading_.wait();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

bool StoreConversion::Bring(const char* name, std::uint64_t limit) const {
  try {
    WriteFile(folder_ / name, store_->Get(name, limit));
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return false;
  }
}

void StoreConversion::BringManifest() const {
  if (!fs::exists(folder_ / kManifestName)) Bring(kManifestName, kMaxManifestBytes);
}

std::map<std::string, std::uint64_t> StoreConversion::List() const {
  std::map<std::string, std::uint64_t> objects;
  store_->List("", [&](std::string_view object, const ObjectInfo& info) {
    if (stop_.stop_requested()) ThrowStopped();
    objects.emplace(object, info.bytes);
  });
  return objects;
}

void StoreConversion::BringReceipts(const Plan& plan, const Schema& schema, const PlanPart& part) {
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
      const auto remote = RemoteShards::Open(store_, manifest, ToHex(plan.digest), {}, 0);
      try {
        for (std::uint32_t p = 0; p < manifest.shards.size(); ++p)
          ShardFile(remote->PartsOf(p), shard_schema, manifest.shards[p]);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnsupported) throw;
        good = false;
      }
    }
    // A file of no bytes stands for one that is damaged.
    if (good) {
      WriteFile(folder_ / receipt, text);
    } else {
      WriteFile(folder_ / ShardFileName(shard), {});
    }
  });
  if (stop_.stop_requested()) ThrowStopped();
}

bool StoreConversion::PutNew(const char* name) const {
  std::vector<std::byte> content;
  ReadFile(folder_ / name, kMaxManifestBytes, content);
  try {
    store_->Put(name, content, true);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kExists) throw;
    return store_->Get(name, kMaxManifestBytes) == content;
  }
}

void StoreConversion::Put(const char* name) const {
  std::vector<std::byte> content;
  ReadFile(folder_ / name, UINT32_MAX, content);
  store_->PutLarge(name, content.size(),
                   [&content](std::uint64_t offset, std::span<std::byte> buffer) {
                     std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(offset),
                                 buffer.size(), buffer.begin());
                   });
}

// The plan first: with it, a conversion has the place for itself.
void StoreConversion::PutPlan() {
  if (fs::exists(folder_ / kManifestName)) return;
  if (!PutNew(kPlanName)) {
    throw Error(ErrorCode::kExists, store_->url(),
                "holds the plan of another conversion already; choose another place");
  }
  Put(kPlannedSourcesName);
}

void StoreConversion::Upload(const std::vector<FinishedShard>& parts,
                             const std::string& receipt_name, const std::string& receipt) const {
  for (const FinishedShard& part : parts) {
    const fs::path path = folder_ / part.shard.file;
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

void StoreConversion::PutShard(const Plan& plan, const Schema& schema, const MadeShard& made) {
  Flush();
  put_.push_back(ReceiptName(made.origin.shard));
  uploading_ =
      std::async(std::launch::async,
                 [this, parts = made.parts, name = ReceiptName(made.origin.shard),
                  receipt = ReceiptText(plan, schema, made)] { Upload(parts, name, receipt); });
}

void StoreConversion::Flush() {
  if (uploading_.valid()) uploading_.get();
}

void StoreConversion::RemoveIfFinished() const {
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

void StoreConversion::Finish() {
  if (fs::exists(folder_ / kSkippedName)) Put(kSkippedName);
  if (fs::exists(folder_ / kDuplicatesName)) Put(kDuplicatesName);
  if (!PutNew(kManifestName)) {
    throw Error(ErrorCode::kExists, store_->url(),
                "another dataset was finished there meanwhile; choose another place");
  }
  std::vector<std::string> receipts;
  for (const auto& [name, bytes] : List())
    if (name.starts_with("shard-") && name.ends_with(".made.json")) receipts.push_back(name);
  ParallelFor(kRequests, receipts.size(), stop_,
              [&](unsigned, std::size_t i) { store_->Remove(receipts[i]); });
  if (stop_.stop_requested()) ThrowStopped();  // the list is the last to go
  store_->Remove(kPlannedSourcesName);
}

Error StoreConversion::InUrl(const Error& error) const {
  if (error.code() == ErrorCode::kIo && error.file().starts_with(folder_.native())) {
    return {error.code(), error.file(), error.place(),
            error.sentence() + " (TMPDIR names the disk where shards are made before they go to " +
                store_->url() + ")"};
  }
  return {error.code(), Replaced(error.file(), folder_.native(), store_->url()), error.place(),
          Replaced(error.sentence(), folder_.native(), store_->url())};
}

}  // namespace sluice
