// Lets a Python test keep the default stream of the simulated GPU busy, like a queued kernel that
// has not run yet.
#include <condition_variable>
#include <mutex>

#include "tests/device/cuda_double/cuda_runtime_api.h"

namespace {

std::mutex mutex;
std::condition_variable changed;
bool held = false;

void WaitForRelease(void*) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [] { return !held; });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void HoldDefaultStream() {
  const std::scoped_lock lock(mutex);
  held = true;
  cudaLaunchHostFunc(nullptr, &WaitForRelease, nullptr);
}

extern "C" __attribute__((visibility("default"))) void ReleaseDefaultStream() {
  const std::scoped_lock lock(mutex);
  held = false;
  changed.notify_all();
}
