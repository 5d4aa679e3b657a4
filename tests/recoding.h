// Functions that recode JPEGs with baseline::Recoder, and compute the coefficients to expect.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

#include "format/pixels/baseline/encoder.h"
#include "format/pixels/baseline/recoder.h"
#include "format/pixels/packed/pack.h"
#include "tests/baseline_header.h"

namespace sluice::test {

// Each component's blocks that hold pixels, row by row; coefficients are in natural order.
struct RecodedBlocks {
  std::vector<std::int16_t> of[3];
  friend bool operator==(const RecodedBlocks&, const RecodedBlocks&) = default;
};

inline std::optional<RecodedBlocks> RecodeBlocks(baseline::Recoder& recoder, Bytes file,
                                                 const baseline::Header& target) {
  if (!recoder.Begin(file, target)) return std::nullopt;
  RecodedBlocks blocks;
  kernels::BlockPlaces places[3];
  const baseline::McuLine row(target);
  for (std::uint32_t c = 0; c < target.components; ++c) {
    blocks.of[c].resize(std::size_t{row.across(c)} * row.down(c) * baseline::kCoefficients);
    places[c] = row.InPlane(c, blocks.of[c].data());
  }
  if (!recoder.Recode(places, true)) return std::nullopt;
  return blocks;
}

// Recodes all lines of MCUs, in coding order; leaves out blocks without pixels.
inline bool RecodeRows(baseline::Recoder& recoder, Bytes file, const baseline::Header& target,
                       std::vector<std::int16_t>& rows) {
  if (!recoder.Begin(file, target)) return false;
  const baseline::McuLine row(target);
  rows.resize(row.values() * target.mcus_down);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < target.components; ++c)
    places[c] = row.InLines(c, rows.data());
  return recoder.Recode(places, false);
}

inline std::optional<std::vector<std::byte>> RecodeFile(baseline::Recoder& recoder,
                                                        const kernels::Kernels& set, Bytes file,
                                                        const baseline::Header& target) {
  std::vector<std::int16_t> rows;
  if (!RecodeRows(recoder, file, target, rows)) return std::nullopt;
  return baseline::WriteFile(set, target, rows.data());
}

// The multiple of `step` that is nearest to value * old, in steps. Ties are rounded away from zero.
inline long NearestSteps(long value, long old, long step) {
  const long size = (2 * std::labs(value * old) + step) / (2 * step);
  return value < 0 ? -size : size;
}

inline packed::Coefficients BlocksOf(const std::vector<std::byte>& file) {
  packed::Coefficients blocks;
  std::string why = "the packed format cannot hold this JPEG";
  if (packed::ReadCoefficients(file, blocks, why) != packed::Taken::kYes)
    throw std::runtime_error(why);
  return blocks;
}

// How many of a component's coefficients in `to` are not those nearest to the coefficients in
// `from`.
inline std::size_t CountFarther(const packed::Coefficients& from, const packed::Coefficients& to,
                                std::uint32_t c) {
  const std::uint8_t* const old = from.header.table[from.header.component[c].table];
  const std::uint8_t* const steps = to.header.table[to.header.component[c].table];
  if (from.blocks[c].size() != to.blocks[c].size()) return from.blocks[c].size() + 1;
  std::size_t farther = 0;
  for (std::size_t i = 0; i < to.blocks[c].size(); ++i) {
    if (to.blocks[c][i] != NearestSteps(from.blocks[c][i], old[i % 64], steps[i % 64])) ++farther;
  }
  return farther;
}

}  // namespace sluice::test
