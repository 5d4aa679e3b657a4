// play_batches DATASET TRANSFORM BATCH_SIZE SEED: plays epoch 2 and writes the bytes of each
// batch's images and labels. The tests of the Python package compare them with Python's batches.
#include <cstdio>
#include <cstdlib>

#include <sluice/sluice.h>

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  sluice::LoaderOptions options;
  options.batch_size = std::strtoul(argv[3], nullptr, 10);
  options.seed = std::strtoul(argv[4], nullptr, 10);
  options.transform = sluice::ParsePipeline(argv[2]);
  sluice::Loader loader(sluice::Dataset::Open(argv[1]), options);
  for (const sluice::Batch& batch : loader.Epoch(2)) {
    const auto labels = batch.Field<std::int32_t>("label");
    std::fwrite(batch.image().data, batch.image().sample_bytes(), batch.size(), stdout);
    std::fwrite(labels.data(), sizeof(std::int32_t), labels.size(), stdout);
  }
}
