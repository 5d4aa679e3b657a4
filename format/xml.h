// XML as servers and label files write it: elements and their text. Attributes are ignored.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sluice {

struct XmlRules {
  unsigned max_depth = 16;
  // Whether the text may have a document type, which then must not declare anything.
  bool document_type = false;
};

// Calls `each` at the end of every element, with its path from the root ("Error/Code") and the text
// directly inside it. The text is UTF-8, whatever encoding it names. False if it is not well formed
// or breaks the rules; `each` may have been called for elements before the fault. `fault`, if not
// null, then receives what is wrong and where: "mismatched tag, at line 3, byte 12".
bool ReadXml(std::string_view xml,
             const std::function<void(std::string_view path, std::string&& text)>& each,
             const XmlRules& rules = {}, std::string* fault = nullptr);

// `text` with <, >, & and " escaped. Apostrophes stay, so do not put the result
// between single quotes.
std::string XmlEscaped(std::string_view text);

}  // namespace sluice
