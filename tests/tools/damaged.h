// A small dataset of every kind of field, and ways in which one is damaged or lies: for the test
// that holds every command against all of them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

// Writes the whole dataset into `folder`, which is made: two shards of four samples, JPEGs and raw
// pixels, masks, boxes, two labels, texts.
void WriteSpecimen(const std::filesystem::path& folder);

struct Damage {
  std::string name;
  std::function<void(const std::filesystem::path& folder)> apply;  // to a fresh specimen
};

// Kinds of damage to files: cut short, bits flipped, deleted, swapped, replaced by something else.
std::vector<Damage> Accidents(const std::filesystem::path& specimen);

// Shards that lie: each of the words that say something, set to values of a forger's choice, all
// checksums right. Manifests that lie: each member in turn of another type or out of range, the
// digest right. Only every `stride`th of them.
std::vector<Damage> Forgeries(const std::filesystem::path& specimen, std::size_t stride);

}  // namespace sluice::test
