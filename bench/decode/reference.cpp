#include <algorithm>
#include <cmath>

#include <sluice/error.h>

#include "bench/decode/task.h"
#include "format/pixels/jpeg.h"

namespace sluice::bench {

namespace {

// Weights of the bound's pixels for output pixel i, by the filters' definitions.
std::vector<double> WeightsOf(const Span& span, Filter filter, std::uint32_t i) {
  const double scale = span.length / span.out;
  const double reach = std::max(1.0, scale);
  const double centre = span.start - span.bound + (i + 0.5) * scale;
  std::vector<double> weights(span.bound_length);
  double sum = 0;
  for (std::uint32_t s = 0; s < span.bound_length; ++s) {
    const double distance = std::fabs(s + 0.5 - centre);
    const bool overlap = filter == Filter::kArea && scale > 1;
    weights[s] = overlap ? std::clamp((scale + 1) / 2 - distance, 0.0, 1.0)
                         : std::max(0.0, 1 - distance / reach);
    sum += weights[s];
  }
  for (double& weight : weights)
    weight /= sum;
  return weights;
}

}  // namespace

std::vector<double> ReferencePixels(const DecodeItem& item) {
  const Span& x = item.region.x;
  const Span& y = item.region.y;
  JpegDecoder decoder;
  JpegPart part;
  if (const Defect defect =
          decoder.Decode(item.payload.bytes, item.payload.width, item.payload.height,
                         {0, 0, item.payload.width, item.payload.height, 1, 3}, part)) {
    throw Error(ErrorCode::kCorrupt, defect);
  }
  // Rows first: that leaves less for the second pass.
  std::vector<double> lines(std::size_t{y.out} * x.bound_length * 3);
  for (std::uint32_t j = 0; j < y.out; ++j) {
    const std::vector<double> weights = WeightsOf(y, item.region.filter, j);
    double* const line = &lines[std::size_t{j} * x.bound_length * 3];
    for (std::uint32_t s = 0; s < y.bound_length; ++s) {
      if (weights[s] == 0) continue;
      const std::uint8_t* const row =
          part.pixels + (std::size_t{y.bound} + s) * part.stride + std::size_t{x.bound} * 3;
      for (std::size_t v = 0; v < std::size_t{x.bound_length} * 3; ++v)
        line[v] += weights[s] * row[v];
    }
  }
  std::vector<double> pixels(std::size_t{y.out} * x.out * 3);
  for (std::uint32_t i = 0; i < x.out; ++i) {
    const std::vector<double> weights = WeightsOf(x, item.region.filter, i);
    const std::uint32_t place = item.region.flip ? x.out - 1 - i : i;
    for (std::uint32_t j = 0; j < y.out; ++j) {
      double* const pixel = &pixels[(std::size_t{j} * x.out + place) * 3];
      const double* const line = &lines[std::size_t{j} * x.bound_length * 3];
      for (std::uint32_t s = 0; s < x.bound_length; ++s) {
        if (weights[s] == 0) continue;
        for (std::size_t c = 0; c < 3; ++c)
          pixel[c] += weights[s] * line[std::size_t{s} * 3 + c];
      }
    }
  }
  return pixels;
}

double PeakSignalToNoise(const std::vector<double>& reference,
                         const std::vector<std::uint8_t>& pixels) {
  double squares = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double difference = reference[i] - pixels[i];
    squares += difference * difference;
  }
  if (squares == 0) return 99;
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(reference.size()) / squares);
}

}  // namespace sluice::bench
