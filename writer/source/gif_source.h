// The first frame of a GIF file as a source of pixels, on its canvas, as browsers draw it. What it
// leaves open of the canvas is transparent, and so is the colour that it names so. The background
// colour that a GIF may name is ignored.
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
  void Fail(int error);
  void Check(int result);

  Bytes rest_;  // what is still to be read
  std::unique_ptr<GifFileType, void (*)(GifFileType*)> gif_;
  int transparent_ = -1;  // index of the colour; none
};

}  // namespace sluice
