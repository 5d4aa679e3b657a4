// The ranges of a block that hold the payloads of chosen fields.
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

// The ranges of the chosen fields, without the table. Payloads lie field by field, so each field
// has one run, and adjacent runs are joined to one range. Passes over damaged entries: reading them
// will fail later.
std::vector<ByteRange> RangesOf(const BlockView& block, const RowLayout& layout,
                                const Schema& schema, const FieldChoice& choice);

}  // namespace sluice
