// A pipeline as text: the steps that make an image into a row, the row's size and layout, and the
// names of the classes, so that a server can name what a model chooses. Of the dataset, the text
// says no more. Loader::PipelineText() writes it, Preprocess reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/batch.h>
#include <sluice/transform.h>

#include "reader/batch/batch_recipe.h"

namespace sluice {

struct ServedPipeline {
  Pipeline steps;  // those that move or change pixels, and Normalize
  std::uint32_t width = 0, height = 0, channels = 3;  // of the row
  Layout layout = Layout::kNHWC;
  std::vector<std::string> classes = {};  // their names, by number; empty: unknown

  // The pipeline of a loader's picture (its first image field, the first view) in that epoch.
  // Throws Error(kInvalidArgument) if the row depends on something that the text cannot hold.
  static ServedPipeline Of(const BatchRecipe& recipe, std::uint64_t epoch);
  // Reads the JSON of Text(), or steps as ParsePipeline() reads them. Throws
  // Error(kInvalidArgument).
  static ServedPipeline Parse(std::string_view text);

  std::string Text() const;
  // Throws Error(kInvalidArgument), which names the step, if a step is random.
  void RequireFixed() const;
};

}  // namespace sluice
