// Names are compared by their AlikeForm(), never by asking the file system, which may or may not
// ignore case. Find() takes a path part by part and keeps all folders that fit so far. As soon as
// one name fits exactly, those that are only alike are dropped.
// utf8proc gets only texts that are not pure ASCII; LowerCase() folds the ASCII letters of all
// others. A folder that cannot be listed counts as empty.
#include "writer/source/list/alike.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <new>

#include <utf8proc.h>

#include "format/ascii.h"

namespace sluice {

namespace {

// The text as utf8proc maps it; a text that is not UTF-8 as it is. ASCII needs no decomposition,
// and AlikeForm() folds it itself, six times as fast.
std::string Mapped(std::string_view text, unsigned options) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; }))
    return std::string(text);
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &made, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (length == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  return length < 0 ? std::string(text) : std::string(made, made + length);
}

}  // namespace

std::string Decomposed(std::string_view text) {
  return Mapped(text, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
}

std::string AlikeForm(std::string_view name) {
  return LowerCase(Mapped(name, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD));
}

std::string AlikeValue(std::string_view value) {
  constexpr double kExact = 1LL << 53;  // larger numbers of other digits could be equal
  value = Trimmed(value);
  const auto number = ParseNumber<double>(value.starts_with('+') ? value.substr(1) : value);
  if (!number || !(std::abs(*number) < kExact)) return AlikeForm(value);
  char text[32];
  const double shown = *number == 0 ? 0.0 : *number;  // -0 is 0
  return {text, std::to_chars(text, text + sizeof text, shown).ptr};
}

const AlikeFiles::Names& AlikeFiles::NamesIn(const std::string& folder) {
  const auto [known, added] = folders_.try_emplace(folder);
  if (!added) return known->second;
  std::error_code error;
  const std::filesystem::path at = root_ / folder;
  for (std::filesystem::directory_iterator entry(at.empty() ? "." : at, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    known->second.by_name.emplace(AlikeForm(name), name);
    const std::size_t dot = name.rfind('.');
    if (dot != std::string::npos && dot > 0)
      known->second.by_stem.emplace(AlikeForm(std::string_view(name).substr(0, dot)), name);
  }
  return known->second;
}

std::vector<std::string> AlikeFiles::Find(const std::string& path, ByForm Names::*by) {
  const std::filesystem::path parts(path);
  std::vector<std::string> found = {""};
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    const bool last = std::next(part) == parts.end();
    std::vector<std::string> exact, alike;
    for (const std::string& folder : found) {
      const auto [begin, end] =
          (NamesIn(folder).*(last ? by : &Names::by_name)).equal_range(AlikeForm(part->native()));
      for (auto name = begin; name != end; ++name) {
        const bool same = name->second.starts_with(part->native());
        (same ? exact : alike).push_back((std::filesystem::path(folder) / name->second).native());
      }
    }
    found = exact.empty() ? std::move(alike) : std::move(exact);
  }
  return found;
}

}  // namespace sluice
