// Recoding (baseline/recoder.h) as tests use it, and what must come of it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

#include "format/pixels/baseline/file_writer.h"
#include "format/pixels/baseline/recoder.h"
#include "format/pixels/baseline/standard_tables.h"
#include "format/pixels/packed/coefficients.h"

namespace sluice::test {

// The header of the file to make, with components of full size or halved chroma.
inline baseline::Header TargetHeader(std::uint32_t width, std::uint32_t height,
                                     std::uint32_t components, bool halved, int quality,
                                     std::uint32_t interval) {
  baseline::Header header;
  header.width = width;
  header.height = height;
  header.components = components;
  if (halved && components == 3) header.component[0].h = header.component[0].v = 2;
  for (std::uint32_t c = 0; c < components; ++c) {
    header.component[c].id = static_cast<std::uint8_t>(c + 1);
    header.component[c].quant = c == 0 ? 0 : 1;
  }
  for (const std::size_t table : {0, 1})
    baseline::StandardSteps(table, quality, header.quant[table]);
  header.restart_interval = interval;
  baseline::DeriveSizes(header);
  return header;
}

// The blocks that hold pixels of each component, row by row, in natural order.
struct RecodedBlocks {
  std::vector<std::int16_t> of[3];
  friend bool operator==(const RecodedBlocks&, const RecodedBlocks&) = default;
};

inline std::optional<RecodedBlocks> RecodeBlocks(baseline::Recoder& recoder, Bytes file,
                                                 const baseline::Header& target) {
  RecodedBlocks blocks;
  kernels::BlockPlaces places[3];
  const baseline::McuRow row(target);
  for (std::uint32_t c = 0; c < target.components; ++c) {
    const std::size_t line = std::size_t{row.across(c)} * baseline::kCoefficients;
    blocks.of[c].resize(line * row.down(c));
    places[c] = {blocks.of[c].data(),     row.across(c), row.down(c), 0, 0,
                 baseline::kCoefficients, line};
  }
  if (!recoder.Recode(file, target, places, true)) return std::nullopt;
  return blocks;
}

// As a file, by rows of MCUs in the order of their coding.
inline std::optional<std::vector<std::byte>> RecodeFile(baseline::Recoder& recoder,
                                                        const kernels::Kernels& set, Bytes file,
                                                        const baseline::Header& target) {
  const baseline::McuRow row(target);
  std::vector<std::int16_t> rows(row.values() * target.mcus_down);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < target.components; ++c) {
    const baseline::Component& component = target.component[c];
    places[c] = {rows.data() + row.PlaceOf(c, 0, 0),
                 row.across(c),
                 row.down(c),
                 component.h == 2 ? 1U : 0U,
                 component.v == 2 ? 1U : 0U,
                 row.mcu_values(),
                 row.values()};
  }
  if (!recoder.Recode(file, target, places, false)) return std::nullopt;
  baseline::FileWriter out(set, target);
  for (std::uint32_t y = 0; y < target.mcus_down; ++y) {
    row.FillEdges(y, rows.data() + y * row.values());
    out.Add(rows.data() + y * row.values());
  }
  return out.Finish();
}

// The nearest multiple of `step` to value * old, halves away from zero, in steps.
inline long NearestSteps(long value, long old, long step) {
  const long size = (2 * std::labs(value * old) + step) / (2 * step);
  return value < 0 ? -size : size;
}

inline packed::Coefficients BlocksOf(const std::vector<std::byte>& file) {
  packed::Coefficients blocks;
  std::string why = "no packed image has its form";
  if (packed::ReadCoefficients(file, blocks, why) != packed::Taken::kYes)
    throw std::runtime_error(why);
  return blocks;
}

// How many of a component's coefficients are not the nearest to those that they were made from.
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
