// What is refused of a source before anything is read.
#pragma once

#include <filesystem>

#include <sluice/convert_source.h>

namespace sluice {

// Throws Error(kInvalidArgument) if members do not fit together.
void CheckSource(const ConvertSource& source);

// Throws Error(kInvalidArgument) if the dataset would lie in the folder that the conversion scans,
// where it would read its own output.
void CheckFoldersApart(const ConvertSource& source, const std::filesystem::path& dataset);

}  // namespace sluice
