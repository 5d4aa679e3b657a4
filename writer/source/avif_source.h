// An AVIF file as a source of pixels; of a sequence, the first picture. Its own mirroring and
// rotation are the orientation; Exif's and XMP's are copies for others and are passed over (ISO/IEC
// 23008-12, 6.5.10 and Annex A).
#pragma once

#include <memory>

#include "writer/source/pixel_source.h"

struct avifDecoder;

namespace sluice {

class AvifSource : public PixelSource {
 public:
  explicit AvifSource(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  // `most_pixels`: of what is decoded.
  void Parse(std::uint32_t most_pixels);
  void FindCrop();
  [[noreturn]] void ThrowFor(int result) const;

  Bytes file_;
  std::unique_ptr<avifDecoder, void (*)(avifDecoder*)> decoder_;
  std::uint32_t left_ = 0, top_ = 0;  // of the picture in what is decoded
};

}  // namespace sluice
