// What the runtime that is none keeps: GPUs, who has what of them, captures, and what is to fail.
// World::mutex is of all of it; functions take it themselves.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <sluice/error.h>

#include "tests/device/cuda_double/cuda_double.h"

struct CUctx_st {
  int device = 0;
};
struct CUgraph_st {};

namespace cuda_double {

// What a call is, for those that may refuse it.
enum class Kind {
  kPlain,
  kUses,    // takes a context of the thread's device
  kWaits,   // and waits for streams
  kFrees,   // or gives something back
  kUnsafe,  // or does what no capture could take in
};

struct Capture {
  std::thread::id thread;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  bool invalid = false;
};

struct Owned {
  int device = 0;
  unsigned flags = 0;
  bool captured = false;  // of an event: recorded by a capture
};
using Handles = std::map<const void*, Owned>;

struct World {
  std::mutex mutex;
  std::vector<std::shared_ptr<sluice::SimulatedDevice>> devices = {
      std::make_shared<sluice::SimulatedDevice>()};
  std::vector<CUctx_st> contexts = {{0}};
  std::map<int, void*> default_streams;
  std::set<int> used;
  Handles streams, events, memory;
  std::map<const void*, Capture> captures;  // by stream
  std::size_t graphs = 0, retained = 0;
  long calls = 0, fail_after = -1;
  cudaError_t failure = cudaSuccess;
  bool from_there_on = false;
};
extern World world;

// Of each thread.
struct ThreadState {
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  int device = 0;
  std::vector<int> pushed;  // contexts
};
ThreadState& Mine() noexcept;
int CurrentDevice();

// Counts the call, and says why it is refused, if it is.
cudaError_t Refusal(Kind kind);

template <class Action>
cudaError_t Call(Kind kind, Action action) {
  cudaError_t result = Refusal(kind);
  if (result == cudaSuccess || kind == Kind::kFrees || kind == Kind::kWaits) {
    try {
      const cudaError_t done = action();
      if (result == cudaSuccess) result = done;
    } catch (const sluice::Error&) {  // of the device: wrong memory
      result = cudaErrorInvalidValue;
    }
  }
  if (result != cudaSuccess) Mine().last_error = result;
  return result;
}

sluice::SimulatedDevice& DeviceOf(int ordinal);

// What a stream's handle stands for.
struct Target {
  void* handle = nullptr;  // of the simulated stream
  Owned owned;
  bool capturing = false, invalid = false;
  sluice::SimulatedDevice& device() const { return DeviceOf(owned.device); }
};
Target TargetOf(cudaStream_t stream);
cudaError_t Invalidate(cudaStream_t stream, cudaError_t why);  // its capture; returns why

void Own(Handles& all, const void* handle, unsigned flags);
Owned OwnedOf(const Handles& all, const void* handle);
int Disown(Handles& all, const void* handle);  // returns which device it was of

}  // namespace cuda_double
