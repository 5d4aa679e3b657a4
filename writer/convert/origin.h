// A shard's record of how it was made (section "origin"): enough to continue after an interruption
// without making the shard again.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/disk/bytes.h"
#include "writer/convert/sample_encoder.h"

namespace sluice {

// Positions of the plan's order that something is true of: how many, and the first ones.
struct NotedPositions {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> first;  // as many as SomeImages has examples

  void Add(std::uint64_t position);
};

struct Origin {
  std::uint32_t shard = 0;  // number of the planned shard
  std::uint32_t part = 0;
  bool last = false;  // of the planned shard's parts; only this one has the members below
  // Positions of the plan's order that gave no sample of the planned shard, and why.
  std::vector<std::pair<std::uint64_t, std::string>> left_out;
  // Other positions: samples that were taken although their files end early, and how.
  std::vector<std::pair<std::uint64_t, std::string>> truncated;
  std::uint64_t kept = 0;      // samples whose coefficients were kept
  std::uint64_t bytes_in = 0;  // of the sources that became samples
  std::uint64_t boxes_dropped = 0;
  std::uint64_t profiles_dropped = 0;
  std::uint64_t profiles_converted = 0;
  std::uint64_t smaller = 0;   // smaller than the target
  NotedPositions turned = {};  // of ConvertSummary::turned
  NotedPositions dim = {};     // of ConvertSummary::dim
};

std::string OriginToJson(const Origin& origin);

// nullopt if OriginToJson() would not write this text.
std::optional<Origin> OriginFromJson(std::string_view text);

// The most bytes that an origin of this many planned samples takes; a shard must keep them free.
constexpr std::uint64_t OriginBound(std::uint64_t planned_samples) noexcept {
  return 384 + planned_samples * (kMaxReasonBytes + 32);
}

}  // namespace sluice
