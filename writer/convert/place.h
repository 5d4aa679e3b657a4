// Where a conversion makes its dataset: in a folder, or in an object store with a folder on a local
// disk to work in. Every step of a conversion works in a folder. For a store, the place downloads
// into that folder what other machines have put into the store, and uploads what is made.
//
// The store holds plan.json, plan-sources.bin and, for each planned shard that is made, first its
// objects and then a receipt, "shard-00012.made.json". A receipt has the shard's entries in the
// manifest, so that later steps need not read the shard's samples. The manifest is uploaded last,
// by a conditional request that only one process can win; then the receipts and the list of sources
// are removed. The local folder holds the same files except shards, which are removed from it once
// they are uploaded.
#pragma once

#include <memory>
#include <stop_token>

#include <sluice/convert_steps.h>

#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

// The place of a dataset. This class itself is for a folder, where nothing is downloaded or
// uploaded; the comments of its virtual functions say what they do for a store.
class ConversionPlace {
 public:
  explicit ConversionPlace(std::filesystem::path folder) : folder_(std::move(folder)) {}
  virtual ~ConversionPlace() = default;
  ConversionPlace(const ConversionPlace&) = delete;
  ConversionPlace& operator=(const ConversionPlace&) = delete;

  const std::filesystem::path& folder() const noexcept { return folder_; }

  // Downloads the manifest, if another process has written one.
  virtual void BringManifest() const {}
  // Downloads the receipts of the part's shards, except those that do not match the shards'
  // objects.
  virtual void BringReceipts(const ConversionInput&, const PlanPart&) {}
  // Uploads the plan, unless the store has it already, and then the list of sources.
  virtual void PutPlan() {}
  // Uploads a planned shard's files and then its receipt in the background, one shard at a time.
  virtual void PutShard(const ConversionInput&, const MadeShard&) {}
  // Returns once all shards are uploaded.
  virtual void Flush() {}
  // If another process has uploaded the manifest meanwhile, removes the receipts that this process
  // uploaded: the other process may have removed the store's receipts before these were there.
  virtual void RemoveIfFinished() const {}
  // Uploads skipped.tsv, duplicates.tsv and then the manifest; removes the receipts and the list of
  // sources.
  virtual void Finish() {}

  // Calls the function. An Error that it throws names the place as the user does (by its URL).
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
  // Throws a reworded error if this one names the local folder of a store; returns otherwise.
  virtual void ThrowShown(const Error&) const {}

 private:
  const std::filesystem::path folder_;
};

// Opens the place that a dataset's path or URL names. For a URL, creates a local folder within the
// system's folder for temporary files, and downloads plan, list and manifest into it; the object's
// destructor removes that folder. Throws Error.
std::unique_ptr<ConversionPlace> OpenPlace(const std::filesystem::path& dataset,
                                           const std::stop_token& stop);

}  // namespace sluice
