// samples/plain_loader.h: a plain loader of image files, to compare other loaders with.
#include "samples/plain_loader.h"

#include <cmath>
#include <set>

#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"

namespace sluice::test {
namespace {

// A picture whose red grows from left to right and green from top to bottom.
std::string WriteGradient(const TemporaryFolder& folder, const std::string& name) {
  Picture picture = MakePicture(128, 64);
  for (std::uint32_t y = 0; y < 64; ++y) {
    for (std::uint32_t x = 0; x < 128; ++x) {
      picture.pixels[(y * 128 + x) * 3] = static_cast<std::uint8_t>(2 * x);
      picture.pixels[(y * 128 + x) * 3 + 1] = static_cast<std::uint8_t>(4 * y);
      picture.pixels[(y * 128 + x) * 3 + 2] = 0;
    }
  }
  const std::vector<std::byte> jpeg = MakeJpeg(picture);
  std::ofstream(folder / name, std::ios::binary)
      .write(reinterpret_cast<const char*>(jpeg.data()), static_cast<std::streamsize>(jpeg.size()));
  return (folder / name).string();
}

}  // namespace

TEST_CASE("the plain loader gives batches with every file once per epoch, in a different order") {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (int i = 0; i < 23; ++i)
    files.push_back(WriteGradient(folder, std::to_string(i) + ".jpg"));
  PlainLoader loader(files, {.batch_size = 5, .threads = 3, .side = 16});
  std::vector<std::vector<std::uint32_t>> epochs;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint32_t> samples;
    std::vector<std::size_t> sizes;
    loader.Play(epoch, [&](const PlainBatch& batch) {
      samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
      sizes.push_back(batch.samples.size());
      CHECK(batch.pixels.size() == batch.samples.size() * 16 * 16 * 3);
    });
    CHECK(std::set<std::uint32_t>(samples.begin(), samples.end()).size() == 23);
    CHECK(sizes == std::vector<std::size_t>{5, 5, 5, 5, 3});
    epochs.push_back(samples);
  }
  CHECK(epochs[0] != epochs[1]);
}

TEST_CASE("the plain loader's resize keeps a gradient, and mirrors it on request") {
  const TemporaryFolder folder;
  PlainDecoder decoder;
  decoder.Load(WriteGradient(folder, "a.jpg"));
  REQUIRE(decoder.width() == 128);
  std::vector<std::uint8_t> plain(16 * 16 * 3), mirrored(16 * 16 * 3);
  decoder.Resize({32, 0, 64, 64}, 16, false, plain.data());
  decoder.Resize({32, 0, 64, 64}, 16, true, mirrored.data());
  for (std::size_t i = 1; i < 15; ++i) {
    // The middle of pixel i lies at p = 32 + 4 i + 2 in the picture. There, pixel x has its middle
    // at x + 1/2 and a red of 2 x, so the red at p is 2 p - 1.
    CHECK(std::abs(plain[(8 * 16 + i) * 3] - static_cast<int>(2 * (32 + 4 * i + 2) - 1)) <= 4);
    CHECK(plain[(8 * 16 + i) * 3] == mirrored[(8 * 16 + 15 - i) * 3]);
  }
}

TEST_CASE("the plain loader's failures reach the consumer, who may leave an epoch early") {
  const TemporaryFolder folder;
  const std::string good = WriteGradient(folder, "good.jpg");
  PlainLoader broken({good, (folder / "none.jpg").string(), good}, {.batch_size = 1, .side = 8});
  CHECK_THROWS_AS(broken.Play(0, [](const PlainBatch&) {}), std::runtime_error);
  PlainLoader loader(std::vector<std::string>(20, good), {.batch_size = 2, .side = 8});
  CHECK_THROWS_AS(loader.Play(0, [](const PlainBatch&) { throw std::logic_error("enough"); }),
                  std::logic_error);
  int batches = 0;
  loader.Play(1, [&](const PlainBatch&) { ++batches; });
  CHECK(batches == 10);
}

}  // namespace sluice::test
