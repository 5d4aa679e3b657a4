// The kernels of reader/device, unchanged, on the CPU: which block and
// thread does what, and what they share.
#include "format/random.h"
#include "reader/device/jpeg_kernels.h"
#include "reader/device/pixel_kernels.h"
#include "tests/device/cuda_double/cuda_double.h"
#include "tests/device/jpeg_case.h"
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
  // Fewer pixels than a block has threads, a few more, and rows that are not a multiple; in fours
  // or not.
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

TEST_CASE("Kernels change pixels to the host's bytes, by one block a sample or several") {
  cuda_double::Reset();
  const Ops ops = {Rectangle(0, 0, 4, 2), Op(PixelOpKind::kInvert), Op(PixelOpKind::kHue, -0.2F)};
  for (const Shape& shape : {Shape{5, 3, 3}, {5, 3, 1}, {16, 17, 3}, {53, 47, 3}})
    CheckKernels(ops, shape);
  CheckKernel<std::uint16_t>(ops, {100, 90, 3}, 2);  // in fours: two blocks each
}

TEST_CASE("Kernels find means of pictures smaller and larger than a block") {
  cuda_double::Reset();
  for (const Shape& shape : {Shape{5, 3, 3}, {5, 3, 1}, {53, 47, 3}, {64, 48, 3}})
    CheckKernels(ManyOps(), shape);
}

TEST_CASE("Kernels look at whole pictures, and move pixels from place to place") {
  cuda_double::Reset();
  for (const Shape& shape : {Shape{7, 5, 3}, {5, 3, 1}}) {
    for (const Ops& row : WholeRows(shape))
      CheckKernel<std::uint8_t>(row, shape, 2);
  }
  // More pixels than a block has threads; in fours and not.
  for (const Shape& shape : {Shape{28, 22, 3}, {27, 21, 3}})
    CheckKernel<std::uint16_t>(WholeRows(shape).front(), shape, 1);
}

TEST_CASE("Kernels go on through batches that have more pixels than a grid has threads", "[slow]") {
  cuda_double::Reset();
  CheckKernel<std::uint8_t>({}, {725, 725, 1}, 1);  // 2048 blocks of 256 threads are 524,288
}

TEST_CASE("A batch without pixels starts no kernel") {
  cuda_double::Reset();
  CHECK(StartPixelKernel(Conversion(), nullptr) == cudaSuccess);
  CHECK(cuda_double::Calls() == 0);
}

TEST_CASE("Kernels decode JPEGs to the host's pixels, and count rows that are broken") {
  cuda_double::Reset();
  JpegCase images(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kInterleaved);
  JpegOptions form;
  form.restart_rows = 1;
  std::vector<std::vector<std::byte>> files;
  for (std::uint32_t i = 0; i < 5; ++i) {
    form.subsample = i % 2 == 0;
    files.push_back(MakeJpeg(MakePicture(70 + 9 * i, 300 - 50 * i, 3, i), form));
  }
  for (const std::size_t back : {900U, 898U, 896U}) {  // no code consists of that many ones
    files[3][files[3].size() - back] = std::byte{0xFF};
    files[3][files[3].size() - back + 1] = std::byte{0};
  }
  const auto payload = [&](std::uint32_t i) {
    return JpegPayloadOf(files[i], 70 + 9 * i, 300 - 50 * i);
  };
  const auto region = [&](std::uint32_t i) {
    return Part(3, 1, 60 + 9 * i, 298 - 50 * i, 40, 33);  // more rows and pixels than a block has
  };
  for (std::uint32_t i = 0; i < 5; ++i)
    REQUIRE(images.Add(payload(i), region(i)));
  images.Run();
  for (std::uint32_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    REQUIRE(images.broken(i) == (i == 3));
    if (i != 3)
      REQUIRE(images.pixels(i) == OnTheHost(payload(i), region(i), 3, PixelOrder::kInterleaved));
  }
}

TEST_CASE("Kernels make images of pictures that lie in device memory, raw or compressed") {
  cuda_double::Reset();
  JpegOptions form;
  form.restart_rows = 1;
  const auto file = MakeJpeg(MakePicture(90, 120), form);
  const Picture pixels = MakePicture(90, 120, 3, 5);
  const ImagePayload jpeg = JpegPayloadOf(file, 90, 120);
  const ImagePayload raw = {
      Codec::kRaw, PixelType::kUint8, 3, 90, 120, std::as_bytes(std::span(pixels.pixels))};
  const Region region = Part(3, 1, 80, 110, 40, 33);
  for (const bool both : {true, false}) {  // without compressed pictures there are no rows
    JpegCase images(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kPlanar);
    REQUIRE(images.AddStored(raw, region));
    if (both) REQUIRE(images.AddStored(jpeg, region));
    images.Run();
    REQUIRE(images.pixels(0) == OnTheHost(raw, region, 3, PixelOrder::kPlanar));
    if (both) REQUIRE(images.pixels(1) == OnTheHost(jpeg, region, 3, PixelOrder::kPlanar));
  }
}

TEST_CASE("A warp unpacks rows of packed pictures to the host's pixels, beside JPEGs") {
  cuda_double::Reset();
  JpegCase images(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kPlanar);
  JpegOptions form;
  form.restart_rows = 1;
  form.quality = 99;  // some values are large
  // Rows of fewer blocks than a warp has threads, of as many, and of more.
  const std::uint32_t widths[] = {7, 90, 256, 264, 530};
  std::vector<std::vector<std::byte>> files, packed;
  for (std::uint32_t i = 0; i < 5; ++i) {
    form.subsample = i % 2 == 0;
    files.push_back(MakeJpeg(MakePicture(widths[i], 40, 3, i), form));
    packed.push_back(PackedOf(files[i]));
  }
  const auto region = [&](std::uint32_t i) {
    return Part(i == 0 ? 0 : 5, 3, widths[i] - 5, 35, 30, 20);
  };
  const auto payload = [&](std::uint32_t i) { return JpegPayloadOf(files[i], widths[i], 40); };
  for (std::uint32_t i = 0; i < 5; ++i) {
    REQUIRE(images.Add(PackedPayloadOf(packed[i], payload(i)), region(i)));
    REQUIRE(images.Add(payload(i), region(i)));
  }
  images.Run();
  for (std::uint32_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    const auto expected = OnTheHost(payload(i), region(i), 3, PixelOrder::kPlanar);
    REQUIRE_FALSE(images.broken(2 * i));
    REQUIRE(images.pixels(2 * i) == expected);
    REQUIRE(images.pixels(2 * i + 1) == expected);
  }
}

TEST_CASE("A warp refuses damaged rows as one thread does, and reads nothing outside them") {
  cuda_double::Reset();
  JpegOptions form;
  form.quality = 98;
  const auto packed = PackedOf(MakeJpeg(MakePicture(280, 24), form));
  const ImagePayload whole = PackedPayloadOf(packed, JpegPayloadOf(packed, 280, 24));
  packed::Header header;
  REQUIRE(packed::ParseHeader(packed, header) == nullptr);
  const Bytes first = packed::RowOf(packed, header, 0);
  RandomStream random(11, static_cast<Purpose>(999), 0);
  std::size_t broken = 0, taken = 0;
  for (int round = 0; round < 120; ++round) {
    auto damaged = packed;
    // Anywhere in the first row of blocks, or the number of its large values, or masks.
    const std::size_t reach = round % 3 == 0 ? first.size() : round % 3 == 1 ? 4 : 40;
    const auto at = static_cast<std::size_t>(first.data() - packed.data());
    for (std::uint64_t flips = 1 + random.Below(3); flips > 0; --flips)
      damaged[at + random.Below(reach)] ^= std::byte(1U << random.Below(8));
    ImagePayload payload = whole;
    payload.bytes = damaged;
    const Region region = Part(9, 2, 260, 20, 65, 5 + round % 15);
    JpegCase by_warp(DeviceAccess::Open(Device::Cuda(0)), 3, PixelOrder::kInterleaved);
    JpegCase by_one(OneSimulatedDevice(), 3, PixelOrder::kInterleaved);
    REQUIRE(by_warp.Add(payload, region) == by_one.Add(payload, region));
    by_warp.Run();
    by_one.Run();
    CAPTURE(round);
    REQUIRE(by_warp.broken(0) == by_one.broken(0));
    ++(by_warp.broken(0) ? broken : taken);
    if (!by_warp.broken(0)) REQUIRE(by_warp.pixels(0) == by_one.pixels(0));
  }
  CHECK(broken > 20);
  CHECK(taken > 20);
}

TEST_CASE("A job without rows starts no kernel") {
  cuda_double::Reset();
  CHECK(StartJpegKernels(JpegJob(), nullptr) == cudaSuccess);
  CHECK(cuda_double::Calls() == 0);
}
