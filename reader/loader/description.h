// What Loader::Describe() says: how each step of the transform will run.
#pragma once

#include <string>

#include "reader/batch/batch_recipe.h"

namespace sluice {

// A line for each view, each step and each field that moves with an image, with a newline at its
// end.
std::string DescriptionOf(const BatchRecipe& recipe);

}  // namespace sluice
