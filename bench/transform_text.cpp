#include "bench/transform_text.h"

#include <algorithm>

#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

const char* const kTransformHelp =
    "steps joined by commas: rrc:S (random-resized-crop),\nresize:S, short:N (shorter side), "
    "center:S, crop:S+P\n(random crop, P pixels of padding), flip, or none;\nS is N or WxH. "
    "Default: none where all images have\none size, else rrc:224";

namespace {

Transform ParseStep(const std::string& step) {
  const std::size_t colon = step.find(':');
  const std::string name = step.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : step.substr(colon + 1);
  if (name == "flip" && colon == std::string::npos) return HorizontalFlip();
  if (name == "short") {
    return ResizeShortSide{static_cast<std::uint32_t>(cli::ParseInteger(value, 1, 65535))};
  }
  const std::size_t plus = value.find('+');
  if (name == "crop") {
    const cli::Sides sides = cli::ParseSides(value.substr(0, plus));
    RandomCrop crop;
    crop.width = sides.width;
    crop.height = sides.height;
    if (plus != std::string::npos) {
      crop.padding =
          static_cast<std::uint32_t>(cli::ParseInteger(value.substr(plus + 1), 0, 65535));
    }
    return crop;
  }
  if (name != "rrc" && name != "resize" && name != "center") {
    throw UsageError("\"" + step +
                     "\" is none of rrc:S, resize:S, short:N, center:S, crop:S+P, flip and none");
  }
  const cli::Sides sides = cli::ParseSides(value);
  if (name == "rrc") return RandomResizedCrop(sides.width, sides.height);
  if (name == "resize") return Resize(sides.width, sides.height);
  return CenterCrop(sides.width, sides.height);
}

}  // namespace

Pipeline ParseTransform(const std::string& text) {
  Pipeline pipeline;
  if (text == "none") return pipeline;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    pipeline.push_back(ParseStep(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return pipeline;
}

}  // namespace sluice::bench
