// Adds an option whose value a function of ours parses. For the files that define a command.
#pragma once

#include <array>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <sluice/error.h>

#include "tools/cli/quantity.h"

namespace sluice::cli {

// `value` stands for the value in --help, such as "N". `take` gets the text and throws UsageError
// or Error(kInvalidArgument) if it is wrong.
template <class Take>
CLI::Option* AddOption(CLI::App& app, const std::string& name, const std::string& value,
                       const std::string& description, Take take) {
  const auto parse = [name, take = std::move(take)](const std::string& text) {
    try {
      take(text);
    } catch (const UsageError& error) {
      throw UsageError(name + ": " + error.what());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      throw UsageError(name + ": " + error.sentence());
    }
  };
  return app.add_option_function<std::string>(name, parse, description)->type_name(value);
}

// The value that `text` names in a list of {name, value}.
template <class Value, std::size_t count>
Value ParseChoice(const std::string& text,
                  const std::array<std::pair<const char*, Value>, count>& choices) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError("\"" + text + "\" is none of " + names);
}

template <class Value, std::size_t count>
Value ParseChoice(const std::string& text, const std::pair<const char*, Value> (&choices)[count]) {
  return ParseChoice<Value>(text, std::to_array(choices));
}

// The words that an option accepts, separated by spaces, for shell completion. The option keeps
// them as a validator of this name that accepts everything.
inline constexpr const char* kChoices = "choices";
inline CLI::Validator Choices(const std::string& words) {
  return CLI::Validator([](std::string&) { return std::string(); }, words, kChoices);
}

// The text that stands for the option's value in --help, such as "N". (The parser appends the text
// of its validators.)
inline std::string ValueName(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return name.substr(0, name.find(':'));
}

// An option whose value is one of a list of {name, value}.
template <class Value, std::size_t count, class Take>
CLI::Option* AddChoice(CLI::App& app, const std::string& name, const std::string& value,
                       const std::string& description,
                       const std::pair<const char*, Value> (&choices)[count], Take take) {
  const auto list = std::to_array(choices);
  std::string names;
  for (const auto& choice : list)
    names += (names.empty() ? "" : " ") + std::string(choice.first);
  const auto parse = [list, take = std::move(take)](const std::string& text) {
    take(ParseChoice<Value>(text, list));
  };
  return AddOption(app, name, value, description, parse)->check(Choices(names));
}

}  // namespace sluice::cli
