// How true to the pictures a loader's pixels are, so that none wins by worse ones.
#pragma once

#include <filesystem>

#include <sluice/dataset.h>

namespace sluice::bench {

// Numbers of at most `count` JPEGs of the dataset that are of one size, the most frequent one.
std::vector<std::uint64_t> PicturesOfOneSize(const Dataset& dataset, std::uint64_t count);

// Mean PSNR, in decibels, of whole frames stretched to size x size (RGB, in the order of
// `numbers`), against the accurate transform and a filter in double precision: the triangle or the
// area filter, whichever the pixels are nearer to. Throws Error(kCorrupt) where `pixels` is of
// another length.
double QualityOf(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                 std::uint32_t size, const std::filesystem::path& pixels);

// The same of raw images, of which the loader gave the middle `size` x `size` pixels: 99 where they
// are those that are stored.
double QualityOfMiddles(const Dataset& dataset, const std::vector<std::uint64_t>& numbers,
                        std::uint32_t size, const std::filesystem::path& pixels);

}  // namespace sluice::bench
