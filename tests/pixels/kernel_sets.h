// The kernels that this machine can run.
#pragma once

#include <vector>

#include "format/pixels/kernels/kernels.h"

namespace sluice::test {

inline std::vector<const kernels::Kernels*> Sets() {
  const kernels::KernelList list = kernels::Available();
  return {list.sets, list.sets + list.count};
}

}  // namespace sluice::test
