// play_bounded DATASET mapped|direct EPOCHS: plays whole epochs, with a small ring and window, and
// prints the number of samples. A test starts it with limited memory.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sluice/error.h>
#include <sluice/loader.h>

int main(int argc, char** argv) try {
  if (argc != 4) return 2;
  sluice::LoaderOptions options;
  options.batch_size = 16;
  options.threads = 2;
  options.order.lanes = 4;
  options.order.window_bytes = 1'000'000;
  if (std::string_view(argv[2]) == "direct") options.storage = sluice::Direct{};
  sluice::Loader loader(sluice::Dataset::Open(argv[1]), options);
  std::size_t samples = 0;
  for (int epoch = 0; epoch < std::atoi(argv[3]); ++epoch) {
    for (const sluice::Batch& batch : loader.Epoch(static_cast<std::uint64_t>(epoch)))
      samples += batch.size();
  }
  std::printf("%zu\n", samples);
  return 0;
} catch (const sluice::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
