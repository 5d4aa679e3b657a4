// A small dataset with every kind of field, and ways to damage or falsify it: for the test that
// runs every command on all of them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

// Writes the whole dataset into `folder` and creates it: two shards of four samples, JPEGs and raw
// pixels, masks, boxes, two labels, texts.
void WriteSpecimen(const std::filesystem::path& folder);

struct Damage {
  std::string name;
  std::function<void(const std::filesystem::path& folder)> apply;  // to a fresh specimen
};

// Kinds of damage to files: truncated, with flipped bits, deleted, swapped, or replaced by
// something else.
std::vector<Damage> Accidents(const std::filesystem::path& specimen);

// Shards with false content: each meaningful word set to values of a forger's choice, with all
// checksums right. Manifests with false content: each member in turn of another type or out of
// range, with the digest right. Only every `stride`th of them.
std::vector<Damage> Forgeries(const std::filesystem::path& specimen, std::size_t stride);

}  // namespace sluice::test
