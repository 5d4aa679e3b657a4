#include "tools/cli/completion.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::cli {
namespace {

// Both ask the program itself, by its hidden command `complete`, at each press of the key. NAME is
// the program's, FUNCTION the same as the name of a function.
constexpr const char* kBash = R"(# Completion of NAME for bash.
FUNCTION() {
  local line current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files | :directories)
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen "-${line:1:1}" -- "$current") ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" complete . "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F FUNCTION NAME
)";

constexpr const char* kZsh = R"(#compdef NAME
# Completion of NAME for zsh.
FUNCTION() {
  local -a lines=("${(@f)$("$words[1]" complete . "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case $lines[1] in
    "") return 1 ;;
    :files) _files ;;
    :directories) _files -/ ;;
    *)
      local -a names=("${(@)lines%%$'\t'*}") shown=("${(@)lines/$'\t'/  -- }")
      compadd -l -d shown -a names ;;
  esac
}
if [ "$funcstack[1]" = FUNCTION ]; then
  FUNCTION "$@"
else
  compdef FUNCTION NAME
fi
)";

std::string Named(std::string text, const std::string& name) {
  std::string function = "_" + name;
  std::replace(function.begin(), function.end(), '-', '_');
  for (const auto& [word, meant] : {std::pair("NAME", name), std::pair("FUNCTION", function)}) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += meant.size())
      text.replace(at, std::string_view(word).size(), meant);
  }
  return text;
}

std::string Offer(const std::string& name, const std::string& description) {
  const std::string shown = WrappedParagraphs(description, kHelpColumns - kHelpIndent);
  return name + "\t" + shown.substr(0, shown.find('\n')) + "\n";
}

std::string OptionsOf(const CLI::App& app) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames())
      lines += Offer("-" + name, option->get_description());
    for (const std::string& name : option->get_lnames())
      lines += Offer("--" + name, option->get_description());
  }
  return lines;
}

// The possible values of an option or a positional; empty if there is no list of them.
std::string ValuesOf(CLI::Option& option) {
  try {
    std::string words = option.get_validator(kChoices)->get_description();
    std::replace(words.begin(), words.end(), ' ', '\n');
    return words + "\n";
  } catch (const CLI::OptionNotFound&) {
  }
  const std::string value = ValueName(option);
  if (value == "DIR") return ":directories\n";
  return value == "FILE" || option.get_positional() ? ":files\n" : "";
}

// The candidates for the last of the words after the program's name.
std::string Candidates(CLI::App& program, const std::vector<std::string>& words) {
  std::string lines;
  if (words.size() < 2) {
    for (const CLI::App* command : program.get_subcommands({}))
      if (!command->get_group().empty())
        lines += Offer(command->get_name(), command->get_description());
    return lines + OptionsOf(program);
  }
  const auto found = program.get_subcommands(
      [&](const CLI::App* command) { return command->get_name() == words[0]; });
  if (found.empty()) return "";
  CLI::App* const command = found[0];
  const std::string& before = words[words.size() - 2];
  if (before.starts_with('-')) {
    CLI::Option* const option = command->get_option_no_throw(before);
    if (option != nullptr && option->get_expected_max() > 0) return ValuesOf(*option);
  }
  if (words.back().starts_with('-')) return OptionsOf(*command);
  for (CLI::Option* const option : command->get_options()) {
    if (option->get_positional()) return ValuesOf(*option);
  }
  return ":files\n";
}

// Those of the lines that begin as the last word does.
std::string Completions(CLI::App& program, const std::vector<std::string>& words) {
  std::string fitting;
  for (const std::string& line : Split(Candidates(program, words), '\n')) {
    const bool fits = line.starts_with(words.back()) || line.starts_with(':');
    if (fits && !line.empty()) fitting += line + "\n";
  }
  return fitting;
}

}  // namespace

Command AddCompletionCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "completion",
      "Prints a script for completing this program's commands in a shell.\n"
      "\n"
      "An installed Sluice already has it where shells look for such scripts.\n");
  const auto shell = std::make_shared<std::string>();
  AddArgument(*app, "SHELL", *shell, "bash or zsh")->check(Choices("bash zsh"));
  app->footer("\nExamples:\n  source <(" + program.get_name() + " completion bash)\n\n" +
              kExitCodeHelp);
  return {app, [&program, shell] {
            const char* const script =
                ParseChoice<const char*>(*shell, {{"bash", kBash}, {"zsh", kZsh}});
            PrintOut(Named(script, program.get_name()));
            return static_cast<int>(kDone);
          }};
}

Command AddCompleteCommand(CLI::App& program) {
  CLI::App* const app =
      program.add_subcommand("complete", "What the scripts of `completion` ask, after a dot.");
  app->group("");         // not in --help
  app->prefix_command();  // words are taken as they are, options too
  return {app, [&program, app] {
            std::vector<std::string> words = app->remaining();
            if (words.size() < 2)
              throw UsageError("complete: a dot and the words so far are wanted");
            words.erase(words.begin());
            PrintOut(Completions(program, words));
            return static_cast<int>(kDone);
          }};
}

}  // namespace sluice::cli
