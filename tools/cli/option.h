// Adding an option whose value is parsed by a function of ours. For the files that define a
// command.
#pragma once

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "tools/cli/quantity.h"

namespace sluice::cli {

// `value` is what stands for the value in --help, such as "N"; `take` gets the text and throws
// UsageError where it is wrong.
template <class Take>
CLI::Option* AddOption(CLI::App& app, const std::string& name, const std::string& value,
                       const std::string& description, Take take) {
  const auto parse = [name, take = std::move(take)](const std::string& text) {
    try {
      take(text);
    } catch (const UsageError& error) {
      throw UsageError(name + ": " + error.what());
    }
  };
  return app.add_option_function<std::string>(name, parse, description)->type_name(value);
}

// The value that `text` names in a list of {name, value}.
template <class Value, std::size_t count>
Value ParseChoice(const std::string& text, const std::pair<const char*, Value> (&choices)[count]) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError("\"" + text + "\" is none of " + names);
}

}  // namespace sluice::cli
