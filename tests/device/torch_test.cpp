// The adapter to LibTorch, if LibTorch is installed.
#include <torch/torch.h>

#include <sluice/torch.h>

#include "tests/device/trainer.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("Tensors of a batch have its numbers and its memory") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 40));
  LoaderOptions options = OptionsFor(10, 2);
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    for (const FloatType type : {FloatType::kFloat32, FloatType::kFloat16, FloatType::kBFloat16}) {
      options.output.layout = layout;
      options.transform = {Normalize{{0}, {1.0F / 255}, type}, OneHot{}};
      Loader loader(dataset, options);
      const Batch batch = *loader.Epoch(0).begin();
      const at::Tensor image = ImageTensor(batch);
      CHECK(image.data_ptr() == batch.image().data);
      CHECK(image.sizes() == at::IntArrayRef({10, 3, 8, 8}));
      CHECK(image.is_contiguous(layout == Layout::kNHWC ? at::MemoryFormat::ChannelsLast
                                                        : at::MemoryFormat::Contiguous));
      const at::Tensor label = FieldTensor(batch, "label");
      const at::Tensor target = FieldTensor(batch, "target");
      CHECK(label.scalar_type() == at::kInt);
      CHECK(label.sizes() == at::IntArrayRef({10}));
      CHECK(target.sizes() == at::IntArrayRef({10, 10}));
      for (int row = 0; row < 10; ++row) {
        const std::uint64_t sample = batch.samples()[static_cast<std::size_t>(row)];
        REQUIRE(label[row].item<int>() == static_cast<int>(sample % 10));
        REQUIRE(target[row].argmax().item<int>() == static_cast<int>(sample % 10));
        REQUIRE(image[row][2][7][7].item<float>() == Approx(double(sample)).epsilon(0.01));
      }
    }
  }
  options.transform = {};
  Loader bytes(dataset, options);
  CHECK(ImageTensor(*bytes.Epoch(0).begin()).scalar_type() == at::kByte);
}

TEST_CASE("A tensor keeps its batch, and releases the slot when it is freed") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.ring.prefetch = 1;
  options.ring.hold = 1;
  std::optional<Loader> loader(std::in_place, Dataset::Open(WriteRawDataset(folder, 200)), options);
  at::Tensor kept;
  std::uint64_t sample = 0;
  std::size_t batches = 0;
  for (const Batch& batch : loader->Epoch(0)) {
    const at::Tensor image = ImageTensor(batch);  // freed before the next batch is requested
    REQUIRE(image[9][0][0][0].item<int>() == static_cast<int>(batch.samples()[9] % 251));
    if (batch.index() == 4) {
      kept = image.slice(0, 3, 5);  // a part of it keeps the whole batch
      sample = batch.samples()[3];
    }
    ++batches;
  }
  CHECK(batches == 20);
  loader.reset();
  CHECK(kept[0][1][2][3].item<int>() == static_cast<int>(sample % 251));
}

TEST_CASE("The training loop that the header shows trains") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.transform = {Normalize{{0.5F}, {0.25F}}};
  Loader loader(Dataset::Open(WriteRawDataset(folder, 40)), options);
  torch::nn::Sequential model(torch::nn::Flatten(), torch::nn::Linear(3 * 8 * 8, 10));
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  std::vector<float> losses;
  for (const Batch& batch : loader.Epoch(0)) {
    const at::Tensor images = ImageTensor(batch);
    const at::Tensor labels = LabelTensor(batch);
    optimizer.zero_grad();
    const at::Tensor loss = torch::nn::functional::cross_entropy(model->forward(images), labels);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<float>());
  }
  CHECK(losses.size() == 4);
  CHECK(model->parameters()[0].grad().abs().sum().item<float>() > 0);
}

namespace {

// Sample i has i % 3 points of two numbers, 2000 floats of value i, two uint16 of 65535 - i, an
// int64 of 2^i, and text of i % 4 letters.
Dataset WritePoints(const TemporaryFolder& folder) {
  const std::filesystem::path path = folder / "points";
  DatasetWriter writer(
      path,
      {{Field::Variable("points", DType::kFloat64, {2}),
        Field::Array("many", DType::kFloat32, {2000}), Field::Array("pair", DType::kUint16, {2}),
        Field::Array("wide", DType::kInt64, {}), Field::Bytes("text", Role::kText)}},
      {"points", 1'000'000, 16});
  for (int i = 0; i < 40; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    sample.SetArray<double>("points", std::vector<double>(i % 3 * 2, i));
    sample.SetArray<float>("many", std::vector<float>(2000, float(i)));
    sample.SetArray<std::uint16_t>(
        "pair", std::vector<std::uint16_t>(2, static_cast<std::uint16_t>(65535 - i)));
    sample.Set<std::int64_t>("wide", std::int64_t{1} << i);
    sample.SetText("text", std::string(static_cast<std::size_t>(i % 4), 'x'));
    writer.Add(sample);
  }
  writer.Finish();
  return Dataset::Open(path);
}

LoaderOptions InOrder() {
  LoaderOptions options = OptionsFor(10, 2);
  options.order.shuffle = Shuffle::kSequential;
  return options;
}

}  // namespace

TEST_CASE("Labels of every type of integer come as int64") {
  const TemporaryFolder folder;
  Loader loader(WritePoints(folder), InOrder());
  const Batch batch = *loader.Epoch(0).begin();
  const at::Tensor pair = LabelTensor(batch, "pair");
  CHECK((pair.scalar_type() == at::kLong && pair.sizes() == at::IntArrayRef({10, 2})));
  CHECK((pair[0][0].item<std::int64_t>() == 65535 && pair[9][1].item<std::int64_t>() == 65526));
  const at::Tensor wide = LabelTensor(batch, "wide");
  CHECK((wide.sizes() == at::IntArrayRef({10}) && wide[9].item<std::int64_t>() == 512));
  CHECK(wide.data_ptr() != static_cast<const void*>(batch.Field<std::int64_t>("wide").data()));
  CHECK(ErrorText([&] { LabelTensor(batch, "many"); }, ErrorCode::kInvalidArgument)
            .find("use FieldTensor()") != std::string::npos);
}

TEST_CASE("A field of any length comes as values and offsets") {
  const TemporaryFolder folder;
  Loader loader(WritePoints(folder), InOrder());
  const Batch batch = *loader.Epoch(0).begin();
  const VariableTensors points = VariableTensor(batch, "points");
  CHECK((points.values.scalar_type() == at::kDouble && points.offsets.scalar_type() == at::kLong));
  CHECK(points.values.sizes() == at::IntArrayRef({9, 2}));
  CHECK(points.offsets.sizes() == at::IntArrayRef({11}));
  CHECK(points[3].sizes() == at::IntArrayRef({0, 2}));
  CHECK(points[8].sizes() == at::IntArrayRef({2, 2}));
  CHECK(points[8].eq(8).all().item<bool>());
  const VariableTensors text = VariableTensor(batch, "text");
  CHECK((text.values.scalar_type() == at::kByte && text[3].eq('x').sum().item<int>() == 3));
  CHECK(ErrorText([&] { FieldTensor(batch, "points"); }, ErrorCode::kInvalidArgument)
            .find("use VariableTensor()") != std::string::npos);
}

TEST_CASE("A batch without any value gives empty tensors") {
  const TemporaryFolder folder;
  LoaderOptions options = InOrder();
  options.order.samples = SampleList::Of({0, 3, 6});
  Loader loader(WritePoints(folder), options);
  const VariableTensors points = VariableTensor(*loader.Epoch(0).begin(), "points");
  CHECK(points.values.sizes() == at::IntArrayRef({0, 2}));
  CHECK(points.offsets.eq(0).all().item<bool>());
}

TEST_CASE(
    "A small tensor that is kept does not keep its batch, and a large one shares its memory") {
  const TemporaryFolder folder;
  LoaderOptions options = InOrder();
  options.ring.prefetch = 1;
  options.ring.hold = 0;
  Loader loader(WritePoints(folder), options);
  std::vector<at::Tensor> kept;
  for (const Batch& batch : loader.Epoch(0)) {  // the ring has two slots, and four batches come
    kept.push_back(FieldTensor(batch, "wide"));
    kept.push_back(LabelTensor(batch, "pair"));
    kept.push_back(VariableTensor(batch, "points").values);
  }
  REQUIRE(kept.size() == 12);
  CHECK(kept[0][9].item<std::int64_t>() == 512);
  CHECK(kept[9][0].item<std::int64_t>() == std::int64_t{1} << 30);
  const Batch batch = *loader.Epoch(1).begin();
  CHECK(FieldTensor(batch, "many").data_ptr() ==
        batch.Field<float>("many").data());  // 80,000 bytes
}

TEST_CASE("Images of their own sizes come as one tensor each, in the batch's memory") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(4, 1);
  options.output.image_sizes = ImageSizes::kOwn;
  Loader loader(Dataset::Open(WriteJpegDataset(folder, 8)), options);
  const Batch batch = *loader.Epoch(0).begin();
  const std::vector<at::Tensor> images = ImageTensors(batch);
  REQUIRE(images.size() == 4);
  for (std::size_t row = 0; row < images.size(); ++row) {
    const ImageBatch image = batch.image({}, row);
    const auto height = static_cast<std::int64_t>(image.height);
    const auto width = static_cast<std::int64_t>(image.width);
    CHECK(images[row].sizes() == at::IntArrayRef({3, height, width}));
    CHECK(images[row].data_ptr() == static_cast<const void*>(image.data));
    CHECK(images[row][2][1][5].item<int>() == image.data[(width + 5) * 3 + 2]);
  }
  CHECK(ErrorText([&] { ImageTensor(batch); }, ErrorCode::kInvalidArgument)
            .find("use ImageTensors()") != std::string::npos);
}
