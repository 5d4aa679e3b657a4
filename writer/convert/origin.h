// What a shard says about its own making (section "origin"): enough to go on after an interruption
// without making it again.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/disk/bytes.h"
#include "writer/convert/sample_encoder.h"

namespace sluice {

struct Origin {
  std::uint32_t shard = 0;  // planned
  std::uint32_t part = 0;
  bool last = false;  // of the planned shard's parts; only this one has what follows
  // Positions of the plan's order that became no sample of the planned shard, and why.
  std::vector<std::pair<std::uint64_t, std::string>> left_out;
  // Of others: those that were taken though they end early, and how.
  std::vector<std::pair<std::uint64_t, std::string>> truncated;
  std::uint64_t kept = 0;      // samples whose coefficients were kept
  std::uint64_t bytes_in = 0;  // of the sources that became samples
  std::uint64_t boxes_dropped = 0;
  std::uint64_t profiles_dropped = 0;
  std::uint64_t profiles_converted = 0;
  std::uint64_t smaller = 0;  // than the target
};

std::string OriginToJson(const Origin& origin);

// nullopt for anything that OriginToJson() does not write.
std::optional<Origin> OriginFromJson(std::string_view text);

// No origin of so many planned samples takes more: what a shard must keep free for it.
constexpr std::uint64_t OriginBound(std::uint64_t planned_samples) noexcept {
  return 384 + planned_samples * (kMaxReasonBytes + 32);
}

}  // namespace sluice
