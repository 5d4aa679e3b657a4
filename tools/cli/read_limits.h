// Options of commands that read values of a dataset, which may come from a stranger: what one value
// may take (ReadLimits of <sluice/dataset.h>).
#pragma once

#include <cstdint>

#include "tools/cli/option.h"

namespace sluice::cli {

inline void AddMaxPixels(CLI::App& app, std::uint64_t& limit) {
  AddOption(app, "--max-pixels", "N",
            "do not decode larger images; checked before memory is\n"
            "allocated (default 178M)",
            [&limit](const std::string& text) {
              limit = ParseCount(text);
              if (limit == 0) throw UsageError("0 pixels would refuse every image");
            });
}

inline void AddMaxValueBytes(CLI::App& app, std::uint64_t& limit) {
  AddOption(app, "--max-value-bytes", "SIZE",
            "do not read larger values of bytes and variable-length\n"
            "fields; checked before memory is allocated (default:\n"
            "what the manifest says, or 64 MiB if it says nothing)",
            [&limit](const std::string& text) {
              limit = ParseBytes(text);
              if (limit == 0) throw UsageError("0 bytes would refuse every value");
            });
}

}  // namespace sluice::cli
