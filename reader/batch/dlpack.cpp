// A batch's fields as DLPack tensors (reader/batch/dlpack_abi.h), which other frameworks take
// without a copy.
//
// A tensor keeps its batch, and with it the slot, until the framework drops it. Small fields of the
// host are copied instead (kCopiedTensorBytes), since a label that is kept for a moment should not
// hold a slot of images.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include <sluice/dlpack.h>
#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "reader/batch/dlpack_abi.h"

namespace sluice {

namespace {

struct FreeMemory {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

struct Export {
  std::optional<Batch> batch;                 // set if the tensor lies in a batch
  std::unique_ptr<void, FreeMemory> content;  // set if the tensor has memory of its own
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
    case ElementType::kInt16: return {dlpack::kInt, 16};
    case ElementType::kFloat32: return {dlpack::kFloat, 32};
    case ElementType::kFloat16: return {dlpack::kFloat, 16};
    case ElementType::kBFloat16: break;
  }
  return {dlpack::kBFloat, 16};
}

Element ElementOf(DType type) {
  const auto bits = static_cast<std::uint8_t>(8 * SizeOf(type));
  switch (type) {
    case DType::kFloat16:
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

// Describes the tensor as `count` rows of that shape.
void Describe(const void* data, std::size_t count, std::span<const std::uint32_t> shape,
              const Element& element, Export& into) {
  into.shape.push_back(static_cast<std::int64_t>(count));
  into.shape.insert(into.shape.end(), shape.begin(), shape.end());
  into.managed.tensor.data = const_cast<void*>(data);
  SetElement(element, into.managed.tensor);
}

// Copies a small tensor in host memory to memory of its own; a larger one holds the batch instead.
void CopyOrHold(const Batch& batch, std::size_t bytes, Export& into) {
  if (bytes > kCopiedTensorBytes) {
    into.batch = batch;
    return;
  }
  into.content.reset(std::aligned_alloc(kPayloadAlignment, AlignUp(bytes + 1, kPayloadAlignment)));
  if (into.content == nullptr) throw std::bad_alloc();
  if (bytes > 0) std::memcpy(into.content.get(), into.managed.tensor.data, bytes);
  into.managed.tensor.data = into.content.get();
}

DLManagedTensorVersioned* Finish(std::unique_ptr<Export> made, const Device& device) {
  dlpack::Tensor& tensor = made->managed.tensor;
  made->strides.resize(made->shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = made->shape.size(); d-- > 0;) {
    made->strides[d] = stride;
    stride *= made->shape[d];
  }
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
  return reinterpret_cast<DLManagedTensorVersioned*>(&made.release()->managed);
}

}  // namespace

DLManagedTensorVersioned* ToDlpack(const Batch& batch, std::string_view field,
                                   DeviceStream stream) {
  auto made = std::make_unique<Export>();
  if (batch.HoldsVariable(field)) {
    const VariableBatch variable = batch.VariableArray(field);
    Describe(variable.data, variable.offsets.back(), variable.shape, ElementOf(variable.type),
             *made);
    CopyOrHold(batch, variable.bytes, *made);
    return Finish(std::move(made), Device());
  }
  if (field.empty() || batch.HoldsImage(field)) {
    const ImageBatch& image = field.empty() ? batch.image() : batch.image(field);
    if (batch.image_sizes() == ImageSizes::kOwn) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the batch's images differ in size (ImageSizes::kOwn); ask for the tensor of one "
                  "sample after another: SampleToDlpack()");
    }
    Describe(image, *made);
    made->batch = batch;
  } else {
    const ArrayBatch array = batch.DeviceArray(field);
    Describe(array.data, array.samples, array.shape, ElementOf(array.type), *made);
    if (batch.device().is_host()) {
      CopyOrHold(batch, array.bytes, *made);
    } else {
      made->batch = batch;
    }
  }
  batch.WaitOn(stream);
  return Finish(std::move(made), batch.device());
}

DLManagedTensorVersioned* SampleToDlpack(const Batch& batch, std::string_view field,
                                         std::size_t sample, DeviceStream stream) {
  auto made = std::make_unique<Export>();
  Describe(batch.image(field, sample), *made);
  made->shape.erase(made->shape.begin());
  made->batch = batch;
  batch.WaitOn(stream);
  return Finish(std::move(made), batch.device());
}

DLManagedTensorVersioned* OffsetsToDlpack(const Batch& batch, std::string_view field) {
  auto made = std::make_unique<Export>();
  const std::span<const std::uint64_t> offsets = batch.VariableArray(field).offsets;
  Describe(offsets.data(), offsets.size(), {}, {dlpack::kInt, 64}, *made);
  CopyOrHold(batch, offsets.size_bytes(), *made);
  return Finish(std::move(made), Device());
}

}  // namespace sluice
