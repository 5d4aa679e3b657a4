#include "reader/batch/variable_rows.h"

#include <numeric>

namespace sluice {

namespace {
// Bytes: a row with more capacity is freed after the batch.
constexpr std::size_t kMostKept = 16384;
}  // namespace

void VariableRows::Join(std::size_t count, std::size_t entry_bytes) {
  const std::size_t bytes = std::accumulate(
      rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), std::size_t{0},
      [](std::size_t sum, const std::vector<std::byte>& row) { return sum + row.size(); });
  values.clear();
  if (bytes > values.capacity()) {
    values = {};  // freed first, so that the old and the new buffer never exist together
    values.reserve(bytes);
  }
  offsets[0] = 0;
  for (std::size_t row = 0; row < count; ++row) {
    values.insert(values.end(), rows[row].begin(), rows[row].end());
    offsets[row + 1] = values.size() / entry_bytes;
    if (rows[row].capacity() > kMostKept) rows[row] = {};
  }
}

}  // namespace sluice
