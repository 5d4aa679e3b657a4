#include <memory>
#include <vector>

#include <sluice/dlpack.h>

#include "reader/device/dlpack_abi.h"

namespace sluice {

namespace {

struct Export {
  explicit Export(const Batch& of) : batch(of) {}
  Batch batch;
  std::vector<std::int64_t> shape, strides;
  dlpack::ManagedTensor managed = {};
};

struct Element {
  dlpack::TypeCode code;
  std::uint8_t bits;
};

Element ElementOf(ElementType type) {
  switch (type) {
    case ElementType::kUint8: return {dlpack::kUint, 8};
    case ElementType::kUint16: return {dlpack::kUint, 16};
    case ElementType::kFloat32: return {dlpack::kFloat, 32};
    case ElementType::kFloat16: return {dlpack::kFloat, 16};
    case ElementType::kBFloat16: break;
  }
  return {dlpack::kBFloat, 16};
}

Element ElementOf(DType type) {
  const auto bits = static_cast<std::uint8_t>(8 * SizeOf(type));
  switch (type) {
    case DType::kFloat32:
    case DType::kFloat64: return {dlpack::kFloat, bits};
    case DType::kUint8:
    case DType::kUint16: return {dlpack::kUint, bits};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64: break;
  }
  return {dlpack::kInt, bits};
}

void SetElement(const Element& element, dlpack::Tensor& tensor) {
  tensor.code = element.code;
  tensor.bits = element.bits;
  tensor.lanes = 1;
}

void Describe(const ImageBatch& image, Export& into) {
  const auto n = static_cast<std::int64_t>(image.samples);
  const auto h = static_cast<std::int64_t>(image.height);
  const auto w = static_cast<std::int64_t>(image.width);
  const auto c = static_cast<std::int64_t>(image.channels);
  into.shape = image.layout == Layout::kNHWC ? std::vector{n, h, w, c} : std::vector{n, c, h, w};
  into.managed.tensor.data = const_cast<std::uint8_t*>(image.data);
  SetElement(ElementOf(image.type), into.managed.tensor);
}

void Describe(const ArrayBatch& array, Export& into) {
  into.shape.push_back(static_cast<std::int64_t>(array.samples));
  into.shape.insert(into.shape.end(), array.shape.begin(), array.shape.end());
  into.managed.tensor.data = const_cast<std::byte*>(array.data);
  SetElement(ElementOf(array.type), into.managed.tensor);
}

}  // namespace

DLManagedTensorVersioned* ToDlpack(const Batch& batch, std::string_view field,
                                   DeviceStream stream) {
  auto made = std::make_unique<Export>(batch);
  dlpack::Tensor& tensor = made->managed.tensor;
  if (field.empty()) {
    Describe(batch.image(), *made);
  } else if (batch.HoldsImage(field)) {
    Describe(batch.image(field), *made);
  } else {
    Describe(batch.DeviceArray(field), *made);
  }
  made->strides.resize(made->shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = made->shape.size(); d-- > 0;) {
    made->strides[d] = stride;
    stride *= made->shape[d];
  }
  const Device& device = batch.device();
  tensor.device_type = device.is_host()   ? dlpack::kCpu
                       : device.is_cuda() ? dlpack::kCuda
                                          : dlpack::kExtension;
  tensor.device_id = device.ordinal();
  tensor.dimensions = static_cast<std::int32_t>(made->shape.size());
  tensor.shape = made->shape.data();
  tensor.strides = made->strides.data();
  made->managed.major = dlpack::kMajorVersion;
  made->managed.minor = dlpack::kMinorVersion;
  made->managed.context = made.get();
  made->managed.deleter = [](dlpack::ManagedTensor* self) {
    delete static_cast<Export*>(self->context);
  };
  batch.WaitOn(stream);
  return reinterpret_cast<DLManagedTensorVersioned*>(&made.release()->managed);
}

}  // namespace sluice
