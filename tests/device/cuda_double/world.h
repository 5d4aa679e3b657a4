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
  int device = 0;  // the context is the primary one, if World::contexts has it
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
  const CUctx_st* context = nullptr;
  unsigned flags = 0;
  bool captured = false;  // of an event: recorded by a capture
};
using Handles = std::map<const void*, Owned>;

struct World {
  std::mutex mutex;
  std::vector<std::shared_ptr<sluice::SimulatedDevice>> devices = {
      std::make_shared<sluice::SimulatedDevice>()};
  std::vector<CUctx_st> contexts = {{0}};  // primary ones
  std::map<const CUctx_st*, void*> default_streams;
  std::map<std::pair<const CUctx_st*, std::thread::id>, void*> thread_streams;  // and in `streams`
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
  bool bound = false;  // that GPU's primary context is the thread's, if none is pushed
  std::vector<const CUctx_st*> pushed;
};
ThreadState& Mine() noexcept;
int CurrentDevice();
const CUctx_st* CurrentContext();  // that a call works in; the mutex held

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
  bool is_default = false;          // null or cudaStreamLegacy
  bool captures_beside_it = false;  // of streams that it waits for
  sluice::SimulatedDevice& device() const { return DeviceOf(owned.context->device); }
};
Target TargetOf(cudaStream_t stream);
// Captures of the stream, or of those that the default stream waits for; returns why.
cudaError_t Invalidate(const Target& target, cudaError_t why);

// What the default stream is given meanwhile waits for what the others of its context had been
// given but for the non-blocking ones, and what they are given from then on waits for it.
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

void Own(Handles& all, const void* handle, unsigned flags);
Owned OwnedOf(const Handles& all, const void* handle);
int Disown(Handles& all, const void* handle);  // returns which device it was of

}  // namespace cuda_double
