// The first frame of a GIF file as a source of pixels, on its canvas. What it leaves open of the
// canvas is transparent, and so is the colour that it names so.
#pragma once

#include <memory>

#include "writer/source/pixel_source.h"

struct GifFileType;

namespace sluice {

class GifSource : public PixelSource {
 public:
  explicit GifSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;

 private:
  static int Read(GifFileType* gif, unsigned char* to, int count);
  // Leaves the reader at the first frame's pixels.
  void FindFrame();
  void ReadExtension();
  void Check(int result) const;

  Bytes rest_;  // what is still to be read
  std::unique_ptr<GifFileType, void (*)(GifFileType*)> gif_;
  int transparent_ = -1;  // index of the colour; none
};

}  // namespace sluice
