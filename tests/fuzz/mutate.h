// A small deterministic mutator, for running fuzz targets as ordinary tests.
#pragma once

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Changes `input` in one to four places: flips bits, sets bytes and words to special values, and
// removes runs, doubles them, or copies them from `other`.
void Mutate(Input& input, const Input& other, RandomStream& random);

}  // namespace sluice::fuzz
