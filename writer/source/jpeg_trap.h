// Turns libjpeg's errors into C++ exceptions: libjpeg leaves its functions by longjmp.
//
// Pattern: `if (setjmp(trap.jump) != 0) trap.Throw();` and then calls of libjpeg, in a function
// that has no object with a destructor between the two.
#pragma once

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// After jpeglib.h (format/pixels/libjpeg.h says why).
#include <jerror.h>

namespace sluice {

struct JpegTrap {
  jpeg_error_mgr base{};  // first, so that libjpeg's pointer to it is a pointer to the whole
  std::jmp_buf jump{};
  char text[JMSG_LENGTH_MAX]{};
  // Whether data that ends early is taken as far as it goes. If so, `cut_short` is libjpeg's
  // message, or empty.
  bool takes_cut_short = false;
  char cut_short[JMSG_LENGTH_MAX]{};

  JpegTrap();
  // Throws Error(kCorrupt) with libjpeg's sentence, CutShort if data ends early, or kUnsupported
  // for features that libjpeg lacks.
  [[noreturn]] void Throw() const;
};

// libjpeg's object for reading, with errors trapped, its memory bounded, and the scans of a
// progressive file counted. A warning after which pixels are made up (data that cannot be decoded,
// or ends early and is not to be taken) is an error; other warnings are ignored. Must not move.
class JpegReading {
 public:
  JpegReading();
  ~JpegReading();
  JpegReading(const JpegReading&) = delete;
  JpegReading& operator=(const JpegReading&) = delete;

  JpegTrap trap;
  jpeg_decompress_struct object{};

 private:
  jpeg_progress_mgr progress_{};
};

}  // namespace sluice
