// Converts copied pixels (uint8, channels last) to a batch's numbers on a device. A table has the
// number for each of the 256 values, so the bits are the same as on the host. pixel_ops.h does the
// same with operations on pixels.
//
// The work of one thread is written here once, for a GPU (pixel_kernels.cu) and for the CPU
// (tests/device/simulated_device.cpp). C++17: nvcc compiles this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reader/transform/on_device.h"
#include "reader/transform/pixel_op.h"

namespace sluice {

struct Conversion {
  std::uint8_t* from = nullptr;  // samples x pixels x channels, 16-byte aligned
  void* to = nullptr;            // where the numbers go, 16-byte aligned
  const void* table = nullptr;   // channels x 256 numbers, in device memory
  std::uint64_t samples = 0;
  std::uint64_t pixels = 0;        // of a sample; below 2^32
  std::uint32_t channels = 3;      // 1 or 3
  std::uint32_t number_bytes = 4;  // 1, 2 or 4
  bool planar = false;             // channel after channel, not pixel after pixel
  // The operations on pixels before conversion: `ops_each` for each sample, in order, of which
  // those from a kEnd on do not count. Null: no operations.
  const PixelOp* ops = nullptr;
  std::uint32_t ops_each = 0;
  std::uint32_t width = 1;  // of a sample, in pixels
  // Some operations may need the picture as a whole. They change `from`; those that look at
  // neighbours or move pixels also use this many bytes for each sample at `spare`, 16-byte aligned.
  bool whole = false;
  std::uint8_t* spare = nullptr;
  std::uint64_t spare_each = 0;
};

// Four numbers, which a GPU reads or writes in one access.
template <class Number>
struct alignas(4 * sizeof(Number)) FourNumbers {
  Number at[4];
};
struct alignas(4) FourPixels {
  std::uint8_t at[12];  // by pixel, three channels each
};

// Writes the numbers of four pixels of three channels, from pixel `first` of a sample on. `first`
// and the number of pixels of a sample are multiples of 4.
template <class Number, bool kPlanar>
SLUICE_ON_DEVICE inline void StoreFour(const Conversion& job, const Number* table,
                                       std::uint64_t sample, std::uint64_t first,
                                       const FourPixels& in) {
  if (kPlanar) {
    Number* const to = static_cast<Number*>(job.to) + sample * job.pixels * 3 + first;
    SLUICE_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c) {
      FourNumbers<Number> out;
      SLUICE_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i)
        out.at[i] = table[c * 256 + in.at[3 * i + c]];
      *reinterpret_cast<FourNumbers<Number>*>(to + c * job.pixels) = out;
    }
  } else {
    auto* const to =
        static_cast<FourNumbers<Number>*>(job.to) + 3 * ((sample * job.pixels + first) / 4);
    SLUICE_UNROLL
    for (std::uint32_t k = 0; k < 3; ++k) {
      FourNumbers<Number> out;
      SLUICE_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i)
        out.at[i] = table[(4 * k + i) % 3 * 256 + in.at[4 * k + i]];
      to[k] = out;
    }
  }
}

// Writes the numbers of one pixel of one or three channels.
template <class Number>
SLUICE_ON_DEVICE inline void StorePixel(const Conversion& job, const Number* table,
                                        std::uint64_t sample, std::uint64_t pixel,
                                        const std::uint8_t* in) {
  SLUICE_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    if (c >= job.channels) return;
    const std::uint64_t at = job.planar ? (sample * job.channels + c) * job.pixels + pixel
                                        : (sample * job.pixels + pixel) * job.channels + c;
    static_cast<Number*>(job.to)[at] = table[c * 256 + in[c]];
  }
}

// Whether pixels can be taken four at a time.
SLUICE_ON_DEVICE inline bool InFours(const Conversion& job) {
  return job.channels == 3 && job.pixels % 4 == 0;
}

template <class Number, bool kPlanar>
SLUICE_ON_DEVICE inline void ConvertFours(const Conversion& job, const Number* table,
                                          std::uint64_t thread, std::uint64_t threads) {
  for (std::uint64_t g = thread; g < job.samples * job.pixels / 4; g += threads) {
    const FourPixels in = reinterpret_cast<const FourPixels*>(job.from)[g];
    const std::uint64_t sample = kPlanar ? 4 * g / job.pixels : 0;
    StoreFour<Number, kPlanar>(job, table, sample, 4 * g - sample * job.pixels, in);
  }
}

// Does one thread's share of a job without operations on pixels: that of thread number `thread` out
// of `threads`.
template <class Number>
SLUICE_ON_DEVICE inline void ConvertShare(const Conversion& job, const Number* table,
                                          std::uint64_t thread, std::uint64_t threads) {
  if (!InFours(job)) {
    for (std::uint64_t p = thread; p < job.samples * job.pixels; p += threads) {
      const std::uint64_t sample = p / job.pixels;
      StorePixel(job, table, sample, p - sample * job.pixels, job.from + p * job.channels);
    }
  } else if (job.planar) {
    ConvertFours<Number, true>(job, table, thread, threads);
  } else {
    ConvertFours<Number, false>(job, table, thread, threads);
  }
}

}  // namespace sluice
