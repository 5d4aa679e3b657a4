#include "writer/source/labels/xml.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/xml_entity.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr unsigned kMaxXmlDepth = 32;

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {}

  XmlElement Document() {
    SkipProlog();
    XmlElement root = Element(0);
    SkipProlog();
    if (at_ != text_.size()) Fail("has something after its last element");
    return root;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(ErrorCode::kCorrupt, "is no XML: byte " + std::to_string(at_) + " " + what);
  }

  bool Starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void SkipPast(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) Fail("begins something without an end");
    at_ = found + end.size();
  }

  // Comments, instructions and the document type: true if there was one.
  bool SkipAside() {
    if (Starts("<!--")) return SkipPast("-->"), true;
    if (Starts("<?")) return SkipPast("?>"), true;
    if (Starts("<!") && !Starts("<![CDATA[")) return SkipPast(">"), true;
    return false;
  }

  void SkipProlog() {
    if (Starts("\xef\xbb\xbf")) at_ += 3;
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
      if (!SkipAside()) return;
    }
  }

  XmlElement Element(unsigned depth) {
    if (depth >= kMaxXmlDepth) Fail("nests too deeply");
    if (!Starts("<")) Fail("has no element");
    const std::size_t end = text_.find_first_of(" \t\r\n/>", at_ + 1);
    if (end == std::string_view::npos || end == at_ + 1) Fail("has no name");
    XmlElement element;
    element.name = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end;
    if (SkipAttributes()) return element;
    Content(depth, element);
    const std::size_t begin = element.text.find_first_not_of(" \t\r\n");
    element.text =
        begin == std::string::npos
            ? ""
            : element.text.substr(begin, element.text.find_last_not_of(" \t\r\n") + 1 - begin);
    return element;
  }

  // True if the tag is the whole element.
  bool SkipAttributes() {
    for (char quote = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '>') {
        ++at_;
        return text_[at_ - 2] == '/';
      }
    }
    Fail("has a tag without an end");
  }

  void Content(unsigned depth, XmlElement& element) {
    constexpr std::string_view kCdata = "<![CDATA[";
    for (;;) {
      const std::size_t tag = text_.find('<', at_);
      if (tag == std::string_view::npos) Fail("ends within " + element.name);
      AddText(text_.substr(at_, tag - at_), element.text);
      at_ = tag;
      if (Starts("</")) {
        const std::string close = "</" + element.name;
        if (!Starts(close)) Fail("closes something else than " + element.name);
        at_ += close.size();
        SkipPast(">");
        return;
      }
      if (Starts(kCdata)) {
        const std::size_t begin = at_ + kCdata.size();
        SkipPast("]]>");
        element.text += text_.substr(begin, at_ - 3 - begin);
      } else if (!SkipAside()) {
        element.inside.push_back(Element(depth + 1));
      }
    }
  }

  static void AddText(std::string_view text, std::string& out) {
    while (!text.empty()) {
      const std::size_t plain = std::min(text.find('&'), text.size());
      out += text.substr(0, plain);
      text.remove_prefix(plain);
      if (text.empty()) return;
      const std::string meant = TakeXmlEntity(text);
      out += meant;
      if (!meant.empty()) continue;
      out += '&';  // one that is no entity stays
      text.remove_prefix(1);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// By the marks that the document begins with, or as it says itself; empty for UTF-8 and ASCII.
std::string EncodingOf(std::string_view document) {
  if (document.starts_with("\xff\xfe") || document.starts_with("\xfe\xff")) return "UTF-16";
  if (document.starts_with(std::string_view("<\0", 2))) return "UTF-16LE";
  if (document.starts_with(std::string_view("\0<", 2))) return "UTF-16BE";
  if (!document.starts_with("<?xml")) return {};
  document = document.substr(0, document.find("?>"));
  const std::size_t begin = document.find_first_of("\"'", document.find("encoding"));
  if (begin == std::string_view::npos) return {};
  std::string name(document.substr(begin + 1));
  name.resize(std::min(name.find(document[begin]), name.size()));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  // Programs that hold texts as UTF-16 say so also where they write UTF-8.
  const bool plain = name.starts_with("utf") || name == "ascii" || name == "us-ascii";
  return plain ? "" : name;
}

}  // namespace

const XmlElement* XmlElement::Find(std::string_view wanted) const noexcept {
  for (const XmlElement& element : inside) {
    if (element.name == wanted) return &element;
  }
  return nullptr;
}

XmlElement ParseXml(std::string_view document) {
  const std::string encoding = EncodingOf(document);
  if (encoding.empty()) return XmlReader(document).Document();
  const std::string converted = FromEncoding(document, encoding);
  return XmlReader(converted).Document();
}

}  // namespace sluice
