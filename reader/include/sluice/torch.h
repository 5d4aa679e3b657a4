// Batches as LibTorch tensors (1.13 and later). Images and large fields are not copied. Header
// only: a program that includes this header links LibTorch itself.
//
//   options.transform = {sluice::RandomResizedCrop(224), sluice::Normalize{mean, deviation}};
//   ...
//   for (const sluice::Batch& batch : loader.Epoch(epoch)) {
//     const at::Tensor images = sluice::ImageTensor(batch);   // float32, samples x 3 x 224 x 224
//     const at::Tensor labels = sluice::LabelTensor(batch);   // int64, samples
//     optimizer.zero_grad();
//     torch::nn::functional::cross_entropy(model->forward(images), labels).backward();
//     optimizer.step();
//   }
//
// A tensor that is not a copy holds its batch. The batch's slot is reused once all of its tensors
// are gone, and the tensors' streams have finished with it. Until then, the batch counts as held:
// see LoaderOptions::ring.hold. Fields that are not images are copied if they have at most
// kCopiedTensorBytes, so that a label that you keep does not keep all images of its batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ATen.h>
#if __has_include(<torch/version.h>)
#include <torch/version.h>
#endif
#if __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)  // only a LibTorch with CUDA has it
#include <c10/cuda/CUDAStream.h>
#endif

#include <sluice/batch.h>
#include <sluice/cuda.h>
#include <sluice/dlpack.h>
#include <sluice/error.h>

namespace sluice {

namespace torch_detail {

inline at::ScalarType ScalarOf(ElementType type) {
  switch (type) {
    case ElementType::kUint8: return at::kByte;
    case ElementType::kFloat32: return at::kFloat;
    case ElementType::kFloat16: return at::kHalf;
    case ElementType::kBFloat16: return at::kBFloat16;
    case ElementType::kInt16: return at::kShort;
    case ElementType::kUint16: break;
  }
#if defined(TORCH_VERSION_MAJOR) && \
    (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3))
  return at::kUInt16;
#endif
  throw Error(ErrorCode::kUnsupported,
              "LibTorch before 2.3 has no tensor type for images of uint16; end the transform with "
              "Normalize, which makes floats");
}

inline at::ScalarType ScalarOf(DType type) {
  switch (type) {
    case DType::kInt8: return at::kChar;
    case DType::kInt16: return at::kShort;
    case DType::kInt32: return at::kInt;
    case DType::kInt64: return at::kLong;
    case DType::kUint8: return at::kByte;
    case DType::kFloat16: return at::kHalf;
    case DType::kFloat32: return at::kFloat;
    case DType::kFloat64: return at::kDouble;
    case DType::kUint16: break;
  }
  throw Error(ErrorCode::kUnsupported, "LibTorch has no tensor type for uint16 fields");
}

// LibTorch's current stream in this thread.
inline DeviceStream CurrentStream([[maybe_unused]] const Device& device) {
#if __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)
  if (device.is_cuda()) {
    const auto index = static_cast<c10::DeviceIndex>(device.ordinal());
    return OnStream(c10::cuda::getCurrentCUDAStream(index).stream());
  }
#endif
  return {};
}

inline at::Tensor Wrap(const Batch& batch, const Device& device, const void* data,
                       const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides, at::ScalarType type) {
  const at::Device place =
      device.is_cuda() ? at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device.ordinal()))
                       : at::Device(at::kCPU);
  if (!device.is_host()) batch.WaitOn(CurrentStream(device));
  // The device is passed twice, else LibTorch would ask CUDA whose memory this is.
  return at::from_blob(
      const_cast<void*>(data), sizes, strides, [batch](void*) {},
      at::TensorOptions().dtype(type).device(place), place);
}

// `rows` values of that shape, one after another.
inline at::Tensor WrapRows(const Batch& batch, const Device& device, const void* data,
                           std::size_t rows, std::span<const std::uint32_t> shape,
                           at::ScalarType type) {
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(rows)};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * sizes[d];
  return Wrap(batch, device, data, sizes, strides, type);
}

// Copies a tensor of up to kCopiedTensorBytes; returns a larger one unchanged.
inline at::Tensor CopiedIfSmall(const at::Tensor& tensor) {
  return tensor.nbytes() <= kCopiedTensorBytes ? tensor.clone() : tensor;
}

}  // namespace torch_detail

// An image field of the batch ({}: Batch::image()): samples x channels x height x width, in
// channels-last memory if the layout is kNHWC. On a GPU, the tensor is ready for LibTorch's current
// stream of this thread. If other streams use the tensor, call batch.WaitOn() for them, too. With
// ImageSizes::kOwn, use ImageTensors().
inline at::Tensor ImageTensor(const Batch& batch, std::string_view field = {}) {
  const ImageBatch& image = field.empty() ? batch.image() : batch.image(field);
  if (batch.image_sizes() == ImageSizes::kOwn) {
    throw Error(ErrorCode::kInvalidArgument,
                "the batch's images differ in size; use ImageTensors(), which gives one each");
  }
  const auto n = static_cast<std::int64_t>(image.samples);
  const auto c = static_cast<std::int64_t>(image.channels);
  const auto h = static_cast<std::int64_t>(image.height);
  const auto w = static_cast<std::int64_t>(image.width);
  const std::vector<std::int64_t> strides = image.layout == Layout::kNHWC
                                                ? std::vector{h * w * c, std::int64_t{1}, w * c, c}
                                                : std::vector{c * h * w, h * w, w, std::int64_t{1}};
  return torch_detail::Wrap(batch, batch.device(), image.data, {n, c, h, w}, strides,
                            torch_detail::ScalarOf(image.type));
}

// The images of one field ({}: of Batch::image()), one tensor for each sample: channels x height x
// width. Otherwise like ImageTensor(). This also works for images that differ in size
// (ImageSizes::kOwn). With ImageSizes::kPadded, the images have their padding: see Batch::sizes().
inline std::vector<at::Tensor> ImageTensors(const Batch& batch, std::string_view field = {}) {
  std::vector<at::Tensor> tensors;
  for (std::size_t sample = 0; sample < batch.size(); ++sample) {
    const ImageBatch image = batch.image(field, sample);
    const auto c = static_cast<std::int64_t>(image.channels);
    const auto h = static_cast<std::int64_t>(image.height);
    const auto w = static_cast<std::int64_t>(image.width);
    const std::vector<std::int64_t> strides = image.layout == Layout::kNHWC
                                                  ? std::vector{std::int64_t{1}, w * c, c}
                                                  : std::vector{h * w, w, std::int64_t{1}};
    tensors.push_back(torch_detail::Wrap(batch, batch.device(), image.data, {c, h, w}, strides,
                                         torch_detail::ScalarOf(image.type)));
  }
  return tensors;
}

// A fixed-shape array field: samples x the field's shape, of the field's type, on the batch's
// device. Throws Error(kUnsupported) for uint16, which LibTorch lacks.
inline at::Tensor FieldTensor(const Batch& batch, std::string_view field) {
  if (batch.HoldsVariable(field)) {
    throw Error(ErrorCode::kInvalidArgument,
                "field \"" + std::string(field) +
                    "\" varies in length from sample to sample; use VariableTensor(), which "
                    "gives its values and offsets");
  }
  const ArrayBatch array = batch.DeviceArray(field);
  return torch_detail::CopiedIfSmall(torch_detail::WrapRows(batch, batch.device(), array.data,
                                                            array.samples, array.shape,
                                                            torch_detail::ScalarOf(array.type)));
}

// A fixed-shape array field of integers, converted to int64, the type that LibTorch's losses take:
// samples x the field's shape. The tensor is a copy, on the batch's device. Throws
// Error(kInvalidArgument) if the field holds floats.
inline at::Tensor LabelTensor(const Batch& batch, std::string_view field = "label") {
  const ArrayBatch array = batch.DeviceArray(field);
  if (!IsInteger(array.type)) {
    throw Error(ErrorCode::kInvalidArgument, "field \"" + std::string(field) + "\" holds " +
                                                 std::string(NameOf(array.type)) +
                                                 ", not integers; use FieldTensor()");
  }
  // LibTorch has no uint16: the same bits, read as int16.
  const bool bits = array.type == DType::kUint16;
  const at::Tensor label =
      torch_detail::WrapRows(batch, batch.device(), array.data, array.samples, array.shape,
                             bits ? at::kShort : torch_detail::ScalarOf(array.type))
          .to(at::kLong, false, true);
  return bits ? label.bitwise_and(0xFFFF) : label;
}

// A variable-length or bytes field. Sample i has the entries offsets[i] .. offsets[i + 1] - 1 of
// `values`.
struct VariableTensors {
  at::Tensor values;   // entries of all samples x the shape of an entry, of the field's type
  at::Tensor offsets;  // int64, samples + 1
  // The entries of one sample: a part of `values`, without a copy.
  at::Tensor operator[](std::int64_t sample) const {
    const std::int64_t first = offsets[sample].item<std::int64_t>();
    return values.slice(0, first, offsets[sample + 1].item<std::int64_t>());
  }
};

// A variable-length or bytes field as tensors, in host memory even if the batch is on a device;
// move them there by .to(). The values of a bytes field are uint8. Throws Error(kUnsupported) for
// uint16.
inline VariableTensors VariableTensor(const Batch& batch, std::string_view field) {
  const VariableBatch variable = batch.VariableArray(field);
  const auto tensor = [&](const void* data, std::size_t rows, std::span<const std::uint32_t> shape,
                          at::ScalarType type) {
    return torch_detail::CopiedIfSmall(
        torch_detail::WrapRows(batch, Device(), data, rows, shape, type));
  };
  return {tensor(variable.data, variable.offsets.back(), variable.shape,
                 torch_detail::ScalarOf(variable.type)),
          tensor(variable.offsets.data(), variable.offsets.size(), {}, at::kLong)};
}

}  // namespace sluice
