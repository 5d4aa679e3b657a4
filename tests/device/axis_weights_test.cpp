// The weights computed on a device (reader/device/axis_weights.h) equal those of the host, which
// tests/pixels compares with formulas.
#include "reader/device/axis_weights.h"

#include "format/random.h"
#include "reader/device/jpeg_parcel.h"
#include "tests/catch.h"

using namespace sluice;

TEST_CASE("A device computes the host's weights for each output of an axis") {
  RandomStream random(3, static_cast<Purpose>(999), 0);
  const auto part = [&random](double most) {
    return most * static_cast<double>(random.Below(1 << 20)) / (1 << 20);
  };
  for (int round = 0; round < 3000; ++round) {
    const std::uint32_t size = 1 + random.Below(round % 10 == 0 ? 60000 : 700);
    const auto whole = static_cast<double>(size);
    Span span;
    span.start = round % 3 == 0 ? std::floor(part(whole)) : part(whole);
    span.length = std::max(part(whole - span.start), 1e-3);
    span.bound = static_cast<std::uint32_t>(span.start);
    span.bound_length = size - span.bound;
    span.out = span.target = 1 + static_cast<std::uint32_t>(random.Below(300));
    const Filter filter = round % 2 == 0 ? Filter::kTriangle : Filter::kArea;
    const ComponentAxis axis = MakeComponentAxis(span, 1U << random.Below(4), size, filter);
    const bool mirrored = random.Below(2) == 1;
    CAPTURE(size, span.start, span.length, span.out, mirrored);
    AxisWeights host;
    host.Make(kernels::Chosen(), axis, mirrored);
    const kernels::WeightRule rule = WeightRuleOf(axis, mirrored);
    REQUIRE(rule.taps == host.taps());
    for (std::uint32_t i = 0; i < axis.out; ++i) {
      std::uint16_t begin = 0;
      std::vector<std::uint16_t> weights(rule.taps);
      on_device::MakeOutput(rule, i, begin, weights.data());
      REQUIRE(begin == host.firsts()[i]);
      REQUIRE(std::equal(weights.begin(), weights.end(),
                         host.values().begin() + std::ptrdiff_t{i} * rule.taps));
    }
  }
}
