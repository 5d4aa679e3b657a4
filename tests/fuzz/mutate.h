// A small deterministic mutator, for running fuzz targets as ordinary tests.
#pragma once

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Changes `input` in one to four places: bits, bytes and words set to telling values, runs taken
// out, doubled, or brought over from `other`.
void Mutate(Input& input, const Input& other, RandomStream& random);

}  // namespace sluice::fuzz
