// The kinds of image files that can be converted. A table in image_kinds.cpp has an entry for each.
//
// To add a kind, write a source file here that defines a function of pixel_source.h. The kind also
// goes into these files, where "jxl|jpeg xl" shows how:
//   writer/source/images/sniff.h          its ImageKind
//   writer/source/images/sniff.cpp        its signature
//   writer/source/images/pixel_source.h
//   writer/source/images/image_kinds.cpp
//   writer/source/list/look.cpp           the endings of its files
//   writer/CMakeLists.txt
//   tools/convert.cpp                     its name in --help
//   writer/include/sluice/convert.h
//   writer/README.md
//   tests/writer/sniff_test.cpp
//   CMakeLists.txt                        if it needs a library: this and all that follow
//   CONTRIBUTING.md                       "Libraries"
//   SECURITY.md
//   tools/setup.sh
//   tools/packaging/package.cmake
//   tools/packaging/manylinux_2_28.Containerfile
//   tools/packaging/conan/conanfile.py
//   tools/packaging/vcpkg/vcpkg.json
//   tools/packaging/vcpkg/portfile.cmake
//   tools/packaging/conda/recipe.yaml
//   samples/cluster/Containerfile
//   tests/install/install_test.cmake
//   tests/install/recipes.py
//   tests/CMakeLists.txt
//   tests/newer_pictures.h
//   tests/newer_pictures.cpp
//   tests/writer/newer_kinds_test.cpp
//   tests/writer/image_file_test.cpp
//   tests/fuzz/picture_target.cpp
//   tests/fuzz/fuzz_test.cpp
//   tests/interruption/no_memory_test.cpp
//   not tests/fuzz/mutate.h               needs no change: knows the boxes that these kinds share
//   not writer/source/images/iso_boxes.h  needs no change: knows these boxes, too
//   not tools/packaging/wheels.sh         needs no change: copies what a system's libraries need
//
// If a kind needs no library (as TGA), CONTRIBUTING.md names it, too ("need none"). It has its own
// test in tests/writer/, which makes the files byte by byte; tests/fuzz/writer_targets.cpp gets its
// smallest file. If sniff.cpp knows the kind as Unsupported() (as QOI), change that line: the first
// signature that fits wins.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "writer/source/images/pixel_source.h"
#include "writer/source/images/sniff.h"
#include "writer/source/images/values.h"

namespace sluice {

// Opens a file of a kind that this build decodes. Throws Error(kUnsupported) for other kinds.
// `with_profile`: whether Profile() will be called, which can take time and memory.
std::unique_ptr<PixelSource> OpenPixels(ImageKind kind, Bytes file, bool with_profile = false);

// Why files of this kind cannot be converted; empty if they can.
std::string WhyNotConverted(const Sniffed& sniffed);

// Whether DecodeValues() reads files of this kind.
bool HasValues(const Sniffed& sniffed) noexcept;
// Why DecodeValues() does not read files of this kind.
std::string WhyNoValues(const Sniffed& sniffed);
// Decodes a whole file as values. Throws an Error whose sentence() says what is wrong with the
// file, without naming it; kLimit, before memory is allocated, if it has more than `max_pixels`.
ValuePicture DecodeValues(Bytes file, std::uint64_t max_pixels);

// For messages: "JPEG, PNG and BMP".
std::string ConvertedKinds();

// Names and versions of the libraries that decode these kinds, except those that every build has.
std::map<std::string, std::string> DecoderVersions(const std::set<ImageKind>& kinds);

}  // namespace sluice
