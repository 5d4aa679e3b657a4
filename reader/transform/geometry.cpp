#include "reader/transform/geometry.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/random.h"
#include "reader/transform/pixel_program.h"
#include "reader/transform/portable_math.h"

namespace sluice {

namespace {

// Kinds of operation, part of every draw's counter: never changed, so that draws stay what they
// were.
enum class Operation : std::uint16_t {
  kRandomResizedCrop = 1,
  kRandomCrop = 2,
  kHorizontalFlip = 3
};

[[noreturn]] void Refuse(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "transform: " + what);
}

void CheckExtent(const char* name, std::uint32_t width, std::uint32_t height) {
  if (width == 0 || height == 0 || width > kMaxImageSide || height > kMaxImageSide) {
    Refuse(std::string(name) + " needs a width and height of 1 to 65535 pixels");
  }
}

// The frame that a picture is seen through while the pipeline is applied.
struct Frame {
  Region region;
  std::uint64_t draw_seed = 0;
  std::uint64_t position = 0;
  std::uint16_t uses[4] = {};  // of each operation so far

  RandomStream Draws(Operation operation) noexcept {
    const auto kind = static_cast<std::uint16_t>(operation);
    const auto use = static_cast<std::uint16_t>(uses[kind]++ << 4);
    return {draw_seed, Purpose::kTransform, position, static_cast<std::uint16_t>(kind | use)};
  }
};

void ResizeSpan(Span& span, std::uint32_t extent) {
  span.out = span.target = extent;
}

// Takes [offset, offset + extent) of the span's grid; beyond the grid there are zeros.
void CropSpan(Span& span, std::int64_t offset, std::uint32_t extent, bool mirrored) {
  if (mirrored) offset = std::int64_t{span.target} - offset - extent;
  const std::int64_t begin = std::max<std::int64_t>(span.at, offset);
  const std::int64_t end =
      std::min<std::int64_t>(std::int64_t{span.at} + span.out, offset + extent);
  span.target = extent;
  if (end <= begin) {  // nothing but padding
    span.out = span.at = 0;
    return;
  }
  if (static_cast<std::uint32_t>(end - begin) != span.out) {
    const double scale = span.length / span.out;
    span.start += static_cast<double>(begin - span.at) * scale;
    span.length = static_cast<double>(end - begin) * scale;
    // Rounding must not lead out of the picture.
    span.length = std::min(span.length, span.bound + double(span.bound_length) - span.start);
  }
  span.out = static_cast<std::uint32_t>(end - begin);
  span.at = static_cast<std::uint32_t>(begin - offset);
}

// The same for a crop whose neighbourhood must not be seen, as if the picture had been cut there.
void CutSpan(Span& span, std::uint32_t offset, std::uint32_t extent, bool mirrored) {
  CropSpan(span, offset, extent, mirrored);
  const double begin = std::floor(span.start);
  const double end = std::ceil(span.start + span.length);
  span.bound_length =
      static_cast<std::uint32_t>(std::min(end, double(span.bound) + span.bound_length) - begin);
  span.bound = static_cast<std::uint32_t>(begin);
}

// As torchvision: round((grid - crop) / 2), halves to even; and where the grid is smaller, the
// smaller half of the padding first.
std::int64_t CenterOffset(std::uint32_t grid, std::uint32_t crop) {
  const std::int64_t room = std::int64_t{grid} - crop;
  if (room < 0) return -((-room) / 2);
  const std::int64_t half = room / 2;
  return room % 2 == 0 ? half : half + half % 2;
}

struct CropSize {
  std::uint32_t left = 0, top = 0, width = 0, height = 0;
};

std::uint32_t RoundToPixels(double value) {
  return static_cast<std::uint32_t>(value + 0.5);
}

CropSize DrawResizedCrop(const RandomResizedCrop& op, std::uint32_t width, std::uint32_t height,
                         RandomStream draws) {
  const double area = double(width) * height;
  const double log_min = PortableLog(op.min_ratio);
  const double log_max = PortableLog(op.max_ratio);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * (op.min_scale + draws.Uniform() * (op.max_scale - op.min_scale));
    const double ratio = PortableExp(log_min + draws.Uniform() * (log_max - log_min));
    // The square root is exactly rounded by IEEE 754. Both sides stay below 2^32: ratio < 65536.
    const double w = std::sqrt(target * ratio);
    const double h = std::sqrt(target / ratio);
    if (w + 0.5 >= double(width) + 1 || h + 0.5 >= double(height) + 1) continue;
    const std::uint32_t crop_width = RoundToPixels(w);
    const std::uint32_t crop_height = RoundToPixels(h);
    if (crop_width == 0 || crop_height == 0) continue;
    return {static_cast<std::uint32_t>(draws.Below(width - crop_width + 1)),
            static_cast<std::uint32_t>(draws.Below(height - crop_height + 1)), crop_width,
            crop_height};
  }
  const double ratio = double(width) / height;
  CropSize crop{0, 0, width, height};
  if (ratio < op.min_ratio) {
    crop.height = std::clamp(RoundToPixels(width / op.min_ratio), 1U, height);
  } else if (ratio > op.max_ratio) {
    crop.width = std::clamp(RoundToPixels(height * op.max_ratio), 1U, width);
  }
  crop.left = (width - crop.width) / 2;
  crop.top = (height - crop.height) / 2;
  return crop;
}

void Apply(const RandomResizedCrop& op, Frame& frame) {
  Region& region = frame.region;
  const CropSize crop = DrawResizedCrop(op, region.x.target, region.y.target,
                                        frame.Draws(Operation::kRandomResizedCrop));
  CutSpan(region.x, crop.left, crop.width, region.flip);
  CutSpan(region.y, crop.top, crop.height, false);
  ResizeSpan(region.x, op.width);
  ResizeSpan(region.y, op.height);
  region.filter = op.filter;
}

void Apply(const Resize& op, Frame& frame) {
  ResizeSpan(frame.region.x, op.width);
  ResizeSpan(frame.region.y, op.height);
  frame.region.filter = op.filter;
}

void Apply(const ResizeShortSide& op, Frame& frame) {
  Span& x = frame.region.x;
  Span& y = frame.region.y;
  const std::uint64_t width = x.target;
  const std::uint64_t height = y.target;
  const auto longer = [&op](std::uint64_t of, std::uint64_t by) {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(op.side * of / by, 1, kMaxImageSide));
  };
  ResizeSpan(x, width <= height ? op.side : longer(width, height));
  ResizeSpan(y, width <= height ? longer(height, width) : op.side);
  frame.region.filter = op.filter;
}

void Apply(const CenterCrop& op, Frame& frame) {
  Region& region = frame.region;
  CropSpan(region.x, CenterOffset(region.x.target, op.width), op.width, region.flip);
  CropSpan(region.y, CenterOffset(region.y.target, op.height), op.height, false);
}

void Apply(const RandomCrop& op, Frame& frame) {
  RandomStream draws = frame.Draws(Operation::kRandomCrop);
  const auto offset = [&](std::uint32_t grid, std::uint32_t crop) {
    const std::int64_t room = std::int64_t{grid} + 2 * std::int64_t{op.padding} - crop;
    const auto drawn =
        static_cast<std::int64_t>(draws.Below(static_cast<std::uint64_t>(std::abs(room)) + 1));
    return (room < 0 ? -drawn : drawn) - std::int64_t{op.padding};
  };
  Region& region = frame.region;
  CropSpan(region.x, offset(region.x.target, op.width), op.width, region.flip);
  CropSpan(region.y, offset(region.y.target, op.height), op.height, false);
}

void Apply(const HorizontalFlip& op, Frame& frame) {
  if (frame.Draws(Operation::kHorizontalFlip).Uniform() < op.probability) {
    frame.region.flip = !frame.region.flip;
  }
}

void Check(const RandomResizedCrop& op) {
  CheckExtent("RandomResizedCrop", op.width, op.height);
  if (!(op.min_scale > 0 && op.min_scale <= op.max_scale && op.max_scale <= 1)) {
    Refuse("RandomResizedCrop needs 0 < min_scale <= max_scale <= 1");
  }
  if (!(op.min_ratio > 1.0 / 256 && op.min_ratio <= op.max_ratio && op.max_ratio < 256)) {
    Refuse("RandomResizedCrop needs 1/256 < min_ratio <= max_ratio < 256");
  }
}
void Check(const Resize& op) {
  CheckExtent("Resize", op.width, op.height);
}
void Check(const ResizeShortSide& op) {
  CheckExtent("ResizeShortSide", op.side, op.side);
}
void Check(const CenterCrop& op) {
  CheckExtent("CenterCrop", op.width, op.height);
}
void Check(const RandomCrop& op) {
  CheckExtent("RandomCrop", op.width, op.height);
  if (op.padding > kMaxImageSide) Refuse("RandomCrop needs a padding of at most 65535 pixels");
}
// What changes pixels has been taken out.
template <class T>
void Apply(const T&, Frame&) {}
template <class T>
void Check(const T&) {}

void Check(const HorizontalFlip& op) {
  if (!(op.probability >= 0 && op.probability <= 1)) {
    Refuse("HorizontalFlip needs a probability from 0 to 1");
  }
}

template <class T>
constexpr bool kResizes = std::is_same_v<T, RandomResizedCrop> || std::is_same_v<T, Resize> ||
                          std::is_same_v<T, ResizeShortSide>;
template <class T>
constexpr bool kMayPad = std::is_same_v<T, CenterCrop> || std::is_same_v<T, RandomCrop>;
template <class T>
constexpr bool kFixesExtent = requires(const T& op) {
  op.width;
  op.height;
};

}  // namespace

Geometry::Geometry(const Pipeline& pipeline) {
  std::copy_if(pipeline.begin(), pipeline.end(), std::back_inserter(pipeline_), IsGeometric);
  bool may_be_padded = false;
  for (const Transform& transform : pipeline_) {
    std::visit(
        [&]<class T>(const T& op) {
          Check(op);
          if (kResizes<T> && may_be_padded) {
            Refuse(
                "a resize cannot follow CenterCrop or RandomCrop, which may add a border; put it "
                "before the crop");
          }
          may_be_padded = may_be_padded || kMayPad<T>;
          if constexpr (kFixesExtent<T>) {
            fixed_ = Extent{op.width, op.height};
          } else if constexpr (kResizes<T>) {
            // A shorter side alone fixes the size where the other is known to be the same.
            if (fixed_) {
              Frame frame{Region::Whole(fixed_->width, fixed_->height), 0, 0, {}};
              Apply(op, frame);
              fixed_ = Extent{frame.region.x.target, frame.region.y.target};
            }
          }
        },
        transform);
  }
  if (pipeline.size() > 256) Refuse("a pipeline has at most 256 steps");
}

Region Geometry::RegionFor(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
                           std::uint64_t position) const {
  Frame frame{Region::Whole(width, height), draw_seed, position, {}};
  for (const Transform& transform : pipeline_) {
    std::visit([&frame](const auto& op) { Apply(op, frame); }, transform);
  }
  return frame.region;
}

std::uint64_t DrawSeed(std::uint64_t seed, std::uint64_t epoch) noexcept {
  return RandomStream(seed, Purpose::kTransform, epoch).Word64();
}

}  // namespace sluice
