// Reads the manifest of a dataset in an object store, and examines its shards.
#pragma once

#include <stop_token>

#include "format/disk/manifest.h"
#include "format/disk/shard_look.h"
#include "format/remote/object_store.h"

namespace sluice {

// Like ReadManifest() of a folder; `name`: the manifest's.
Manifest ReadManifest(ObjectStore& store, Id128& id, const std::string& name = kManifestName);

// Like LookAtShards() of a folder. Reads the last bytes of each shard, many shards at a time.
ShardsLook LookAtShards(ObjectStore& store, const Manifest& manifest,
                        const std::stop_token& stop = {});

// An Error with the code, file, place and sentence of the store's error for a shard's bytes. For a
// missing shard, adds what to do. The result is not a SystemError, even if `error` is one.
Error ShardError(const Error& error);

}  // namespace sluice
