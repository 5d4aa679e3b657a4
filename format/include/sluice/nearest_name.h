// Messages about names that do not exist: an option, a class, a field, a column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// The one of `names` that `given` was probably meant to be. Case, hyphens and underscores do not
// count. A name is near if it begins with `given`, or if at most a third of the letters differ (two
// that are exchanged count as one). Empty if no name is near.
std::string NearestName(std::string_view given, const std::vector<std::string>& names);

// The end of a sentence about a name that does not exist: "; did you mean \"cats\"?" or, if none of
// `names` is near, "; " with `listed` and the first of them: "; it has: cats, dogs".
std::string NamesInstead(std::string_view given, const std::vector<std::string>& names,
                         std::string_view listed);

}  // namespace sluice
