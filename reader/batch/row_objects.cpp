#include "reader/batch/row_objects.h"

#include <algorithm>

namespace sluice {

const char* RowObjects::Open(Bytes value) noexcept {
  instances_ = {};
  if (value.empty()) return nullptr;
  if (const char* const defect = instances_.Open(value, width_, height_)) return defect;
  bool outlines = false;
  for (std::size_t i = 0; i < size(); ++i)
    instances_.ForEachShape(i, [&](const InstanceShape& shape) { outlines |= !shape.runs; });
  return outlines ? "it has an outline, and the objects of a row are runs" : nullptr;
}

std::vector<PixelRun> RowObjects::RunsOf(const CutRectangle& cut) const {
  std::vector<PixelRun> runs;
  for (std::uint64_t x = cut.left; x < cut.left + cut.width && cut.height > 0; ++x)
    runs.push_back({x * height_ + cut.top, x * height_ + cut.top + cut.height});
  JoinRuns(runs);
  return runs;
}

std::vector<PixelRun> RowObjects::Mirrored(std::span<const PixelRun> runs) const {
  std::vector<PixelRun> mirrored;
  for (const PixelRun& run : runs) {
    ForEachColumn(run, [&](std::uint64_t x, std::uint64_t top, std::uint64_t bottom) {
      const std::uint64_t column = (width_ - 1 - x) * height_;
      mirrored.push_back({column + top, column + bottom});
    });
  }
  JoinRuns(mirrored);
  return mirrored;
}

void RowObjects::Paint(std::span<const PixelRun> runs, std::vector<std::uint8_t>& covered) const {
  for (const PixelRun& run : runs) {
    ForEachColumn(run, [&](std::uint64_t x, std::uint64_t top, std::uint64_t bottom) {
      for (std::uint64_t y = top; y < bottom; ++y)
        covered[y * width_ + x] = 1;
    });
  }
}

void RowObjects::Add(std::span<const PixelRun> runs, InstancesBuilder& builder) const {
  builder.BeginObject();
  builder.AddRuns(RunLengths(runs, std::uint64_t{width_} * height_));
}

}  // namespace sluice
