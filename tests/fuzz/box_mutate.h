// Mutations that know the boxes of AVIF, HEIF, JPEG XL and JPEG 2000 files (ISO/IEC 14496-12).
#pragma once

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// For the picture target: changes the file behind the two bytes of options. A box gets other
// numbers, grows, shrinks, is doubled, put into itself many times, or taken away; the sizes of the
// boxes around it and the places of items that follow are right again. Changes other bytes, and
// files without boxes, as Mutate() does.
void MutateBoxes(Input& input, const Input& other, RandomStream& random);

}  // namespace sluice::fuzz
