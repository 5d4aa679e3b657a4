// Recipes of training that `sluice-bench compare` plays: lists of steps, for one view of a picture
// or several. bench/peers/contend has the same recipes by other programs' means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/loader.h>

namespace sluice::bench {

struct Recipe {
  const char* name;
  const char* from;                // who trains so
  std::vector<const char*> views;  // the steps of each, as text; SIZE is the side of the crops
  std::uint32_t size = 224;        // the usual side
  // Makes the steps of the only view, if they have no form as text that can be parsed.
  Pipeline (*steps)(std::uint32_t side) = nullptr;

  // Sets the transform and the views of `options`.
  void Set(LoaderOptions& options, std::uint32_t side) const;
  // "2 views: ...", for people and for results.
  std::string Text(std::uint32_t side) const;
};

const std::vector<Recipe>& AllRecipes();
std::vector<std::string> RecipeNames();
// Throws cli::UsageError for an unknown name.
const Recipe& RecipeOf(const std::string& name);

}  // namespace sluice::bench
