// Pixels as they are shipped (uint8, channels last) made into a batch's numbers, on a device:
// looked up in a table of the numbers of all 256 values, so that they are the host's to the bit.
//
// What one thread of the device does, written once for a GPU (convert.cu) and for the processor
// (simulated_device.cpp). C++17: nvcc compiles this.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define SLUICE_ON_DEVICE __host__ __device__
#else
#define SLUICE_ON_DEVICE
#endif

namespace sluice {

struct Conversion {
  const std::uint8_t* from = nullptr;  // samples x pixels x channels, 16-byte aligned
  void* to = nullptr;                  // as many numbers, 16-byte aligned
  const void* table = nullptr;         // channels x 256 numbers; of the device's memory
  std::uint64_t samples = 0;
  std::uint64_t pixels = 0;        // of a sample
  std::uint32_t channels = 3;      // 1 or 3
  std::uint32_t number_bytes = 4;  // 2 or 4
  bool planar = false;             // channel after channel, instead of pixel after pixel
};

// Four numbers, which a GPU reads or writes in one go.
template <class Number>
struct alignas(4 * sizeof(Number)) FourNumbers {
  Number at[4];
};
struct alignas(4) FourPixels {
  std::uint8_t at[12];  // of three channels; of one, the first four are used
};

// Converts pixels 4 * group .. 4 * group + 3 of all samples' pixels in a row. The number of pixels
// of a sample must be a multiple of 4 where the planes of several channels come out.
template <class Number, bool kPlanar>
SLUICE_ON_DEVICE inline void ConvertFourRgb(const Conversion& job, const Number* table,
                                            std::uint64_t group) {
  const FourPixels in = reinterpret_cast<const FourPixels*>(job.from)[group];
  if (kPlanar) {
    const std::uint64_t sample = 4 * group / job.pixels;
    const std::uint64_t first = 4 * group - sample * job.pixels;  // in its sample
    Number* const to = static_cast<Number*>(job.to) + sample * job.pixels * 3 + first;
    for (std::uint32_t c = 0; c < 3; ++c) {
      FourNumbers<Number> out;
      for (std::uint32_t i = 0; i < 4; ++i)
        out.at[i] = table[c * 256 + in.at[3 * i + c]];
      *reinterpret_cast<FourNumbers<Number>*>(to + c * job.pixels) = out;
    }
  } else {
    auto* const to = static_cast<FourNumbers<Number>*>(job.to) + 3 * group;
    for (std::uint32_t k = 0; k < 3; ++k) {
      FourNumbers<Number> out;
      for (std::uint32_t i = 0; i < 4; ++i)
        out.at[i] = table[(4 * k + i) % 3 * 256 + in.at[4 * k + i]];
      to[k] = out;
    }
  }
}

// Converts one pixel, whatever there are.
template <class Number>
SLUICE_ON_DEVICE inline void ConvertPixel(const Conversion& job, const Number* table,
                                          std::uint64_t pixel) {
  const std::uint64_t sample = pixel / job.pixels;
  const std::uint64_t within = pixel - sample * job.pixels;
  const std::uint8_t* const from = job.from + pixel * job.channels;
  for (std::uint32_t c = 0; c < job.channels; ++c) {
    const std::uint64_t at =
        job.planar ? (sample * job.channels + c) * job.pixels + within : pixel * job.channels + c;
    static_cast<Number*>(job.to)[at] = table[c * 256 + from[c]];
  }
}

// Whether pixels can be taken four at a time; else one by one.
SLUICE_ON_DEVICE inline bool InFours(const Conversion& job) {
  return job.channels == 3 && job.pixels % 4 == 0;
}

// One thread's share: of `threads`, number `thread`.
template <class Number>
SLUICE_ON_DEVICE inline void ConvertShare(const Conversion& job, const Number* table,
                                          std::uint64_t thread, std::uint64_t threads) {
  const std::uint64_t pixels = job.samples * job.pixels;
  if (!InFours(job)) {
    for (std::uint64_t p = thread; p < pixels; p += threads)
      ConvertPixel(job, table, p);
  } else if (job.planar) {
    for (std::uint64_t g = thread; g < pixels / 4; g += threads)
      ConvertFourRgb<Number, true>(job, table, g);
  } else {
    for (std::uint64_t g = thread; g < pixels / 4; g += threads)
      ConvertFourRgb<Number, false>(job, table, g);
  }
}

}  // namespace sluice

#undef SLUICE_ON_DEVICE
