// A WebP file, lossy or lossless, as a source of pixels; of an animation, the first frame on its
// canvas.
#pragma once

#include <memory>

#include "writer/source/pixel_source.h"

struct WebPDemuxer;

namespace sluice {

class WebpSource : public PixelSource {
 public:
  explicit WebpSource(Bytes file);

  Bytes Profile() override { return profile_; }
  Picture Decode(const ColorRules& rules) override;

 private:
  // The content of a chunk of that name; empty if there is none.
  Bytes Chunk(const char* name) const;

  std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer*)> demuxer_;
  Bytes profile_;
  bool ends_early_ = false;  // chunks are missing
};

}  // namespace sluice
