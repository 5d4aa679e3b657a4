// Learns where a dataset's boxes are. For each cell of a grid, logistic regression on the cell's
// mean colour predicts whether a box covers the cell's middle.
//
//   sluice convert --table boxes.csv --field bbox=boxes:xywh data/street
//   train_boxes data/street 20
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include <sluice/error.h>
#include <sluice/loader.h>

constexpr std::size_t kSide = 128, kGrid = 16, kCell = kSide / kGrid;

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: train_boxes DATASET EPOCHS\n");
    return 2;
  }
  const sluice::Dataset dataset = sluice::Dataset::Open(argv[1]);
  const std::size_t field = dataset.schema().FindRole(sluice::Role::kBoxes);
  if (field == sluice::Schema::kNone)
    throw sluice::Error(sluice::ErrorCode::kInvalidArgument, argv[1], "has no boxes");
  const std::string boxes = dataset.schema().fields[field].name;

  sluice::LoaderOptions options;
  options.batch_size = 16;
  options.output.channels = 3;
  options.transform = {sluice::RandomResizedCrop(kSide), sluice::HorizontalFlip(),
                       sluice::ColorJitter{0.2, 0.2}, sluice::Normalize{{0.5F}, {0.25F}}};
  // Boxes have already followed their image when the function below sees them.
  options.output.boxes.min_visible = 0.25;
  options.output.made_fields = {
      sluice::Field::Array("covered", sluice::DType::kFloat32, {kGrid, kGrid})};
  options.sample_function = [&boxes](sluice::MutableSample& sample) {
    const auto corners = sample.Variable<float>(boxes);  // left, top, right, bottom of each
    const auto covered = sample.Field<float>("covered");
    for (std::size_t cell = 0; cell < covered.size(); ++cell) {
      const float x = (float(cell % kGrid) + 0.5F) * kCell;
      const float y = (float(cell / kGrid) + 0.5F) * kCell;
      for (std::size_t b = 0; b < corners.size(); b += 4) {
        if (x >= corners[b] && x < corners[b + 2] && y >= corners[b + 1] && y < corners[b + 3])
          covered[cell] = 1;
      }
    }
  };
  sluice::Loader loader(dataset, options);
  float weights[4] = {};  // for red, green and blue, and a bias
  for (int epoch = 0; epoch < std::stoi(argv[2]); ++epoch) {
    double loss = 0, right = 0, cells = 0;
    for (const sluice::Batch& batch : loader.Epoch(static_cast<std::uint64_t>(epoch))) {
      const auto covered = batch.Field<float>("covered");
      for (std::size_t i = 0; i < covered.size(); ++i, ++cells) {
        const std::size_t sample = i / (kGrid * kGrid), cell = i % (kGrid * kGrid);
        float x[4] = {0, 0, 0, 1};
        for (std::size_t p = 0; p < kCell * kCell; ++p) {
          const std::size_t row = cell / kGrid * kCell + p / kCell;
          const std::size_t column = cell % kGrid * kCell + p % kCell;
          const float* pixel =
              batch.image().floats() + ((sample * kSide + row) * kSide + column) * 3;
          for (std::size_t c = 0; c < 3; ++c)
            x[c] += pixel[c] / (kCell * kCell);
        }
        float score = 0;
        for (std::size_t c = 0; c < 4; ++c)
          score += weights[c] * x[c];
        const float p = 1 / (1 + std::exp(-score));
        loss -= std::log(std::max(covered[i] > 0 ? p : 1 - p, 1e-6F));
        right += (p > 0.5F) == (covered[i] > 0);
        for (std::size_t c = 0; c < 4; ++c)
          weights[c] += 0.01F * (covered[i] - p) * x[c];
      }
    }
    std::printf("epoch %d: loss %.3f, accuracy %.1f%%\n", epoch + 1, loss / cells,
                100 * right / cells);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_boxes: %s\n", error.what());
  return 1;
}
