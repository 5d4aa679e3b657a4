// Changes of a shard's bytes, and the changes that must follow.
#pragma once

#include <string>

#include "format/disk/manifest.h"
#include "tests/fuzz/forged_change.h"

namespace sluice::fuzz {

// The bytes of the structure that a change is for (kHeader to kTail). `sound`: the shard before all
// changes, to find the structure.
std::span<std::byte> PartOf(Bytes sound, std::span<std::byte> file, const Change& change);

// Puts another schema into the header, if it fits.
void SetSchema(std::span<std::byte> file, const std::string& text);

// Makes ids and counts of a shard's structures agree after one of them was changed. `left`:
// Disagreement.
void MakeAgree(Bytes sound, std::span<std::byte> file, std::uint8_t left);

// The manifest's line of a shard, for its present file.
void FollowShard(Bytes file, ManifestShard& line, std::uint8_t left);

}  // namespace sluice::fuzz
