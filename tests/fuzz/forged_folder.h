// A forged dataset in a folder, and the checks on every use of it.
#pragma once

#include <filesystem>
#include <string_view>

#include "tests/fuzz/forged_dataset.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

struct ForgedFolder {
  std::filesystem::path dataset;
  std::filesystem::path sound;   // another dataset, without faults
  std::filesystem::path source;  // two pictures in folders of classes
  std::filesystem::path out;     // does not exist
  std::uint16_t use;             // the input's number for the user
};

// Runs `use` on the input's dataset, within bounds. `use` may throw Error.
void OnForged(Bytes input, void (*use)(const ForgedFolder&));

// The number of uses that ended without an error.
std::size_t TimesTaken();

template <void (*use)(const ForgedFolder&)>
constexpr Target OverForged(const char* name) {
  return {name, [](Bytes input) { OnForged(input, use); }, ForgedSeeds, 4, MutateForgery};
}

// Checks that a message is one of ours.
void PromiseSentence(std::string_view message);

}  // namespace sluice::fuzz
