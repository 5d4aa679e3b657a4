// The kernels of reader/device, unchanged, on the CPU (cuda_double/): which block and thread does
// what, and what they share.
#include "reader/device/kernels.h"
#include "tests/device/cuda_double/cuda_double.h"
#include "tests/device/pixel_ops_case.h"

using namespace sluice;
using namespace sluice::test;

namespace {

template <class Number>
void CheckKernel(const Ops& ops, const Shape& shape, std::size_t samples = 3) {
  for (const bool planar : {false, true}) {
    CAPTURE(ops.size(), shape.width, shape.height, shape.channels, planar, sizeof(Number));
    const PixelOpsCase<Number> batch(ops, shape, planar, samples);
    REQUIRE(StartPixelKernel(batch.job, nullptr) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    batch.Check();
  }
}

void CheckKernels(const Ops& ops, const Shape& shape) {
  CheckKernel<std::uint8_t>(ops, shape);
  CheckKernel<std::uint16_t>(ops, shape);
  CheckKernel<std::uint32_t>(ops, shape);
}

}  // namespace

TEST_CASE("Kernels convert each number once, whatever the shape and the layout") {
  cuda_double::Reset();
  // Fewer pixels than a block has threads, a few more, and many more. Pixels of three channels are
  // converted four at a time if their number is a multiple of four.
  for (const Shape& shape : {Shape{1, 1, 3},
                             {2, 2, 3},
                             {7, 5, 3},
                             {16, 17, 3},
                             {33, 31, 3},
                             {1, 1, 1},
                             {4, 4, 1},
                             {33, 20, 1}}) {
    CheckKernels({}, shape);
  }
}

TEST_CASE("Kernels change pixels to the host's bytes, with one block per sample or several") {
  cuda_double::Reset();
  const Ops ops = {Rectangle(0, 0, 4, 2), Op(PixelOpKind::kInvert), Op(PixelOpKind::kHue, -0.2F)};
  for (const Shape& shape : {Shape{5, 3, 3}, {5, 3, 1}, {16, 17, 3}, {53, 47, 3}})
    CheckKernels(ops, shape);
  CheckKernel<std::uint16_t>(ops, {100, 90, 3}, 2);  // four at a time: two blocks for each sample
}

TEST_CASE("Kernels find means of pictures smaller and larger than a block") {
  cuda_double::Reset();
  for (const Shape& shape : {Shape{5, 3, 3}, {5, 3, 1}, {53, 47, 3}, {64, 48, 3}})
    CheckKernels(ManyOps(), shape);
}

TEST_CASE("Kernels read whole pictures, and move pixels from place to place") {
  cuda_double::Reset();
  for (const Shape& shape : {Shape{7, 5, 3}, {5, 3, 1}}) {
    for (const Ops& row : WholePictureOps(shape))
      CheckKernel<std::uint8_t>(row, shape, 2);
  }
  // More pixels than a block has threads, converted four at a time or one by one.
  for (const Shape& shape : {Shape{28, 22, 3}, {27, 21, 3}})
    CheckKernel<std::uint16_t>(WholePictureOps(shape).front(), shape, 1);
}

TEST_CASE("Kernels process batches with more pixels than a grid has threads", "[slow]") {
  cuda_double::Reset();
  CheckKernel<std::uint8_t>({}, {725, 725, 1}, 1);  // a grid has 2048 * 256 = 524,288 threads
}

TEST_CASE("A batch without pixels starts no kernel") {
  cuda_double::Reset();
  CHECK(StartPixelKernel(Conversion(), nullptr) == cudaSuccess);
  CHECK(cuda_double::Calls() == 0);
}

TEST_CASE("A job without rows starts no kernel") {
  cuda_double::Reset();
  CHECK(StartJpegKernels(JpegJob(), nullptr) == cudaSuccess);
  CHECK(cuda_double::Calls() == 0);
}
