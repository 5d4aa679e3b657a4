// Small deterministic mutators, for running fuzz targets as ordinary tests.
#pragma once

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Changes `input` in one to four places: flips bits, sets bytes and words to special values, and
// removes runs, doubles them, or copies them from `other`.
void Mutate(Input& input, const Input& other, RandomStream& random);

// A mutator for the picture target that knows the boxes of AVIF, HEIF, JPEG XL and JPEG 2000 files
// (ISO/IEC 14496-12). It changes the file after the two bytes of options: the bytes of a box
// change, or the box grows, shrinks, is doubled, put into itself many times, or removed; then the
// sizes of the boxes around it and the places of later items are corrected. Sometimes, and always
// for files with fewer than two boxes, it calls Mutate() instead.
void MutateBoxes(Input& input, const Input& other, RandomStream& random);

}  // namespace sluice::fuzz
