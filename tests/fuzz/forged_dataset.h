// Whole datasets of any content whose checksums, digests and ids are all right: what lies behind
// those is what is tested.
//
// The input is a form (what the pictures are stored as), bits for what is made to agree again after
// the changes, a number for whoever uses the dataset, and changes: of a sample before it is stored,
// of a structure in a shard, of the schema's or the manifest's JSON, of the files there are.
#pragma once

#include <filesystem>

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Writes the dataset into `folder`, which is empty. Returns the number that the input has for its
// user.
std::uint16_t ForgeDataset(Bytes input, const std::filesystem::path& folder);

// Writes the form's dataset without a change.
void WriteSoundDataset(std::uint8_t form, const std::filesystem::path& folder);

// Datasets of each form without a change, and one for each kind of change.
std::vector<Input> ForgedSeeds();

// Adds a change, takes one out, or sets a part of one to something else.
void MutateForgery(Input& input, const Input& other, RandomStream& random);

}  // namespace sluice::fuzz
