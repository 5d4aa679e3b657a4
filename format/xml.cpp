// XML by expat, within limits for untrusted texts.
//
// Declarations in a document type can make a small text grow ("billion laughs") or name files, so
// they are refused. expat then takes time and memory in proportion to the text. Depth and names are
// bounded here, because callers work through an element's whole path.
#include "format/xml.h"

#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <expat.h>

namespace sluice {

namespace {

constexpr std::size_t kMaxXmlName = 100;
constexpr std::size_t kMaxXmlBytes = 1U << 30;  // expat counts in int

class XmlReader {
 public:
  using Each = std::function<void(std::string_view, std::string&&)>;
  XmlReader(const Each& each, const XmlRules& rules)
      : each_(each), rules_(rules), parser_(XML_ParserCreate("UTF-8"), &XML_ParserFree) {
    XML_Parser parser = parser_.get();
    if (parser == nullptr) throw std::bad_alloc();
    XML_SetUserData(parser, this);
    XML_SetElementHandler(
        parser,
        [](void* self, const char* name, const char**) {
          Call(self, [name](XmlReader& reader) { reader.Open(name); });
        },
        [](void* self, const char*) { Call(self, [](XmlReader& reader) { reader.Close(); }); });
    XML_SetCharacterDataHandler(parser, [](void* self, const char* text, int bytes) {
      const std::string_view part(text, static_cast<std::size_t>(bytes));
      Call(self, [part](XmlReader& reader) { reader.open_.back().text += part; });
    });
    XML_SetStartDoctypeDeclHandler(
        parser, [](void* self, const char*, const char*, const char*, int has_declarations) {
          Call(self, [has_declarations](XmlReader& reader) {
            if (has_declarations != 0 || !reader.rules_.document_type)
              reader.fault_ = "a document type";
          });
        });
    // After a document type, expat would leave out entities that the type's file might define.
    XML_SetSkippedEntityHandler(parser, [](void* self, const char*, int) {
      Call(self, [](XmlReader& reader) { reader.fault_ = "an unknown entity"; });
    });
  }

  // Returns what is wrong, and where; empty if the text was read.
  std::string Read(std::string_view xml) {
    if (xml.size() > kMaxXmlBytes) return "it is larger than 1 GiB";
    XML_Parser parser = parser_.get();
    if (XML_Parse(parser, xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK) return {};
    if (thrown_) std::rethrow_exception(thrown_);
    const XML_Error code = XML_GetErrorCode(parser);
    if (code == XML_ERROR_NO_MEMORY) throw std::bad_alloc();
// The functions that expat 2.9 has instead of these two are not in earlier versions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return (fault_.empty() ? XML_ErrorString(code) : fault_) + ", at line " +
           std::to_string(XML_GetCurrentLineNumber(parser)) + ", byte " +
           std::to_string(XML_GetCurrentColumnNumber(parser) + 1);
#pragma GCC diagnostic pop
  }

 private:
  // Runs a step for expat, through whose code no exception may pass. After a fault, expat may call
  // once more.
  template <typename Step>
  static void Call(void* self, const Step& step) {
    auto& reader = *static_cast<XmlReader*>(self);
    if (reader.thrown_ || !reader.fault_.empty()) return;
    try {
      step(reader);
    } catch (...) {
      reader.thrown_ = std::current_exception();
    }
    if (reader.thrown_ || !reader.fault_.empty()) XML_StopParser(reader.parser_.get(), XML_FALSE);
  }

  void Open(std::string_view name) {
    if (open_.size() >= rules_.max_depth) fault_ = "elements nested too deeply";
    if (name.size() > kMaxXmlName) fault_ = "an element's name is too long";
    open_.push_back({path_.size(), {}});
    if (!path_.empty()) path_ += '/';
    path_ += name;
  }

  void Close() {
    each_(path_, std::move(open_.back().text));
    path_.resize(open_.back().parent_path);
    open_.pop_back();
  }

  struct Element {
    std::size_t parent_path;  // bytes of path_ that are the parent's
    std::string text;
  };
  const Each& each_;
  const XmlRules rules_;
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser_;
  std::string path_;
  std::vector<Element> open_;
  std::string fault_;
  std::exception_ptr thrown_;
};

}  // namespace

bool ReadXml(std::string_view xml,
             const std::function<void(std::string_view path, std::string&& text)>& each,
             const XmlRules& rules, std::string* fault) {
  const std::string found = XmlReader(each, rules).Read(xml);
  if (fault != nullptr) *fault = found;
  return found.empty();
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
