// How samples become batches: the loader's checked options, and what follows from them and the
// dataset. A recipe is made once; after that, all threads only read it.
#pragma once

#include <vector>

#include <sluice/loader_options.h>

#include "reader/batch/batch_program.h"
#include "reader/batch/slot_layout.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/annotations.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

// The fields of a batch that follow an image: boxes and key points, which are moved as the image
// is, and fields with an entry for each box. Worked out once from the schema.
struct Followers {
  // A field of numbers: one of the layout's arrays, or of its variables.
  struct Numbers {
    bool variable = false;
    std::size_t index = 0;   // in SlotLayout::variables or, if not `variable`, in arrays
    std::size_t leader = 0;  // the image's field
    bool doubles = false;    // float64, else float32
    Coordinates coordinates;
  };
  struct Boxes : Numbers {
    std::vector<std::size_t> companions;  // indices of layout variables with an entry for each box
  };
  struct Points : Numbers {
    PointShape shape;
  };
  std::vector<Boxes> boxes;
  std::vector<Points> points;

  bool empty() const noexcept { return boxes.empty() && points.empty(); }

  // Throws Error(kInvalidArgument) for fields that cannot be moved: integers, or coordinates
  // unknown to this build; for several key points of an object without flip_pairs, if a step
  // mirrors. Also for boxes, key points and masks if a step moves the pixels of their
  // image without them, or if samples of a batch are mixed. The result is empty if the geometric
  // steps of `view` do nothing.
  static Followers Of(const DatasetFacts& dataset, const LoaderOptions& options,
                      const FieldChoice& choice, const SlotLayout& layout, const ViewProgram& view,
                      bool mixes);
};

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
  // Whether every batch needs more work after its rows are done: Close(), mixing, the user's
  // batch_function.
  bool closes_batches;

 private:
  // Refuses a step that looks at boxes, named by `step` if there is one, unless batches hold some.
  void RequireBoxes(const std::string& step) const;
};

}  // namespace sluice
