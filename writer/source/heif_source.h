// The primary picture of a HEIF file (HEIC) as a source of pixels, cropped, rotated and mirrored as
// the file says. Exif's orientation is a copy of that for others and is passed over (ISO/IEC
// 23008-12, Annex A).
#pragma once

#include <memory>
#include <vector>

#include "writer/source/pixel_source.h"

struct heif_context;
struct heif_error;
struct heif_image_handle;

namespace sluice {

class HeifSource : public PixelSource {
 public:
  explicit HeifSource(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  static void Check(const heif_error& error);
  void FindProfile();

  std::unique_ptr<heif_context, void (*)(heif_context*)> context_;
  std::unique_ptr<const heif_image_handle, void (*)(const heif_image_handle*)> picture_;
  std::vector<std::byte> profile_;
};

}  // namespace sluice
