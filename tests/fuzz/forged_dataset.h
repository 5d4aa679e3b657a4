// Whole datasets of any content whose checksums, digests and ids are all right, to test the checks
// after those.
//
// The input has a form (how pictures are stored), bits that say which parts are made to agree again
// after the changes, a number for the user of the dataset, and changes: of a sample before it is
// stored, of a structure in a shard, of the schema's or the manifest's JSON, of files.
#pragma once

#include <filesystem>

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Writes the dataset into `folder`, which must be empty. Returns the input's number for the user.
std::uint16_t ForgeDataset(Bytes input, const std::filesystem::path& folder);

// Writes the form's dataset without changes.
void WriteSoundDataset(std::uint8_t form, const std::filesystem::path& folder);

// Inputs: each form without changes, and one for each kind of change.
std::vector<Input> ForgedSeeds();

// Adds a change, removes one, or changes a part of one.
void MutateForgery(Input& input, const Input& other, RandomStream& random);

}  // namespace sluice::fuzz
