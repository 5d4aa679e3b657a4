#include "reader/transform/geometric_steps.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "reader/transform/portable_math.h"
#include "reader/transform/step_parameters.h"

namespace sluice {

namespace {

void CheckExtent(const char* name, std::uint32_t width, std::uint32_t height) {
  if (width == 0 || height == 0 || width > kMaxImageSide || height > kMaxImageSide) {
    RefuseTransform(std::string(name) + " needs a width and height of 1 to 65535 pixels");
  }
}

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

void Check(const RandomResizedCrop& op) {
  CheckExtent("RandomResizedCrop", op.width, op.height);
  if (!(op.min_scale > 0 && op.min_scale <= op.max_scale && op.max_scale <= 1)) {
    RefuseTransform("RandomResizedCrop needs 0 < min_scale <= max_scale <= 1");
  }
  if (!(op.min_ratio > 1.0 / 256 && op.min_ratio <= op.max_ratio && op.max_ratio < 256)) {
    RefuseTransform("RandomResizedCrop needs 1/256 < min_ratio <= max_ratio < 256");
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
  if (op.padding > kMaxImageSide)
    RefuseTransform("RandomCrop needs a padding of at most 65535 pixels");
  if (op.border == Border::kReflect && 2 * op.padding >= std::min(op.width, op.height)) {
    RefuseTransform("RandomCrop can reflect a border of less than half of its own side");
  }
}
void Check(const CenterResizedCrop& op) {
  CheckExtent("CenterResizedCrop", op.width, op.height);
  if (!(op.ratio > 0 && op.ratio <= 1)) RefuseTransform("CenterResizedCrop needs 0 < ratio <= 1");
}
void Check(const RandomTranslate& op) {
  if (op.padding > kMaxImageSide)
    RefuseTransform("RandomTranslate needs a padding of at most 65535 pixels");
}
void Check(const HorizontalFlip& op) {
  CheckProbability("HorizontalFlip", op.probability);
}
void Check(const VerticalFlip& op) {
  CheckProbability("VerticalFlip", op.probability);
}
void Check(const RandomQuarterTurns& op) {
  CheckProbability("RandomQuarterTurns", op.probability);
}
void Check(const RandomAffine& op) {
  CheckProbability("RandomAffine", op.probability);
  const auto within = [](double low, double high, double least, double most) {
    return low >= least && low <= high && high <= most;
  };
  if (!within(op.min_degrees, op.max_degrees, -360, 360)) {
    RefuseTransform("RandomAffine needs -360 <= min_degrees <= max_degrees <= 360");
  }
  if (!within(op.translate_x, op.translate_x, 0, 1) ||
      !within(op.translate_y, op.translate_y, 0, 1)) {
    RefuseTransform("RandomAffine translates by a share of 0 to 1");
  }
  if (!within(op.min_scale, op.max_scale, 0.01, 100)) {
    RefuseTransform("RandomAffine needs 0.01 <= min_scale <= max_scale <= 100");
  }
  if (!within(op.min_shear_x, op.max_shear_x, -80, 80) ||
      !within(op.min_shear_y, op.max_shear_y, -80, 80)) {
    RefuseTransform("RandomAffine shears by -80 to 80 degrees, the smaller number first");
  }
}
template <class T>
void Check(const T&) {}

// Halves away from zero would favour the outermost numbers; they go to the even one.
double RoundHalfEven(double value) {
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest != 0.5) return std::floor(value + 0.5);
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

}  // namespace

AffineMap AffineAbout(std::uint32_t width, std::uint32_t height, double degrees, double shift_x,
                      double shift_y, double scale, double shear_x, double shear_y) noexcept {
  constexpr double kRadians = 3.14159265358979323846 / 180;
  const double rotation = degrees * kRadians;
  const double shear_sine = PortableSin(shear_y * kRadians);
  const double shear_cosine = PortableCos(shear_y * kRadians);
  const double tangent_x = PortableSin(shear_x * kRadians) / PortableCos(shear_x * kRadians);
  const double sine = PortableSin(rotation), cosine = PortableCos(rotation);
  // Of the rotation less the vertical shear, over the shear's cosine.
  const double a = (cosine * shear_cosine + sine * shear_sine) / shear_cosine;
  const double c = (sine * shear_cosine - cosine * shear_sine) / shear_cosine;
  AffineMap map{scale * a, scale * (-a * tangent_x - sine),   0,
                scale * c, scale * (-c * tangent_x + cosine), 0};
  const double x = width * 0.5, y = height * 0.5;
  map.x0 = x + shift_x - (map.xx * x + map.xy * y);
  map.y0 = y + shift_y - (map.yx * x + map.yy * y);
  return map;
}

RandomStream Framing::Draws(Operation operation) noexcept {
  const auto kind = static_cast<std::uint16_t>(operation);
  const auto use = static_cast<std::uint16_t>(uses_[kind]++ << 4);
  return {draw_seed_, Purpose::kTransform, position_, static_cast<std::uint16_t>(kind | use)};
}

void Framing::Crop(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height) {
  const Region& region = frame_.region;
  CropSpan(Across(), left, width, region.transpose ? region.flip_y : region.flip);
  CropSpan(Down(), top, height, region.transpose ? region.flip : region.flip_y);
}

void Framing::Cut(std::int64_t left, std::int64_t top, std::uint32_t width, std::uint32_t height) {
  const Region& region = frame_.region;
  CutSpan(Across(), left, width, region.transpose ? region.flip_y : region.flip);
  CutSpan(Down(), top, height, region.transpose ? region.flip : region.flip_y);
}

void Framing::ResizeTo(std::uint32_t width, std::uint32_t height, Filter filter) noexcept {
  ResizeSpan(Across(), width);
  ResizeSpan(Down(), height);
  frame_.region.filter = filter;
}

void Framing::SetBorder(Border border, const std::array<std::uint8_t, 3>& fill) noexcept {
  frame_.region.reflect = border == Border::kReflect;
  frame_.region.fill = fill;
}

// A warp comes behind the region's flips; D W is (D W D') D, with D' the way back.
void Framing::Mirror(bool across) noexcept {
  Region& region = frame_.region;
  bool& flip = across != region.transpose ? region.flip : region.flip_y;
  flip = !flip;
  if (!frame_.warped) return;
  AffineMap mirror;
  if (across) {
    mirror.xx = -1;
    mirror.x0 = region.width();
  } else {
    mirror.yy = -1;
    mirror.y0 = region.height();
  }
  frame_.warp = mirror * frame_.warp * mirror;
}

void Framing::Transpose() noexcept {
  frame_.region.transpose = !frame_.region.transpose;
  const AffineMap swap{0, 1, 0, 1, 0, 0};
  if (frame_.warped) frame_.warp = swap * frame_.warp * swap;
}

void Framing::Take(const RandomResizedCrop& op) {
  const CropSize crop = DrawResizedCrop(op, frame_.region.width(), frame_.region.height(),
                                        Draws(Operation::kRandomResizedCrop));
  Cut(crop.left, crop.top, crop.width, crop.height);
  ResizeTo(op.width, op.height, op.filter);
}

void Framing::Take(const Resize& op) {
  ResizeTo(op.width, op.height, op.filter);
}

void Framing::Take(const ResizeShortSide& op) {
  const std::uint64_t width = frame_.region.width();
  const std::uint64_t height = frame_.region.height();
  const auto longer = [&op](std::uint64_t of, std::uint64_t by) {
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(op.side * of / by, 1, kMaxImageSide));
  };
  ResizeTo(width <= height ? op.side : longer(width, height),
           width <= height ? longer(height, width) : op.side, op.filter);
}

void Framing::Take(const CenterCrop& op) {
  Crop(CenterOffset(frame_.region.width(), op.width),
       CenterOffset(frame_.region.height(), op.height), op.width, op.height);
}

void Framing::Take(const CenterResizedCrop& op) {
  const std::uint32_t width = frame_.region.width();
  const std::uint32_t height = frame_.region.height();
  // Of the largest rectangle of the target's aspect ratio; for squares, the shorter side exactly.
  const double unit = std::min(double(width) / op.width, double(height) / op.height);
  const bool square = op.width == op.height;
  const double shorter = std::min(width, height);
  const auto side = [&](std::uint32_t of, std::uint32_t most) {
    const double whole = square ? shorter : unit * of;
    return std::clamp(static_cast<std::uint32_t>(op.ratio * whole), 1U, most);
  };
  const std::uint32_t crop_width = side(op.width, width);
  const std::uint32_t crop_height = side(op.height, height);
  Cut((width - crop_width) / 2, (height - crop_height) / 2, crop_width, crop_height);
  ResizeTo(op.width, op.height, op.filter);
}

void Framing::Take(const RandomCrop& op) {
  RandomStream draws = Draws(Operation::kRandomCrop);
  const auto offset = [&](std::uint32_t grid, std::uint32_t crop) {
    const std::int64_t room = std::int64_t{grid} + 2 * std::int64_t{op.padding} - crop;
    const auto drawn =
        static_cast<std::int64_t>(draws.Below(static_cast<std::uint64_t>(std::abs(room)) + 1));
    return (room < 0 ? -drawn : drawn) - std::int64_t{op.padding};
  };
  const std::int64_t left = offset(frame_.region.width(), op.width);
  const std::int64_t top = offset(frame_.region.height(), op.height);
  Crop(left, top, op.width, op.height);
  SetBorder(op.border, op.fill);
}

void Framing::Take(const RandomTranslate& op) {
  RandomStream draws = Draws(Operation::kRandomTranslate);
  const auto offset = [&](std::uint32_t grid) {
    // What is reflected must be there.
    const std::uint32_t most =
        op.border == Border::kReflect ? std::min(op.padding, (grid - 1) / 2) : op.padding;
    return static_cast<std::int64_t>(draws.Below(2 * std::uint64_t{most} + 1)) - most;
  };
  const std::uint32_t width = frame_.region.width();
  const std::uint32_t height = frame_.region.height();
  const std::int64_t left = offset(width);
  const std::int64_t top = offset(height);
  Crop(left, top, width, height);
  SetBorder(op.border, op.fill);
}

void Framing::Take(const HorizontalFlip& op) {
  if (Draws(Operation::kHorizontalFlip).Uniform() < op.probability) Mirror(true);
}

void Framing::Take(const VerticalFlip& op) {
  if (Draws(Operation::kVerticalFlip).Uniform() < op.probability) Mirror(false);
}

void Framing::Take(const RandomQuarterTurns& op) {
  RandomStream draws = Draws(Operation::kRandomQuarterTurns);
  if (!(draws.Uniform() < op.probability)) return;
  const std::uint64_t quarters = 1 + draws.Below(3);  // against the clock
  for (std::uint64_t q = 0; q < quarters; ++q) {
    Transpose();
    Mirror(false);
  }
}

void Framing::Take(const RandomAffine& op) {
  RandomStream draws = Draws(Operation::kRandomAffine);
  const bool taken = draws.Uniform() < op.probability;
  const double width = frame_.region.width(), height = frame_.region.height();
  const double degrees = Between(op.min_degrees, op.max_degrees, draws);
  const double most_x = op.translate_x * width, most_y = op.translate_y * height;
  const double shift_x = RoundHalfEven(Between(-most_x, most_x, draws));
  const double shift_y = RoundHalfEven(Between(-most_y, most_y, draws));
  const double scale = Between(op.min_scale, op.max_scale, draws);
  const double shear_x = Between(op.min_shear_x, op.max_shear_x, draws);
  const double shear_y = Between(op.min_shear_y, op.max_shear_y, draws);
  if (!taken) return;
  frame_.warped = true;
  frame_.warp = AffineAbout(frame_.region.width(), frame_.region.height(), degrees, shift_x,
                            shift_y, scale, shear_x, shear_y);
  frame_.warp_fill = op.fill;
}

void Framing::Apply(const Transform& step) {
  std::visit(
      [this]<class T>(const T& op) {
        if constexpr (requires(Framing & framing) { framing.Take(op); }) Take(op);
      },
      step);
}

void CheckGeometricStep(const Transform& step) {
  std::visit([](const auto& op) { Check(op); }, step);
}

}  // namespace sluice
