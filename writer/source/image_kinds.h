// The kinds of image files that are converted, and what reads each of them: one line of the table
// in image_kinds.cpp for each.
//
// A new kind takes a value of ImageKind and a signature (sniff.{h,cpp}), a PixelSource of its own,
// its line in the table, and its library in the CMakeLists.txt of this library and at the top, in
// tools/setup.sh and in tools/packaging/package.cmake. Each kind except JPEG, PNG, BMP, PPM and TGA
// needs a library that a build may lack. In archives its names end as archives.cpp says. People
// read of it in tools/convert.cpp, sluice/convert.h, writer/README.md and README.md; its tests are
// a file in tests/writer/, sniff_test.cpp, and an input in tests/fuzz/writer_targets.cpp.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "writer/source/pixel_source.h"
#include "writer/source/sniff.h"

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
