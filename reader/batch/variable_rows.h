// A field whose values differ in length, in a batch: each row on its own while rows are being
// filled, in any order and by any thread, and joined when all of them are done.
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
  // Makes `values` and `offsets` of the first `count` rows. Memory is kept for the next batch, but
  // for that of unusually long rows.
  void Join(std::size_t count, std::size_t entry_bytes);

  std::vector<std::vector<std::byte>> rows;
  std::vector<std::uint8_t> present;

  std::vector<std::byte> values;
  std::vector<std::uint64_t> offsets;  // in entries
};

}  // namespace sluice
