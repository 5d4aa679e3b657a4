// The objects of a row's instances, as runs of the row's pixels.
#pragma once

#include <span>
#include <vector>

#include <sluice/instances.h>

#include "format/disk/bytes.h"
#include "format/pixels/outline.h"
#include "reader/transform/batch_mix.h"

namespace sluice {

// A row's value of instances. The bytes must outlive it.
class RowObjects {
 public:
  RowObjects(std::uint32_t width, std::uint32_t height) : width_(width), height_(height) {}

  // Returns why the value is not one of a row of that size, or null. Empty bytes hold no objects.
  const char* Open(Bytes value) noexcept;
  std::size_t size() const noexcept { return instances_.size(); }
  Bytes BytesOf(std::size_t object) const noexcept { return instances_.BytesOf(object); }
  // The object's pixels, as joined runs.
  std::vector<PixelRun> RunsOf(std::size_t object) const {
    return sluice::RunsOf(instances_, object, width_, height_);
  }

  // --- Runs in a row of that size.

  std::vector<PixelRun> RunsOf(const CutRectangle& cut) const;
  // The runs of a mirrored row.
  std::vector<PixelRun> Mirrored(std::span<const PixelRun> runs) const;
  // Sets the runs' pixels to 1. `covered` has all pixels of the row, line by line.
  void Paint(std::span<const PixelRun> runs, std::vector<std::uint8_t>& covered) const;
  void Add(std::span<const PixelRun> runs, InstancesBuilder& builder) const;

 private:
  // Calls visit(x, top, bottom) for the part of a run in each column.
  template <class Visit>
  void ForEachColumn(const PixelRun& run, const Visit& visit) const {
    for (std::uint64_t begin = run.begin; begin < run.end;) {
      const std::uint64_t x = begin / height_, column = x * height_;
      const std::uint64_t end = std::min<std::uint64_t>(run.end, column + height_);
      visit(x, begin - column, end - column);
      begin = end;
    }
  }

  std::uint32_t width_, height_;
  Instances instances_;
};

}  // namespace sluice
