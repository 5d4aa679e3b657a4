// The kinds of image files that are converted: a table in image_kinds.cpp has a line for each.
//
// A new kind takes a value of ImageKind and a signature (sniff.h), a source file here that defines
// what pixel_source.h declares, its line in the table, and, if it needs a library, that library in
// the CMakeLists.txt of writer/ and at the top, in tools/setup.sh and in
// tools/packaging/package.cmake. The endings of its files go into IsImageEnding() (list/look.cpp).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "writer/source/images/pixel_source.h"
#include "writer/source/images/sniff.h"

namespace sluice {

// Opens a file of a kind that this build decodes. Throws Error(kUnsupported) for other kinds.
// `with_profile`: whether Profile() will be called, which can take time and memory.
std::unique_ptr<PixelSource> OpenPixels(ImageKind kind, Bytes file, bool with_profile = false);

// Why files of this kind are left out, whatever they hold; empty if they are converted.
std::string WhyNotConverted(const Sniffed& sniffed);

// For messages: "JPEG, PNG and BMP".
std::string ConvertedKinds();

// Names and versions of the libraries that decode these kinds, besides those that every build has.
std::map<std::string, std::string> DecoderVersions(const std::set<ImageKind>& kinds);

}  // namespace sluice
