// The first frame of a GIF file as a source of pixels, on its canvas, as browsers draw it. The
// canvas outside the frame is transparent, and so is the frame's transparent colour. The background
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
  // Moves the reader to the first frame's pixels.
  void FindFrame();
  void ReadExtension();
  void Fail(int error);
  void Check(int result);

  Bytes rest_;  // still to be read
  std::unique_ptr<GifFileType, void (*)(GifFileType*)> gif_;
  int transparent_ = -1;  // index of the transparent colour; -1: none
};

}  // namespace sluice
