// play_shared DATASET FOLDER BYTES EPOCHS [PAUSE_US]: plays epochs whose rows are shared with other
// loaders, and prints a digest of the batches and how many rows others had made. Pauses for
// PAUSE_US microseconds after each batch.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <sluice/error.h>
#include <sluice/loader.h>

#include "tests/reader/shared_playing.h"

int main(int argc, char** argv) try {
  if (argc < 5) return 2;
  sluice::LoaderOptions options = sluice::test::SharingOptions();
  options.share = sluice::SharedRows{std::strtoull(argv[3], nullptr, 10), argv[2]};
  sluice::Loader loader(sluice::Dataset::Open(argv[1]), options);
  const std::chrono::microseconds pause(argc > 5 ? std::atoi(argv[5]) : 0);
  std::uint64_t digest = 0;
  for (std::uint64_t epoch = 0; epoch < std::strtoull(argv[4], nullptr, 10); ++epoch) {
    for (const sluice::Batch& batch : loader.Epoch(epoch)) {
      digest = sluice::test::DigestWith(digest, batch);
      std::this_thread::sleep_for(pause);
    }
  }
  std::printf("%016llx %llu\n", static_cast<unsigned long long>(digest),
              static_cast<unsigned long long>(loader.Stats().taken_rows));
  return 0;
} catch (const sluice::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
