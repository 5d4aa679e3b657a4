#include <sluice/image.h>

namespace sluice {

std::string_view NameOf(Codec codec) noexcept {
  switch (codec) {
    case Codec::kAbsent: return "absent";
    case Codec::kRaw: return "raw";
    case Codec::kJpeg: return "jpeg";
    case Codec::kZstd: return "zstd";
  }
  return "unknown";
}

}  // namespace sluice
