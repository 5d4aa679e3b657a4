// Values of role `instances`. The input begins with the image's width and height, 16 bits each.
//
// Promises:
//   - Of a value that is taken, every shape lies in the value, and a builder that gets the shapes
//     makes the same bytes.
//   - The runs of each shape cover the image, if its size is known, and so do those of an object.
#include <numeric>

#include <sluice/error.h>
#include <sluice/instances.h>

#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

namespace {

constexpr std::uint64_t kMaxPainted = 4096;  // pixels of an image whose objects are painted

template <class Number>
std::vector<Number> NumbersOf(const InstanceShape& shape) {
  std::vector<Number> numbers(shape.count());
  if (!numbers.empty()) std::memcpy(numbers.data(), shape.numbers.data(), shape.numbers.size());
  return numbers;
}

Input Sized(std::uint16_t width, std::uint16_t height, InstancesBuilder& builder) {
  Input value;
  builder.Finish(value);
  const std::uint16_t size[] = {width, height};
  const Bytes head = std::as_bytes(std::span(size));
  value.insert(value.begin(), head.begin(), head.end());
  return value;
}

}  // namespace

void RunInstances(Bytes input) {
  InputReader reader(input);
  const auto width = reader.Take<std::uint16_t>();
  const auto height = reader.Take<std::uint16_t>();
  const Bytes value = reader.rest();
  Instances instances;
  if (instances.Open(value, width, height) != nullptr) {
    Promise(instances.size() == 0, "a refused value has no objects");
    return;
  }
  const std::uint64_t pixels = std::uint64_t{width} * height;
  InstancesBuilder builder;
  for (std::size_t object = 0; object < instances.size(); ++object) {
    builder.BeginObject();
    instances.ForEachShape(object, [&](const InstanceShape& shape) {
      if (!shape.runs) return builder.AddOutline(NumbersOf<float>(shape));
      const auto runs = NumbersOf<std::uint32_t>(shape);
      std::uint64_t covered = 0;
      for (const std::uint32_t run : runs)
        covered += run;
      Promise(pixels == 0 || covered == pixels, "runs cover the image");
      builder.AddRuns(runs);
    });
    if (pixels == 0 || pixels > kMaxPainted) continue;
    try {
      const std::vector<std::uint32_t> covered = instances.Runs(object, width, height);
      Promise(std::accumulate(covered.begin(), covered.end(), std::uint64_t{0}) == pixels,
              "an object's runs cover the image");
    } catch (const Error&) {  // an outline is too long
    }
  }
  Input again;
  builder.Finish(again);
  Promise(std::ranges::equal(again, value), "the same shapes make the same value");
}

std::vector<Input> InstancesSeeds() {
  const float outline[] = {0, 0, 3, 0, 3, 2.5F};
  const std::uint32_t runs[] = {5, 4, 3};
  InstancesBuilder builder;
  std::vector<Input> seeds{Sized(4, 3, builder)};  // no objects
  builder.BeginObject();
  builder.AddOutline(outline);
  builder.AddOutline(outline);
  builder.BeginObject();  // without shapes
  builder.BeginObject();
  builder.AddRuns(runs);
  seeds.push_back(Sized(4, 3, builder));
  builder.BeginObject();
  builder.AddRuns(runs);
  seeds.push_back(Sized(0, 0, builder));
  return seeds;
}

}  // namespace sluice::fuzz
