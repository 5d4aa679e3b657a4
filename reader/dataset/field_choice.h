// Which fields of the schema reach the batches.
#pragma once

#include <vector>

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_facts.h"

namespace sluice {

struct FieldChoice {
  std::vector<bool> chosen;           // by field of the schema
  std::size_t image = Schema::kNone;  // the one that LoaderOptions::output.image names
  std::vector<std::size_t> leaders;   // by field: the image it follows, or the field itself

  // Whether every payload of the dataset is wanted.
  bool all_payloads = true;

  // The choice without the decoded image, for rows whose picture is already decoded.
  FieldChoice WithoutImage() const;

  // Throws Error(kInvalidArgument) for names that the dataset lacks, and for a mask without the
  // image that it follows.
  static FieldChoice Of(const DatasetFacts& dataset, const LoaderOptions& options);
};

}  // namespace sluice
