// Checks that the numbers of a manifest agree with each other, with its schema and with the
// format's limits. Done once, when it is parsed; later code may index by them unchecked.
#pragma once

#include <string>

#include "format/disk/manifest.h"

namespace sluice {

// `file`: the manifest's path, for messages. Throws Error(kCorrupt) that says what does not agree.
void CheckManifest(const Manifest& manifest, const std::string& file);

}  // namespace sluice
