// The conversion of pixels to numbers by a device's threads, run on the processor.
#include "reader/device/pixels_to_numbers.h"

#include <cstring>

#include "format/random.h"
#include "reader/transform/number_table.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

// The number at a position, by the definition of the two layouts.
template <class Number>
Number Expected(const Conversion& job, std::uint64_t sample, std::uint64_t pixel, std::uint32_t c) {
  const std::uint8_t value = job.from[(sample * job.pixels + pixel) * job.channels + c];
  return static_cast<const Number*>(job.table)[c * 256 + value];
}

template <class Number>
void CheckConversion(Conversion job, std::uint64_t threads) {
  const std::uint64_t values = job.samples * job.pixels * job.channels;
  // Aligned like a device's memory, and of the exact size, so that the sanitizer sees an overrun.
  const auto aligned = [](std::size_t bytes) {
    return std::unique_ptr<std::byte[], void (*)(std::byte*)>(
        static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256})),
        [](std::byte* p) { ::operator delete (p, std::align_val_t{256}); });
  };
  const auto from = aligned(values), to = aligned(values * sizeof(Number));
  std::vector<Number> table(job.channels * 256);
  RandomStream random(7, static_cast<Purpose>(999), job.pixels);
  for (std::uint64_t i = 0; i < values; ++i)
    from[i] = static_cast<std::byte>(random.Below(256));
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<Number>(i + 1);
  job.from = reinterpret_cast<std::uint8_t*>(from.get());
  job.to = to.get();
  job.table = table.data();
  for (std::uint64_t thread = 0; thread < threads; ++thread)
    ConvertShare(job, table.data(), thread, threads);
  const auto* const out = reinterpret_cast<const Number*>(to.get());
  for (std::uint64_t s = 0; s < job.samples; ++s) {
    for (std::uint64_t p = 0; p < job.pixels; ++p) {
      for (std::uint32_t c = 0; c < job.channels; ++c) {
        const std::uint64_t at = job.planar ? (s * job.channels + c) * job.pixels + p
                                            : (s * job.pixels + p) * job.channels + c;
        REQUIRE(out[at] == Expected<Number>(job, s, p, c));
      }
    }
  }
}

}  // namespace

TEST_CASE("The threads of a device convert each number once, in either layout") {
  for (const std::uint64_t pixels : {1, 2, 3, 4, 7, 8, 15, 64, 100}) {
    for (const std::uint64_t samples : {1, 3}) {
      for (const std::uint32_t channels : {1U, 3U}) {
        for (const bool planar : {false, true}) {
          for (const std::uint64_t threads : {1, 3, 64}) {
            Conversion job;
            job.samples = samples, job.pixels = pixels, job.channels = channels;
            job.planar = planar;
            CAPTURE(pixels, samples, channels, planar, threads);
            CheckConversion<std::uint32_t>(job, threads);
            CheckConversion<std::uint16_t>(job, threads);
          }
        }
      }
    }
  }
}

TEST_CASE("Numbers of bfloat16 are the nearest ones, and halves round to even") {
  // Worked out by hand, for 8 bits of mantissa, the hidden one included.
  const std::pair<float, std::uint16_t> known[] = {
      {0.F, 0x0000},          {-0.F, 0x8000},        {1.F, 0x3F80},
      {-2.F, 0xC000},         {1.00390625F, 0x3F80},  // 1 + 2^-8: halfway, to even
      {1.01171875F, 0x3F82},  {1.0039064F, 0x3F81},  // halfway above an odd number; just above half
      {3.4028235e38F, 0x7F80}};
  for (const auto& [value, bits] : known) {
    CAPTURE(value);
    CHECK(BFloatOf(value) == bits);
  }
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = OfBFloat(static_cast<std::uint16_t>(bits));
    if (value == value) REQUIRE(BFloatOf(value) == bits);
  }
  CHECK((BFloatOf(std::nanf("")) & 0x7FFF) > 0x7F80);
}
