// Reads image files, as a server gets them, in the way a conversion reads them: any kind of image,
// turned upright by its Exif or XMP.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <sluice/image.h>

namespace sluice {

// Returns a function that reads image files of every kind that `sluice convert` reads, for
// PreprocessOptions::image_files. It returns an image as a conversion with `keep` and no resizing
// stores it:
//
//   a JPEG            keeps its coefficients; a baseline JPEG that need not be turned is neither
//                     copied nor decoded
//   any other file    raw pixels of `channels` channels (1 or 3; a grey file may have 1), on a
//                     white background; colour profiles are ignored
//
// One thread at a time may call the function. Its result is valid until the next call, and only as
// long as the file's bytes are.
//
// The function throws Errors that do not name the file:
//
//   kUnsupported   this build does not read that kind of file
//   kCorrupt       the file is broken or cut short
//   kLimit         the image has more than `max_pixels` pixels
//
// It throws std::bad_alloc if it cannot allocate memory.
std::function<ImagePayload(std::span<const std::byte> file)> ImageFileReader(
    unsigned channels = 3, std::uint64_t max_pixels = 178'000'000);

// For PreprocessOptions::image_files: makes the same functions, which call `warn` with a sentence
// for people after each image that is read but is likely not what was meant: one of more than 8
// bits in which no value reaches a quarter of the range (ConvertSummary::dim). The threads of a
// Preprocess call `warn`, several at once.
std::function<std::function<ImagePayload(std::span<const std::byte> file)>(
    unsigned channels, std::uint64_t max_pixels)>
WarningImageFileReader(std::function<void(const std::string& sentence)> warn);

}  // namespace sluice
