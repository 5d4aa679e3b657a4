// The XML of object storage's answers: elements and their text. Attributes are passed over.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sluice {

// Calls `each` at the end of every element, with its path from the root ("Error/Code") and the text
// directly inside it. False if the text is not well formed, nests deeper than 16, or has a document
// type (which could define entities); `each` may have been called by then.
bool ReadXml(std::string_view xml,
             const std::function<void(std::string_view path, std::string&& text)>& each);

// `text` with what XML needs escaped.
std::string XmlEscaped(std::string_view text);

}  // namespace sluice
