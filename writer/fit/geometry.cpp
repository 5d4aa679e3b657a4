#include "writer/fit/geometry.h"

#include <algorithm>

namespace sluice {

namespace {

// side * numerator / denominator, rounded half up, at least 1.
std::uint32_t Scaled(std::uint64_t side, std::uint64_t numerator, std::uint64_t denominator) {
  const std::uint64_t scaled = (2 * side * numerator + denominator) / (2 * denominator);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, scaled));
}

FittedGeometry Whole(std::uint32_t width, std::uint32_t height, std::uint32_t out_width,
                     std::uint32_t out_height) {
  FittedGeometry geometry;
  geometry.width = width;
  geometry.height = height;
  geometry.out_width = geometry.target_width = out_width;
  geometry.out_height = geometry.target_height = out_height;
  geometry.unchanged = width == out_width && height == out_height;
  return geometry;
}

// Both sides times `to` / `from`.
FittedGeometry Proportional(std::uint32_t width, std::uint32_t height, std::uint32_t to,
                            std::uint32_t from) {
  return Whole(width, height, Scaled(width, to, from), Scaled(height, to, from));
}

FittedGeometry FitSize(std::uint32_t width, std::uint32_t height, Size size, Fit fit) {
  const bool wider = std::uint64_t{width} * size.height >= std::uint64_t{height} * size.width;
  FittedGeometry geometry = Whole(width, height, size.width, size.height);
  if (geometry.unchanged || fit == Fit::kStretch) return geometry;
  if (fit == Fit::kCrop) {
    if (wider) {
      geometry.width = static_cast<double>(height) * size.width / size.height;
      geometry.left = (width - geometry.width) / 2;
    } else {
      geometry.height = static_cast<double>(width) * size.height / size.width;
      geometry.top = (height - geometry.height) / 2;
    }
    return geometry;
  }
  if (wider) {
    geometry.out_height = std::min(size.height, Scaled(height, size.width, width));
  } else {
    geometry.out_width = std::min(size.width, Scaled(width, size.height, height));
  }
  geometry.x = (size.width - geometry.out_width) / 2;
  geometry.y = (size.height - geometry.out_height) / 2;
  return geometry;
}

}  // namespace

FittedGeometry FitGeometry(std::uint32_t width, std::uint32_t height,
                           const ConvertOptions& options) {
  if (options.geometry.size)
    return FitSize(width, height, *options.geometry.size, options.geometry.fit);
  const std::uint32_t longer = std::max(width, height);
  const std::uint32_t shorter = std::min(width, height);
  if (options.geometry.max_side && longer > *options.geometry.max_side) {
    return Proportional(width, height, *options.geometry.max_side, longer);
  }
  if (options.geometry.short_side && shorter > *options.geometry.short_side) {
    return Proportional(width, height, *options.geometry.short_side, shorter);
  }
  return Whole(width, height, width, height);
}

bool IsSmallerThanTarget(const FittedGeometry& geometry, const ConvertOptions& options) noexcept {
  if (options.geometry.size) {
    return geometry.out_width > geometry.width || geometry.out_height > geometry.height;
  }
  return options.geometry.short_side &&
         std::min(geometry.target_width, geometry.target_height) < *options.geometry.short_side;
}

std::uint32_t DecodeReduction(const FittedGeometry& geometry) noexcept {
  for (const std::uint32_t reduction : {8U, 4U, 2U}) {
    if (geometry.width >= 2.0 * reduction * geometry.out_width &&
        geometry.height >= 2.0 * reduction * geometry.out_height) {
      return reduction;
    }
  }
  return 1;
}

}  // namespace sluice
