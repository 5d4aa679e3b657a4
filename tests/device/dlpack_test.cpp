// DLPack tensors of a batch: their layout in memory, their lifetime, and streams.
#include <cstddef>

#include <sluice/dlpack.h>

#include "reader/batch/dlpack_abi.h"
#include "tests/device/trainer.h"

using namespace sluice;
using namespace sluice::test;

// If DLPack's own header is installed, compares it with ours, member by member.
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION == 1
static_assert(sizeof(dlpack::ManagedTensor) == sizeof(DLManagedTensorVersioned));
static_assert(offsetof(dlpack::ManagedTensor, context) ==
              offsetof(DLManagedTensorVersioned, manager_ctx));
static_assert(offsetof(dlpack::ManagedTensor, deleter) ==
              offsetof(DLManagedTensorVersioned, deleter));
static_assert(offsetof(dlpack::ManagedTensor, flags) == offsetof(DLManagedTensorVersioned, flags));
static_assert(offsetof(dlpack::ManagedTensor, tensor) ==
              offsetof(DLManagedTensorVersioned, dl_tensor));
static_assert(sizeof(dlpack::Tensor) == sizeof(DLTensor));
static_assert(offsetof(dlpack::Tensor, device_type) == offsetof(DLTensor, device));
static_assert(offsetof(dlpack::Tensor, dimensions) == offsetof(DLTensor, ndim));
static_assert(offsetof(dlpack::Tensor, code) == offsetof(DLTensor, dtype));
static_assert(offsetof(dlpack::Tensor, shape) == offsetof(DLTensor, shape));
static_assert(offsetof(dlpack::Tensor, strides) == offsetof(DLTensor, strides));
static_assert(offsetof(dlpack::Tensor, byte_offset) == offsetof(DLTensor, byte_offset));
static_assert(int{dlpack::kCuda} == kDLCUDA && int{dlpack::kBFloat} == kDLBfloat);
#endif

namespace {

dlpack::ManagedTensor& Opened(DLManagedTensorVersioned* tensor) {
  return *reinterpret_cast<dlpack::ManagedTensor*>(tensor);
}

std::vector<std::int64_t> Extents(const dlpack::ManagedTensor& managed, const std::int64_t* of) {
  return {of, of + managed.tensor.dimensions};
}

}  // namespace

TEST_CASE("DLPack's structures have the layout of its version 1, on 64-bit machines") {
  // Counted by hand from DLPack's documentation. The members are version, context, deleter, flags,
  // tensor.
  CHECK(offsetof(dlpack::ManagedTensor, context) == 8);
  CHECK(offsetof(dlpack::ManagedTensor, deleter) == 16);
  CHECK(offsetof(dlpack::ManagedTensor, flags) == 24);
  CHECK(offsetof(dlpack::ManagedTensor, tensor) == 32);
  CHECK(offsetof(dlpack::Tensor, device_id) == 12);
  CHECK(offsetof(dlpack::Tensor, dimensions) == 16);
  CHECK(offsetof(dlpack::Tensor, code) == 20);
  CHECK(offsetof(dlpack::Tensor, lanes) == 22);
  CHECK(offsetof(dlpack::Tensor, shape) == 24);
  CHECK(offsetof(dlpack::Tensor, byte_offset) == 40);
  CHECK(sizeof(dlpack::ManagedTensor) == 80);
}

TEST_CASE(
    "A DLPack tensor shows the batch's own memory, and keeps it until the tensor is deleted") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.output.layout = Layout::kNCHW;
  options.transform = {Normalize{{0}, {1}, FloatType::kBFloat16}, OneHot{}};
  std::optional<Loader> loader(std::in_place, Dataset::Open(WriteRawDataset(folder, 40)), options);
  dlpack::ManagedTensor *image = nullptr, *target = nullptr, *label = nullptr;
  std::uint64_t first = 0;
  {
    const Batch batch = *loader->Epoch(0).begin();
    first = batch.samples()[0];
    image = &Opened(ToDlpack(batch));
    target = &Opened(ToDlpack(batch, "target"));
    label = &Opened(ToDlpack(batch, "label"));
    CHECK(image->tensor.data == batch.image().data);
    ErrorText([&] { ToDlpack(batch, "no such field"); }, ErrorCode::kInvalidArgument);
  }
  loader.reset();
  CHECK((image->major == 1 && image->flags == 0 && image->tensor.byte_offset == 0));
  CHECK((image->tensor.device_type == dlpack::kCpu && image->tensor.device_id == 0));
  CHECK((image->tensor.code == dlpack::kBFloat && image->tensor.bits == 16));
  CHECK(image->tensor.lanes == 1);
  CHECK(Extents(*image, image->tensor.shape) == std::vector<std::int64_t>{10, 3, 8, 8});
  CHECK(Extents(*image, image->tensor.strides) == std::vector<std::int64_t>{192, 64, 8, 1});
  CHECK(Extents(*target, target->tensor.shape) == std::vector<std::int64_t>{10, 10});
  CHECK((target->tensor.code == dlpack::kFloat && target->tensor.bits == 32));
  CHECK(Extents(*label, label->tensor.shape) == std::vector<std::int64_t>{10});
  CHECK((label->tensor.code == dlpack::kInt && label->tensor.bits == 32));
  // The batch still exists.
  CHECK(static_cast<const std::int32_t*>(label->tensor.data)[0] ==
        static_cast<std::int32_t>(first % 10));
  CHECK(static_cast<const float*>(target->tensor.data)[first % 10] == 1);
  for (dlpack::ManagedTensor* const tensor : {image, target, label})
    tensor->deleter(tensor);
}

TEST_CASE(
    "A DLPack tensor on a device is ready for a stream, and releases its slot on that stream") {
  const TemporaryFolder folder;
  Gate gate;
  Trainer trainer([&gate](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kCopy) gate.Pass();
  });
  const GateOpener opener{gate};
  std::vector<std::uint8_t> found(12), expected;
  {
    LoaderOptions options = DeviceOptions(trainer);
    options.ring.prefetch = 1;
    options.ring.hold = 0;
    Loader loader(Dataset::Open(WriteRawDataset(folder, 200)), options);
    for (const Batch& batch : loader.Epoch(0)) {
      if (batch.index() == 12) break;
      dlpack::ManagedTensor& tensor = Opened(ToDlpack(batch, {}, {trainer.stream}));
      CHECK(tensor.tensor.device_type == dlpack::kExtension);
      expected.push_back(static_cast<std::uint8_t>(batch.samples()[9] % 251));
      const auto* const pixels = static_cast<const std::uint8_t*>(tensor.tensor.data);
      trainer.device->Run(trainer.stream,
                          [pixels, &into = found[batch.index()]] { into = pixels[9 * 192 + 7]; });
      tensor.deleter(&tensor);
      gate.Open();
    }
  }
  trainer.Finish();
  CHECK(found == expected);
}

namespace {

// Sample i has i % 3 points of two numbers and 2000 floats of value i.
Dataset WritePoints(const TemporaryFolder& folder) {
  const std::filesystem::path path = folder / "points";
  DatasetWriter writer(path,
                       {{Field::Variable("points", DType::kFloat64, {2}),
                         Field::Array("many", DType::kFloat32, {2000})}},
                       {"points", 1'000'000, 16});
  for (int i = 0; i < 40; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    sample.SetArray<double>("points", std::vector<double>(i % 3 * 2, i));
    sample.SetArray<float>("many", std::vector<float>(2000, float(i)));
    writer.Add(sample);
  }
  writer.Finish();
  return Dataset::Open(path);
}

}  // namespace

TEST_CASE("A field of any length becomes two DLPack tensors: values, and their offsets") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.order.shuffle = Shuffle::kSequential;
  Loader loader(WritePoints(folder), options);
  const Batch batch = *loader.Epoch(0).begin();
  dlpack::ManagedTensor& values = Opened(ToDlpack(batch, "points"));
  dlpack::ManagedTensor& offsets = Opened(OffsetsToDlpack(batch, "points"));
  CHECK((values.tensor.code == dlpack::kFloat && values.tensor.bits == 64));
  CHECK(Extents(values, values.tensor.shape) == std::vector<std::int64_t>{9, 2});
  CHECK(Extents(values, values.tensor.strides) == std::vector<std::int64_t>{2, 1});
  CHECK((offsets.tensor.code == dlpack::kInt && offsets.tensor.bits == 64));
  REQUIRE(Extents(offsets, offsets.tensor.shape) == std::vector<std::int64_t>{11});
  const auto* const begins = static_cast<const std::int64_t*>(offsets.tensor.data);
  CHECK(std::vector<std::int64_t>(begins, begins + 11) ==
        std::vector<std::int64_t>{0, 0, 1, 3, 3, 4, 6, 6, 7, 9, 9});
  CHECK(static_cast<const double*>(values.tensor.data)[2 * 8] == 8);  // the last point of sample 8
  values.deleter(&values);
  offsets.deleter(&offsets);
  ErrorText([&] { OffsetsToDlpack(batch, "many"); }, ErrorCode::kInvalidArgument);
}

TEST_CASE("A small DLPack tensor that is kept does not keep its batch, and a large one does") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.order.shuffle = Shuffle::kSequential;
  options.ring.prefetch = 1;
  options.ring.hold = 0;
  Loader loader(WritePoints(folder), options);
  std::vector<dlpack::ManagedTensor*> kept;
  for (const Batch& batch : loader.Epoch(0))  // the ring has two slots, and four batches come
    kept.push_back(&Opened(ToDlpack(batch, "points")));
  REQUIRE(kept.size() == 4);
  CHECK(static_cast<const double*>(kept[0]->tensor.data)[0] == 1);
  CHECK(static_cast<const double*>(kept[3]->tensor.data)[0] == 31);
  for (dlpack::ManagedTensor* const tensor : kept)
    tensor->deleter(tensor);
  const Batch batch = *loader.Epoch(1).begin();
  dlpack::ManagedTensor& many = Opened(ToDlpack(batch, "many"));  // 80,000 bytes
  CHECK(many.tensor.data == batch.Field<float>("many").data());
  many.deleter(&many);
}

TEST_CASE("Each image of its own size is a DLPack tensor of its own") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(4, 1);
  options.output.image_sizes = ImageSizes::kOwn;
  Loader loader(Dataset::Open(WriteJpegDataset(folder, 8)), options);
  const Batch batch = *loader.Epoch(0).begin();
  dlpack::ManagedTensor& tensor = Opened(SampleToDlpack(batch, {}, 2));
  const ImageBatch image = batch.image({}, 2);
  CHECK(tensor.tensor.data == image.data);
  const auto height = static_cast<std::int64_t>(image.height);
  const auto width = static_cast<std::int64_t>(image.width);
  CHECK(Extents(tensor, tensor.tensor.shape) == std::vector<std::int64_t>{height, width, 3});
  CHECK(Extents(tensor, tensor.tensor.strides) == std::vector<std::int64_t>{3 * width, 3, 1});
  tensor.deleter(&tensor);
  CHECK(ErrorText([&] { ToDlpack(batch); }, ErrorCode::kInvalidArgument).find("SampleToDlpack()") !=
        std::string::npos);
}
