#include "bench/compare/quality.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include <sluice/error.h>

#include "bench/decode/task.h"
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

namespace {

std::string PixelsIn(const std::filesystem::path& path, std::size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string pixels{std::istreambuf_iterator<char>(file), {}};
  if (pixels.size() != bytes || bytes == 0) {
    throw Error(ErrorCode::kCorrupt, path.string(), "does not have the expected pictures");
  }
  return pixels;
}

}  // namespace

double QualityOf(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                 std::uint32_t size, const std::filesystem::path& pixels) {
  const std::size_t each = std::size_t{size} * size * 3;
  const std::string bytes = PixelsIn(pixels, each * numbers.size());
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
      item.region = stretch.FrameFor(item.payload.width, item.payload.height, 0, 0).region;
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * each);
      sum += PeakSignalToNoise(
          ReferencePixels(item),
          std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(each)));
    }
    best = std::max(best, sum / static_cast<double>(numbers.size()));
  }
  return best;
}

double QualityOfMiddles(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                        std::uint32_t size, const std::filesystem::path& pixels) {
  const std::size_t each = std::size_t{size} * size * 3;
  const std::string bytes = PixelsIn(pixels, each * numbers.size());
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Sample sample = dataset[numbers[i]];
    const ImagePayload payload = sample.Payload();
    const std::size_t left = (payload.width - size) / 2, top = (payload.height - size) / 2;
    std::vector<double> stored;
    for (std::size_t y = 0; y < size; ++y) {
      const std::size_t row = ((top + y) * payload.width + left) * 3;
      for (std::size_t v = row; v < row + std::size_t{size} * 3; ++v)
        stored.push_back(double(std::to_integer<int>(payload.bytes[v])));
    }
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i * each);
    sum += PeakSignalToNoise(
        stored, std::vector<std::uint8_t>(begin, begin + static_cast<std::ptrdiff_t>(each)));
  }
  return sum / static_cast<double>(numbers.size());
}

}  // namespace sluice::bench
