// A block that the end of its file may cut short, for `sluice repair`.
#pragma once

#include "format/disk/block.h"

namespace sluice {

// Like BlockView::ParseHeader(), but accepts fewer bytes than the header says.
Defect ParseCutHeader(Bytes block, BlockHeader& header) noexcept;

}  // namespace sluice
