// The state of the simulated runtime: GPUs, which context owns which resources, captures, and the
// calls that are to fail. World::mutex guards all of it; functions lock it themselves unless they
// say otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sluice/error.h>

#include "tests/device/cuda_double/cuda_double.h"

struct CUctx_st {
  int device = 0;  // the context is this GPU's primary one if it lies in World::contexts
};

namespace cuda_double {

struct Target;
// Work that a stream received while it was being captured.
using Work = std::vector<std::function<cudaError_t(const Target&)>>;

}  // namespace cuda_double

struct CUgraph_st {
  cuda_double::Work work;
};
struct CUgraphExec_st {
  cuda_double::Work work;
};

namespace cuda_double {

// The kinds of calls. A kind decides why a call may be refused.
enum class Kind {
  kPlain,
  kDrops,   // releases something, which a capture allows
  kUses,    // needs a context of the thread's device
  kWaits,   // needs a context, and waits for streams
  kFrees,   // needs a context, and frees something
  kUnsafe,  // needs a context, and does something that a capture cannot contain
};

// A capture of a stream that has begun and not ended.
struct Capture {
  std::thread::id thread;  // which began it
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  bool invalid = false;
  Work work;
};

// The owner and the properties of a stream, an event or a piece of memory.
struct Owned {
  const CUctx_st* context = nullptr;
  unsigned flags = 0;
  int priority = 0;       // of a stream
  bool captured = false;  // for an event: a capture recorded it
};
using Handles = std::map<const void*, Owned>;

struct World {
  std::mutex mutex;
  std::vector<std::shared_ptr<sluice::SimulatedDevice>> devices = {
      std::make_shared<sluice::SimulatedDevice>()};
  std::vector<CUctx_st> contexts = {{0}};  // the primary ones
  std::map<const CUctx_st*, void*> default_streams;
  std::map<std::pair<const CUctx_st*, std::thread::id>, void*> thread_streams;  // in `streams`, too
  std::set<int> used;  // the GPUs on which the process has a context
  Handles streams, events, memory;
  std::map<const void*, Capture> captures;  // by stream
  // Graphs that exist, launches of graphs, kernels outside of graphs, and uses of primary contexts
  // that were retained and not released.
  std::size_t graphs = 0, launches = 0, kernels = 0, retained = 0;
  // See FailAfter(): the calls so far, and how many of them precede the failing one (-1: none
  // fails).
  long calls = 0, fail_after = -1;
  cudaError_t failure = cudaSuccess;
  bool from_there_on = false;
  std::set<std::string> ranges;
  long open_ranges = 0;
  std::atomic<bool> unloaded = false;
};
extern World world;

// The state of each thread.
struct ThreadState {
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  int device = 0;
  bool bound = false;  // the thread uses that GPU's primary context unless another one is pushed
  std::vector<const CUctx_st*> pushed;
  int ranges = 0;  // NVTX ranges that the thread has begun and not ended
};
ThreadState& ThisThread() noexcept;
int CurrentDevice();
const CUctx_st* CurrentContext();  // the context that a call works in; World::mutex must be held

// Counts the call. Returns the error if the call is refused, else success.
cudaError_t Refusal(Kind kind);

template <class Action>
cudaError_t Call(Kind kind, Action action) {
  if (world.unloaded) return cudaErrorCudartUnloading;
  cudaError_t result = Refusal(kind);
  if (result == cudaSuccess || kind == Kind::kFrees || kind == Kind::kWaits ||
      kind == Kind::kDrops) {
    try {
      const cudaError_t done = action();
      if (result == cudaSuccess) result = done;
    } catch (const sluice::Error&) {  // from the device, which does not know the memory
      result = cudaErrorInvalidValue;
    }
  }
  if (result != cudaSuccess) ThisThread().last_error = result;
  return result;
}

sluice::SimulatedDevice& DeviceOf(int ordinal);

// What a handle of a stream stands for when the calling thread passes it.
struct Target {
  void* handle = nullptr;  // of the simulated stream
  Owned owned;
  bool capturing = false, invalid = false;
  bool is_default = false;         // null or cudaStreamLegacy
  bool waits_for_capture = false;  // a stream that it waits for is being captured
  sluice::SimulatedDevice& device() const { return DeviceOf(owned.context->device); }
};
Target TargetOf(cudaStream_t stream);
// Invalidates captures of the stream, or of those that the default stream waits for. Returns `why`.
cudaError_t Invalidate(const Target& target, cudaError_t why);

// While this object lives, work given to the default stream waits for earlier work of its context's
// other streams, except non-blocking ones. Later work of those streams waits for that work.
class InOrder {
 public:
  explicit InOrder(const Target& target);
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder();

 private:
  void Order(void* first, void* then) const;
  const Target target_;
  std::vector<void*> others_;
};

// These functions note that the calling thread's context owns a handle, look up its owner, and
// forget the handle.
void Register(Handles& all, const void* handle, unsigned flags, int priority = 0);
Owned OwnedOf(const Handles& all, const void* handle);
int Unregister(Handles& all, const void* handle);  // returns the device it belonged to

}  // namespace cuda_double
