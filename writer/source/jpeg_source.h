// A JPEG file as a source of pixels. Any kind that libjpeg-turbo reads: baseline, progressive,
// arithmetic; grey, YCbCr, RGB, CMYK and YCCK; any sampling.
#pragma once

#include "format/disk/bytes.h"
#include "writer/source/color_profile.h"
#include "writer/source/color_rows.h"
#include "writer/source/jpeg_file.h"
#include "writer/source/jpeg_trap.h"
#include "writer/source/orientation.h"
#include "writer/source/picture.h"

namespace sluice {

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
