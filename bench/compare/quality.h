// How close a loader's pixels are to the pictures, so that none wins with worse pixels.
#pragma once

#include <filesystem>

#include <sluice/dataset.h>

namespace sluice::bench {

// Numbers of at most `count` JPEGs of the dataset that all have its most frequent size.
std::vector<std::uint64_t> PicturesOfOneSize(const Dataset& dataset, std::uint64_t count);

// Mean PSNR, in decibels, of whole frames stretched to size x size (RGB, in the order of
// `numbers`). The reference is the accurate transform and a filter in double precision: the
// triangle or the area filter, whichever the pixels are nearer to. Throws Error(kCorrupt) if
// `pixels` has another length.
double QualityOf(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                 std::uint32_t size, const std::filesystem::path& pixels);

// As above for raw images, of which the loader gave the middle `size` x `size` pixels: 99 if they
// equal the stored pixels.
double QualityOfMiddles(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                        std::uint32_t size, const std::filesystem::path& pixels);

}  // namespace sluice::bench
