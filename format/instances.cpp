// A value is checked once, where it is read (Open()), in one pass over its bytes; what reads its
// shapes afterwards relies on that. Nothing of the value is copied.
#include <algorithm>
#include <cmath>

#include <sluice/error.h>
#include <sluice/instances.h>

#include "format/disk/bytes.h"
#include "format/pixels/outline.h"

namespace sluice {

namespace {

constexpr std::size_t kNumberBytes = 4;
constexpr std::uint32_t kRunsBit = 1;

// Checks the shapes of one object.
const char* CheckShapes(Bytes shapes, std::uint64_t pixels) noexcept {
  while (!shapes.empty()) {
    if (shapes.size() < kNumberBytes) return "a shape is cut off";
    const auto head = LoadAt<std::uint32_t>(shapes, 0);
    const std::size_t count = head >> 1;
    shapes = shapes.subspan(kNumberBytes);
    if (count > shapes.size() / kNumberBytes)
      return "a shape claims more numbers than its object has";
    const Bytes numbers = shapes.first(count * kNumberBytes);
    shapes = shapes.subspan(numbers.size());
    if ((head & kRunsBit) == 0) {
      if (count % 2 != 0) return "an outline has half a corner";
      for (std::size_t i = 0; i < count; ++i) {
        if (!std::isfinite(LoadAt<float>(numbers, i * kNumberBytes)))
          return "an outline has a number that is not finite";
      }
      continue;
    }
    std::uint64_t covered = 0;
    for (std::size_t i = 0; i < count; ++i)
      covered += LoadAt<std::uint32_t>(numbers, i * kNumberBytes);
    if (pixels != 0 && covered != pixels)
      return "the runs of an object do not cover as many pixels as its image has";
  }
  return nullptr;
}

}  // namespace

// COCO's tools round corners to fifths of a pixel. The middle between two fifths is a decimal such
// as 2.3, which a float32 only nearly is. Taken as it is, it may go to the other side: of 180
// random outlines with two decimals, 47 then covered other pixels than by pycocotools.
double InstanceShape::corner(std::size_t i) const noexcept {
  const auto stored = At<float>(i);
  const double decimal = std::round(double{stored} * 1000) / 1000;
  return static_cast<float>(decimal) == stored ? decimal : stored;
}

const char* Instances::Open(Bytes value, std::uint32_t width, std::uint32_t height) noexcept {
  count_ = 0;
  if (value.size() < kNumberBytes) return "it is too short for a number of objects";
  const auto count = LoadAt<std::uint32_t>(value, 0);
  value = value.subspan(kNumberBytes);
  if (count > value.size() / kNumberBytes) return "it claims more objects than it has room for";
  ends_ = value.first(count * kNumberBytes);
  shapes_ = value.subspan(ends_.size());
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = LoadAt<std::uint32_t>(ends_, i * kNumberBytes);
    if (end < begin || end > shapes_.size())
      return "the ends of its objects do not ascend, or lie beyond its end";
    if (const char* const defect =
            CheckShapes(shapes_.subspan(begin, end - begin), std::uint64_t{width} * height)) {
      return defect;
    }
    begin = end;
  }
  if (begin != shapes_.size()) return "it has bytes after its last object";
  count_ = count;
  return nullptr;
}

Bytes Instances::BytesOf(std::size_t object) const noexcept {
  const std::uint32_t begin =
      object == 0 ? 0 : LoadAt<std::uint32_t>(ends_, (object - 1) * kNumberBytes);
  return shapes_.subspan(begin, LoadAt<std::uint32_t>(ends_, object * kNumberBytes) - begin);
}

InstanceShape Instances::TakeShape(Bytes& rest) noexcept {
  const auto head = LoadAt<std::uint32_t>(rest, 0);
  const Bytes numbers = rest.subspan(kNumberBytes, (head >> 1) * kNumberBytes);
  rest = rest.subspan(kNumberBytes + numbers.size());
  return {(head & kRunsBit) != 0, numbers};
}

std::vector<PixelRun> RunsOf(const Instances& instances, std::size_t object, std::uint32_t width,
                             std::uint32_t height) {
  std::vector<PixelRun> runs;
  std::vector<double> corners;
  std::size_t joined = 0;
  instances.ForEachShape(object, [&](const InstanceShape& shape) {
    std::uint64_t at = 0;
    corners.clear();
    for (std::size_t i = 0; i < shape.count(); ++i) {
      if (!shape.runs) {
        corners.push_back(shape.corner(i));
        continue;
      }
      const std::uint64_t end = at + shape.run(i);
      if (i % 2 == 1 && at < end) runs.push_back({at, end});
      at = end;
    }
    if (!corners.empty() && !AppendRuns(corners, width, height, runs))
      throw Error(ErrorCode::kCorrupt, "an outline is too long for the size of its image");
    // Many outlines over the same pixels take no more memory than a few.
    if (runs.size() < 2 * joined + 4096) return;
    JoinRuns(runs);
    joined = runs.size();
  });
  JoinRuns(runs);
  return runs;
}

std::vector<std::uint32_t> Instances::Runs(std::size_t object, std::uint32_t width,
                                           std::uint32_t height) const {
  return RunLengths(RunsOf(*this, object, width, height), std::uint64_t{width} * height);
}

void InstancesBuilder::Add(std::uint32_t head, Bytes numbers) {
  const Bytes head_bytes = std::as_bytes(std::span(&head, 1));
  shapes_.insert(shapes_.end(), head_bytes.begin(), head_bytes.end());
  shapes_.insert(shapes_.end(), numbers.begin(), numbers.end());
}

void InstancesBuilder::AddOutline(std::span<const float> corners) {
  Add(static_cast<std::uint32_t>(corners.size()) << 1, std::as_bytes(corners));
}

void InstancesBuilder::AddRuns(std::span<const std::uint32_t> runs) {
  Add(static_cast<std::uint32_t>(runs.size()) << 1 | kRunsBit, std::as_bytes(runs));
}

void InstancesBuilder::AddObject(Bytes bytes) {
  BeginObject();
  shapes_.insert(shapes_.end(), bytes.begin(), bytes.end());
}

void InstancesBuilder::Finish(std::vector<std::byte>& value) {
  const auto count = static_cast<std::uint32_t>(ends_.size());
  // Until here, the list holds where each object begins.
  if (count > 0) ends_.erase(ends_.begin());
  if (count > 0) ends_.push_back(static_cast<std::uint32_t>(shapes_.size()));
  value.clear();
  for (const Bytes part :
       {std::as_bytes(std::span(&count, 1)), std::as_bytes(std::span(ends_)), Bytes(shapes_)}) {
    value.insert(value.end(), part.begin(), part.end());
  }
  ends_.clear();
  shapes_.clear();
}

}  // namespace sluice
