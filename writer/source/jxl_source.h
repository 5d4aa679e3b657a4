// A JPEG XL file, bare or in a container, as a source of pixels; of an animation, the first frame.
#pragma once

#include <memory>
#include <vector>

#include "writer/source/pixel_source.h"

struct JxlDecoderStruct;

namespace sluice {

class JxlSource : public PixelSource {
 public:
  explicit JxlSource(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  void ReadColours();
  [[noreturn]] static void ThrowBroken();

  std::unique_ptr<JxlDecoderStruct, void (*)(JxlDecoderStruct*)> decoder_;
  std::vector<std::byte> profile_;
  std::uint32_t extra_channels_ = 0;  // opacity and others
  bool opaque_ = true;
};

}  // namespace sluice
