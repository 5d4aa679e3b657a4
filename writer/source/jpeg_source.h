// A JPEG file as a source of pixels, whatever kind of JPEG libjpeg-turbo reads: baseline,
// progressive, arithmetic; grey, YCbCr, RGB, CMYK and YCCK; any sampling.
#pragma once

#include "format/disk/bytes.h"
#include "writer/source/jpeg_trap.h"
#include "writer/source/orientation.h"
#include "writer/source/picture.h"

namespace sluice {

// Reads the header when it is made. One picture, one thread. Everything throws Error whose
// sentence() says what is wrong with the file, without its name.
class JpegSource {
 public:
  // `file` outlives the source and ends with an end-of-image marker of one's own (FF D9), so that a
  // file whose marker is missing, but whose data are complete, is read without complaint.
  explicit JpegSource(Bytes file);

  std::uint32_t width() const noexcept { return jpeg_.object.image_width; }
  std::uint32_t height() const noexcept { return jpeg_.object.image_height; }
  // 0..255 components and their colour space, as libjpeg has them.
  const jpeg_decompress_struct& header() const noexcept { return jpeg_.object; }
  Orientation orientation() const noexcept { return orientation_; }

  // The pixels as they are stored, at 1/reduction (1, 2, 4, 8) of the size, rounded up. `channels`
  // 1 gives grey; 3 gives RGB, but grey for a grey file. Can be called once.
  Picture Decode(std::uint32_t channels, std::uint32_t reduction);

  // The whole file's coefficients, for transcoding; instead of Decode(). They live as long as the
  // source.
  jvirt_barray_ptr* ReadCoefficients();
  jpeg_decompress_struct& object() noexcept { return jpeg_.object; }

 private:
  void ReadHeader(Bytes file);
  void Start(std::uint32_t channels, std::uint32_t reduction);
  void CheckComponents() const;
  void ReadRows(Picture& picture, std::uint8_t* cmyk_row);

  JpegReading jpeg_;
  Orientation orientation_;
};

}  // namespace sluice
