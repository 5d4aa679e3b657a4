#include "format/remote/xml.h"

#include <algorithm>
#include <vector>

#include "format/disk/xml_entity.h"

namespace sluice {

namespace {

constexpr std::size_t kDeepest = 16;
constexpr std::size_t kLongestName = 100;

bool IsSpace(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool AppendText(std::string_view raw, std::string& text) {
  while (!raw.empty()) {
    const std::size_t ampersand = std::min(raw.find('&'), raw.size());
    text += raw.substr(0, ampersand);
    raw.remove_prefix(ampersand);
    if (raw.empty()) return true;
    const std::string meant = TakeXmlEntity(raw);
    if (meant.empty()) return false;
    text += meant;
  }
  return true;
}

class XmlReader {
 public:
  XmlReader(std::string_view xml, const std::function<void(std::string_view, std::string&&)>& each)
      : rest_(xml), each_(each) {}

  bool Run() {
    while (!rest_.empty()) {
      const std::size_t tag = rest_.find('<');
      if (!Text(rest_.substr(0, tag))) return false;
      if (tag == std::string_view::npos) break;
      rest_.remove_prefix(tag);
      if (!Markup()) return false;
    }
    return open_.empty() && seen_root_;
  }

 private:
  bool Text(std::string_view raw) {
    if (!open_.empty()) return AppendText(raw, open_.back().text);
    for (const char c : raw) {
      if (!IsSpace(c)) return false;
    }
    return true;
  }

  // Passes `opening` and all up to and with `closing`; `inside` is what was between.
  bool Pass(std::string_view opening, std::string_view closing, std::string_view& inside) {
    const std::size_t end = rest_.find(closing, opening.size());
    if (end == std::string_view::npos) return false;
    inside = rest_.substr(opening.size(), end - opening.size());
    rest_.remove_prefix(end + closing.size());
    return true;
  }

  bool Markup() {
    std::string_view inside;
    if (rest_.starts_with("<?")) return Pass("<?", "?>", inside);
    if (rest_.starts_with("<!--")) return Pass("<!--", "-->", inside);
    if (rest_.starts_with("<![CDATA[")) {
      if (open_.empty() || !Pass("<![CDATA[", "]]>", inside)) return false;
      open_.back().text += inside;
      return true;
    }
    if (rest_.starts_with("<!")) return false;
    if (rest_.starts_with("</")) return Pass("</", ">", inside) && Close(inside);
    return Open();
  }

  bool Open() {
    // The end of the tag: the first > outside of an attribute's quotes.
    char quote = 0;
    std::size_t end = 1;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>' || c == '<') {
        break;
      }
    }
    if (end >= rest_.size() || rest_[end] != '>') return false;
    std::string_view tag = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    const bool empty = tag.ends_with('/');
    if (empty) tag.remove_suffix(1);
    std::size_t name_end = 0;
    while (name_end < tag.size() && !IsSpace(tag[name_end]))
      ++name_end;
    const std::string_view name = tag.substr(0, name_end);
    if (name.empty() || name.size() > kLongestName ||
        name.find_first_of("/=\"'&") != std::string_view::npos)
      return false;
    if (open_.size() >= kDeepest || (open_.empty() && seen_root_)) return false;
    seen_root_ = true;
    open_.push_back({path_.size(), {}});
    if (!path_.empty()) path_ += '/';
    path_ += name;
    return !empty || Close(name);
  }

  bool Close(std::string_view name) {
    while (!name.empty() && IsSpace(name.back()))
      name.remove_suffix(1);
    if (open_.empty()) return false;
    const std::size_t parent = open_.back().parent_path;
    const std::string_view own = std::string_view(path_).substr(parent == 0 ? 0 : parent + 1);
    if (own != name) return false;
    each_(path_, std::move(open_.back().text));
    path_.resize(parent);
    open_.pop_back();
    return true;
  }

  struct Element {
    std::size_t parent_path;  // bytes of path_ that are the parent's
    std::string text;
  };
  std::string_view rest_;
  const std::function<void(std::string_view, std::string&&)>& each_;
  std::string path_;
  std::vector<Element> open_;
  bool seen_root_ = false;
};

}  // namespace

bool ReadXml(std::string_view xml,
             const std::function<void(std::string_view path, std::string&& text)>& each) {
  return XmlReader(xml, each).Run();
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
