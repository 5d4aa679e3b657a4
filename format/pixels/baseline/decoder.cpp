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
      cached.skips = false;
      cached.spec = spec;
      cached.standard = StandardNumber(spec, kind == 1);
      if (!cached.valid) return false;
    }
  }
  return true;
}

// Where the window leaves MCUs out.
void Decoder::FindSkips(const McuWindow& window) {
  if (window.left == 0 && window.top == 0 && window.right == header_.mcus_across &&
      window.bottom == header_.mcus_down) {
    return;
  }
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    CachedTable& cached = tables_[4 + header_.component[c].ac];
    if (!cached.skips) BuildSkips(cached.table);
    cached.skips = true;
  }
}

void Decoder::LayOut(const McuWindow& window, kernels::SegmentJob& job) {
  job.left = window.left;
  job.top = window.top;
  job.right = window.right;
  job.bottom = window.bottom;
  job.components = header_.components;
  job.mcus_across = header_.mcus_across;
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const Component& component = header_.component[c];
    const ComponentWindow& part = window.component[c];
    ColumnPlane& plane = planes_[c];
    plane.x = part.x;
    plane.y = part.y;
    plane.left = part.left;
    plane.top = part.top;
    plane.stride = AlignUp(std::size_t{part.height}, 32) + 32;
    const std::size_t size = plane.stride * part.width + kernels::kSlack;
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
    to.size_log2 = part.size_log2;
  }
}

// Strands need several segments, and the standard's Huffman tables: making the tables of others
// takes longer than they save.
bool Decoder::FindStrandTables(std::uint64_t segments, const StrandTables** tables) const {
  if (!set_.strands_pay || segments < 2) return false;
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
  if (FindStrandTables(wanted.count(), tables))
    return strands_.Decode(set_, job, tables, wanted, segments);
  WantedSegment segment;
  while (wanted.Next(segment)) {
    if (!DecodeSegment(segment, segments, job)) return false;
  }
  return true;
}

bool Decoder::Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
                     const DecodePolicy& policy) {
  if (!ParseHeader(file, header_) || header_.width != width || header_.height != height ||
      !FindTables() || !HoldsPicture(header_)) {
    return false;
  }
  const McuWindow window(header_, region, policy);
  FindSkips(window);
  kernels::SegmentJob job;
  LayOut(window, job);
  return DecodeSegments(policy.whole_file, job);
}

}  // namespace sluice::baseline
