// What XML writes characters as that it needs for itself, or that a file's encoding lacks.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

// Takes the entity off that `text` begins with ("&amp;", "&#233;", "&#xE9;") and returns what it
// stands for, in UTF-8. Empty, with `text` as it was, if it begins with none that every document
// has.
std::string TakeXmlEntity(std::string_view& text);

}  // namespace sluice
