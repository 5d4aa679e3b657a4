// Parsing and running a command, and completion in shells.
//
// CLI11 parses; its help is formatted here. Whatever a command throws becomes one sentence on
// standard error, without secrets, and with --json also an object on standard output. A shell's
// script for completion has no knowledge of its own: whenever the user asks for candidates, it runs
// the program's hidden command `complete`, which knows the options.
#include "tools/cli/program.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/nearest_name.h>
#include <sluice/shown_text.h>
#include <sluice/unmapped_note.h>

#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::cli {

namespace {

// CLI11's help, with two changes. It wraps the texts, so that literals need no line breaks; and it
// omits which options exclude each other and which arguments are required, since our descriptions
// say that better.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kHelpIndent); }

  std::string make_description(const CLI::App* app) const override {
    return WrappedParagraphs(app->get_description(), kHelpColumns) + "\n\n";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return WrappedParagraphs(option->get_description(), kHelpColumns - kHelpIndent);
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = ValueName(*option);
    return value.empty() ? "" : " " + value;
  }
  // In the line of usage. The placeholder of several arguments may name the last of them: "SOURCE
  // ... DATASET".
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string opts = make_option_opts(option);
    if (opts.empty()) return CLI::Formatter::make_option_usage(option);
    return make_option_name(option, true) + opts;
  }
  // In the program's list of commands: the first line of a command's description.
  std::string make_subcommand(const CLI::App* app) const override {
    const std::string description = app->get_description();
    return Format("  %-22s%s\n", app->get_name().c_str(),
                  description.substr(0, description.find('\n')).c_str());
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string text = CLI::Formatter::make_help(app, std::move(name), mode) + "\n";
    std::string compact;  // the text, with one empty line in place of several
    for (const char letter : text) {
      if (letter != '\n' || !compact.ends_with("\n\n")) compact += letter;
    }
    while (compact.ends_with("\n\n"))
      compact.pop_back();
    return compact;
  }
};

constexpr std::string_view kOwnFault =
    "stopped by a fault of its own, not yours; please report it with the command line and, if you "
    "can, its input";

void PrepareHelp(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  // Set again, so that it comes last in the list of options.
  app.set_help_flag("-h,--help", "print this help and exit");
}

void Complain(const CLI::App& program, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", program.get_name().c_str(), Printable(sentence).c_str());
}

// With --json, the error is also printed to standard output.
void PrintErrorJson(const Command* command, const nlohmann::ordered_json& error) {
  const CLI::Option* const json =
      command == nullptr ? nullptr : command->app->get_option_no_throw("--json");
  if (json == nullptr || json->count() == 0) return;
  try {
    PrintJson({{"error", error}});
  } catch (const Error&) {  // writing to standard output may itself be the failure
    return;
  }
}

int WrongUsage(const CLI::App& program, const Command* command, const std::string& message) {
  const std::string sentence = ShownText(message);  // CLI11 quotes the arguments
  Complain(program, sentence);
  std::fprintf(stderr, "Try: %s%s%s --help\n", program.get_name().c_str(),
               command == nullptr ? "" : " ",
               command == nullptr ? "" : command->app->get_name().c_str());
  PrintErrorJson(command,
                 {{"code", ErrorCodeName(ErrorCode::kInvalidArgument)}, {"message", sentence}});
  return kWrongUsage;
}

int Failed(const CLI::App& program, const Command* command, const std::string& code,
           const std::string& sentence, const std::string& file = {}) {
  Complain(program, sentence);
  nlohmann::ordered_json error = {{"code", code}, {"message", sentence}};
  if (!file.empty()) error["file"] = file;
  PrintErrorJson(command, error);
  return kFailed;
}

// If one of the standard streams is closed, the next file that is opened gets its number, and
// output would go into that file. So each closed stream is opened here, but in the wrong direction:
// using it remains an error.
void FillStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != stream) close(opened);
  }
}

const Command* Chosen(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (command.app->parsed()) return &command;
  }
  return nullptr;
}

// The names of the program's commands, without those that --help does not show.
std::vector<std::string> CommandNames(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* const command : program.get_subcommands({}))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

// "; did you mean --quality?"
std::string OptionInstead(const CLI::App& app, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::Option* const known : app.get_options())
    for (const std::string& name : known->get_lnames())
      names.push_back("--" + name);
  const std::string nearest = NearestName(option, names);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

// A sentence about the first word of the command line that means nothing; empty if all words have a
// meaning.
std::string Unexpected(const CLI::App& program, const Command* command) {
  const CLI::App& app = command == nullptr ? program : *command->app;
  std::vector<std::string> words = app.remaining();
  if (words.empty()) words = program.remaining();
  if (words.empty()) return {};
  const auto is_option = [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  };
  if (command == nullptr && !is_option(words[0]))
    return "there is no command \"" + words[0] + "\"" +
           NamesInstead(words[0], CommandNames(program), "the commands are");
  const auto option = std::ranges::find_if(words, is_option);
  if (option == words.end())
    return "\"" + words[0] + "\" is one argument more than this command takes";
  const std::string name = option->substr(0, option->find('='));
  return "there is no option " + name + OptionInstead(app, name);
}

std::string NeedsValue(const CLI::Option& option) {
  return option.get_name() + " needs a value: " + option.get_name() + " " + ValueName(option);
}

// A sentence about an option with too few or too many values, from CLI11's message about it.
std::string Mismatch(const CLI::App& app, const std::string& message) {
  const std::string name = message.substr(0, message.find_first_of(": "));
  const CLI::Option* const option = app.get_option_no_throw(name);
  if (message.ends_with("missing") && option != nullptr) return NeedsValue(*option);
  return name + " may be given only once";
}

// A sentence about an option whose value was forgotten; empty if no value was. CLI11 takes the
// next word as the value, whatever it is: "--html --json" would write a file called --json. A value
// that does begin with two dashes is given as "--html=--json".
std::string Forgotten(const CLI::App& command, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with('-') || !words[i + 1].starts_with("--")) continue;
    const CLI::Option* const option = command.get_option_no_throw(words[i]);
    if (option != nullptr && option->get_items_expected_min() > 0) return NeedsValue(*option);
  }
  return {};
}

// The command line in the form that is parsed: "help" and "version" are also taken as words, as
// many programs do, and with one dash.
std::vector<std::string> WordsOf(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) return words;
  if (words[0] == "version" || words[0] == "-version") words[0] = "--version";
  if (words[0] == "help" || words[0] == "-help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  return words;
}

// Parses the command line. Returns whether to continue; if not, sets the program's `exit_code`.
bool Parse(CLI::App& program, const std::vector<Command>& commands,
           const std::vector<std::string>& words, int& exit_code) {
  const auto forgotten = [&] {
    const Command* const command = Chosen(commands);
    return command == nullptr ? std::string() : Forgotten(*command->app, words);
  };
  const auto refuse = [&](const std::string& sentence) {
    const Command* const command = Chosen(commands);
    // A mistyped option may be why another word is missing, so it is reported first, unless it
    // stands where a value was forgotten.
    std::string first = forgotten();
    if (first.empty()) first = Unexpected(program, command);
    exit_code = WrongUsage(program, command, first.empty() ? sentence : first);
    return false;
  };
  try {
    program.parse(std::vector(words.rbegin(), words.rend()));  // in CLI11's order
    if (const std::string sentence = forgotten(); !sentence.empty()) return refuse(sentence);
  } catch (const CLI::CallForHelp& help) {
    if (Chosen(commands) == nullptr && program.remaining_size() > 0) return refuse(help.what());
    PrintOut(program.help());  // if the arguments name a command, that command's help
    exit_code = kDone;
    return false;
  } catch (const CLI::CallForVersion& version) {
    PrintOut(std::string(version.what()) + "\n");
    exit_code = kDone;
    return false;
  } catch (const CLI::ArgumentMismatch& error) {
    const Command* const command = Chosen(commands);
    return refuse(Mismatch(command == nullptr ? program : *command->app, error.what()));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  } catch (const UsageError& error) {
    return refuse(error.what());
  }
  if (Chosen(commands) == nullptr) {
    std::fputs(program.help().c_str(), stderr);
    exit_code = kWrongUsage;
    return false;
  }
  return true;
}

// In both scripts, NAME stands for the program's name, and FUNCTION for the name of a shell
// function: "_" and the program's name, with "_" for each "-".
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

// The possible values of an option or a positional, one a line; ":files" or ":directories" if a
// path completes it; empty if any value is possible.
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

// The candidates for the last of `words`. (`words` does not have the program's name.)
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

// The candidates that begin with the last word.
std::string Completions(CLI::App& program, const std::vector<std::string>& words) {
  std::string fitting;
  for (const std::string& line : Split(Candidates(program, words), '\n')) {
    const bool fits = line.starts_with(words.back()) || line.starts_with(':');
    if (fits && !line.empty()) fitting += line + "\n";
  }
  return fitting;
}

// Adds `completion SHELL`, which prints the completion script for a shell.
Command AddCompletionCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand(
      "completion",
      "Prints a script for completing this program's commands in a shell.\n\n"
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

// Adds `complete . WORD...`, which the completion scripts run. It prints the candidates for the
// last word, one a line, an option or command with a tab and its description; or one line ":files"
// or ":directories".
Command AddCompleteCommand(CLI::App& program) {
  CLI::App* const app =
      program.add_subcommand("complete",
                             "Prints the candidates for completing a command line. The "
                             "scripts of `completion` run it.");
  app->group("");         // not in --help
  app->prefix_command();  // CLI11 leaves the words unparsed, including options
  return {app, [&program, app] {
            std::vector<std::string> words = app->remaining();
            if (words.size() < 2)
              throw UsageError(
                  "complete: give a dot, which is ignored, and then the words typed so far");
            words.erase(words.begin());
            PrintOut(Completions(program, words));
            return static_cast<int>(kDone);
          }};
}

// Prints the notes of UnmappedNote() about the arguments, each note once.
void NoteUnmapped(const CLI::App& program, const CLI::App& command) {
  const CLI::Option* const quiet = command.get_option_no_throw("--quiet");
  if (quiet != nullptr && quiet->count() > 0) return;
  std::set<std::string> notes;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& word : option->results()) {
      const std::string note = word.empty() ? "" : UnmappedNote(word);
      if (note.empty() || !notes.insert(note).second) continue;
      Complain(program, "note: " + note);
    }
  }
}

}  // namespace

void EndWithoutMemory() noexcept {
  static std::terminate_handler before = nullptr;
  before = std::set_terminate([] {
    // If the standard library has no memory to list a folder, it ends the process through this
    // handler, with errno set.
    bool no_memory = errno == ENOMEM;
    try {
      if (const std::exception_ptr thrown = std::current_exception())
        std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      no_memory = true;
    } catch (...) {
      no_memory = false;
    }
    if (!no_memory) before();
    constexpr std::string_view kSentence = ": out of memory; free some, or raise `ulimit -v`\n";
    for (const std::string_view text : {std::string_view(program_invocation_short_name), kSentence})
      if (write(STDERR_FILENO, text.data(), text.size()) < 0) break;  // standard error is gone, too
    _exit(kFailed);
  });
}

int RunProgram(CLI::App& program, std::vector<Command> commands, int argc, char** argv) {
  commands.push_back(AddCompletionCommand(program));
  commands.push_back(AddCompleteCommand(program));
  FillStandardStreams();
  // Beyond `ulimit -f`, write() then fails with EFBIG, which has a message.
  std::signal(SIGXFSZ, SIG_IGN);
  PrepareHelp(program);
  for (const Command& command : commands)
    PrepareHelp(*command.app);
  const Command* command = nullptr;
  try {
    int exit_code = kDone;
    if (!Parse(program, commands, WordsOf(argc, argv), exit_code)) return exit_code;
    command = Chosen(commands);
    NoteUnmapped(program, *command->app);
    return command->run();
  } catch (const UsageError& error) {
    return WrongUsage(program, command, error.what());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) {
      return WrongUsage(program, command, error.what());
    }
    return Failed(program, command, ErrorCodeName(error.code()), error.what(), error.file());
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string file = ShownText(error.path1().string());
    return Failed(program, command, "input/output", file + ": " + error.code().message(), file);
  } catch (const std::system_error& error) {
    const bool thread = error.code() == std::errc::resource_unavailable_try_again;
    return Failed(program, command, "input/output",
                  thread
                      ? "a thread cannot be started (no memory for it, or too many threads); raise "
                        "`ulimit -v` or `ulimit -u`"
                      : "the operating system refused a request: " + error.code().message());
  } catch (const std::bad_alloc&) {
    return Failed(program, command, ErrorCodeName(ErrorCode::kMemory),
                  "out of memory; free some, or raise `ulimit -v`");
  } catch (const std::exception&) {
    // The exception's message is for programmers and names neither file nor sample.
    return Failed(program, command, "fault", std::string(kOwnFault));
  }
}

}  // namespace sluice::cli
