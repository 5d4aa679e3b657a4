#include "reader/reading/kept_images.h"

namespace sluice {

bool KeptImages::HasAll(const DatasetShape& shape, std::uint64_t block) const noexcept {
  const std::uint64_t first = shape.Row(block, 0).index;
  const std::uint64_t end = first + shape.SamplesIn(block);
  for (std::uint64_t sample = first; sample < end; ++sample) {
    if (!Has(sample)) return false;
  }
  return true;
}

}  // namespace sluice
