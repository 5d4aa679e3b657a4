// libjpeg's object for writing, with errors trapped and the file gathered in memory. Must not move.
#pragma once

#include <cstdlib>

#include "format/disk/bytes.h"
#include "writer/source/images/jpeg.h"

namespace sluice {

class JpegWriting {
 public:
  JpegWriting() {
    object.err = &trap.base;
    if (setjmp(trap.jump) != 0) trap.Throw();
    jpeg_create_compress(&object);
    jpeg_mem_dest(&object, &file_, &file_bytes_);
  }
  ~JpegWriting() {
    jpeg_destroy_compress(&object);
    std::free(file_);
  }
  JpegWriting(const JpegWriting&) = delete;
  JpegWriting& operator=(const JpegWriting&) = delete;

  // Call it after jpeg_finish_compress().
  std::vector<std::byte> File() const {
    const auto* bytes = reinterpret_cast<const std::byte*>(file_);
    return {bytes, bytes + file_bytes_};
  }

  JpegTrap trap;
  jpeg_compress_struct object{};

 private:
  unsigned char* file_ = nullptr;  // allocated by libjpeg with malloc
  unsigned long file_bytes_ = 0;
};

}  // namespace sluice
