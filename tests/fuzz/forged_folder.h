// A forged dataset in a folder, and what is held of whatever uses it.
#pragma once

#include <filesystem>
#include <string_view>

#include "tests/fuzz/forged_dataset.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

struct ForgedFolder {
  std::filesystem::path dataset;
  std::filesystem::path sound;   // another one, without a fault
  std::filesystem::path source;  // two pictures in folders of classes
  std::filesystem::path out;     // nothing is there
  std::uint16_t use;             // a number of the input's own
};

// Runs `use` over the dataset that the input stands for, within bounds. Errors are as it should be.
void OnForged(Bytes input, void (*use)(const ForgedFolder&));

// How often a use has ended without an error.
std::size_t TimesTaken();

template <void (*use)(const ForgedFolder&)>
constexpr Target OverForged(const char* name) {
  return {name, [](Bytes input) { OnForged(input, use); }, ForgedSeeds, 4, MutateForgery};
}

// Holds that a message is one of ours.
void PromiseSentence(std::string_view message);

}  // namespace sluice::fuzz
