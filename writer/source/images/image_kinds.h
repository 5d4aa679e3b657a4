// The kinds of image files that can be converted. A table in image_kinds.cpp has an entry for each.
//
// To add a kind, write a source file here that defines a function of pixel_source.h. It also
// goes into these files, where "jxl|jpeg xl" shows how:
//   writer/source/images/sniff.h          its ImageKind; its signature in sniff.cpp
//   writer/source/images/pixel_source.h
//   writer/source/images/image_kinds.cpp
//   writer/source/list/look.cpp           the endings of its files
//   writer/CMakeLists.txt
//   CMakeLists.txt                        this and the next two if it needs a library
//   tools/setup.sh
//   tools/packaging/package.cmake
//   tools/convert.cpp                     its name in --help
//   writer/include/sluice/convert.h
//   writer/README.md
//   tests/writer/sniff_test.cpp
//   tests/newer_pictures.cpp
//   tests/install/install_test.cmake      this and the next if it needs a library
//   samples/cluster/Containerfile
//   tests/fuzz/picture_target.cpp
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

// Why files of this kind cannot be converted; empty if they can.
std::string WhyNotConverted(const Sniffed& sniffed);

// For messages: "JPEG, PNG and BMP".
std::string ConvertedKinds();

// Names and versions of the libraries that decode these kinds, except those that every build has.
std::map<std::string, std::string> DecoderVersions(const std::set<ImageKind>& kinds);

}  // namespace sluice
