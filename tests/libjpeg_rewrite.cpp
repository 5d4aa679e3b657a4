#include "tests/libjpeg_rewrite.h"

#include <cstdlib>

#include "format/pixels/libjpeg.h"

namespace sluice::test {

namespace {

// On an error, libjpeg leaves this function by longjmp, so it must have no objects with
// destructors.
void Transcode(std::span<const std::byte> file, std::uint32_t interval, jpeg_decompress_struct& in,
               jpeg_compress_struct& out) {
  libjpeg::ReadHeader(in, file);
  jvirt_barray_ptr* const coefficients = jpeg_read_coefficients(&in);
  jpeg_copy_critical_parameters(&in, &out);
  out.optimize_coding = FALSE;
  out.restart_interval = interval;
  jpeg_write_coefficients(&out, coefficients);
  jpeg_finish_compress(&out);
}

}  // namespace

std::vector<std::byte> RewriteByLibjpeg(std::span<const std::byte> file, std::uint32_t interval) {
  std::vector<std::byte> written;
  libjpeg::Decompressor reading;
  jpeg_compress_struct out{};
  out.err = &reading.trap.base;
  jpeg_create_compress(&out);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&out, &memory, &size);
  if (setjmp(reading.trap.jump) == 0) {
    Transcode(file, interval, reading.object, out);
    const auto* const bytes = reinterpret_cast<const std::byte*>(memory);
    written.assign(bytes, bytes + size);
  }
  jpeg_destroy_compress(&out);
  std::free(memory);
  return written;
}

}  // namespace sluice::test
