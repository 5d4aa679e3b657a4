// A pipeline as a line of text, for command lines, configuration files and logs:
//
//   rrc:224/0.35/1,flip,jitter:0.4/0.4/0.4/0.1@0.8,normalize
//
// Steps are joined by commas; "none" is a pipeline without any. A step is its name, a colon and its
// numbers with / between; what is left out from the end is the step's default. A size is N for a
// square or WxH. :word behind the numbers chooses, as :area does a filter. @P takes the step with
// probability P. normalize is by ImageNet's mean and deviation. PipelineSteps() says which numbers
// each step takes: "rrc:size[/scale/scale[/ratio/ratio]][:area]", brackets around what may be left
// out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/transform.h>

namespace sluice {

// Throws Error(kInvalidArgument) that names the step and what it takes. Whether steps may stand in
// that order, a loader says.
Pipeline ParsePipeline(std::string_view text);

// The text forms of all steps.
std::vector<std::string> PipelineSteps();

}  // namespace sluice
