// Whether a step's parameters are within the limits of its declaration.
#pragma once

#include <string>

#include <sluice/transform.h>

namespace sluice {

// A sentence that says what the step needs and has; empty: all is well.
std::string WrongParameter(const Transform& step);
// Throws Error(kInvalidArgument) with it.
void CheckParameters(const Transform& step);

}  // namespace sluice
