// Whether the numbers of a manifest fit each other, its schema and the format's limits: looked at
// once, where it is parsed. Everything after that may index by them.
#pragma once

#include <string>

#include "format/disk/manifest.h"

namespace sluice {

// `file`: the manifest's path, for messages. Throws Error(kCorrupt) that says what does not fit.
void CheckManifest(const Manifest& manifest, const std::string& file);

}  // namespace sluice
