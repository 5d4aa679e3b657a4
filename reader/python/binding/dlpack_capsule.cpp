#include "reader/python/binding/dlpack_capsule.h"

#include <sluice/dlpack.h>

namespace sluice::python {

namespace {

// The layouts of DLPack 1.0 and of the protocol before it (github.com/dmlc/dlpack, dlpack.h).
struct Tensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t dimensions;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  Tensor tensor;
};
struct Unversioned {
  Tensor tensor;
  void* context;
  void (*deleter)(Unversioned*);
};

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUnversioned = "dltensor";
constexpr int kCpu = 1, kCuda = 2;

// A capsule whose tensor was not taken over still owns it.
template <class T>
void Drop(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* const tensor = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

nb::object CapsuleOf(Versioned* tensor) {
  return nb::steal(PyCapsule_New(tensor, kVersioned,
                                 [](PyObject* capsule) { Drop<Versioned>(capsule, kVersioned); }));
}

nb::object OldCapsuleOf(Versioned* tensor) {
  auto* const old = new Unversioned{tensor->tensor, tensor, [](Unversioned* self) {
                                      auto* const inner = static_cast<Versioned*>(self->context);
                                      inner->deleter(inner);
                                      delete self;
                                    }};
  return nb::steal(PyCapsule_New(
      old, kUnversioned, [](PyObject* capsule) { Drop<Unversioned>(capsule, kUnversioned); }));
}

// By the numbers of DLPack's protocol for CUDA: none and 1 are the legacy default stream, 2 the
// thread's; -1 asks for no waiting, so the batch is waited for here.
DeviceStream StreamOf(const Batch& batch, const nb::object& stream) {
  if (batch.device().is_host()) return {};
  if (stream.is_none()) return {};
  const auto number = nb::cast<std::intptr_t>(stream);
  if (number == -1) {
    const Released released;
    batch.Synchronize();
    return {};
  }
  return {reinterpret_cast<void*>(number)};
}

}  // namespace

std::pair<int, int> DlpackDevice(const Batch& batch, const std::string& field, bool offsets) {
  const bool host = batch.device().is_host() || offsets || batch.HoldsVariable(field);
  return host ? std::pair(kCpu, 0) : std::pair(kCuda, batch.device().ordinal());
}

nb::object DlpackCapsule(const Batch& batch, const std::string& field, bool offsets,
                         std::optional<std::size_t> sample, const DlpackRequest& request) {
  const auto device = DlpackDevice(batch, field, offsets);
  if (!request.dl_device.is_none() && nb::cast<std::pair<int, int>>(request.dl_device) != device) {
    throw nb::buffer_error("a Sluice batch stays on its device; move the tensor afterwards");
  }
  if (!request.copy.is_none() && nb::cast<bool>(request.copy)) {
    throw nb::buffer_error("a Sluice batch is handed over without a copy; clone the tensor");
  }
  auto* const tensor = reinterpret_cast<Versioned*>(
      offsets  ? OffsetsToDlpack(batch, field)
      : sample ? SampleToDlpack(batch, field, *sample, StreamOf(batch, request.stream))
               : ToDlpack(batch, field, StreamOf(batch, request.stream)));
  const bool versioned = !request.max_version.is_none() &&
                         nb::cast<std::pair<int, int>>(request.max_version).first >= 1;
  return versioned ? CapsuleOf(tensor) : OldCapsuleOf(tensor);
}

}  // namespace sluice::python
