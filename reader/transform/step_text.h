// A step of a pipeline in words, for Loader::Describe().
#pragma once

#include <string>

#include <sluice/transform.h>

namespace sluice {

// As it is written in C++, with the parameters that tell it from others: "RandomResizedCrop(224,
// 224, triangle)". Parameters that seldom differ from their defaults are there where they do.
std::string StepText(const Transform& step);
// A parameter as it stands there: as short as it can be read back.
std::string NumberText(double value);
// The step's name alone.
std::string StepName(const Transform& step);
// Where it is done: "fused with decoding".
const char* HowItRuns(const Transform& step);

}  // namespace sluice
