// A pipeline as a line of text, for command lines, configuration files and logs:
//
//   rrc:224/0.35/1,flip,jitter:0.4/0.4/0.4/0.1@0.8,normalize
//
// Steps are joined by commas; "none" is an empty pipeline. A step is its name, a colon, and its
// numbers with / between them:
//
//   a size             N for a square, or WxH
//   fewer numbers      the numbers left out at the end have the step's defaults
//   a word             after the numbers, chooses one of several ways: ":area" chooses a filter
//   @P                 at the end, applies the step with probability P
//
// "choice(0.7*rrc:224|0.3*resize:224,flip)" is a RandomChoice: lists with | between them, each
// after its weight and a *, if the weights are not equal. A list may be empty.
//
// "normalize" uses ImageNet's mean and deviation. PipelineSteps() says which numbers each step
// takes: "rrc:size[/scale/scale[/ratio/ratio]][:area]", with brackets around what may be left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sluice/transform.h>

namespace sluice {

// The pipeline that the text describes. Throws an Error(kInvalidArgument) that names the step and
// says what it takes. The order of the steps is checked later, when a Loader is made.
Pipeline ParsePipeline(std::string_view text);

// LoaderOptions::schedule as text: "80=rrc:224,flip;90=rrc:224" changes the steps at epoch 80, and
// again at epoch 90. Throws as ParsePipeline() does.
std::vector<ScheduledTransform> ParseSchedule(std::string_view text);

// The text forms of all steps.
std::vector<std::string> PipelineSteps();

}  // namespace sluice
