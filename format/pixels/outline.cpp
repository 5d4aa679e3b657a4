// Outlines are filled as pycocotools does, so that masks equal those used for COCO's published
// results: OutlineWalk walks along the outline on a grid five times as fine and notes where it
// crosses the middle of a column of pixels. Between the first and the second crossing, the third
// and the fourth, and so on, pixels are inside.
#include "format/pixels/outline.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <sluice/error.h>

namespace sluice {

namespace {

// Finds the positions, counted down the columns from the left, where an outline changes between
// outside and inside. As in pycocotools, the outline is walked on a grid five times as fine, and
// changes side where it crosses the middle of a column of pixels.
class OutlineWalk {
 public:
  OutlineWalk(std::uint32_t width, std::uint32_t height) : width_(width), height_(height) {}

  // False: the outline is too long.
  bool Walk(std::span<const double> corners) {
    const std::size_t count = corners.size() / 2;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t next = (i + 1) % count;
      if (!Edge(Fine(corners[2 * i]), Fine(corners[2 * i + 1]), Fine(corners[2 * next]),
                Fine(corners[2 * next + 1])))
        return false;
    }
    // Ends the last run inside of the shape, if the number of changes is odd.
    changes_.push_back(std::uint64_t{width_} * height_);
    std::sort(changes_.begin(), changes_.end());
    return true;
  }
  const std::vector<std::uint64_t>& changes() const noexcept { return changes_; }

 private:
  static constexpr double kScale = 5;

  std::int64_t Fine(double at) const {
    // Points far outside are moved nearer: the shape then covers the same pixels, or nearly.
    const double most = 4.0 * std::max(width_, height_) + 64;
    return static_cast<std::int64_t>(kScale * std::clamp(at, -most, most) + .5);
  }

  bool Edge(std::int64_t x0, std::int64_t y0, std::int64_t x1, std::int64_t y1) {
    const std::int64_t dx = std::abs(x1 - x0);
    const std::int64_t dy = std::abs(y1 - y0);
    const std::int64_t steps = std::max(dx, dy);
    steps_ += static_cast<std::uint64_t>(steps) + 1;
    // A file can hold an outline that goes to and fro for hours; a real one is far below this.
    if (steps_ > 64 * (std::uint64_t{width_} * height_ + 4096)) return false;
    const bool flat = dx >= dy;
    // An edge is always computed towards larger coordinates, so that both directions give the same
    // points.
    const bool back = flat ? x0 > x1 : y0 > y1;
    if (back) {
      std::swap(x0, x1);
      std::swap(y0, y1);
    }
    const double slope =
        steps == 0 ? 0 : static_cast<double>(flat ? y1 - y0 : x1 - x0) / static_cast<double>(steps);
    for (std::int64_t i = 0; i <= steps; ++i) {
      const std::int64_t t = back ? steps - i : i;
      const auto other = static_cast<std::int64_t>(static_cast<double>(flat ? y0 : x0) +
                                                   slope * static_cast<double>(t) + .5);
      Visit(flat ? x0 + t : other, flat ? other : y0 + t);
    }
    return true;
  }

  void Visit(std::int64_t x, std::int64_t y) {
    if (walked_ && x != x_) {
      const double column =
          (static_cast<double>(std::min(x, x < x_ ? x : x - 1)) + .5) / kScale - .5;
      if (std::floor(column) == column && column >= 0 && column <= width_ - 1.0) {
        double row = (static_cast<double>(std::min(y, y_)) + .5) / kScale - .5;
        row = std::ceil(std::clamp(row, 0.0, static_cast<double>(height_)));
        changes_.push_back(static_cast<std::uint64_t>(column) * height_ +
                           static_cast<std::uint64_t>(row));
      }
    }
    walked_ = true;
    x_ = x;
    y_ = y;
  }

  std::uint32_t width_, height_;
  std::uint64_t steps_ = 0;
  bool walked_ = false;         // a point was visited
  std::int64_t x_ = 0, y_ = 0;  // that point, the last one
  std::vector<std::uint64_t> changes_;
};

}  // namespace

bool AppendRuns(std::span<const double> outline, std::uint32_t width, std::uint32_t height,
                std::vector<PixelRun>& runs) {
  OutlineWalk walk(width, height);
  if (!walk.Walk(outline)) return false;
  const std::vector<std::uint64_t>& changes = walk.changes();
  for (std::size_t i = 0; i + 1 < changes.size(); i += 2)
    if (changes[i] < changes[i + 1]) runs.push_back({changes[i], changes[i + 1]});
  return true;
}

void JoinRuns(std::vector<PixelRun>& runs) {
  std::ranges::sort(runs, {}, &PixelRun::begin);
  std::size_t kept = 0;
  for (const PixelRun& run : runs) {
    if (kept > 0 && run.begin <= runs[kept - 1].end)
      runs[kept - 1].end = std::max(runs[kept - 1].end, run.end);
    else
      runs[kept++] = run;
  }
  runs.resize(kept);
}

std::vector<PixelRun> PartsOf(std::span<const PixelRun> runs, std::span<const PixelRun> others,
                              bool inside) {
  std::vector<PixelRun> parts;
  const auto add = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin < end) parts.push_back({begin, end});
  };
  if (runs.empty()) return parts;
  auto other = std::ranges::upper_bound(others, runs.front().begin, {}, &PixelRun::end);
  for (const PixelRun& run : runs) {
    while (other != others.end() && other->end <= run.begin)
      ++other;
    std::uint64_t outside = run.begin;
    for (auto at = other; at != others.end() && at->begin < run.end; ++at) {
      if (inside)
        add(std::max(run.begin, at->begin), std::min(run.end, at->end));
      else
        add(outside, at->begin);
      outside = at->end;
    }
    if (!inside) add(outside, run.end);
  }
  return parts;
}

std::vector<std::uint32_t> RunLengths(std::span<const PixelRun> runs, std::uint64_t pixels) {
  std::vector<std::uint32_t> lengths;
  std::uint64_t at = 0;
  for (const PixelRun& run : runs) {
    lengths.push_back(static_cast<std::uint32_t>(run.begin - at));
    lengths.push_back(static_cast<std::uint32_t>(run.end - run.begin));
    at = run.end;
  }
  if (at < pixels || lengths.empty()) lengths.push_back(static_cast<std::uint32_t>(pixels - at));
  return lengths;
}

std::vector<std::uint32_t> DecodeRuns(std::string_view text) {
  std::vector<std::uint32_t> runs;
  for (std::size_t at = 0; at < text.size();) {
    std::int64_t number = 0;
    bool more = true;
    for (unsigned shift = 0; more; shift += 5) {
      const int digit = at < text.size() ? text[at++] - '0' : -1;
      if (digit < 0 || digit > 63 || shift > 30) {
        throw Error(ErrorCode::kCorrupt, "the runs of its mask are damaged");
      }
      number |= std::int64_t{digit & 31} << shift;
      more = (digit & 32) != 0;
      // The highest bit of the last digit is the sign.
      if (!more && (digit & 16) != 0) number -= std::int64_t{1} << (shift + 5);
    }
    // From the fourth run on, pycocotools stores the difference to the run two places before.
    if (runs.size() > 2) number += runs[runs.size() - 2];
    if (number < 0 || number > UINT32_MAX) {
      throw Error(ErrorCode::kCorrupt, "the runs of its mask are damaged");
    }
    runs.push_back(static_cast<std::uint32_t>(number));
  }
  return runs;
}

}  // namespace sluice
