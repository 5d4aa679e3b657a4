// A reader of XML for untrusted texts.
//
// It reads elements, text, CDATA sections, comments, processing instructions, the five predefined
// entities and numeric character references. A document type could define other entities ("billion
// laughs"), so it is refused or skipped. Nothing recurses, depth and names are bounded, and an
// element's text is no longer than the document, so memory and time are in proportion to the text.
#include "format/xml.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "format/ascii.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxXmlName = 100;

bool IsXmlSpace(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void AppendUtf8(std::uint32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr std::uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLead[more] | (code >> (6 * more)));
  for (int i = more - 1; i >= 0; --i)
    text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F));
}

// The character that "#xE9" or "#233" stands for; empty if it is not a character.
std::string NumberedCharacter(std::string_view digits) {
  digits.remove_prefix(1);
  const bool hexadecimal = digits.starts_with('x');
  if (hexadecimal) digits.remove_prefix(1);
  const auto parsed = ParseNumber<std::uint32_t>(digits, hexadecimal ? 16 : 10);
  const std::uint32_t code = parsed.value_or(0);
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  std::string text;
  AppendUtf8(code, text);
  return text;
}

// Removes the entity that `text` begins with ("&amp;", "&#233;", "&#xE9;"), and returns what it
// stands for, in UTF-8. If the entity is neither predefined nor the number of a character, returns
// an empty string and leaves `text` as it was.
std::string TakeEntity(std::string_view& text) {
  constexpr std::pair<std::string_view, char> kPredefined[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  constexpr std::size_t kLongest = 12;
  const std::size_t end = text.substr(0, kLongest).find(';');
  if (end == std::string_view::npos || end < 2) return {};
  const std::string_view name = text.substr(1, end - 1);
  std::string meant = name[0] == '#' ? NumberedCharacter(name) : "";
  for (const auto& [entity, c] : kPredefined) {
    if (name == entity) meant = c;
  }
  if (!meant.empty()) text.remove_prefix(end + 1);
  return meant;
}

class XmlReader {
 public:
  using Each = std::function<void(std::string_view, std::string&&)>;
  XmlReader(std::string_view xml, const Each& each, const XmlRules& rules)
      : xml_(xml), each_(each), rules_(rules) {}

  bool Run() {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (xml_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    while (at_ < xml_.size()) {
      const std::size_t tag = std::min(xml_.find('<', at_), xml_.size());
      if (!Text(xml_.substr(at_, tag - at_))) return false;
      at_ = tag;
      if (at_ < xml_.size() && !Markup()) return false;
    }
    if (!open_.empty()) return Fail("the text ends inside <" + std::string(OpenName()) + ">");
    return seen_root_ || Fail("there is no element");
  }
  const std::string& fault() const noexcept { return fault_; }

 private:
  bool Fail(const std::string& what) {
    fault_ = what + ", at byte " + std::to_string(at_);
    return false;
  }

  bool Text(std::string_view raw) {
    if (open_.empty()) {
      return std::all_of(raw.begin(), raw.end(), IsXmlSpace) ||
             Fail(seen_root_ ? "content after the root element" : "text before the root element");
    }
    std::string& text = open_.back().text;
    while (!raw.empty()) {
      const std::size_t ampersand = std::min(raw.find('&'), raw.size());
      text += raw.substr(0, ampersand);
      raw.remove_prefix(ampersand);
      if (raw.empty()) break;
      const std::string meant = TakeEntity(raw);
      text += meant;
      if (!meant.empty()) continue;
      if (!rules_.lenient) return Fail("an unknown entity");
      text += '&';
      raw.remove_prefix(1);
    }
    return true;
  }

  // Skips `opening` and everything up to and including `closing`; `inside` becomes the text between
  // the two.
  bool Skip(std::string_view opening, std::string_view closing, std::string_view& inside) {
    const std::size_t begin = at_ + opening.size();
    const std::size_t end = xml_.find(closing, begin);
    if (end == std::string_view::npos) return Fail("an unterminated " + std::string(opening));
    inside = xml_.substr(begin, end - begin);
    at_ = end + closing.size();
    return true;
  }

  bool Markup() {
    const std::string_view rest = xml_.substr(at_);
    std::string_view inside;
    if (rest.starts_with("<?")) return Skip("<?", "?>", inside);
    if (rest.starts_with("<!--")) return Skip("<!--", "-->", inside);
    if (rest.starts_with("<![CDATA[")) {
      if (open_.empty()) return Fail("a CDATA section outside of an element");
      if (!Skip("<![CDATA[", "]]>", inside)) return false;
      open_.back().text += inside;
      return true;
    }
    if (rest.starts_with("<!"))
      return rules_.lenient ? Skip("<!", ">", inside) : Fail("a document type");
    if (rest.starts_with("</")) {
      const std::size_t tag = at_;
      return Skip("</", ">", inside) && Close(inside, tag);
    }
    return Open();
  }

  bool Open() {
    // The tag ends at the first > outside of an attribute's quotes.
    char quote = 0;
    std::size_t end = at_ + 1;
    for (; end < xml_.size(); ++end) {
      const char c = xml_[end];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>' || c == '<') {
        break;
      }
    }
    if (end >= xml_.size() || xml_[end] != '>') return Fail("an unterminated tag");
    std::string_view tag = xml_.substr(at_ + 1, end - at_ - 1);
    const bool empty = tag.ends_with('/');
    if (empty) tag.remove_suffix(1);
    const auto space = std::find_if(tag.begin(), tag.end(), IsXmlSpace);
    const std::string_view name = tag.substr(0, static_cast<std::size_t>(space - tag.begin()));
    if (name.empty() || name.size() > kMaxXmlName ||
        name.find_first_of("/=\"'&") != std::string_view::npos) {
      return Fail("a tag without a valid name");
    }
    if (open_.size() >= rules_.max_depth) return Fail("elements nested too deeply");
    if (open_.empty() && seen_root_) return Fail("content after the root element");
    const std::size_t begin = std::exchange(at_, end + 1);
    seen_root_ = true;
    open_.push_back({path_.size(), {}});
    if (!path_.empty()) path_ += '/';
    path_ += name;
    return !empty || Close(name, begin);
  }

  std::string_view OpenName() const {
    const std::size_t parent = open_.back().parent_path;
    return std::string_view(path_).substr(parent == 0 ? 0 : parent + 1);
  }

  // `tag`: where the closing tag begins, for messages.
  bool Close(std::string_view name, std::size_t tag) {
    while (!name.empty() && IsXmlSpace(name.back()))
      name.remove_suffix(1);
    if (open_.empty() || OpenName() != name) {
      at_ = tag;
      return Fail(open_.empty() ? "an end tag without its element"
                                : "the end tag does not match <" + std::string(OpenName()) + ">");
    }
    const std::size_t parent = open_.back().parent_path;
    each_(path_, std::move(open_.back().text));
    path_.resize(parent);
    open_.pop_back();
    return true;
  }

  struct Element {
    std::size_t parent_path;  // bytes of path_ that are the parent's
    std::string text;
  };
  const std::string_view xml_;
  const Each& each_;
  const XmlRules rules_;
  std::size_t at_ = 0;
  std::string path_;
  std::vector<Element> open_;
  bool seen_root_ = false;
  std::string fault_;
};

}  // namespace

bool ReadXml(std::string_view xml,
             const std::function<void(std::string_view path, std::string&& text)>& each,
             const XmlRules& rules, std::string* fault) {
  XmlReader reader(xml, each, rules);
  const bool read = reader.Run();
  if (fault != nullptr) *fault = reader.fault();
  return read;
}

std::string XmlEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '&': escaped += "&amp;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

}  // namespace sluice
