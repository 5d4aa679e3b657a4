#include "tools/cli/program.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <sluice/error.h>
#include <sluice/shown_text.h>

#include "tools/cli/completion.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::cli {
namespace {

// CLI11's help, with texts wrapped here instead of in each literal, and without the parts that our
// descriptions say better: which options exclude each other, which arguments are required.
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
  // In the program's list of commands: the first line of a command's description.
  std::string make_subcommand(const CLI::App* app) const override {
    const std::string description = app->get_description();
    return Format("  %-22s%s\n", app->get_name().c_str(),
                  description.substr(0, description.find('\n')).c_str());
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const std::string text = CLI::Formatter::make_help(app, std::move(name), mode) + "\n";
    std::string compact;  // with several empty lines in a row made one
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
  app.set_help_flag("-h,--help", "print this help and exit");  // again: last in the list
}

void Complain(const CLI::App& program, const std::string& sentence) {
  std::fprintf(stderr, "%s: %s\n", program.get_name().c_str(), Printable(sentence).c_str());
}

// With --json, what is wrong is said on standard output, too.
void PrintErrorJson(const Command* command, const nlohmann::ordered_json& error) {
  const CLI::Option* const json =
      command == nullptr ? nullptr : command->app->get_option_no_throw("--json");
  if (json == nullptr || json->count() == 0) return;
  try {
    PrintJson({{"error", error}});
  } catch (const Error&) {  // there is no standard output, which may be what is wrong
    return;
  }
}

int WrongUsage(const CLI::App& program, const Command* command, const std::string& said) {
  const std::string sentence = ShownText(said);  // CLI11 repeats what was given
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

// If one of these streams is closed, the next file to be opened would get its number, and output
// would go into that file. Each is opened in the wrong direction, so that using it stays an error.
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

// Parses. Returns whether to continue; if not, `exit_code` is the program's.
bool Parse(CLI::App& program, const std::vector<Command>& commands, int argc, char** argv,
           int& exit_code) {
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    PrintOut(program.help());  // of the command, if one was named
    exit_code = kDone;
    return false;
  } catch (const CLI::CallForVersion& version) {
    PrintOut(std::string(version.what()) + "\n");
    exit_code = kDone;
    return false;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    exit_code =
        WrongUsage(program, Chosen(commands),
                   text.substr(0, text.find(':')) + " takes one value, and may be given only once");
    return false;
  } catch (const CLI::ParseError& error) {
    exit_code = WrongUsage(program, Chosen(commands), error.what());
    return false;
  } catch (const UsageError& error) {
    exit_code = WrongUsage(program, Chosen(commands), error.what());
    return false;
  }
  if (Chosen(commands) == nullptr) {
    std::fputs(program.help().c_str(), stderr);
    exit_code = kWrongUsage;
    return false;
  }
  return true;
}

}  // namespace

void EndWithoutMemory() noexcept {
  static std::terminate_handler before = nullptr;
  before = std::set_terminate([] {
    // The standard library itself ends the process so, where a folder cannot be listed.
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
      if (write(STDERR_FILENO, text.data(), text.size()) < 0) break;  // there is nobody to tell
    _exit(kFailed);
  });
}

int RunProgram(CLI::App& program, std::vector<Command> commands, int argc, char** argv) {
  commands.push_back(AddCompletionCommand(program));
  commands.push_back(AddCompleteCommand(program));
  FillStandardStreams();
  PrepareHelp(program);
  for (const Command& command : commands)
    PrepareHelp(*command.app);
  const Command* command = nullptr;
  try {
    int exit_code = kDone;
    if (!Parse(program, commands, argc, argv, exit_code)) return exit_code;
    command = Chosen(commands);
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
                  thread ? "a thread cannot be started; raise `ulimit -v` or `ulimit -u`"
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
