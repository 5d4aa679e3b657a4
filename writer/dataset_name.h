// A dataset's name, unless the user gives one.
#pragma once

#include <string>

#include <sluice/schema.h>

namespace sluice {

// "images of cat, dog and 8 more classes with bbox and caption". It says what samples hold and not
// how many: it stays true of a subset and of what is appended to, and it is the same wherever
// sources and dataset lie.
std::string DescribedName(const Schema& schema);

}  // namespace sluice
