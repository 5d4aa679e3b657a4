// The text of --help about the steps of a transform, for both programs; each command declares its
// own option.
#pragma once

#include <string>

#include <sluice/parse_pipeline.h>

namespace sluice::cli {

// The text of --help about steps, which <sluice/parse_pipeline.h> parses.
inline std::string TransformHelp() {
  std::string text = "steps, joined by commas, or the word none. The steps are ";
  for (const std::string& form : PipelineSteps())
    text += form + ", ";
  return text +
         "where parts in brackets are optional. A size is N or WxH; normalize uses ImageNet's mean "
         "and deviation; @P after a step applies it with probability P: blur:23/0.1/2@0.5";
}

}  // namespace sluice::cli
