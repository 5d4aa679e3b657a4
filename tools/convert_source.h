// The arguments of `sluice convert` as a ConvertSource.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/convert.h>

namespace CLI {
class App;
}

namespace sluice {

struct SourceArguments {
  std::vector<std::string> places;  // SOURCE ... DATASET
  std::string table;                // a file; empty: none
  std::string paths;                // a file, or "-"
  std::vector<std::string> fields;  // as --field takes them
  std::string classes;              // a file of their names
  // Holds the members that command-line flags set directly; MakeSource() begins with them.
  // label_files.path is empty if no label files are given.
  ConvertSource given{std::filesystem::path()};
  bool takes_parts = false;    // --take is given
  bool split_folders = false;  // only for commands that make several datasets
  FormOptions form = {};       // of the conversion: decides which files are images
};

void AddSourceOptions(CLI::App& app, SourceArguments& arguments);

// The kind of thing that lies at a place on the command line, when asked. kOther: a pipe or a
// device.
enum class PlaceKind { kMissing, kStore, kFolder, kFile, kOther };
PlaceKind KindOf(const std::string& place);

// Reads a file of lines, or of texts that end with zero bytes (as from find -print0); "-" is
// standard input. Drops empty lines, and a byte order mark. Throws Error; kState if a stop was
// requested meanwhile.
std::vector<std::string> ReadLines(const std::string& file, const std::stop_token& stop);

// "COLUMN=TYPE[:FORM][,name=FIELD][,classes=FILE]". Throws UsageError, and Error if the file of
// classes cannot be read; kState if a stop was requested meanwhile.
Column ParseColumn(const std::string& text, const std::stop_token& stop);

// Reads the lists of paths and classes that the arguments name, and returns the source to convert.
// Throws UsageError and Error; kState if a stop was requested while a list came from standard
// input.
ConvertSource MakeSource(const SourceArguments& arguments, const std::stop_token& stop);

// The name of the source, for messages.
std::string NameOf(const SourceArguments& arguments);

}  // namespace sluice
