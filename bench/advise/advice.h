// The findings and the advice of `sluice-bench advise`: as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/advise/forecast.h"
#include "bench/advise/source_facts.h"
#include "bench/advise/trial.h"
#include "bench/io/disk_rate.h"

namespace sluice::bench {

struct Advice {
  std::string source;
  SourceFacts facts;
  Resources resources;
  DiskRate disk;                        // in large pieces
  std::optional<DiskRate> small_files;  // the source's own files, if they are small
  std::vector<std::string> gpus;        // their names
  Need need;
  std::string transform;
  Trials trials;
  std::vector<Forecast> forecasts;  // of trials.forms
  std::size_t chosen = 0;           // index of the chosen form
  std::vector<std::string> warnings;
};

// Adds forecasts and a choice to the measurements. Forms that failed cannot be chosen. Throws
// Error(kUnsupported) if all failed.
void Decide(Advice& advice);

// How far the chosen form's constants were from the rates measured on the held-out part, as shares.
struct HeldOutError {
  double bytes = 0, images_per_second = 0;
};
HeldOutError ErrorOf(const Trial& trial);

// The sentences of advice for the chosen form: what to do, and what it gives.
std::vector<std::string> SentencesOf(const Advice& advice);

std::string TextOf(const Advice& advice);
nlohmann::ordered_json JsonOf(const Advice& advice);

}  // namespace sluice::bench
