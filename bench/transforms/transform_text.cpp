#include "bench/transforms/transform_text.h"

#include <algorithm>

#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

const char* const kTransformHelp =
    "steps joined by commas, or none. Geometry: rrc:S\n(random-resized-crop; rrc:S/LOW/HIGH: of "
    "such "
    "shares of\nthe area), resize:S, short:N (shorter side), crc:S\n(centred crop of 224/256, "
    "resized; :area behind a\nresize: by that filter), center:S, crop:S+P (random\ncrop, P pixels "
    "of "
    "padding; :reflect), translate:P\n(:reflect), flip, vflip, turns (by quarters),\n"
    "affine:DEG/SHIFT/SCALE/SCALE/SHEAR; S is N or WxH.\nPixels: jitter:B/C/S/H, gray:P, blur:K/S, "
    "solarize:T,\nposterize:B, equalize, autocontrast, invert,\nsharpness:F, randaug:N/M, "
    "trivialaug, "
    "erase:P/LOW/HIGH,\nnormalize, normalize:f16 or :bf16 (ImageNet's mean and\ndeviation). "
    "Batches: "
    "onehot:SMOOTHING, mixup:ALPHA,\ncutmix:ALPHA. @P behind a step takes it with probability\nP: "
    "blur:23/0.1/2@0.5. Default: none where all images\nhave one size, else rrc:224";

std::vector<OutputSize> ParseSizes(const std::string& text) {
  std::vector<OutputSize> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t at = item.find('@');
    const cli::Sides sides = cli::ParseSides(item.substr(0, at));
    const std::uint64_t epoch =
        at == std::string::npos ? 0 : cli::ParseInteger(item.substr(at + 1), 0, 1'000'000);
    if (sizes.empty() ? epoch != 0 : epoch <= sizes.back().epoch) {
      throw UsageError("sizes begin with that of epoch 0, and later ones follow in order");
    }
    sizes.push_back({epoch, sides.width, sides.height});
    begin = end + 1;
  }
  return sizes;
}

}  // namespace sluice::bench
