// The text of a step, for Loader::Describe().
#pragma once

#include <string>

#include <sluice/transform.h>

namespace sluice {

// The step almost as it is written in C++: "RandomResizedCrop(224, 224, triangle)". Parameters that
// are usually left at their defaults are listed only if they differ.
std::string StepText(const Transform& step);
// A number in that text: the shortest form that reads back exactly.
std::string NumberText(double value);
// The step's name alone.
std::string StepName(const Transform& step);
// Where the step runs: "fused with decoding".
const char* HowItRuns(const Transform& step);

}  // namespace sluice
