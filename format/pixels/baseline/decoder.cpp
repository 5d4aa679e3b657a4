#include "format/pixels/baseline/decoder.h"

#include <algorithm>

#include "format/pixels/baseline/segments.h"
#include "format/pixels/baseline/wanted_segments.h"

namespace sluice::baseline {

bool Decoder::FindTables() {
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    for (const std::size_t kind : {0, 1}) {
      const std::size_t number = kind == 0 ? header_.component[c].dc : header_.component[c].ac;
      CachedTable& cached = tables_[kind * 4 + number];
      const HuffmanSpec& spec = header_.huffman[kind][number];
      if (cached.valid && SameSpec(cached.spec, spec)) continue;
      cached.valid = BuildTable(spec, kind == 1, cached.table);
      cached.spec = spec;
      cached.standard = StandardNumber(spec, kind == 1);
      if (!cached.valid) return false;
    }
  }
  return true;
}

void Decoder::LayOut(const Region& region, std::uint32_t samples_per_pixel,
                     kernels::SegmentJob& job) {
  job.left = header_.mcus_across;
  job.top = header_.mcus_down;
  // First find which MCUs the components need together, then allocate planes of that size.
  std::uint32_t reduction[3] = {};
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const Component& component = header_.component[c];
    const std::uint32_t fx = header_.max_h / component.h;
    const std::uint32_t fy = header_.max_v / component.v;
    const std::uint32_t log2 = reduction[c] = ReductionLog2(region, fx, fy, samples_per_pixel);
    const auto reduced = [log2](std::uint32_t size) { return ((size - 1) >> log2) + 1; };
    ColumnPlane& plane = planes_[c];
    plane.x = MakeComponentAxis(region.x, fx << log2, reduced(component.width), region.filter);
    plane.y = MakeComponentAxis(region.y, fy << log2, reduced(component.height), region.filter);
    const std::uint32_t across = (8U * component.h) >> log2;
    const std::uint32_t down = (8U * component.v) >> log2;
    job.left = std::min(job.left, plane.x.first / across);
    job.right = std::max(job.right, (plane.x.last - 1) / across + 1);
    job.top = std::min(job.top, plane.y.first / down);
    job.bottom = std::max(job.bottom, (plane.y.last - 1) / down + 1);
  }
  job.components = header_.components;
  job.mcus_across = header_.mcus_across;
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const Component& component = header_.component[c];
    const std::uint32_t across = (8U * component.h) >> reduction[c];
    const std::uint32_t down = (8U * component.v) >> reduction[c];
    ColumnPlane& plane = planes_[c];
    plane.left = job.left * across;
    plane.top = job.top * down;
    plane.stride = AlignUp(std::size_t{job.bottom - job.top} * down, 32) + 32;
    const std::size_t size =
        plane.stride * (std::size_t{job.right - job.left} * across) + kernels::kSlack;
    if (samples_[c].size() < size) samples_[c].resize(size);
    plane.data = samples_[c].data();
    kernels::ComponentJob& to = job.component[c];
    to.dc = &tables_[component.dc].table;
    to.ac = &tables_[4 + component.ac].table;
    to.quant = header_.quant[component.quant];
    to.plane = samples_[c].data();
    to.stride = plane.stride;
    to.across = component.h;
    to.down = component.v;
    to.size_log2 = 3 - reduction[c];
  }
}

// Strands need several segments, and the standard's Huffman tables: making the tables of others
// takes longer than they save. Pictures of the highest qualities have values too large for strands'
// look-ups.
bool Decoder::FindStrandTables(std::uint64_t segments, std::uint64_t mcus,
                               const StrandTables** tables) const {
  constexpr std::uint64_t kMostBlockBytes = 20;
  std::uint64_t blocks = 0;
  for (std::uint32_t c = 0; c < header_.components; ++c)
    blocks += mcus * header_.component[c].h * header_.component[c].v;
  if (!set_.strands_pay || segments < 2 || header_.scan.size() > blocks * kMostBlockBytes) {
    return false;
  }
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const std::size_t number = tables_[header_.component[c].dc].standard;
    if (number == kStandardTables || number != tables_[4 + header_.component[c].ac].standard) {
      return false;
    }
    tables[c] = &StandardStrandTables(number);
  }
  return true;
}

bool Decoder::DecodeSegment(const WantedSegment& segment, Segments& segments,
                            kernels::SegmentJob& job) {
  if (!segments.Seek(segment.number)) return false;
  job.size = segments.Read(segment_);
  job.bytes = segment_.data();
  job.first_mcu = segment.first_mcu;
  job.last_mcu = segment.last_mcu;
  job.whole = segment.whole;
  return set_.decode_segment(job);
}

bool Decoder::DecodeSegments(bool all, kernels::SegmentJob& job) {
  const std::uint64_t mcus = std::uint64_t{header_.mcus_across} * header_.mcus_down;
  const std::uint64_t interval = header_.restart_interval != 0 ? header_.restart_interval : mcus;
  WantedSegments wanted(job, mcus, interval, all);
  Segments segments(header_.scan);
  const StrandTables* tables[3] = {};
  if (FindStrandTables(wanted.count(), mcus, tables))
    return strands_.Decode(set_, job, tables, wanted, segments);
  WantedSegment segment;
  while (wanted.Next(segment)) {
    if (!DecodeSegment(segment, segments, job)) return false;
  }
  return true;
}

bool Decoder::Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
                     const DecodePolicy& policy) {
  header_.components = 0;
  header_.restart_interval = 0;
  std::fill(std::begin(header_.quant_set), std::end(header_.quant_set), false);
  for (auto& kind : header_.huffman_set)
    std::fill(std::begin(kind), std::end(kind), false);
  if (!ParseHeader(file, header_) || header_.width != width || header_.height != height ||
      !FindTables()) {
    return false;
  }
  // Every block takes at least two bits: allocate nothing if the file is too short to hold the
  // picture.
  const std::uint64_t mcus = std::uint64_t{header_.mcus_across} * header_.mcus_down;
  if (header_.scan.size() * 8 < mcus * header_.components * 2) return false;
  kernels::SegmentJob job;
  LayOut(region, policy.samples_per_pixel, job);
  return DecodeSegments(policy.whole_file, job);
}

}  // namespace sluice::baseline
