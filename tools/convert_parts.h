// One command, several datasets: the parts of a split, or several folders.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/convert.h>

#include "tools/convert_source.h"

namespace sluice {

struct ConvertPart {
  std::string name;  // of the folder inside of DATASET; empty: DATASET itself
  ConvertSource source;
};

// "train=0.9,val=0.1": names and fractions, which add up to at most 1. Throws UsageError.
std::vector<std::pair<std::string, double>> ParseSplit(const std::string& text);

// The folders of the only source that look like the parts of a split, unless the arguments say what
// they are. Empty if there are none, or for another kind of source.
std::vector<std::string> UnclearSplitFolders(const SourceArguments& arguments,
                                             const std::stop_token& stop);

// Lists the sources to convert and the dataset for each. `split`: as for ParseSplit(), or empty;
// `seed`: the split's. Several folders get the classes of all of them, so that numbers agree; so do
// the folders inside of one, with `arguments.split_folders`.
std::vector<ConvertPart> MakeParts(const SourceArguments& arguments, const std::string& split,
                                   std::uint64_t seed, unsigned threads,
                                   const std::stop_token& stop);

// Creates the folder that the parts' datasets go into, on disk when this returns.
void CreatePartsFolder(const std::string& folder);

// Pictures that several parts of one conversion share, so that a test would use training images.
using SharedImages = std::vector<std::vector<SharedImage>>;

// Looks for them among the parts that were, or are to be, converted into `folder`, and lists them
// in its duplicates.tsv unless it is a dry run.
SharedImages LookForSharedImages(const std::vector<ConvertPart>& parts, const std::string& folder,
                                 const ConvertOptions& options, const std::stop_token& stop);

// A sentence that names two of them; empty if there are none.
std::string SharedWarning(const SharedImages& shared);

// For people: the warning to standard error, a line to standard output.
void PrintShared(const SharedImages& shared, const std::string& folder, bool dry_run);

nlohmann::ordered_json SharedJson(const SharedImages& shared);

}  // namespace sluice
