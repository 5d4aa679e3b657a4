// A small dataset with every kind of field, and ways to damage or falsify it. damaged_test.cpp runs
// every command on the results.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::test {

// Creates `folder` and writes an undamaged dataset into it: two shards of four samples each. The
// fields are images (JPEGs and raw pixels), masks, boxes, labels, texts, bytes and numbers.
void WriteSpecimen(const std::filesystem::path& folder);

struct Damage {
  std::string name;
  std::function<void(const std::filesystem::path& folder)> apply;  // to a fresh specimen
};

// Kinds of damage to files: truncated, with flipped bits, deleted, swapped, unreadable, or replaced
// by something else.
std::vector<Damage> Accidents(const std::filesystem::path& specimen);

// Forged content whose checksums and digests are all right. In the first shard, each word of its
// structures is set to values that a forger might choose. In the manifest, each member in turn gets
// a value of another type or out of range. Returns only every `stride`th forgery.
std::vector<Damage> Forgeries(const std::filesystem::path& specimen, std::size_t stride);

}  // namespace sluice::test
