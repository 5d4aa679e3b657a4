// Image files as a server gets them, read as a conversion reads them: any kind of image, turned
// upright by its Exif or XMP.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <sluice/image.h>

namespace sluice {

// A function that reads image files of every kind that `sluice convert` reads, for
// PreprocessOptions::image_files. It returns the image as a conversion with `keep` and no resizing
// stores it: a JPEG with its own coefficients, and everything else as raw pixels of `channels`
// channels (1 or 3; grey files may have 1), on a white background, without regard to colour
// profiles. One thread at a time may call the function; the result is valid until the next call,
// and only as long as the file's bytes are. A baseline JPEG that nothing turns is neither copied
// nor decoded.
//
// The function throws an Error that does not name the file: kUnsupported for a kind that this build
// does not read, kCorrupt for a broken file or one that is cut short, kLimit for an image of more
// than `max_pixels` pixels. It throws std::bad_alloc if there is no memory.
std::function<ImagePayload(std::span<const std::byte> file)> ImageFileReader(
    unsigned channels = 3, std::uint64_t max_pixels = 178'000'000);

}  // namespace sluice
