// Where in a block the payloads of some of its fields lie.
#pragma once

#include <vector>

#include "format/disk/block.h"
#include "reader/dataset/field_choice.h"

namespace sluice {

struct ByteRange {
  std::size_t offset = 0;  // from the block's beginning
  std::size_t bytes = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Of the chosen fields: payloads lie field by field, so that a field's are one run, and runs that
// follow each other are one range. The table is not among them. Damaged entries are passed over;
// who reads them will say so.
std::vector<ByteRange> RangesOf(const BlockView& block, const RowLayout& layout,
                                const Schema& schema, const FieldChoice& choice);

}  // namespace sluice
