// Controls the simulated CUDA (cuda_runtime_api.h) in tests: the number of GPUs, the calls that
// fail, and the resources that the program has not released.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "tests/device/cuda_double/cuda_runtime_api.h"
#include "tests/device/simulated_device.h"

namespace cuda_double {

// Resets the simulation to a process that has not used CUDA yet, with `devices` GPUs, whose streams
// call `before` as SimulatedDevice describes. All resources must have been released.
void Reset(int devices = 1, sluice::SimulatedDevice::Before before = {});

// The number of buffers, streams, events, graphs and contexts that were not given back.
std::size_t Alive();

// While this object lives, the thread works in a context of its own on that GPU, like one that the
// driver's cuCtxCreate() makes.
class OwnContext {
 public:
  explicit OwnContext(int device);
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;
  ~OwnContext();
};

// The GPUs that this process has used, and on which it therefore has a context.
std::set<int> Contexts();

// The priorities of the existing streams, without default streams; 0: no priority was requested.
std::multiset<int> Priorities();
inline constexpr int kGreatestPriority = -5;

// The names of the NVTX ranges that all threads have begun so far. The process aborts if a thread
// ends a range that it has not begun.
std::set<std::string> Ranges();
// The number of ranges that have begun and not ended.
long OpenRanges();

// Lets `calls` further calls succeed. The next call, on any thread, fails with `error` and does
// nothing. With `from_there_on`, all later calls fail, too, as after a faulty kernel. Calls that
// free or wait still do their work.
void FailAfter(long calls, cudaError_t error, bool from_there_on = false);
void FailNoMore();
// From now on all calls of the runtime and the driver fail and do nothing: the process is exiting.
void Unload();
// The number of calls since Reset() or FailAfter().
long Calls();
// The number of graphs, and of kernels outside of graphs, launched since Reset().
std::size_t Launches();
std::size_t Kernels();

}  // namespace cuda_double
