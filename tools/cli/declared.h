// Adds options to a command from their declarations (sluice/option_list.h). A declaration gives the
// option's flag, its text in --help with the accepted words and the default, and how its value is
// read.
//
//   cli::AddDeclared(app, options.shards);                     all options of a group
//   cli::AddDeclared(app, options.run, &RunOptions::threads);  one option of a group
//   cli::AddDeclared(app, arguments, kOrderOptions);           all of a list that the command has
//   cli::AddDeclared(app, arguments, option_list::Option("seed", &Arguments::seed, "..."));
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include <sluice/option_list.h>

#include "tools/cli/option.h"

namespace sluice::cli {

inline std::string FlagOf(const char* name, const option_list::OptionFacts& facts) {
  std::string flag = facts.flag != nullptr ? facts.flag : std::string("--") + name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// The option's key in a JSON object: the flag without its leading hyphens, "device_decode".
inline std::string KeyOf(const char* name, const option_list::OptionFacts& facts) {
  std::string key = FlagOf(name, facts).substr(2);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

template <option_list::HasWords E>
ChoiceList<E> ChoicesOf() {
  ChoiceList<E> choices;
  for (const option_list::Word<E>& word : option_list::WordsOf<E>.words)
    choices.emplace_back(word.text, word.value);
  return choices;
}

// The option's text in --help: its description, the words that it accepts, and its default.
template <class V>
std::string HelpOf(const char* help, const option_list::OptionFacts& facts, const V& usual) {
  std::string text = help;
  if constexpr (option_list::HasWords<V>) {
    const char* before = ". ";
    for (const option_list::Word<V>& word : option_list::WordsOf<V>.words) {
      text += before + std::string(word.text);
      if (word.value == usual) text += " (default)";
      if (word.help != nullptr) text += std::string(": ") + word.help;
      before = "; ";
    }
  } else if constexpr (std::is_same_v<V, std::array<std::uint8_t, 3>>) {
    std::string numbers;
    for (const auto number : usual)
      numbers += (numbers.empty() ? "" : ",") + std::to_string(number);
    text += " (default " + numbers + ")";
  } else if constexpr (std::is_same_v<V, std::string> || std::is_same_v<V, std::filesystem::path>) {
    if (!usual.empty()) text += " (default " + std::filesystem::path(usual).string() + ")";
  } else if (const std::optional<double> number = option_list::NumberIn(usual)) {
    const bool zero = *number == 0 && facts.zero != nullptr;
    const std::string value = zero ? facts.zero : option_list::NumberText(*number, facts.form);
    if (!value.empty()) text += " (default " + value + ")";
  }
  return text;
}

// Parses a number in the form and the range that the option's declaration gives. Throws UsageError.
inline std::uint64_t ParseDeclared(const std::string& text, const option_list::OptionFacts& facts) {
  if (facts.zero != nullptr && text == facts.zero && !text.empty()) return 0;
  const double least = std::max(facts.least, facts.zero != nullptr ? 1.0 : 0.0);
  const auto most = facts.most < 1e19 ? static_cast<std::uint64_t>(facts.most) : UINT64_MAX;
  if (facts.form == option_list::NumberForm::kPlain)
    return ParseInteger(text, static_cast<std::uint64_t>(least), most);
  const std::uint64_t number =
      facts.form == option_list::NumberForm::kBytes ? ParseBytes(text) : ParseCount(text);
  if (static_cast<double>(number) < least || number > most)
    throw UsageError(
        "\"" + text + "\" is not " +
        option_list::RangeText({.least = least, .most = facts.most, .form = facts.form}));
  return number;
}

// Adds the option's flag, with a parser for the type of the option's value.
template <class T, class V>
CLI::Option* AddFlag(CLI::App& app, T& options, const option_list::Option<T, V>& option) {
  V& target = options.*option.member;
  const option_list::OptionFacts& facts = option.facts;
  const std::string flag = FlagOf(option.name, facts);
  const std::string help = HelpOf(option.help, facts, target);
  using Value = typename ValueOf<V>::type;
  if constexpr (std::is_same_v<V, bool>) {
    return app.add_flag(flag, target, help);
  } else if constexpr (option_list::HasWords<Value>) {
    return AddChoice(app, flag, facts.value, help, target, ChoicesOf<Value>());
  } else if constexpr (std::is_integral_v<Value>) {
    return AddOption(app, flag, facts.value, help, [&target, facts](const std::string& text) {
      target = static_cast<Value>(ParseDeclared(text, facts));
    });
  } else if constexpr (std::is_floating_point_v<Value>) {
    return AddOption(app, flag, facts.value, help, [&target, facts](const std::string& text) {
      target = ParseNumber(text, facts.most);
      if (target < facts.least)
        throw UsageError("\"" + text + "\" is not " + option_list::RangeText(facts));
    });
  } else if constexpr (requires(Value value) { value.width + value.height; }) {
    return AddOption(app, flag, facts.value, help, [&target](const std::string& text) {
      const Sides sides = ParseSides(text);
      target = Value{sides.width, sides.height};
    });
  } else if constexpr (std::is_same_v<Value, std::array<std::uint8_t, 3>>) {
    return AddOption(app, flag, facts.value, help,
                     [&target](const std::string& text) { target = ParseColour(text); });
  } else if constexpr (std::is_convertible_v<std::string, Value>) {
    return AddOption(app, flag, facts.value, help,
                     [&target](const std::string& text) { target = text; });
  } else {
    return nullptr;  // a list or a function: the command adds a flag of its own, or none
  }
}

// Adds one option. Returns null if it is a list or a function, which AddFlag() does not add.
template <class T, class V>
CLI::Option* AddDeclared(CLI::App& app, T& options, const option_list::Option<T, V>& option) {
  CLI::Option* const added = AddFlag(app, options, option);
  if (added != nullptr && option.facts.comparable) MarkMayDiffer(app, {added->get_name().c_str()});
  return added;
}
template <class T, class V>
CLI::Option* AddDeclared(CLI::App& app, T& options, V T::*member) {
  return AddDeclared(app, options, option_list::OptionAt(member));
}

// Adds all options of a list, under the list's heading in --help. `instead` maps an option's name
// to the function that adds the option in the command's own form; a null function leaves it out.
using Instead = std::map<std::string_view, std::function<CLI::Option*()>>;
template <class T, class... V>
void AddDeclared(CLI::App& app, T& options, const option_list::OptionList<T, V...>& list,
                 const Instead& instead = {}) {
  const auto add = [&](const auto& option) {
    const auto own = instead.find(option.name);
    CLI::Option* const added = own == instead.end() ? AddDeclared(app, options, option)
                               : own->second        ? own->second()
                                                    : nullptr;
    if (added != nullptr && *list.help != 0) added->group(list.help);
  };
  std::apply([&](const auto&... each) { (add(each), ...); }, list.options);
}
template <option_list::HasOptions T>
void AddDeclared(CLI::App& app, T& options, const Instead& instead = {}) {
  AddDeclared(app, options, option_list::OptionsOf<T>, instead);
}

}  // namespace sluice::cli
