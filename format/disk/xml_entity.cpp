#include "format/disk/xml_entity.h"

#include <cstdint>
#include <utility>

namespace sluice {

namespace {

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

// Of "#xE9" or "#233"; empty if that is no character.
std::string Numbered(std::string_view digits) {
  digits.remove_prefix(1);
  std::uint32_t base = 10, code = 0;
  if (digits.starts_with('x')) {
    base = 16;
    digits.remove_prefix(1);
  }
  if (digits.empty() || digits.size() > 8) return {};
  for (const char c : digits) {
    const std::uint32_t digit = c >= '0' && c <= '9'   ? static_cast<std::uint32_t>(c - '0')
                                : c >= 'a' && c <= 'f' ? static_cast<std::uint32_t>(c - 'a' + 10)
                                : c >= 'A' && c <= 'F' ? static_cast<std::uint32_t>(c - 'A' + 10)
                                                       : 99;
    if (digit >= base) return {};
    code = code * base + digit;
    if (code > 0x10FFFF) return {};
  }
  if (code == 0 || (code >= 0xD800 && code < 0xE000)) return {};
  std::string text;
  AppendUtf8(code, text);
  return text;
}

}  // namespace

std::string TakeXmlEntity(std::string_view& text) {
  constexpr std::pair<std::string_view, char> kEveryDocuments[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  constexpr std::size_t kLongest = 12;
  const std::size_t end = text.substr(0, kLongest).find(';');
  if (!text.starts_with('&') || end == std::string_view::npos || end < 2) return {};
  const std::string_view name = text.substr(1, end - 1);
  std::string meant = name[0] == '#' ? Numbered(name) : "";
  for (const auto& [entity, c] : kEveryDocuments) {
    if (name == entity) meant = c;
  }
  if (!meant.empty()) text.remove_prefix(end + 1);
  return meant;
}

}  // namespace sluice
