// libjpeg-turbo's decompression object with its errors trapped, for the decoders built on it.
//
// libjpeg reports an error by longjmp. So call `setjmp(object.trap.jump)` first, and make no object
// with a destructor between that call and the calls into libjpeg. Warnings after which libjpeg
// would make up pixels are errors here.
#pragma once

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// Must follow jpeglib.h, whose configuration decides which messages exist and their numbers.
// Otherwise a warning of Ubuntu's libjpeg would be taken for another one.
#include <jerror.h>

#include "format/disk/bytes.h"

namespace sluice::libjpeg {

struct ErrorTrap {
  // After a jump: what is wrong with the file. Throws std::bad_alloc if libjpeg had no memory.
  const char* Sentence() const;

  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is a pointer to the whole
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};
// Sets the trap, and returns the value for an object's `err`.
jpeg_error_mgr* Set(ErrorTrap& trap);

// Must not move: libjpeg keeps pointers into it.
struct Decompressor {
  Decompressor();
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Makes the object new. An object that has decoded a picture keeps that picture's tables, which
  // would decode the next file if it had none of its own, and (in libjpeg-turbo 2.1) pointers to
  // freed modules. Jumps out if memory is lacking.
  void Renew();

  jpeg_decompress_struct object{};
  ErrorTrap trap{};
  jpeg_progress_mgr progress{};
};

void ReadHeader(jpeg_decompress_struct& object, Bytes file);

// The side of a decoded block of the component, and the least side of all components.
// libjpeg-turbo's names depend on the libjpeg version it imitates: Debian's 6b has one side,
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

// Sets the size of a file that is to be written from coefficients. jpeg_write_coefficients() of
// libjpeg 7 and later reads the size from further members.
inline void SetSize(jpeg_compress_struct& object, JDIMENSION width, JDIMENSION height) noexcept {
  object.image_width = width;
  object.image_height = height;
#if JPEG_LIB_VERSION >= 70
  object.jpeg_width = width;
  object.jpeg_height = height;
  object.min_DCT_h_scaled_size = DCTSIZE;
  object.min_DCT_v_scaled_size = DCTSIZE;
#endif
}

// Whether data of every component has arrived: a file of several scans may properly end before
// that. Call it after jpeg_start_decompress().
bool HasAllComponents(const jpeg_decompress_struct& object) noexcept;

}  // namespace sluice::libjpeg
