#include "bench/epoch/transform_text.h"

#include <algorithm>

#include <sluice/parse_pipeline.h>

#include "tools/cli/quantity.h"

namespace sluice::bench {

using cli::UsageError;

std::string TransformHelp() {
  std::string text = "steps joined by commas, or none: ";
  for (const std::string& form : PipelineSteps())
    text += form + ", ";
  return text +
         "with brackets around what may be left out. A size is N or WxH; normalize uses ImageNet's "
         "mean and deviation; @P after a step applies it with probability P: blur:23/0.1/2@0.5";
}

std::vector<OutputSize> ParseSizes(const std::string& text) {
  std::vector<OutputSize> sizes;
  for (const std::string& item : cli::Split(text)) {
    const std::size_t at = item.find('@');
    const cli::Sides sides = cli::ParseSides(item.substr(0, at));
    const std::uint64_t epoch =
        at == std::string::npos ? 0 : cli::ParseInteger(item.substr(at + 1), 0, 1'000'000);
    if (sizes.empty() ? epoch != 0 : epoch <= sizes.back().epoch) {
      throw UsageError("sizes must begin with epoch 0, and their epochs must increase");
    }
    sizes.push_back({epoch, sides.width, sides.height});
  }
  return sizes;
}

}  // namespace sluice::bench
