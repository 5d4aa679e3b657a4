// The bare loop of copies with which raw images are compared.
#include <algorithm>
#include <span>

#include <sluice/dataset_writer.h>
#include <sluice/error.h>

#include "bench/epoch/floor.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"

namespace sluice::bench {
namespace {

std::vector<std::uint64_t> Sorted(std::vector<std::uint64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

TEST_CASE("each sample is copied as often as it is listed, in a different order each epoch") {
  const test::TemporaryFolder folder;
  const std::filesystem::path data = folder / "data";
  DatasetWriter writer(data, Schema{{Field::Image()}});
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 100; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    const test::Picture picture = test::MakePicture(20, 16);
    sample.SetPixels("image", 20, 16, 3, PixelType::kUint8,
                     std::as_bytes(std::span(picture.pixels)));
    writer.Add(sample);
    numbers.insert(numbers.end(), 2, i);
  }
  writer.Finish();
  CopyLoop loop(Dataset::Open(data), numbers, 12, 7, 3);
  const std::vector<std::uint64_t> first = loop.Play(0), second = loop.Play(1);
  CHECK(Sorted(first) == numbers);
  CHECK(Sorted(second) == numbers);
  CHECK(first != second);
  CHECK_THROWS_AS(CopyLoop(Dataset::Open(data), numbers, 17, 7, 3), Error);
}

}  // namespace sluice::bench
