// The index of a played source (PlayOptions::index): its list of samples in a file, so that the
// source need not be searched again.
#pragma once

#include <filesystem>
#include <stop_token>
#include <vector>

#include <nlohmann/json.hpp>

#include "format/disk/manifest.h"
#include "writer/convert/plan.h"

namespace sluice {

struct IndexedSource {
  ConversionInput input;
  std::vector<ImageFigures> images;  // of SurveyImages()
};

// The files that the whole list is made of: [name, state] of each file, and [name, digest] of a
// folder of label files and of the classes of another dataset. A changed entry makes an index
// invalid. Call it before these files are read.
nlohmann::json FilesOfSource(const ConvertSource& source, const std::stop_token& stop);

// Throws Error: kExists (of another source or other options, or older than one of those files),
// kCorrupt, and those of reading.
IndexedSource ReadIndex(const std::filesystem::path& file, const ConvertSource& source,
                        const ConvertOptions& options, const std::stop_token& stop);

// Writes the file whole or not at all. `input`: with its plan settled.
void WriteIndex(const std::filesystem::path& file, const ConvertSource& source,
                const nlohmann::json& files, const ConversionInput& input,
                const std::vector<ImageFigures>& images);

}  // namespace sluice
