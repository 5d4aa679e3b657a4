// The receipt of a planned shard that is made and lies in an object store: its record of how it was
// made, and the manifest's line and totals for each of its files.
#pragma once

#include <optional>
#include <string>

#include "writer/convert/planned_shard.h"

namespace sluice {

// "shard-00012.made.json"
std::string ReceiptName(std::uint32_t shard);
std::string ReceiptText(const Plan& plan, const Schema& schema, const MadeShard& made);

// nullopt if ReceiptText() would not write this text for this shard of the plan. What it says of
// the shard's files is compared with its own checksums, not with the files.
std::optional<MadeShard> MadeByReceipt(std::string_view text, const Plan& plan,
                                       const Schema& schema, std::uint32_t shard);

// The most bytes that a receipt has.
inline constexpr std::uint64_t kMaxReceiptBytes = 2 * OriginBound(kMaxPlannedSamples) + (64 << 20);

}  // namespace sluice
