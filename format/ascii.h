// ASCII texts that programs exchange: letters, blanks, digits and numbers, whatever the locale.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

inline std::string_view Trimmed(std::string_view text,
                                std::string_view blanks = " \t\r\n") noexcept {
  text.remove_suffix(text.size() - 1 - text.find_last_not_of(blanks));
  text.remove_prefix(text.empty() ? 0 : text.find_first_not_of(blanks));
  return text;
}

// Parses the whole text as a number, with std::from_chars(), to which `base` is passed on. nullopt
// if the text is not a number.
template <class T, class... Base>
std::optional<T> ParseNumber(std::string_view text, Base... base) noexcept {
  T number{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Reads the number that `text` begins with, and removes it; nullopt if `text` begins otherwise.
template <class T>
std::optional<T> TakeNumber(std::string_view& text) noexcept {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Removes the first line from `text`, and returns it without its '\n'. If the line ends with
// "\r\n", the '\r' is part of what is returned.
inline std::string_view TakeLine(std::string_view& text) noexcept {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

}  // namespace sluice
