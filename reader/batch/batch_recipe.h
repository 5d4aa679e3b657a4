// How samples become batches: the loader's checked options, and what follows from them and the
// dataset. A recipe is made once; after that, all threads only read it.
#pragma once

#include <vector>

#include <sluice/loader_options.h>

#include "reader/batch/batch_program.h"
#include "reader/batch/followers.h"
#include "reader/batch/slot_layout.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/annotations.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

struct BatchRecipe {
  // The dataset must outlive the recipe. `checked_options`: from CheckedOptions(). If the loader
  // may choose options.ring.prefetch, sets it to the largest number that may be chosen. Throws
  // Error(kInvalidArgument) for an impossible transform, and for options that do not fit the
  // dataset.
  BatchRecipe(DatasetState& of, LoaderOptions checked_options, const ExtendLayout& extend = {});
  BatchRecipe(const BatchRecipe&) = delete;
  BatchRecipe& operator=(const BatchRecipe&) = delete;

  // Whether rows have left every core's own cache before they are read again. That is so if three
  // things hold: the batch is larger than such a cache, no sample_function reads a row as soon as
  // it is made, and rows are not moved to be padded.
  bool RowsLeaveCaches() const noexcept;
  // The most bytes that a batch's bytes fields and variable-length fields take. If the manifest
  // lacks the values' sizes, this reads the table of every block.
  std::uint64_t MaxVariableBytes() const;
  // The most bytes of a sample's value of instances once its objects are runs of the row: twice
  // `stored`, the most that a stored value has, and what the objects' columns take. A sample that
  // takes more is a fault.
  std::uint64_t MaxPaintedBytes(const SlotLayout::VariableField& field,
                                std::uint64_t stored) const {
    return InstanceBytes(field, stored, 1, UINT64_MAX);
  }
  // The same of a row: of all its parts, and with BoxRule::most.
  std::uint64_t MaxInstanceBytes(const SlotLayout::VariableField& field,
                                 std::uint64_t stored) const {
    return InstanceBytes(field, stored, layout.parts,
                         options.output.boxes.most.value_or(UINT64_MAX));
  }
  // The bytes that those fields take if each value has the average size in the manifest; 0 if the
  // manifest lacks the values' sizes.
  std::uint64_t UsualVariableBytes() const;

  DatasetState& dataset;
  LoaderOptions options;
  FieldChoice choice;
  std::vector<ViewProgram> views;
  BatchProgram program;
  SlotLayout layout;
  Followers followers;
  // By layout variable: MaxInstanceBytes(); 0 for other fields.
  std::vector<std::uint64_t> max_instances;
  // Whether every batch needs more work after its rows are done: Close(), mixing, the user's
  // batch_function.
  bool closes_batches;

 private:
  // Refuses a step that looks at boxes, named by `step` if there is one, unless batches hold some.
  void RequireBoxes(const std::string& step) const;
  // Refuses what a Mosaic cannot show.
  void CheckMosaic() const;
  // Refuses parts of BoxRule that have nothing to look at.
  void CheckBoxRule() const;
  std::uint64_t InstanceBytes(const SlotLayout::VariableField& field, std::uint64_t stored,
                              std::uint64_t parts, std::uint64_t most_objects) const;
};

}  // namespace sluice
