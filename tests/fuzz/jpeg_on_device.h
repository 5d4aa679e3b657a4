// A device's functions for JPEGs and packed pictures, run on the CPU. Each part of a job has its
// own memory of exactly its size, so that the address sanitizer finds accesses outside.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/pixels/decode.h"

namespace sluice::fuzz {

struct DevicePlane {
  std::uint32_t left = 0, top = 0, width = 0;
  std::vector<std::uint8_t> samples;  // line by line
  std::uint8_t At(std::uint32_t x, std::uint32_t y) const {
    return samples[std::size_t{y - top} * width + (x - left)];
  }
};

// The samples of each component; empty if a row is broken. nullopt if the device does not decode
// this payload or this region.
std::optional<std::vector<DevicePlane>> DecodeOnDevice(const ImagePayload& payload,
                                                       const Region& region);

}  // namespace sluice::fuzz
