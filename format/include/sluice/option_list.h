// How options are declared: OptionsOf<T> for a struct of options T, WordsOf<E> for an enumeration.
//
// An option is a member of a struct, such as LoaderOptions or one of its groups. One line in the
// struct's OptionsOf declares everything else that Sluice knows about the option: its name, its
// range, a line of help, whether it changes the order. From these lines Sluice makes range checks,
// flags of commands with their --help, JSON, and Python's keywords with their docstrings. The lists
// are in loader_option_list.h and convert_option_list.h; a test checks that they name every member.
//
// A program that has a command line or a configuration file of its own can use the lists as well:
//
//   sluice::option_list::ForEachOption(
//       options, [&](const auto& option, auto& value, const std::string& path) {
//         std::cout << path << ": " << option.help << "\n";  // "ring.prefetch: batches ..."
//       });
//
// Everything here is in the namespace sluice::option_list, because its names are too general for
// the namespace sluice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

namespace sluice::option_list {

// A word that stands for an enumerator: its name in lower case ("quasi_random" for kQuasiRandom).
template <class E>
struct Word {
  constexpr Word(const char* the_text, E the_value, const char* the_help = nullptr)
      : text(the_text), value(the_value), help(the_help) {}
  const char* text;  // "quasi_random"
  E value;           // the enumerator
  const char* help;  // what the word means; null if the word explains itself
};

// The words of an enumeration, one for each enumerator, in the order in which they are shown.
template <class E, std::size_t kCount>
struct Words {
  template <class... More>
  constexpr Words(const char* the_name, const char* the_help, Word<E> first, More... more)
      : name(the_name), help(the_help), words{first, more...} {}
  const char* name;                   // name of the enumeration
  const char* help;                   // what the enumeration chooses
  std::array<Word<E>, kCount> words;  // in the order in which they are shown
};
template <class E, class... More>
Words(const char*, const char*, Word<E>, More...) -> Words<E, 1 + sizeof...(More)>;

// WordsOf<E>: the Words of the enumeration E, if they are declared.
template <class E>
inline constexpr auto WordsOf = nullptr;
// An enumeration whose Words are declared.
template <class E>
concept HasWords = requires {
  WordsOf<E>.words;
};

// Returns the word for an enumerator; empty if it has none.
template <HasWords E>
constexpr const char* WordOf(E value) noexcept {
  for (const Word<E>& word : WordsOf<E>.words) {
    if (word.value == value) return word.text;
  }
  return "";
}

// Returns the enumerator that a word stands for; nullopt if there is no such word.
template <HasWords E>
constexpr std::optional<E> FromWord(std::string_view text) noexcept {
  for (const Word<E>& word : WordsOf<E>.words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}

// The effect of an option's value.
enum class Changes {
  kSpeed,    // only speed and memory
  kContent,  // what batches, or datasets, hold
  kOrder,    // which samples come, and where
};

// How people write a number.
enum class NumberForm {
  kPlain,  // "1024"
  kBytes,  // "64MB"
  kCount,  // "178M"
};

// Everything about an option except its name, its member and its help.
struct OptionFacts {
  // The range of a number, both ends included. A std::optional without a value is in range.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();  // the greatest value
  NumberForm form = NumberForm::kPlain;                   // how people write the number
  Changes changes = Changes::kSpeed;                      // the effect of its value
  // True: `sluice-bench gate` may compare measurements that have different values of this option.
  bool comparable = false;
  // The flag on command lines. Null: the option's name with hyphens ("--max-side" for max_side).
  const char* flag = nullptr;
  const char* value = "N";     // stands for the value in --help, for an option without words
  const char* zero = nullptr;  // the word that people write instead of 0, such as "none"
};

// One option of the struct T, a member of type V.
template <class T, class V>
struct Option {
  using Value = V;  // the member's type
  constexpr Option(const char* the_name, V T::*the_member, const char* the_help,
                   OptionFacts the_facts = {})
      : name(the_name), member(the_member), help(the_help), facts(the_facts) {}
  // An option that needs no facts but `changes`.
  constexpr Option(const char* the_name, V T::*the_member, const char* the_help, Changes changes)
      : Option(the_name, the_member, the_help, OptionFacts{.changes = changes}) {}
  const char* name;   // of the member; the same in C++, Python and JSON
  V T::*member;       // the option's member of T
  const char* help;   // a line of help. It omits the default value, which is that of T()
  OptionFacts facts;  // its range and so on
};

// The options of a struct, one for each member, in the order of the members.
template <class T, class... V>
struct OptionList {
  const char* name;                     // name of the struct
  const char* help;                     // what its options are about
  std::tuple<Option<T, V>...> options;  // one for each member
};
// Makes an OptionList, for OptionsOf<T>.
template <class T, class... V>
constexpr OptionList<T, V...> Options(const char* name, const char* help, Option<T, V>... options) {
  return {name, help, {options...}};
}

// OptionsOf<T>: the OptionList of the struct T, if its options are declared.
template <class T>
inline constexpr auto OptionsOf = nullptr;
// A struct whose options are declared.
template <class T>
concept HasOptions = requires {
  OptionsOf<std::remove_const_t<T>>.options;
};

// A std::optional of a struct whose options are declared.
template <class T>
concept HasOptionsInside = requires(T& value) {
  requires HasOptions<std::remove_reference_t<decltype(*value)>>;
};

// Calls f(option) for each option of T. A group of options counts as one option.
template <HasOptions T, class F>
constexpr void ForEachMember(F&& f) {
  std::apply([&](const auto&... options) { (f(options), ...); },
             OptionsOf<std::remove_const_t<T>>.options);
}

// Returns the option that declares `member`.
template <HasOptions T, class V>
constexpr const Option<T, V>& OptionAt(V T::*member) {
  const Option<T, V>* found = nullptr;
  ForEachMember<T>([&](const auto& option) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(option)>, Option<T, V>>) {
      if (option.member == member) found = &option;
    }
  });
  return *found;
}

// Calls f(option, value, path) for each option in `options` and in its groups. `path` is, for
// example, "ring.prefetch". The options of an optional group (std::optional) are visited if the
// group has a value. If a member is a choice between groups (std::variant), the options of the
// chosen group are visited.
template <HasOptions T, class F>
void ForEachOption(T& options, F&& f, const std::string& group = {}) {
  ForEachMember<T>([&](const auto& option) {
    auto& value = options.*option.member;
    const auto visit = [&](auto& inside) {
      if constexpr (HasOptions<std::remove_reference_t<decltype(inside)>>)
        ForEachOption(inside, f, group + option.name + ".");
    };
    if constexpr (requires { value.valueless_by_exception(); }) {
      std::visit(visit, value);
    } else if constexpr (HasOptionsInside<std::remove_reference_t<decltype(value)>>) {
      if (value) visit(*value);
    } else if constexpr (HasOptions<std::remove_reference_t<decltype(value)>>) {
      visit(value);
    } else {
      f(option, value, group + option.name);
    }
  });
}

// Returns an option's value as a number:
//
//   a number (not bool)          the value
//   a std::optional              the number inside; nullopt if it is empty
//   a duration                   its count
//   anything else                nullopt
template <class V>
std::optional<double> NumberIn(const V& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? NumberIn(*value) : std::nullopt;
  } else if constexpr (requires { value.count(); }) {
    return static_cast<double>(value.count());
  } else if constexpr (std::is_arithmetic_v<V> && !std::is_same_v<V, bool>) {
    return static_cast<double>(value);
  } else {
    return std::nullopt;
  }
}

// Writes a number as people write it: "1024", "64MB", "178M".
std::string NumberText(double number, NumberForm form);
// Writes the range: "1 to 1024", "at most 1024" or "at least 1".
std::string RangeText(const OptionFacts& facts);

// Returns a sentence about the first option whose number is out of range, such as "ring.prefetch
// must be 1 to 1024; or leave it empty". Empty if all numbers are in range.
template <HasOptions T>
std::string WhatIsOutOfRange(const T& options) {
  std::string wrong;
  ForEachOption(options, [&](const auto& option, const auto& value, const std::string& path) {
    const std::optional<double> number = NumberIn(value);
    if (!number || !wrong.empty()) return;
    if (*number >= option.facts.least && *number <= option.facts.most) return;
    wrong = path + " must be " + RangeText(option.facts);
    if constexpr (requires { value.has_value(); }) wrong += "; or leave it empty";
  });
  return wrong;
}

}  // namespace sluice::option_list
