// JPEG files as sources of pixels or of coefficients, and libjpeg's errors as exceptions.
#pragma once

#include <csetjmp>
#include <cstdio>
#include <vector>

#include <jpeglib.h>
// After jpeglib.h (format/pixels/libjpeg.h says why).
#include <jerror.h>

#include "format/disk/bytes.h"
#include "writer/source/images/color_rows.h"
#include "writer/source/images/icc.h"
#include "writer/source/images/orientation.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

struct JpegFile {
  Bytes bytes;  // ends with an end-of-image marker
  // Whether that marker is the file's own. If not, scans may be missing without a trace.
  bool ended = true;
};

// Cuts `content` down to its picture and makes sure that it has an end marker. In a file without
// one, zeros at the end are not taken for data (except a single one): they would be decoded to
// grey. A file that is not a JPEG loses only such zeros.
//
// Whatever is made of the picture, decoders get these bytes and no others: libjpeg's judgement of a
// damaged file depends on what follows the damage.
JpegFile TakeJpeg(std::vector<std::byte>& content);

// libjpeg leaves its functions by longjmp when it meets an error; this makes exceptions of them.
//
// Pattern: `if (setjmp(trap.jump) != 0) trap.Throw();` and then calls of libjpeg, in a function
// that has no object with a destructor between the two.
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

// Any kind that libjpeg-turbo reads: baseline, progressive, arithmetic; grey, YCbCr, RGB, CMYK and
// YCCK; any sampling.
//
// The constructor reads the header. One picture, one thread. Every function throws an Error whose
// sentence() says what is wrong with the file, without its name.
class JpegSource {
 public:
  // The file's bytes must outlive the source. A file without an end marker, but with complete data,
  // is read without complaint. Profile() gives the profile only if `with_profile`.
  explicit JpegSource(const JpegFile& file, bool with_profile = false);

  std::uint32_t width() const noexcept { return jpeg_.object.image_width; }
  std::uint32_t height() const noexcept { return jpeg_.object.image_height; }
  // 0..255 components and their colour space, as libjpeg has them.
  const jpeg_decompress_struct& header() const noexcept { return jpeg_.object; }
  Orientation orientation() const noexcept { return orientation_; }
  // Whether there is an embedded ICC profile; the profile, unless its pieces are broken; and the
  // values that it describes.
  bool has_profile() const noexcept { return has_profile_; }
  std::vector<std::byte> Profile();
  ProfileColors colors() const noexcept;

  // Whether scans may be missing that only Decode() and ReadCoefficients() look for.
  bool may_lack_scans() const noexcept;
  // From now on a picture whose data ends early is taken as far as the data goes, the rest grey,
  // and is no longer a CutShort error.
  void TakeCutShort() noexcept { jpeg_.trap.takes_cut_short = true; }
  // Valid after Decode(): what is missing; empty if nothing is.
  const char* cut_short() const noexcept { return jpeg_.trap.cut_short; }

  // The pixels as they are stored, at 1/reduction (1, 2, 4, 8) of the size, rounded up. Grey files
  // give grey. Call it once.
  Picture Decode(const ColorRules& rules, std::uint32_t reduction);

  // The whole file's coefficients, for transcoding. Call it instead of Decode(). They live as long
  // as the source.
  jvirt_barray_ptr* ReadCoefficients();
  jpeg_decompress_struct& object() noexcept { return jpeg_.object; }

 private:
  void ReadHeader(Bytes bytes, bool with_profile);
  void ReadMarkers();
  void Start(std::uint32_t channels, std::uint32_t reduction);
  void CheckScans();
  jvirt_barray_ptr* ReadAllCoefficients();
  // `row`: nullptr if rows can be decoded into the picture; else room for a row of four values a
  // pixel.
  void ReadRows(const ColorRules& rules, std::uint8_t* row, Picture& picture);
  void StoreRow(const ColorRules& rules, std::uint8_t* row, const Picture& picture,
                std::uint8_t* out) const;

  JpegReading jpeg_;
  bool ended_;
  Orientation orientation_;
  bool has_profile_ = false;
};

}  // namespace sluice
