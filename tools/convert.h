// Functions of the commands convert, plan, append, finish and status. They find the datasets that a
// command makes and the pictures that these share, run a conversion with progress, report its
// result, and store an archive that comes from a pipe.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/convert.h>
#include <sluice/convert_steps.h>
#include <sluice/error.h>
#include <sluice/work_folder.h>

#include "tools/cli/terminal.h"
#include "tools/convert_source.h"

namespace sluice {

// A dataset that a command makes: the only one, or one of several (of a split or several folders).
struct ConvertPart {
  std::string name;  // of the folder inside of DATASET; empty: DATASET itself
  ConvertSource source;
};

// "train=0.9,val=0.1": names and fractions, which add up to at most 1. Throws UsageError.
std::vector<std::pair<std::string, double>> ParseSplit(const std::string& text);

// If the source is a single folder: the folders inside it that look like the parts of a split,
// unless the arguments say how to treat them. Empty if there are no such folders, and for every
// other kind of source.
std::vector<std::string> UnclearSplitFolders(const SourceArguments& arguments,
                                             const std::stop_token& stop);

struct PartsMade {
  std::vector<ConvertPart> parts;
  std::vector<std::string> warnings;
};

// Lists the sources to convert, and the dataset that each becomes. `split`: as for ParseSplit(), or
// empty; `seed`: the split's. With several folders (or, with `arguments.split_folders`, the folders
// inside one source), every dataset gets the classes of all folders, so that a class has the same
// number everywhere.
PartsMade MakeParts(const SourceArguments& arguments, const std::string& split, std::uint64_t seed,
                    unsigned threads, const std::stop_token& stop);

// Creates the folder that will hold the parts' datasets, and syncs it to disk. Does nothing for a
// URL.
void CreatePartsFolder(const std::string& folder);

// Pictures that several parts of one conversion share: for each, the files that hold it. A test on
// them would test on training images.
using SharedImages = std::vector<std::vector<SharedImage>>;

// Looks for pictures shared by parts that were, or will be, converted into `folder`. Unless it is a
// dry run, lists them in the folder's duplicates.tsv.
SharedImages LookForSharedImages(const std::vector<ConvertPart>& parts, const std::string& folder,
                                 const ConvertOptions& options, const std::stop_token& stop);

// A sentence that names two of the shared pictures; empty if no pictures are shared.
std::string SharedWarning(const SharedImages& shared);

// Prints the warning to standard error, and a line for people to standard output.
void PrintShared(const SharedImages& shared, const std::string& folder, bool dry_run);

nlohmann::ordered_json SharedJson(const SharedImages& shared);

// The content of the report at the end of a conversion.
struct ConvertAccount {
  std::string dataset;
  ConvertOptions options;
  ConvertSummary summary;
  bool planned = false;          // `sluice plan`: nothing is converted yet
  std::uint64_t found_done = 0;  // sources that an earlier run of the same command had finished
};

// A line for each of the eight most frequent reasons, with its count and an example, and a line
// with the number of further reasons.
std::string ReasonLines(const std::vector<LeftOut>& left_out);
nlohmann::ordered_json LeftOutJson(const std::vector<LeftOut>& left_out);

// The summary for people, to standard output; warnings to standard error.
void PrintConvertText(const ConvertAccount& account);

// The same summary as one JSON object.
nlohmann::ordered_json ConvertJson(const ConvertAccount& account);

// Runs a conversion, or one step of one, and shows its progress. Returns false after an
// interruption, which a message has reported. An Error(kIo), such as that of a full disk, says how
// to resume.
bool RunConversion(const cli::Interrupt& interrupt, const std::string& dataset, bool silent,
                   const std::string& activity, const std::string& title,
                   const std::function<void(ConvertHooks)>& step);

// "3/10"; throws UsageError.
PlanPart ParsePart(const std::string& text);

struct PartArguments {
  std::string dataset;
  PlanPart part;
  PartOptions options;
  bool json = false;
  bool quiet = false;
};

// Runs `sluice convert --part`, the middle one of the three steps of a conversion in parts. Returns
// the exit code.
int RunPart(const PartArguments& arguments);

// An archive from a pipe, stored in a file because its samples are read more than once and not in
// the order in which they arrive. The file lies in the folder `dataset` + ".spool" and is removed
// with this object. If the process is killed, the next process for the same dataset removes the
// file. For a dataset at a URL, the folder lies among the temporary files and is named after the
// process, so no later process finds it.
class PipedArchive {
 public:
  // Reads standard input to its end. Throws Error: kIo, kExists (the folder is not Sluice's),
  // kState (stopped, or another process is storing its input for the same dataset).
  PipedArchive(const std::filesystem::path& dataset, const std::stop_token& stop);
  ~PipedArchive();
  PipedArchive(const PipedArchive&) = delete;
  PipedArchive& operator=(const PipedArchive&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void Copy(const std::stop_token& stop);
  [[noreturn]] void Fail(const char* what) const;

  WorkFolder folder_;
  std::filesystem::path path_;
  int file_ = -1;
};

// Replaces the spool file's name in an error, since it means nothing to a user: returns the error
// as one of standard input. Returns any other error unchanged.
Error NamedAsInput(const Error& error, const std::optional<PipedArchive>& piped);

// If the source is "-", calls `check` for the dataset, stores standard input in `piped` and makes
// that file the source. Returns false after an interruption, which a message has reported. Throws
// Error and UsageError.
bool StorePipedInput(SourceArguments& source, const cli::Interrupt& interrupt,
                     std::optional<PipedArchive>& piped,
                     void (*check)(const std::filesystem::path& dataset));

}  // namespace sluice
