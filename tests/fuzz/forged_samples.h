// The samples of forged datasets: small, of every kind of field, pictures in six forms.
#pragma once

#include <vector>

#include "format/disk/block.h"
#include "tests/fuzz/forged_change.h"

namespace sluice::fuzz {

// The form of pictures. 0: JPEG, with no other field than the label. The others have all fields: 1
// JPEG, 2 packed, 3 raw, 4 raw of 16 bits, 5 zstd.
inline constexpr std::uint8_t kForms = 6;

Schema SchemaOf(std::uint8_t form);
std::vector<EncodedSample> SamplesOf(std::uint8_t form);

// Makes a change of kElements to kKey. `other`: a sample to take from.
void ChangeSample(EncodedSample& sample, const EncodedSample& other, const Change& change);

}  // namespace sluice::fuzz
