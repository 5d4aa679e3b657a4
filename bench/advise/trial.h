// Tries the forms that a dataset could have on a sample of the actual pictures. Sizes and rates are
// measured on two thirds of the sample (FormConstants); the last third shows how well they predict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>
#include <sluice/transform.h>

#include "bench/advise/source_facts.h"
#include "bench/report/result.h"

namespace sluice::bench {

struct Form {
  std::string name;     // "packed 500 q90": for a table
  std::string options;  // of `sluice convert` or `sluice transcode`, as typed
  // How to make the form from a folder. For a dataset: used only if geometry.max_side is set, to
  // convert its pictures; otherwise the dataset is transcoded to convert.form.image.
  ConvertOptions convert;
  bool as_it_is = false;         // whether this is the dataset itself, unchanged
  std::uint32_t preference = 0;  // rank of the size and quality; 0: the most wanted
};

// The forms to try.
//
// For a folder: the size that leaves a crop of `side` pixels its detail (500 for 224), or no
// resizing if no picture is larger; and a smaller size (a short side of 256 for 224). Each size is
// tried as JPEG and as packed at each of the qualities (most wanted first), and as pixels. The
// sources' own JPEGs are tried as well.
//
// For a dataset: the dataset as it is, every form that it can be transcoded into, and, if its
// pictures are larger than a folder's would be made, its own form at that size.
std::vector<Form> FormsFor(const SourceFacts& facts, std::uint32_t side,
                           const std::vector<int>& qualities);

// The measurements of one form on a sample.
struct FormConstants {
  double bytes_per_image = 0;         // in a dataset: payload, table row, key
  double one_thread_per_second = 0;   // images, through the whole loader, from memory
  double all_threads_per_second = 0;  // the same on FormTrialOptions::threads
  double converted_per_second = 0;    // images, on all threads; 0: there is nothing to convert
  std::uint32_t preference = 0;       // rank of the size and quality; 0: the most wanted
};

struct FormTrialOptions {
  std::filesystem::path source;
  std::filesystem::path scratch;  // empty: in TMPDIR
  Pipeline transform;
  std::uint32_t side = 224;     // side of the pictures whose quality is measured
  std::uint64_t pictures = 96;  // in the sample, at most
  unsigned threads = 1;         // threads of the loader
  double seconds = 0.4;         // how long the epochs that measure one rate take together, at least
};

struct Trial {
  Form form;
  FormConstants constants;            // from two thirds of the sample
  double held_bytes_per_image = 0;    // measured on the last third
  double held_images_per_second = 0;  // also on the last third, on all threads
  // Mean PSNR of pictures shrunk to a square of `side`, against their sources; 99: identical. Empty
  // if the sample has no 8-bit picture to compare with.
  std::optional<double> decibels;
  std::string failed;  // why the form could not be tried; empty if it could
};

struct Trials {
  std::vector<Trial> forms;
  std::uint64_t fitted = 0, held_out = 0;  // pictures
};

// Tries each form. If the sample cannot be converted to a form, its `failed` says why. Throws
// Error; kState if a stop was requested.
Trials TryForms(const std::vector<Form>& forms, const SourceFacts& facts,
                const FormTrialOptions& options, const StepHooks& hooks);

}  // namespace sluice::bench
