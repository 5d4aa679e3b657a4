// A dataset as one page of HTML that needs nothing else: pictures and style are in it, and it has
// no script.
#pragma once

#include <string>

#include "tools/preview_samples.h"

namespace sluice {

std::string PreviewPage(const Dataset& dataset, const Preview& preview);

}  // namespace sluice
