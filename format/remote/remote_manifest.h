// The manifest of a dataset in an object store, and a look at its shards.
#pragma once

#include <stop_token>

#include "format/disk/manifest.h"
#include "format/disk/shard_look.h"
#include "format/remote/object_store.h"

namespace sluice {

// As ReadManifest() of a folder.
Manifest ReadManifest(ObjectStore& store, Id128& id);

// As LookAtShards() of a folder. Reads the last bytes of each shard, many at a time.
ShardsLook LookAtShards(ObjectStore& store, const Manifest& manifest,
                        const std::stop_token& stop = {});

// The store's error for a shard's bytes, as an error of its own: a copy would share its text, which
// is not for two threads. For a missing shard it adds what to do.
Error ShardError(const Error& error);

}  // namespace sluice
