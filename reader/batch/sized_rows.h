// The rows of an image whose size differs from sample to sample
// (LoaderOptions::output.image_sizes).
//
// Each row has room for the largest image, so that threads fill rows in any order. With kOwn an
// image lies at the beginning of its room, and stays there. With kPadded it lies at the end, from
// where PadRows() moves all of a batch's images to where they belong, in the same memory.
#pragma once

#include <cstdint>
#include <vector>

#include <sluice/batch.h>

namespace sluice {

struct SizedRows {
  std::vector<ImageSize> sizes;        // by row; none with kEqual
  std::vector<std::uint64_t> offsets;  // by row: where its values begin, counted from the image's
};

// Pads the first `count` rows, which lie in their order, each no further to the front than it will
// be: to the right and below, with `fill` (0 if values have more than two bytes). Gives the image
// their size.
void PadRows(std::uint8_t* first, std::size_t count, std::uint16_t fill, ImageBatch& image,
             SizedRows& rows);

}  // namespace sluice
