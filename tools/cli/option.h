// Functions that add options and arguments to a command. The variables that they set must outlive
// the parsing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <sluice/error.h>
#include <sluice/shown_text.h>

#include "tools/cli/quantity.h"

namespace sluice::cli {

// Adds an option. `value` stands for the value in --help, such as "N". `take` gets the text and
// throws UsageError or Error(kInvalidArgument) if it is wrong.
template <class Take>
CLI::Option* AddOption(CLI::App& app, const std::string& name, const std::string& value,
                       const std::string& description, Take take) {
  const auto parse = [name, take = std::move(take)](const std::string& text) {
    // A sentence may quote a part of the value. In a part of a URL, a secret is no longer
    // recognized as one, so if the value holds a secret, the whole sentence is replaced.
    const auto refuse = [&](const std::string& sentence) {
      const std::string shown = ShownText(text);
      throw UsageError(name + ": " +
                       (shown == text ? sentence : shown + " is not a value of this option"));
    };
    try {
      take(text);
    } catch (const UsageError& error) {
      refuse(error.what());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      refuse(error.sentence());
    }
  };
  return app.add_option_function<std::string>(name, parse, description)->type_name(value);
}

// The type of an option's value; for an optional, the type inside.
template <class Target>
struct ValueOf {
  using type = Target;
};
template <class Value>
struct ValueOf<std::optional<Value>> {
  using type = Value;
};

// Adds --threads. If it is not given, `threads` keeps its value, which must mean one thread for
// each CPU: 0, or the number of CPUs.
inline CLI::Option* AddThreads(CLI::App& app, unsigned& threads,
                               const std::string& what = "threads to use") {
  return AddOption(app, "--threads", "N", what + " (default: one for each CPU)",
                   [&threads](const std::string& text) {
                     threads = static_cast<unsigned>(ParseInteger(text, 1, 1024));
                   });
}

// Adds a required positional argument.
template <class Target>
CLI::Option* AddArgument(CLI::App& app, const std::string& name, Target& target,
                         const std::string& description) {
  return app.add_option(name, target, description)->required()->type_name("");
}

// The names that an option accepts, each with its value.
template <class Value>
using ChoiceList = std::vector<std::pair<const char*, Value>>;

// The value that `text` names. Throws UsageError if `text` is not one of the names.
template <class Value>
Value ParseChoice(const std::string& text, const ChoiceList<Value>& choices) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError("\"" + text + "\" is not one of " + names);
}

// The words that an option accepts, separated by spaces, for shell completion. They are kept in a
// validator that is named kChoices and accepts everything.
inline constexpr const char* kChoices = "choices";
inline CLI::Validator Choices(const std::string& words) {
  return CLI::Validator([](std::string&) { return std::string(); }, words, kChoices);
}

// Marks options whose values may differ between two results that `sluice-bench gate` compares: how
// long or how often to measure, which extra measurements to take, and where to write. The values of
// all other options, including ones added later, must agree. The mark is a validator named
// kMayDiffer, which accepts everything.
inline constexpr const char* kMayDiffer = "may-differ";
inline void MarkMayDiffer(CLI::App& app, std::initializer_list<const char*> options) {
  for (const char* const name : options)
    app.get_option(name)->check(
        CLI::Validator([](std::string&) { return std::string(); }, "", kMayDiffer));
}
inline bool MayDiffer(CLI::App& app, const std::string& name) {
  CLI::Option* const option = app.get_option_no_throw(name);
  try {
    return option != nullptr && option->get_validator(kMayDiffer) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

// The text that stands for the option's value in --help, such as "N". (CLI11 appends a ":" and the
// descriptions of the option's validators to it.)
inline std::string ValueName(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  return name.substr(0, name.find(':'));
}

// Adds an option that accepts the names of `choices`, and sets `target` to the named value.
template <class Target>
CLI::Option* AddChoice(CLI::App& app, const std::string& name, const std::string& value,
                       const std::string& description, Target& target,
                       const ChoiceList<typename ValueOf<Target>::type>& choices) {
  std::string names;
  for (const auto& choice : choices)
    names += (names.empty() ? "" : " ") + std::string(choice.first);
  const auto parse = [&target, choices](const std::string& text) {
    target = ParseChoice(text, choices);
  };
  return AddOption(app, name, value, description, parse)->check(Choices(names));
}

}  // namespace sluice::cli
