// Replaces the CUDA driver in a build without CUDA.
#include <sluice/error.h>

#include "reader/device/device_driver.h"

namespace sluice {

int Device::CudaCount() noexcept {
  return 0;
}

std::shared_ptr<DeviceDriver> OpenCuda(int) {
  throw Error(ErrorCode::kUnsupported,
              "this build of Sluice has no CUDA, which LoaderOptions::device = Device::Cuda() and "
              "LoaderOptions::ring.pinned need; configure it with -DSLUICE_WITH_CUDA=ON");
}

}  // namespace sluice
