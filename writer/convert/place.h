// Where a conversion makes its dataset: in a folder, or in an object store with a folder on a local
// disk to work in. Every step of a conversion works in a folder; the place brings what another
// machine has left, and takes away what is made.
//
// A store has plan.json, plan-sources.bin and, for each planned shard that is made, its objects and
// then a receipt, "shard-00012.made.json": with what the manifest says of the shard, so that no
// process needs to read it again. The manifest comes last, by a request that only one can win; then
// the list and the receipts go. The local folder has the same files except shards, which leave it
// as soon as they are uploaded.
#pragma once

#include <memory>
#include <stop_token>

#include <sluice/convert_steps.h>

#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

// A folder: everything is where it belongs.
class ConversionPlace {
 public:
  explicit ConversionPlace(std::filesystem::path folder) : folder_(std::move(folder)) {}
  virtual ~ConversionPlace() = default;
  ConversionPlace(const ConversionPlace&) = delete;
  ConversionPlace& operator=(const ConversionPlace&) = delete;

  const std::filesystem::path& folder() const noexcept { return folder_; }

  // Brings the manifest, if another process has written one.
  virtual void BringManifest() const {}
  // Brings the receipts of shards that are there as they say. With another part, only its shards'.
  virtual void BringReceipts(const ConversionInput&, const PlanPart&) {}
  // Puts the plan, unless there is one, and then the list.
  virtual void PutPlan() {}
  // Puts a planned shard's files, and its receipt, in the background; one shard at a time.
  virtual void PutShard(const ConversionInput&, const MadeShard&) {}
  // Returns when all shards are there.
  virtual void Flush() {}
  // If another process has finished the dataset meanwhile, removes the receipts that it did not
  // see.
  virtual void RemoveIfFinished() const {}
  // Puts the manifest and what belongs to it, and removes what is needed no more.
  virtual void Finish() {}

  // Calls the function; an Error of it names the place as the user does.
  template <class Call>
  auto Shown(const Call& call) const {
    try {
      return call();
    } catch (const Error& error) {
      ThrowShown(error);
      throw;
    }
  }

 protected:
  // Throws the error in other words, if it needs them.
  virtual void ThrowShown(const Error&) const {}

 private:
  const std::filesystem::path folder_;
};

// Opens the place that a dataset's path or URL names. For a URL, makes the local folder, in the one
// for temporary files, and brings plan, list and manifest; the folder goes with the object. Throws
// Error.
std::unique_ptr<ConversionPlace> OpenPlace(const std::filesystem::path& dataset,
                                           const std::stop_token& stop);

}  // namespace sluice
