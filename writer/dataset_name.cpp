#include "writer/dataset_name.h"

#include <algorithm>
#include <vector>

namespace sluice {

namespace {

// "cat, dog and owl", "cat, dog and 8 more classes"
std::string Listed(const std::vector<std::string>& names, const char* more) {
  constexpr std::size_t kMostNamed = 3;
  const std::size_t named = names.size() <= kMostNamed ? names.size() : kMostNamed - 1;
  std::string text;
  for (std::size_t i = 0; i < named; ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  if (named < names.size()) text += " and " + std::to_string(names.size() - named) + more;
  return text;
}

}  // namespace

std::string DescribedName(const Schema& schema) {
  const std::size_t label = schema.ClassField();
  std::string name = "images";
  if (label != Schema::kNone)
    name += " of " + Listed(schema.fields[label].classes, " more classes");
  std::vector<std::string> others;
  for (std::size_t f = 1; f < schema.fields.size(); ++f) {  // the first is the image
    if (f != label) others.push_back(schema.fields[f].name);
  }
  return others.empty() ? name : name + " with " + Listed(others, " more fields");
}

}  // namespace sluice
