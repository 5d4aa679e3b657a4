// Steps have the defaults of the papers' own programs, where those are public. A batch holds bytes,
// except that of `imagenet`, whose last step makes numbers.
#include "bench/compare/recipe.h"

#include <sluice/nearest_name.h>
#include <sluice/parse_pipeline.h>

#include "tools/cli/program.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

constexpr const char* kSimclr =
    "rrc:SIZE/0.08/1,flip,jitter:0.8/0.8/0.8/0.2@0.8,gray:0.2,blur:23/0.1/2@0.5";
constexpr const char* kDinoLocal =
    "rrc:96/0.05/0.4,flip,jitter:0.4/0.4/0.2/0.1@0.8,gray:0.2,blur:9/0.1/2@0.5";

std::string StepsFor(std::string text, std::uint32_t side) {
  for (std::size_t at; (at = text.find("SIZE")) != std::string::npos;)
    text.replace(at, 4, std::to_string(side));
  return text;
}

// A text has no colours.
Pipeline MosaicSteps(std::uint32_t side) {
  return {Mosaic(side),
          RandomAffine()
              .translate(0.1, 0.1)
              .scale(0.5, 1.5)
              .with_size(side, side)
              .with_fill({114, 114, 114}),
          HorizontalFlip(), RandomHSV()};
}

}  // namespace

void Recipe::Set(LoaderOptions& options, std::uint32_t side) const {
  options.transform = steps ? steps(side) : ParsePipeline(StepsFor(views.front(), side));
  options.views.clear();
  for (std::size_t i = 1; i < views.size(); ++i)
    options.views.push_back(
        {"view" + std::to_string(i + 1), ParsePipeline(StepsFor(views[i], side)), {}});
}

std::string Recipe::Text(std::uint32_t side) const {
  std::string text;
  for (std::size_t i = 0; i < views.size();) {
    std::size_t count = 1;
    while (i + count < views.size() && std::string(views[i]) == views[i + count])
      ++count;
    text += (text.empty() ? "" : "; ") +
            (views.size() == 1 ? "" : cli::CountText(count, "view", "views") + " of ") +
            StepsFor(views[i], side);
    i += count;
  }
  return text;
}

const std::vector<Recipe>& AllRecipes() {
  static const std::vector<Recipe> recipes = {
      {"imagenet", "torchvision's reference", {"rrc:SIZE,flip,normalize"}},
      {"simclr", "SimCLR, MoCo v3, BYOL", {kSimclr, kSimclr}},
      {"dino",
       "DINO: two global views and eight local ones",
       {"rrc:SIZE/0.4/1,flip,jitter:0.4/0.4/0.2/0.1@0.8,gray:0.2,blur:9/0.1/2",
        "rrc:SIZE/0.4/1,flip,jitter:0.4/0.4/0.2/0.1@0.8,gray:0.2,blur:9/0.1/2@0.1,solarize@0.2",
        kDinoLocal, kDinoLocal, kDinoLocal, kDinoLocal, kDinoLocal, kDinoLocal, kDinoLocal,
        kDinoLocal}},
      {"randaug", "RandAugment", {"rrc:SIZE,flip,randaug:2/9"}},
      {"detection",
       "Ultralytics, but without mosaic, letterbox and boxes",
       {"resize:SIZE,affine:0/0.1/0.5/1.5,flip,hsv"},
       640},
      {"mosaic",
       "Ultralytics' defaults",
       {"Mosaic(SIZE), RandomAffine(translate 0.1, scale 0.5 to 1.5, size SIZE, fill 114), "
        "HorizontalFlip, RandomHSV"},
       640,
       MosaicSteps}};
  return recipes;
}

std::vector<std::string> RecipeNames() {
  std::vector<std::string> names;
  for (const Recipe& recipe : AllRecipes())
    names.emplace_back(recipe.name);
  return names;
}

const Recipe& RecipeOf(const std::string& name) {
  for (const Recipe& recipe : AllRecipes())
    if (recipe.name == name) return recipe;
  throw cli::UsageError("--recipe: unknown recipe \"" + name + "\"" +
                        NamesInstead(name, RecipeNames(), "the recipes are"));
}

}  // namespace sluice::bench
