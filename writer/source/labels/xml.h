// The little of XML that label files use: elements and their text. Attributes are passed over;
// entities are those that every document has. What is not in UTF-8 is converted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct XmlElement {
  std::string name;
  std::string text;  // its own, without what stands in elements inside, trimmed
  std::vector<XmlElement> inside;

  // The first element of that name inside; nullptr if there is none.
  const XmlElement* Find(std::string_view wanted) const noexcept;
};

// The document's outermost element. Throws Error(kCorrupt), with the byte, if it is not well formed
// or nests too deeply.
XmlElement ParseXml(std::string_view document);

}  // namespace sluice
