// Whether a batch's rows have left every core's own cache when they are read.
#pragma once

#include "reader/batch/batch_recipe.h"

namespace sluice {

inline bool ReadLater(const BatchRecipe& recipe) noexcept {
  constexpr std::size_t kCachedBytes = std::size_t{16} << 20;
  return !recipe.options.sample_function && recipe.layout.image_sizes != ImageSizes::kPadded &&
         !recipe.layout.images.empty() &&
         recipe.options.batch_size * recipe.layout.picture().image.sample_bytes() > kCachedBytes;
}

}  // namespace sluice
