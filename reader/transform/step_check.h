// Checks a step's parameters against the limits of its declaration.
#pragma once

#include <string>

#include <sluice/transform.h>

namespace sluice {

// A sentence that says what the step needs and what it has; empty if all is well.
std::string WrongParameter(const Transform& step);
// Throws Error(kInvalidArgument) with that sentence.
void CheckParameters(const Transform& step);

}  // namespace sluice
