#include "reader/batch/batch_recipe.h"

#include <algorithm>
#include <utility>

#include "reader/dataset/ring_slots.h"

namespace sluice {

namespace {

// More than a long ring only pays where some samples take far longer than others.
std::size_t MostPrefetch(std::size_t slot_bytes) {
  constexpr std::size_t kMostBytes = std::size_t{128} << 20;
  return std::clamp(kMostBytes / slot_bytes, kLongPrefetch, kLongestPrefetch);
}

}  // namespace

BatchRecipe::BatchRecipe(DatasetState& of, LoaderOptions checked_options)
    : dataset(of),
      options(std::move(checked_options)),
      views(ViewsOf(options)),
      choice(FieldChoice::Of(dataset, options)),
      program(dataset, options, choice),
      layout(MakeSlotLayout(dataset, options, choice, views, program.target())),
      followers(Followers::Of(dataset, choice, layout, views[0], program.mixes())),
      closes_batches(!layout.variables.empty() || program.mixes() ||
                     layout.image_sizes != ImageSizes::kEqual ||
                     options.batch_function != nullptr) {
  program.Bind(layout);
  if (!options.ring.prefetch) options.ring.prefetch = MostPrefetch(layout.bytes);
}

}  // namespace sluice
