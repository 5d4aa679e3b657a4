// What tests do with the CUDA that is none (cuda_runtime_api.h): how many GPUs it has, what fails,
// and what is left of all that it gave.
#pragma once

#include <cstddef>
#include <set>

#include "reader/device/simulated_device.h"
#include "tests/device/cuda_double/cuda_runtime_api.h"

namespace cuda_double {

// As a process finds it that has not used CUDA yet, with so many GPUs, whose streams call `before`
// as SimulatedDevice says. Nothing may be left of what was had before.
void Reset(int devices = 1, sluice::SimulatedDevice::Before before = {});

// Memory, streams, events, graphs and contexts that were had and not given back.
std::size_t Alive();
// For as long as it lives, the thread works in a context of its own on that GPU, as the driver's
// cuCtxCreate() makes one.
class OwnContext {
 public:
  explicit OwnContext(int device);
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext();
};

// GPUs on which this process has taken room for itself, by using them at all.
std::set<int> Contexts();

// The call after so many more fails, on whatever thread, and does nothing; or all from it on do,
// with that error, as when a kernel has gone wrong. What frees, or waits, does so all the same.
void FailAfter(long calls, cudaError_t error, bool from_there_on = false);
void FailNoMore();
// How many there have been since Reset() or FailAfter().
long Calls();

}  // namespace cuda_double
