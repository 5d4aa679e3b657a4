#include "reader/reading/direct/block_io.h"

namespace sluice {

std::unique_ptr<BlockIo> MakeUringIo() {
  return nullptr;
}

}  // namespace sluice
