// A block that its file may end inside of, for whoever mends one.
#pragma once

#include "format/disk/block.h"

namespace sluice {

// As BlockView::ParseHeader(), but that fewer bytes may be there than the header says.
Defect ParseCutHeader(Bytes block, BlockHeader& header) noexcept;

}  // namespace sluice
