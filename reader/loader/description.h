// The text of Loader::Describe(): how each step of the transform will run.
#pragma once

#include <string>

#include "reader/batch/batch_recipe.h"

namespace sluice {

// One line for each view, each step and each field that moves with an image. Each ends with a
// newline.
std::string DescriptionOf(const BatchRecipe& recipe, bool device_decodes);

}  // namespace sluice
