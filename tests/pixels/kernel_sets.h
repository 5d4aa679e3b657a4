// The sets of kernels that this machine can run.
#pragma once

#include <vector>

#include "format/pixels/kernels/kernels.h"

namespace sluice::test {

inline std::vector<const kernels::Kernels*> Sets() {
  const kernels::KernelList list = kernels::Available();
  return {list.sets, list.sets + list.count};
}

// Each set twice: one copy decodes one segment of a scan after another, the next one several places
// of a scan at once (baseline/strands.h).
inline std::vector<const kernels::Kernels*> DecodingSets() {
  static const std::vector<kernels::Kernels> sets = [] {
    std::vector<kernels::Kernels> both;
    for (const kernels::Kernels* set : Sets()) {
      for (const bool strands : {false, true}) {
        both.push_back(*set);
        both.back().strands_pay = strands;
      }
    }
    return both;
  }();
  std::vector<const kernels::Kernels*> list;
  for (const kernels::Kernels& set : sets)
    list.push_back(&set);
  return list;
}

}  // namespace sluice::test
