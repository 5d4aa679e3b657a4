#include "reader/batch/batch_recipe.h"

#include <algorithm>
#include <utility>

#include "reader/dataset/ring_slots.h"
#include "reader/dataset/storage_choice.h"

namespace sluice {

namespace {

// The longest ring pays only where some samples take far longer than others. There is none if a
// batch takes memory besides its slot: for fields of any length, and for blocks that it reads from.
std::size_t MaxPrefetch(const BatchRecipe& recipe) {
  constexpr std::size_t kMaxBytes = std::size_t{128} << 20;
  const bool holds_more = !recipe.layout.variables.empty() ||
                          recipe.dataset.table.remote != nullptr || ReadsDirectly(recipe.options);
  const std::size_t most = holds_more ? kLongPrefetch : kLongestPrefetch;
  return std::clamp(kMaxBytes / recipe.layout.bytes, kLongPrefetch, most);
}

}  // namespace

BatchRecipe::BatchRecipe(DatasetState& of, LoaderOptions checked_options,
                         const ExtendLayout& extend)
    : dataset(of),
      options(std::move(checked_options)),
      views(ViewsOf(options)),
      choice(FieldChoice::Of(dataset, options)),
      program(dataset, options, choice),
      layout(MakeSlotLayout(dataset, options, choice, views, program.target(), extend)),
      followers(Followers::Of(dataset, choice, layout, views[0], program.mixes())),
      closes_batches(!layout.variables.empty() || program.mixes() ||
                     layout.image_sizes != ImageSizes::kEqual ||
                     options.batch_function != nullptr) {
  program.Bind(layout);
  if (!options.ring.prefetch) options.ring.prefetch = MaxPrefetch(*this);
}

bool BatchRecipe::RowsLeaveCaches() const noexcept {
  constexpr std::size_t kCachedBytes = std::size_t{16} << 20;
  return !options.sample_function && layout.image_sizes != ImageSizes::kPadded &&
         !layout.images.empty() &&
         options.batch_size * layout.picture().image.sample_bytes() > kCachedBytes;
}

}  // namespace sluice
