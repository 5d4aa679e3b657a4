// play_rank DATASET OUT: plays the share of an epoch for the rank that a launcher gave this
// process. Writes the number of batches in this share, and then the numbers of its samples, into
// OUT.RANK.of.WORLD_SIZE.
#include <cstdio>
#include <fstream>

#include <sluice/error.h>
#include <sluice/loader.h>

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  sluice::LoaderOptions options;
  options.batch_size = 16;
  options.threads = 1;
  sluice::Loader loader(sluice::Dataset::Open(argv[1]), options);
  const sluice::Rank rank = loader.rank();
  std::ofstream out(std::string(argv[2]) + "." + std::to_string(rank.rank) + ".of." +
                    std::to_string(rank.world_size));
  out << loader.batches_per_epoch();
  for (const sluice::Batch& batch : loader.Epoch(0)) {
    for (std::size_t row = 0; row < batch.valid(); ++row)
      out << ' ' << batch.samples()[row];
  }
  out << '\n';
  return out.good() ? 0 : 1;
} catch (const sluice::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
