// A conversion into an object store: what it has there, and a folder on a local disk to work in.
//
// The store has plan.json, plan-sources.bin and, for each planned shard that is made, its objects
// and then a receipt, "shard-00012.made.json": with what the manifest says of the shard, so that
// no process needs to read it again. The manifest comes last, by a request that only one can win;
// then the list and the receipts go. The local folder has the same files except shards, which leave
// it as soon as they are uploaded: the steps of a conversion run in it as in any folder.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert_steps.h>

#include "format/remote/object_store.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

class StoreConversion {
 public:
  // Makes the local folder, in the one for temporary files, and brings plan, list and manifest.
  // Throws Error.
  StoreConversion(const std::filesystem::path& url, std::stop_token stop);
  // Removes the folder.
  ~StoreConversion();
  StoreConversion(const StoreConversion&) = delete;
  StoreConversion& operator=(const StoreConversion&) = delete;

  const std::filesystem::path& folder() const noexcept { return folder_; }

  // Brings the manifest, if another process has written one.
  void BringManifest() const;
  // Brings the receipts of shards that are there as they say. With another part, only its shards'.
  void BringReceipts(const Plan& plan, const Schema& schema, const PlanPart& part);
  // Puts the plan, unless there is one, and then the list.
  void PutPlan();
  // Puts a planned shard's files, and its receipt, in the background; one shard at a time.
  void PutShard(const Plan& plan, const Schema& schema, const MadeShard& made);
  // Returns when all shards are there.
  void Flush();
  // If another process has finished the dataset meanwhile, removes the receipts that it did not
  // see.
  void RemoveIfFinished() const;
  // Puts the manifest and what belongs to it, and removes what is needed no more.
  void Finish();
  // Names and sizes of its objects.
  std::map<std::string, std::uint64_t> List() const;

  // Calls the function; an Error of it names the URL in place of the local folder.
  template <class Call>
  auto Shown(const Call& call) const {
    try {
      return call();
    } catch (const Error& error) {
      throw InUrl(error);
    }
  }

 private:
  bool Bring(const char* name, std::uint64_t limit) const;
  void Put(const char* name) const;
  bool PutNew(const char* name) const;
  void Upload(const std::vector<FinishedShard>& parts, const std::string& receipt_name,
              const std::string& receipt) const;
  Error InUrl(const Error& error) const;

  const std::shared_ptr<ObjectStore> store_;
  const std::stop_token stop_;
  const std::stop_callback<std::function<void()>> on_stop_;
  std::filesystem::path folder_;
  std::vector<std::string> put_;  // receipts
  std::future<void> uploading_;
};

}  // namespace sluice
