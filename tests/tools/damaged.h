// A small dataset with every kind of field, and ways to damage or falsify it: for the test that
// runs every command on all of them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

// Creates `folder` and writes a whole dataset into it: two shards of four samples with JPEGs and
// raw pixels, masks, boxes, two labels, texts.
void WriteSpecimen(const std::filesystem::path& folder);

struct Damage {
  std::string name;
  std::function<void(const std::filesystem::path& folder)> apply;  // to a fresh specimen
};

// Kinds of damage to files: truncated, with flipped bits, deleted, swapped, or replaced by
// something else.
std::vector<Damage> Accidents(const std::filesystem::path& specimen);

// Forged content with all checksums and digests right. Shards: each meaningful word, set to values
// that a forger might choose. Manifests: each member in turn, with another type or out of range.
// Returns only every `stride`th forgery.
std::vector<Damage> Forgeries(const std::filesystem::path& specimen, std::size_t stride);

}  // namespace sluice::test
