#include "reader/batch/batch_recipe.h"

#include <utility>

namespace sluice {

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
}

}  // namespace sluice
