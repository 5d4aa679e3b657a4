#include "format/pixels/stream_copy.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__  // of every x86-64 processor
#include <emmintrin.h>
#endif

namespace sluice {

#ifdef __SSE2__

namespace {

constexpr std::size_t kVector = sizeof(__m128i);

void StreamLine(const std::uint8_t* in, std::size_t bytes, std::uint8_t* out) noexcept {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(out) % kVector;
  std::size_t at = std::min(past == 0 ? 0 : kVector - past, bytes);
  std::memcpy(out, in, at);
  for (; at + kVector <= bytes; at += kVector) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(out + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at)));
  }
  std::memcpy(out + at, in + at, bytes - at);
}

}  // namespace

void StreamLines(const std::uint8_t* in, std::size_t in_stride, std::size_t bytes,
                 std::size_t count, std::uint8_t* out, std::size_t out_stride) noexcept {
  for (; count > 0; --count, in += in_stride, out += out_stride)
    StreamLine(in, bytes, out);
  // Streaming stores are not ordered with others: a thread that is told the copy is done must see
  // them.
  _mm_sfence();
}

#else

void StreamLines(const std::uint8_t* in, std::size_t in_stride, std::size_t bytes,
                 std::size_t count, std::uint8_t* out, std::size_t out_stride) noexcept {
  for (; count > 0; --count, in += in_stride, out += out_stride)
    std::memcpy(out, in, bytes);
}

#endif

}  // namespace sluice
