// Batches as LibTorch tensors (1.13 and later), without a copy. Header only: a program that
// includes it links LibTorch itself.
//
//   for (const sluice::Batch& batch : loader.Epoch(epoch))
//     Train(sluice::ImageTensor(batch), sluice::FieldTensor(batch, "label"));
//
// A tensor holds its batch: the batch's slot is used again when its last tensor is gone and the
// streams it was made for are done with it. Such a batch counts as held: see
// LoaderOptions::ring.hold.
#pragma once

#include <string>
#include <vector>

#include <ATen/ATen.h>
#if __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)  // only a LibTorch with CUDA has it
#include <c10/cuda/CUDAStream.h>
#endif

#include <sluice/batch.h>
#include <sluice/cuda.h>
#include <sluice/error.h>

namespace sluice {

namespace torch_detail {

inline at::ScalarType ScalarOf(ElementType type) {
  switch (type) {
    case ElementType::kUint8: return at::kByte;
    case ElementType::kFloat32: return at::kFloat;
    case ElementType::kFloat16: return at::kHalf;
    case ElementType::kBFloat16: return at::kBFloat16;
    case ElementType::kUint16: break;
  }
  throw Error(ErrorCode::kUnsupported, "LibTorch has no numbers for 16-bit images");
}

inline at::ScalarType ScalarOf(DType type) {
  switch (type) {
    case DType::kInt8: return at::kChar;
    case DType::kInt16: return at::kShort;
    case DType::kInt32: return at::kInt;
    case DType::kInt64: return at::kLong;
    case DType::kUint8: return at::kByte;
    case DType::kFloat32: return at::kFloat;
    case DType::kFloat64: return at::kDouble;
    case DType::kUint16: break;
  }
  throw Error(ErrorCode::kUnsupported, "LibTorch has no numbers for uint16 fields");
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

inline at::Tensor Wrap(const Batch& batch, const void* data, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides, at::ScalarType type) {
  const Device& device = batch.device();
  const at::Device place =
      device.is_cuda() ? at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device.ordinal()))
                       : at::Device(at::kCPU);
  batch.WaitOn(CurrentStream(device));
  // The device is passed twice, else LibTorch would ask CUDA whose memory this is.
  return at::from_blob(
      const_cast<void*>(data), sizes, strides, [batch](void*) {},
      at::TensorOptions().dtype(type).device(place), place);
}

}  // namespace torch_detail

// An image of the batch, Batch::image() or another: samples x channels x height x width, in
// channels-last memory if the layout is kNHWC. On a GPU it is ready for LibTorch's current stream
// of this thread; if other streams use it, call batch.WaitOn() for them, too.
inline at::Tensor ImageTensor(const Batch& batch, std::string_view field = {}) {
  const ImageBatch& image = field.empty() ? batch.image() : batch.image(field);
  const auto n = static_cast<std::int64_t>(image.samples);
  const auto c = static_cast<std::int64_t>(image.channels);
  const auto h = static_cast<std::int64_t>(image.height);
  const auto w = static_cast<std::int64_t>(image.width);
  const std::vector<std::int64_t> strides = image.layout == Layout::kNHWC
                                                ? std::vector{h * w * c, std::int64_t{1}, w * c, c}
                                                : std::vector{c * h * w, h * w, w, std::int64_t{1}};
  return torch_detail::Wrap(batch, image.data, {n, c, h, w}, strides,
                            torch_detail::ScalarOf(image.type));
}

// A fixed-shape array field: samples x its shape.
inline at::Tensor FieldTensor(const Batch& batch, std::string_view field) {
  const ArrayBatch array = batch.DeviceArray(field);
  std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(array.samples)};
  sizes.insert(sizes.end(), array.shape.begin(), array.shape.end());
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t d = sizes.size() - 1; d > 0; --d)
    strides[d - 1] = strides[d] * sizes[d];
  return torch_detail::Wrap(batch, array.data, sizes, strides, torch_detail::ScalarOf(array.type));
}

}  // namespace sluice
