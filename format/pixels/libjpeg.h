// libjpeg-turbo's decompression object with its errors trapped, for whoever decodes through it.
//
// libjpeg reports an error by a jump: `setjmp(object.trap.jump)` first, and no object with a
// destructor between that and the calls into libjpeg. Warnings after which pixels would be made up
// are errors here.
#pragma once

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include "format/disk/bytes.h"

namespace sluice::libjpeg {

struct ErrorTrap {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is a pointer to the whole
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};

// It must not move: libjpeg keeps pointers into it.
struct Decompressor {
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Makes the object new. One that has decoded another picture keeps that one's tables, which a
  // file without its own would be decoded with, and (in libjpeg-turbo 2.1) pointers to freed
  // modules.
  void Renew();

  jpeg_decompress_struct object{};
  ErrorTrap trap{};
  jpeg_progress_mgr progress{};
};

void ReadHeader(jpeg_decompress_struct& object, Bytes file);

// The side of what a block of the component is decoded to, and the least of all components.
// libjpeg-turbo names it by the interface it is built to look like: Debian's 6b has one side,
// Ubuntu's 8 has two, which are equal.
inline int BlockSide(const jpeg_component_info& component) noexcept {
#if JPEG_LIB_VERSION >= 70
  return component.DCT_v_scaled_size;
#else
  return component.DCT_scaled_size;
#endif
}
inline int LeastBlockSide(const jpeg_decompress_struct& object) noexcept {
#if JPEG_LIB_VERSION >= 70
  return object.min_DCT_v_scaled_size;
#else
  return object.min_DCT_scaled_size;
#endif
}

// Whether every component's data have come: a file of several scans may end, properly, before that.
// After jpeg_start_decompress().
bool HasAllComponents(const jpeg_decompress_struct& object) noexcept;

}  // namespace sluice::libjpeg
