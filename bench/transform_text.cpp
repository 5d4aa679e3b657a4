#include "bench/transform_text.h"

#include <algorithm>
#include <string_view>

#include "bench/pixel_step_text.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

const char* const kTransformHelp =
    "steps joined by commas: rrc:S (random-resized-crop),\nresize:S, short:N (shorter side), "
    "center:S, crop:S+P\n(random crop, P pixels of padding), flip, or none;\nS is N or WxH; "
    ":area behind a resize: by that filter. Then\njitter:B/C/S/H, gray:P, blur:K/S, "
    "solarize:T,\nposterize:B, equalize, autocontrast, invert,\nsharpness:F, erase:P and, last, "
    "normalize,\nnormalize:f16 or :bf16 (ImageNet's mean and deviation).\nDefault: none where all "
    "images "
    "have one size, else "
    "rrc:224";

namespace {

// Takes ":area" off the end of a step.
Filter TakeFilter(std::string& step) {
  constexpr std::string_view kArea = ":area";
  if (!step.ends_with(kArea)) return Filter::kTriangle;
  step.erase(step.size() - kArea.size());
  return Filter::kArea;
}

Transform ParseStep(const std::string& text) {
  std::string step = text;
  const Filter filter = TakeFilter(step);
  const std::size_t colon = step.find(':');
  const std::string name = step.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : step.substr(colon + 1);
  if (filter != Filter::kTriangle && name != "rrc" && name != "resize" && name != "short") {
    throw UsageError("\"" + text + "\": only rrc, resize and short have a filter");
  }
  if (name == "flip" && colon == std::string::npos) return HorizontalFlip();
  if (name == "short") {
    return ResizeShortSide{static_cast<std::uint32_t>(cli::ParseInteger(value, 1, 65535)), filter};
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
  const bool has_value = colon != std::string::npos;
  if (has_value == !value.empty()) {
    if (const auto pixels = ParsePixelStep(name, value)) return *pixels;
  }
  if (name != "rrc" && name != "resize" && name != "center") {
    throw UsageError(
        "\"" + step +
        "\" is none of rrc:S, resize:S, short:N, center:S, crop:S+P, flip, none and the "
        "steps that change pixels; see --help");
  }
  const cli::Sides sides = cli::ParseSides(value);
  if (name == "rrc") {
    RandomResizedCrop crop(sides.width, sides.height);
    crop.filter = filter;
    return crop;
  }
  if (name == "resize") {
    Resize resize(sides.width, sides.height);
    resize.filter = filter;
    return resize;
  }
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
