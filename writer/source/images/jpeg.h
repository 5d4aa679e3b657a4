// JPEG files as sources of pixels or of coefficients, and libjpeg's errors as exceptions.
#pragma once

#include <csetjmp>
#include <cstdio>
#include <optional>
#include <vector>

#include <jpeglib.h>
// Must follow jpeglib.h (format/pixels/libjpeg.h says why).
#include <jerror.h>

#include "format/disk/bytes.h"
#include "writer/source/images/color_lines.h"
#include "writer/source/images/icc.h"
#include "writer/source/images/orientation.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

struct JpegFile {
  Bytes bytes;  // ends with an end-of-image marker
  // Whether the file had that marker, or another one that can only follow a whole picture. If not,
  // scans may be missing without any other sign.
  bool ended = true;
};

// Cuts `content` down to its picture and makes sure that it ends with an end marker. If the file
// has none, zeros at its end are dropped (except a single one): they would be decoded to grey. A
// file that is not a JPEG loses only such zeros.
//
// All decoders get these bytes and no others, because what libjpeg makes of a damaged file depends
// on what follows the damage.
JpegFile TakeJpeg(std::vector<std::byte>& content);

// The bytes that TakeJpeg() would make of the file, if they are a part of the file and its
// orientation does not turn it; otherwise nullopt. Takes memory only if the file has Exif or XMP.
std::optional<Bytes> UprightPicture(Bytes file);

// Turns libjpeg's errors, at which it leaves its functions by longjmp, into exceptions.
//
// Pattern: `if (setjmp(trap.jump) != 0) trap.Throw();`, then calls of libjpeg. No object with a
// destructor may be created between the two.
struct JpegTrap {
  // The first member, so that libjpeg's pointer to it is also a pointer to the trap.
  jpeg_error_mgr base{};
  std::jmp_buf jump{};
  char text[JMSG_LENGTH_MAX]{};
  // Whether to accept data that ends early, as far as it goes. `cut_short` then holds libjpeg's
  // message if the data did, and is empty if not.
  bool takes_cut_short = false;
  char cut_short[JMSG_LENGTH_MAX]{};

  JpegTrap();
  // Throws CutShort if data ends early, Error(kUnsupported) for features that libjpeg lacks, and
  // otherwise Error(kCorrupt) with libjpeg's message.
  [[noreturn]] void Throw() const;
};

// libjpeg's object for reading. Its errors are trapped, its memory is limited, and the scans of a
// progressive file are counted. A warning is an error if libjpeg makes up pixels after it: data
// that cannot be decoded, or that ends early and is not accepted. Other warnings are ignored. Must
// not be moved.
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

// A JPEG of any kind that libjpeg-turbo reads: baseline, progressive, arithmetic; grey, YCbCr, RGB,
// CMYK and YCCK; any sampling.
//
// The constructor reads the header. Decodes one picture; not thread-safe. Every function throws an
// Error whose sentence() says what is wrong with the file, without naming it.
class JpegSource {
 public:
  // `file.bytes` must outlive the source. A file that lacks only its end marker is read without an
  // error. Profile() works only if `with_profile`.
  explicit JpegSource(const JpegFile& file, bool with_profile = false);

  std::uint32_t width() const noexcept { return jpeg_.object.image_width; }
  std::uint32_t height() const noexcept { return jpeg_.object.image_height; }
  // libjpeg's header; it has 0 to 255 components.
  const jpeg_decompress_struct& header() const noexcept { return jpeg_.object; }
  Orientation orientation() const noexcept { return orientation_; }
  // Profile() is empty if the profile's pieces do not fit together; colors() says which values of a
  // pixel the profile describes.
  bool has_profile() const noexcept { return has_profile_; }
  std::vector<std::byte> Profile();
  ProfileColors colors() const noexcept;

  // Whether scans may be missing, which only Decode() and ReadCoefficients() find out.
  bool may_lack_scans() const noexcept;
  // From now on, a picture whose data ends early is decoded as far as it goes, with grey for the
  // rest, instead of causing a CutShort error.
  void TakeCutShort() noexcept { jpeg_.trap.takes_cut_short = true; }
  // Says what is missing; empty if nothing is. Valid after Decode().
  const char* cut_short() const noexcept { return jpeg_.trap.cut_short; }

  // The pixels as stored, at 1/reduction of the size (1, 2, 4 or 8), rounded up. A grey file gives
  // a grey picture. Call it once.
  Picture Decode(const ColorRules& rules, std::uint32_t reduction);

  // All coefficients of the file, for transcoding, instead of Decode(). They live as long as the
  // source.
  jvirt_barray_ptr* ReadCoefficients();
  jpeg_decompress_struct& object() noexcept { return jpeg_.object; }

 private:
  void ReadHeader(Bytes bytes, bool with_profile);
  void ReadMarkers();
  void Start(std::uint32_t channels, std::uint32_t reduction);
  void CheckScans();
  jvirt_barray_ptr* ReadAllCoefficients();
  // `row`: null to decode rows directly into the picture; otherwise space for a row of four values
  // per pixel.
  void ReadLines(const ColorRules& rules, std::uint8_t* row, Picture& picture);
  void StoreLine(const ColorRules& rules, std::uint8_t* row, const Picture& picture,
                 std::uint8_t* out) const;

  JpegReading jpeg_;
  bool ended_;
  Orientation orientation_;
  bool has_profile_ = false;
};

}  // namespace sluice
