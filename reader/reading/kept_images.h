// Which samples' images need not be read any more, because they are kept in a form nearer to the
// batch: decoded (DecodedStore), or in memory that a device reads (StoredPictures). Sources of
// blocks ask it what to read. Any thread.
#pragma once

#include <cstdint>

#include "reader/order/shape.h"

namespace sluice {

class KeptImages {
 public:
  virtual ~KeptImages() = default;
  virtual bool Has(std::uint64_t sample) const noexcept = 0;
  // Whether it has the images of all samples of a block, by its number in the dataset.
  bool HasAll(const DatasetShape& shape, std::uint64_t block) const noexcept;
};

}  // namespace sluice
