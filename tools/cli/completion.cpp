#include "tools/cli/completion.h"

#include <memory>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"

namespace sluice::cli {
namespace {

enum class ValueKind { kNone, kWord, kChoice, kFile, kFolder };

struct OptionWords {
  std::vector<std::string> names;  // "-h", "--help"
  std::string description;         // its first line
  std::string value;               // its name in --help
  ValueKind kind = ValueKind::kNone;
  std::string choices;  // between spaces
};

OptionWords WordsOf(CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames())
    words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    words.names.push_back("--" + name);
  const std::string description = option.get_description();
  words.description = description.substr(0, description.find('\n'));
  words.value = ValueName(option);
  try {
    words.choices = option.get_validator(kChoices)->get_description();
    words.kind = ValueKind::kChoice;
    return words;
  } catch (const CLI::OptionNotFound&) {
  }
  if (option.get_expected_max() == 0 || words.value.empty()) return words;
  words.kind = words.value == "FILE"  ? ValueKind::kFile
               : words.value == "DIR" ? ValueKind::kFolder
                                      : ValueKind::kWord;
  return words;
}

std::vector<OptionWords> OptionsOf(const CLI::App& app) {
  std::vector<OptionWords> options;
  for (CLI::Option* const option : const_cast<CLI::App&>(app).get_options()) {
    if (!option->get_positional()) options.push_back(WordsOf(*option));
  }
  return options;
}

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string joined;
  for (const std::string& word : words)
    joined += (joined.empty() ? "" : between) + word;
  return joined;
}

std::vector<std::string> NamesOf(const std::vector<OptionWords>& options) {
  std::vector<std::string> names;
  for (const OptionWords& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> CommandsOf(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands({}))
    names.push_back(command->get_name());
  return names;
}

// The program's name as the name of a shell function.
std::string FunctionName(const CLI::App& program) {
  std::string name = "_" + program.get_name();
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

// The cases of bash's completion for one command: what follows each option that takes a value.
std::string BashValues(const std::vector<OptionWords>& options) {
  std::string cases;
  std::vector<std::string> plain;  // nothing to complete
  for (const OptionWords& option : options) {
    const std::string names = Joined(option.names, "|");
    if (option.kind == ValueKind::kChoice) {
      cases += "        " + names + ") words='" + option.choices + "' ;;\n";
    } else if (option.kind == ValueKind::kFile) {
      cases += "        " + names + ") files=-f ;;\n";
    } else if (option.kind == ValueKind::kFolder) {
      cases += "        " + names + ") files=-d ;;\n";
    } else if (option.kind == ValueKind::kWord) {
      plain.push_back(names);
    }
  }
  if (!plain.empty()) cases += "        " + Joined(plain, "|") + ") nothing=yes ;;\n";
  return cases.empty() ? "" : "      case $before in\n" + cases + "      esac\n";
}

// Escaped for single quotes and for the brackets of a zsh specification.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') {
      out += std::string("\\") + letter;
    } else {
      out += letter;
    }
  }
  return out;
}

std::string ZshOption(const OptionWords& option) {
  std::string action;
  if (option.kind == ValueKind::kChoice) action = "(" + option.choices + ")";
  if (option.kind == ValueKind::kFile) action = "_files";
  if (option.kind == ValueKind::kFolder) action = "_files -/";
  std::string lines;
  for (const std::string& name : option.names) {
    lines += "        '" + name + "[" + ZshText(option.description) + "]";
    if (option.kind != ValueKind::kNone) lines += ":" + ZshText(option.value) + ":" + action;
    lines += "' \\\n";
  }
  return lines;
}

}  // namespace

std::string BashCompletion(const CLI::App& program) {
  const std::string function = FunctionName(program);
  std::string out = "# Completion of " + program.get_name() + " for bash.\n" + function +
                    "() {\n"
                    "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "  local words= files=-f nothing=\n"
                    "  COMPREPLY=()\n"
                    "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                    "    words='" +
                    Joined(CommandsOf(program), " ") + " " +
                    Joined(NamesOf(OptionsOf(program)), " ") +
                    "' files=\n"
                    "  else\n"
                    "    case ${COMP_WORDS[1]} in\n";
  for (const CLI::App* command : program.get_subcommands({})) {
    const auto options = OptionsOf(*command);
    out += "    " + command->get_name() + ")\n      case $current in\n        -*) words='" +
           Joined(NamesOf(options), " ") + "' ;;\n      esac\n" + BashValues(options) +
           "      ;;\n";
  }
  out +=
      "    esac\n"
      "  fi\n"
      "  if [ -n \"$nothing\" ]; then return; fi\n"
      "  if [ -n \"$words\" ]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "  elif [ -n \"$files\" ]; then\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    mapfile -t COMPREPLY < <(compgen \"$files\" -- \"$current\")\n"
      "  fi\n"
      "}\n"
      "complete -F " +
      function + " " + program.get_name() + "\n";
  return out;
}

std::string ZshCompletion(const CLI::App& program) {
  const std::string function = FunctionName(program);
  std::string out = "#compdef " + program.get_name() + "\n# Completion of " + program.get_name() +
                    " for zsh.\n" + function +
                    "() {\n"
                    "  local -a commands=(\n";
  for (const CLI::App* command : program.get_subcommands({})) {
    const std::string description = command->get_description();
    out += "    '" + command->get_name() + ":" +
           ZshText(description.substr(0, description.find('\n'))) + "'\n";
  }
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const CLI::App* command : program.get_subcommands({})) {
    out += "    " + command->get_name() + ")\n      _arguments \\\n";
    for (const OptionWords& option : OptionsOf(*command))
      out += ZshOption(option);
    // Positionals complete to files and folders, unless they have choices.
    std::string rest = "_files";
    for (CLI::Option* const option : const_cast<CLI::App*>(command)->get_options()) {
      if (!option->get_positional()) continue;
      const OptionWords words = WordsOf(*option);
      if (words.kind == ValueKind::kChoice) rest = "(" + words.choices + ")";
    }
    out += "        '*:argument:" + rest + "'\n      ;;\n";
  }
  return out + "  esac\n}\nif [ \"$funcstack[1]\" = " + function + " ]; then\n  " + function +
         " \"$@\"\nelse\n  compdef " + function + " " + program.get_name() + "\nfi\n";
}

Command AddCompletionCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "completion",
      "Prints a script for completing this program's commands in a shell.\n\n"
      "Installed copies come with it, where a shell that looks for such scripts finds it.\n");
  const auto shell = std::make_shared<std::string>();
  app->add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->type_name("")
      ->check(Choices("bash zsh"));
  app->footer(
      Format("\nExamples:\n  source <(%s completion bash)\n\n", program.get_name().c_str()) +
      kExitCodeHelp);
  return {app, [&program, shell] {
            using Script = std::string (*)(const CLI::App&);
            PrintOut(ParseChoice<Script>(
                *shell, {{"bash", BashCompletion}, {"zsh", ZshCompletion}})(program));
            return static_cast<int>(kDone);
          }};
}

}  // namespace sluice::cli
