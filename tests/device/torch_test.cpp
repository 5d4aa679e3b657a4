// The adapter to LibTorch, if that is installed.
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

TEST_CASE("A tensor keeps its batch, and gives the place back when it goes") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.ring.prefetch = 1;
  options.ring.hold = 1;
  std::optional<Loader> loader(std::in_place, Dataset::Open(WriteRawDataset(folder, 200)), options);
  at::Tensor kept;
  std::uint64_t sample = 0;
  std::size_t batches = 0;
  for (const Batch& batch : loader->Epoch(0)) {
    const at::Tensor image = ImageTensor(batch);  // gone before the next batch is asked for
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
