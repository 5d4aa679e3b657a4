// Changes of a shard's bytes, and what has to follow them.
#pragma once

#include <string>

#include "format/disk/manifest.h"
#include "tests/fuzz/forged_change.h"

namespace sluice::fuzz {

// The bytes of the structure that a change is for (kHeader to kTail). `sound`: the shard before all
// changes, which says where it lies.
std::span<std::byte> PartOf(Bytes sound, std::span<std::byte> file, const Change& change);

// Puts another schema into the header, if it fits.
void SetSchema(std::span<std::byte> file, const std::string& text);

// Ids and counts of a shard's structures after one of them was changed. `left`: Disagreement.
void MakeAgree(Bytes sound, std::span<std::byte> file, std::uint8_t left);

// The manifest's line of a shard, as its file has it now.
void FollowShard(Bytes file, ManifestShard& line, std::uint8_t left);

}  // namespace sluice::fuzz
