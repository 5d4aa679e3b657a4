// Sums up a manifest: its lines of shards and its totals, from one finished shard after another.
#pragma once

#include <string>

#include <sluice/schema.h>

#include "format/disk/manifest.h"
#include "writer/finished_shard.h"

namespace sluice {

// A manifest with a schema and without shards.
Manifest BeginManifest(const std::string& name, const Schema& schema);

// Adds a shard's line and totals. `manifest` was begun by BeginManifest().
void AddShard(const FinishedShard& finished, Manifest& manifest);

}  // namespace sluice
