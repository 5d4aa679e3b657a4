// How samples become batches: the loader's checked options, and what follows from them and the
// dataset. Made once; then all threads only read it.
#pragma once

#include <vector>

#include <sluice/loader_options.h>

#include "reader/batch/batch_program.h"
#include "reader/batch/followers.h"
#include "reader/batch/slot_layout.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/view_program.h"

namespace sluice {

struct BatchRecipe {
  // The dataset must outlive it. `checked_options`: from CheckedOptions(). Throws
  // Error(kInvalidArgument) for an impossible transform, and for options that do not fit the
  // dataset.
  // Sets options.ring.prefetch if the loader may choose it: to the most that it may choose.
  BatchRecipe(DatasetState& of, LoaderOptions checked_options, const ExtendLayout& extend = {});
  BatchRecipe(const BatchRecipe&) = delete;
  BatchRecipe& operator=(const BatchRecipe&) = delete;

  // Whether a batch's rows have left every core's own cache when they are read.
  bool RowsLeaveCaches() const noexcept;

  DatasetState& dataset;
  LoaderOptions options;
  std::vector<ViewProgram> views;
  FieldChoice choice;
  BatchProgram program;
  SlotLayout layout;
  Followers followers;
  // Whether every batch needs work once its rows are done.
  bool closes_batches;
};

}  // namespace sluice
