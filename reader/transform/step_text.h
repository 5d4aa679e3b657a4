// A step of a pipeline in words, for Loader::Describe().
#pragma once

#include <string>

#include <sluice/transform.h>

namespace sluice {

// As it is written in C++, with the parameters that tell it from others: "RandomResizedCrop(224,
// 224)".
std::string StepText(const Transform& step);

}  // namespace sluice
