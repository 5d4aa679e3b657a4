// The part of DLPack version 1's ABI that is used here
// (https://dmlc.github.io/dlpack/latest/c_api.html). The names are our own, so that they cannot
// conflict with any version of DLPack's header.
#pragma once

#include <cstdint>

namespace sluice::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kMinorVersion = 0;

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kExtension = 12 };
enum TypeCode : std::uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBFloat = 4 };

struct Tensor {
  void* data;
  DeviceType device_type;
  std::int32_t device_id;
  std::int32_t dimensions;
  TypeCode code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedTensor* self);  // frees self, too
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace sluice::dlpack
