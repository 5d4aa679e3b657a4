#include "bench/compare_quality.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include <sluice/error.h>

#include "bench/decode_task.h"
#include "reader/transform/geometry.h"

namespace sluice::bench {

std::vector<std::uint64_t> PicturesOfOneSize(const Dataset& dataset, std::uint64_t count) {
  constexpr std::uint64_t kLookedAt = 5000;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> by_size;
  for (std::uint64_t i = 0; i < std::min(dataset.size(), kLookedAt); ++i) {
    const ImagePayload payload = dataset[i].Payload();
    if (payload.codec == Codec::kJpeg && payload.channels == 3)
      by_size[{payload.width, payload.height}].push_back(i);
  }
  std::vector<std::uint64_t> most;
  for (const auto& [size, numbers] : by_size) {
    if (numbers.size() > most.size()) most = numbers;
  }
  most.resize(std::min<std::size_t>(most.size(), count));
  return most;
}

double QualityOf(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                 std::uint32_t size, const std::filesystem::path& pixels) {
  std::ifstream file(pixels, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::size_t each = std::size_t{size} * size * 3;
  if (bytes.size() != each * numbers.size() || numbers.empty()) {
    throw Error(ErrorCode::kCorrupt, pixels.string(), "does not hold the pictures asked for");
  }
  double best = 0;
  for (const Filter filter : {Filter::kTriangle, Filter::kArea}) {
    Resize resize(size);
    resize.filter = filter;
    const Geometry stretch({resize});
    double sum = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Sample sample = dataset[numbers[i]];
      DecodeItem item;
      item.payload = sample.Payload();
      item.region = stretch.RegionFor(item.payload.width, item.payload.height, 0, 0);
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * each);
      sum += PeakSignalToNoise(
          ReferencePixels(item),
          std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(each)));
    }
    best = std::max(best, sum / static_cast<double>(numbers.size()));
  }
  return best;
}

}  // namespace sluice::bench
