// A batch's values of a field of variable length. Workers fill rows in any order, each in its own
// memory; once all are done, they are joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

struct VariableRows {
  explicit VariableRows(std::size_t batch_size)
      : rows(batch_size), present(batch_size), offsets(batch_size + 1) {}

  void Move(std::size_t from, std::size_t to) {
    rows[to].swap(rows[from]);
    present[to] = present[from];
  }
  // Fills `values` and `offsets` from the first `count` rows. Keeps memory for the next batch,
  // except that of unusually long rows.
  void Join(std::size_t count, std::size_t entry_bytes);

  std::vector<std::vector<std::byte>> rows;
  std::vector<std::uint8_t> present;

  std::vector<std::byte> values;
  std::vector<std::uint64_t> offsets;  // in entries
};

}  // namespace sluice
