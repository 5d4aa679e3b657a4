#include <sluice/device.h>
#include <sluice/error.h>

#include "reader/device/device_driver.h"

namespace sluice {

Device Device::Cuda(int ordinal) {
  if (ordinal < 0) throw Error(ErrorCode::kInvalidArgument, "CUDA devices are counted from 0");
  Device device;
  device.kind_ = Kind::kCuda;
  device.ordinal_ = ordinal;
  return device;
}

std::string Device::name() const {
  switch (kind_) {
    case Kind::kHost: return "host";
    case Kind::kCuda: return "cuda:" + std::to_string(ordinal_);
    case Kind::kOther: break;
  }
  return "simulated";
}

std::shared_ptr<DeviceDriver> DeviceAccess::Open(const Device& device) {
  switch (device.kind_) {
    case Device::Kind::kHost: return nullptr;
    case Device::Kind::kCuda: return OpenCuda(device.ordinal_);
    case Device::Kind::kOther: break;
  }
  return device.driver_;
}

Device DeviceAccess::DeviceOf(std::shared_ptr<DeviceDriver> driver) {
  Device device;
  device.kind_ = Device::Kind::kOther;
  device.driver_ = std::move(driver);
  return device;
}

HostBuffer PinnedBuffer(const std::shared_ptr<DeviceDriver>& driver, std::size_t bytes) {
  if (bytes == 0) return {};
  std::byte* const pinned = driver->AllocatePinned(bytes);
  return {std::shared_ptr<std::byte>(pinned,
                                     [driver](std::byte* memory) { driver->FreePinned(memory); }),
          bytes};
}

}  // namespace sluice
