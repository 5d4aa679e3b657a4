#include "tools/cli/manual.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

#include <sluice/error.h>

#include "tools/cli/exit_code.h"
#include "tools/cli/option.h"
#include "tools/cli/quantity.h"

namespace sluice::cli {
namespace {

// Escapes text so that troff prints it literally at any place in a line.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else if ((letter == '.' || letter == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += std::string("\\&") + letter;
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

std::string Upper(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Everything after the first line; an empty line begins a paragraph.
std::string Paragraphs(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::string out;
  bool begins = false;
  while (std::getline(lines, line)) {
    if (line.empty()) {
      begins = true;
      continue;
    }
    if (begins && !out.empty()) out += ".PP\n";
    begins = false;
    out += Escaped(line) + "\n";
  }
  return out;
}

// The options of a group, or the positionals, in their order.
std::string OptionList(const CLI::App& app, const std::string& group, bool positionals) {
  std::string out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() != positionals || option->get_group() != group) continue;
    const std::string name = option->get_name(positionals, true);
    const std::string value = ValueName(*option);
    out += ".TP\n\\fB" + Escaped(name) + "\\fR" +
           (value.empty() ? "" : " \\fI" + Escaped(value) + "\\fR") + "\n" +
           Escaped(option->get_description()) + "\n";
  }
  return out;
}

std::string Sections(const CLI::App& app) {
  std::string out;
  const std::string positionals =
      OptionList(app, "Positionals", true) + OptionList(app, "Options", true);
  if (!positionals.empty()) out += ".SH ARGUMENTS\n" + positionals;
  for (const std::string& group : app.get_groups()) {
    const std::string options = OptionList(app, group, false);
    if (options.empty()) continue;
    // A title such as "Size of the images (one of the first four)" is printed unchanged.
    out += (group == "Options" ? ".SH OPTIONS\n" : ".SS " + Escaped(group) + "\n") + options;
  }
  return out;
}

std::string Commands(const CLI::App& program) {
  std::string out;
  for (const CLI::App* command : program.get_subcommands({})) {
    out += ".TP\n\\fB" + Escaped(program.get_name() + "-" + command->get_name()) + "\\fR(1)\n" +
           Escaped(FirstLine(command->get_description())) + "\n";
  }
  return out.empty() ? out : ".SH COMMANDS\n" + out;
}

// The footer holds examples, then exit codes, each under its word.
std::string Footer(const std::string& footer) {
  const std::string examples_word = "Examples:\n";
  const std::string codes_word = "Exit codes: ";
  const std::size_t examples = footer.find(examples_word);
  const std::size_t codes = footer.find(codes_word);
  std::string out;
  if (examples != std::string::npos) {
    std::string text =
        footer.substr(examples + examples_word.size(),
                      codes == std::string::npos ? codes : codes - examples - examples_word.size());
    text.resize(text.find_last_not_of('\n') + 1);
    out += ".SH EXAMPLES\n.nf\n" + Escaped(text) + "\n.fi\n";
  }
  if (codes != std::string::npos) {
    out += ".SH EXIT STATUS\n" + Escaped(footer.substr(codes + codes_word.size())) + "\n";
  }
  return out;
}

std::string Usage(const CLI::App& program, const CLI::App* command) {
  std::string words = "\\fB" + Escaped(program.get_name());
  if (command == nullptr) return words + "\\fR \\fICOMMAND\\fR ...\n";
  words += " " + Escaped(command->get_name()) + "\\fR [\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : command->get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = "\\fI" + Escaped(option->get_name(true)) + "\\fR" +
                             (option->get_expected_max() > 1 ? "..." : "");
    words += option->get_required() ? " " + name : " [" + name + "]";
  }
  return words + "\n";
}

void WritePages(const CLI::App& program, const std::string& source,
                const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const CLI::App* command) {
    const std::filesystem::path file = folder / (name + ".1");
    std::ofstream out(file);
    out << ManualPage(program, command, source);
    out.close();
    if (!out) throw Error(ErrorCode::kIo, file.string(), "cannot be written");
  };
  write(program.get_name(), nullptr);
  for (const CLI::App* command : program.get_subcommands({}))
    write(program.get_name() + "-" + command->get_name(), command);
}

}  // namespace

std::string ManualPage(const CLI::App& program, const CLI::App* command,
                       const std::string& source) {
  const CLI::App& app = command == nullptr ? program : *command;
  const std::string name =
      program.get_name() + (command == nullptr ? "" : "-" + command->get_name());
  std::string title = FirstLine(app.get_description());
  if (title.ends_with('.')) title.pop_back();
  std::string page = ".TH \"" + Upper(name) + "\" 1 \"\" \"" + source + "\" \"User Commands\"\n";
  page += ".SH NAME\n" + Escaped(name) + " \\- " + Escaped(title) + "\n";
  page += ".SH SYNOPSIS\n" + Usage(program, command);
  const std::string description = Paragraphs(app.get_description());
  if (!description.empty()) page += ".SH DESCRIPTION\n" + description;
  if (command == nullptr) page += Commands(program);
  return page + Sections(app) + Footer(app.get_footer());
}

Command AddManualCommand(CLI::App& program, const std::string& source) {
  CLI::App* const app = program.add_subcommand("manual",
                                               "Writes the manual pages.\n\n"
                                               "One for the program and one for each command, for "
                                               "`man`. Installed copies come with them.\n");
  const auto folder = std::make_shared<std::string>();
  app->add_option("FOLDER", *folder, "where to; made if it is not there")
      ->required()
      ->type_name("");
  app->footer(
      Format("\nExamples:\n  %s manual ~/.local/share/man/man1\n\n", program.get_name().c_str()) +
      kExitCodeHelp);
  return {app, [&program, source, folder] {
            WritePages(program, source, *folder);
            return static_cast<int>(kDone);
          }};
}

}  // namespace sluice::cli
