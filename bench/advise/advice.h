// What `sluice-bench advise` found out and what it says: as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/advise/forecast.h"
#include "bench/advise/source_facts.h"
#include "bench/advise/trial.h"
#include "bench/storage/disk_rate.h"

namespace sluice::bench {

struct Advice {
  std::string source;
  SourceFacts facts;
  Resources resources;
  DiskRate disk;                        // in large pieces
  std::optional<DiskRate> small_files;  // the source's own files, where they are small
  std::vector<std::string> gpus;        // their names
  Need need;
  std::string transform;
  Trials trials;
  std::vector<Forecast> forecasts;  // of trials.forms
  std::size_t chosen = 0;           // of them
  std::vector<std::string> warnings;
};

// Puts forecasts and choice behind what was measured; forms that failed are left out of the choice.
// Throws Error(kUnsupported) where all failed.
void Decide(Advice& advice);

// How far the chosen form's constants were from what the held-out part measured, as shares.
struct HeldOutError {
  double bytes = 0, images_per_second = 0;
};
HeldOutError ErrorOf(const Trial& trial);

// The sentences of advice for the chosen form: what to do, and what it gives.
std::vector<std::string> SentencesOf(const Advice& advice);

std::string TextOf(const Advice& advice);
nlohmann::ordered_json JsonOf(const Advice& advice);

}  // namespace sluice::bench
