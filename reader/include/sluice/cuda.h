// A CUDA stream as Sluice takes it. Needs no header of CUDA's.
#pragma once

#include <sluice/device.h>

struct CUstream_st;  // cudaStream_t and CUstream are pointers to it

namespace sluice {

inline DeviceStream OnStream(CUstream_st* stream) noexcept {
  return {stream};
}

}  // namespace sluice
