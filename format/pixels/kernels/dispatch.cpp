#include <cstdlib>
#include <cstring>

#ifdef SLUICE_HAVE_AVX2
#include <cpuid.h>
#endif

#include "format/pixels/kernels/kernels.h"

namespace sluice::kernels {

const Kernels& PlainKernels() noexcept;
#ifdef SLUICE_HAVE_AVX2
const Kernels& Avx2Kernels() noexcept;
const Kernels& Avx512Kernels() noexcept;
#endif
#ifdef SLUICE_HAVE_NEON
const Kernels& NeonKernels() noexcept;
#endif

#ifdef SLUICE_HAVE_AVX2
namespace {
// Not every supported compiler can test for half-precision conversion by name.
bool HasF16c() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
}  // namespace
#endif

KernelList Available() noexcept {
  KernelList list{{&PlainKernels()}, 1};
#ifdef SLUICE_HAVE_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && HasF16c()) {
    list.sets[list.count++] = &Avx2Kernels();
    // Processors without VBMI2 run slower for vectors of 512 bits.
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi2")) {
      list.sets[list.count++] = &Avx512Kernels();
    }
  }
#endif
#ifdef SLUICE_HAVE_NEON
  list.sets[list.count++] = &NeonKernels();
#endif
  return list;
}

const Kernels& Chosen() noexcept {
  static const Kernels* const chosen = [] {
    const KernelList list = Available();
    const char* const forced = std::getenv("SLUICE_ISA");
    for (std::size_t i = 0; forced != nullptr && i < list.count; ++i) {
      if (std::strcmp(list.sets[i]->name, forced) == 0) return list.sets[i];
    }
    return list.sets[list.count - 1];
  }();
  return *chosen;
}

}  // namespace sluice::kernels
