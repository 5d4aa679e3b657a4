// Tries forms on a sample of the actual pictures. Two thirds of it give the constants; the rest
// shows how far they can be trusted.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/transform.h>

#include "bench/advise/forecast.h"
#include "bench/advise/form.h"
#include "bench/advise/source_facts.h"

namespace sluice::bench {

struct FormTrialOptions {
  std::filesystem::path source;
  std::filesystem::path scratch;  // empty: in TMPDIR
  Pipeline transform;
  std::uint32_t side = 224;     // of the pictures whose quality is measured
  std::uint64_t pictures = 96;  // in the sample, at most
  unsigned threads = 1;         // of the loader
  double seconds = 0.4;         // of epochs for each rate, at least
};

struct Trial {
  Form form;
  FormConstants constants;            // from two thirds of the sample
  double held_bytes_per_image = 0;    // measured on the last third
  double held_images_per_second = 0;  // the same, on all threads
  std::optional<double> decibels;     // PSNR of the picture shrunk to a square of `side`, against
                                      // the source; 99: the same. Empty if sizes cannot show it
  std::string failed;                 // why the above is missing; empty: it is there
};

struct Trials {
  std::vector<Trial> forms;
  std::uint64_t fitted = 0, held_out = 0;  // pictures
};

struct TrialHooks {
  std::function<void(const std::string& activity, std::uint64_t done, std::uint64_t all)> on_step;
  std::stop_token stop;
};

// If the sample cannot be converted to a form, `failed` has the reason. Throws Error; kState if it
// was stopped.
Trials TryForms(const std::vector<Form>& forms, const SourceFacts& facts,
                const FormTrialOptions& options, const TrialHooks& hooks);

}  // namespace sluice::bench
