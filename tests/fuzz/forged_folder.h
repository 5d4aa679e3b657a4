// Writes forged datasets into a folder, uses them, and checks the promises that hold for every use.
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
  std::uint16_t use;             // a number in the input, which chooses options
};

// Runs `use` on the input's dataset, within bounds. `use` may throw Error.
void OnForged(Bytes input, void (*use)(const ForgedFolder&));

// How many calls of OnForged() ended without an Error.
std::size_t TimesTaken();

template <void (*use)(const ForgedFolder&)>
constexpr Target OverForged(const char* name) {
  return {name, [](Bytes input) { OnForged(input, use); }, ForgedSeeds, 4, MutateForgery};
}

// Promises that a message does not come from the standard library or the JSON library.
void PromiseSentence(std::string_view message);

}  // namespace sluice::fuzz
