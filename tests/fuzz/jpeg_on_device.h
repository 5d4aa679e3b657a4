// A device's functions for JPEGs and packed pictures, on the processor, each part of a job in
// memory of its own, to the byte.
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

// The samples of each component; none if a row was found broken. Nothing: the device does not take
// the region.
std::optional<std::vector<DevicePlane>> DecodeOnDevice(const ImagePayload& payload,
                                                       const Region& region);

}  // namespace sluice::fuzz
