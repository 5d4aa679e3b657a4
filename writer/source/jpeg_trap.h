// libjpeg's errors, brought back to C++: libjpeg leaves its functions by longjmp.
//
// Pattern: `if (setjmp(trap.jump) != 0) trap.Throw();` and then calls of libjpeg, in a function
// whose own frame holds no object with a destructor between the two.
#pragma once

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// After jpeglib.h, whose configuration decides which messages there are.
#include <jerror.h>

namespace sluice {

struct JpegTrap {
  jpeg_error_mgr base{};  // first, so that libjpeg's pointer to it is a pointer to the whole
  std::jmp_buf jump{};
  char text[JMSG_LENGTH_MAX]{};
  // Whether data that end early are taken as far as they go; then what libjpeg said of them, empty
  // if nothing.
  bool takes_cut_short = false;
  char cut_short[JMSG_LENGTH_MAX]{};

  JpegTrap();
  // Throws Error(kCorrupt) with libjpeg's sentence, CutShort where data end early, or kUnsupported
  // for what libjpeg does not do.
  [[noreturn]] void Throw() const;
};

// libjpeg's object for reading, with errors trapped, the memory it may take bounded, and the scans
// of a progressive file counted. Warnings after which pixels are made up (data that cannot be
// decoded, or end early and are not to be taken) are errors; others are ignored. Must not move.
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
