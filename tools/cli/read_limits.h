// Options of commands that read values of a dataset, which may come from a stranger: what one value
// may take (ReadLimits of <sluice/dataset.h>).
#pragma once

#include <cstdint>

#include "tools/cli/option.h"

namespace sluice::cli {

inline void AddMaxPixels(CLI::App& app, std::uint64_t& limit) {
  AddOption(app, "--max-pixels", "N",
            "leave larger images undecoded, before memory is taken\nfor them (default 178M)",
            [&limit](const std::string& text) {
              limit = ParseCount(text);
              if (limit == 0) throw UsageError("0 pixels would refuse every image");
            });
}

inline void AddMaxValueBytes(CLI::App& app, std::uint64_t& limit) {
  AddOption(app, "--max-value-bytes", "SIZE",
            "leave larger values of bytes and variable-length fields\nunread, before memory is "
            "taken for them (default: what\nthe manifest says, or 64 MiB where it says nothing)",
            [&limit](const std::string& text) {
              limit = ParseBytes(text);
              if (limit == 0) throw UsageError("0 bytes would refuse every value");
            });
}

}  // namespace sluice::cli
