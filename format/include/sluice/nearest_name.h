// Messages about names that do not exist: an option, a class, a field, a column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Returns the name in `names` that `given` is most likely a misspelling of; empty if no name is
// near. A name is near if it begins with `given` (at least 3 letters), or if at most a third of its
// letters differ. Two exchanged neighbours count as one difference. Case, hyphens and underscores
// are ignored.
std::string NearestName(std::string_view given, const std::vector<std::string>& names);

// Returns the end of a sentence that says that the name `given` does not exist:
//
//   a name in `names` is near    "; did you mean \"cats\"?"
//   no name is near              "; ", the words `listed`, and the names (at most 30):
//                                "; it has: cats, dogs"
//   `names` is empty             empty
std::string NamesInstead(std::string_view given, const std::vector<std::string>& names,
                         std::string_view listed);

}  // namespace sluice
