#include "format/pixels/baseline/scan_decoder.h"

#include "format/pixels/baseline/wanted_segments.h"
#include "format/pixels/kept_memory.h"

namespace sluice::baseline {

bool ScanDecoder::FindTables() {
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    for (const std::size_t kind : {0, 1}) {
      const std::size_t number = kind == 0 ? header_.component[c].dc : header_.component[c].ac;
      CachedTable& cached = tables_[kind * 4 + number];
      const HuffmanSpec& spec = header_.huffman[kind][number];
      if (cached.valid && SameSpec(cached.spec, spec)) continue;
      cached.valid = BuildCodes(spec, kind == 1, cached.table);
      cached.look_ups = cached.skips = false;
      cached.spec = spec;
      cached.standard = StandardNumber(spec, kind == 1);
      if (!cached.valid) return false;
    }
  }
  return true;
}

// What decoding one segment after another needs; `skips` if MCUs are left out.
void ScanDecoder::FindLookUps(bool skips) {
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    for (const std::size_t kind : {0, 1}) {
      const std::size_t number = kind == 0 ? header_.component[c].dc : header_.component[c].ac;
      CachedTable& cached = tables_[kind * 4 + number];
      if (!cached.look_ups) BuildLookUps(kind == 1, cached.table);
      cached.look_ups = true;
      if (kind == 0 || !skips) continue;
      if (!cached.skips) BuildSkips(cached.table);
      cached.skips = true;
    }
  }
}

void ScanDecoder::Describe(kernels::SegmentJob& job) const {
  job.components = header_.components;
  job.mcus_across = job.right = header_.mcus_across;
  job.bottom = header_.mcus_down;
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const Component& component = header_.component[c];
    kernels::ComponentJob& to = job.component[c];
    to.dc = &tables_[component.dc].table;
    to.ac = &tables_[4 + component.ac].table;
    to.quant = header_.quant[component.quant];
    to.across = component.h;
    to.down = component.v;
  }
}

// False if segments are to be decoded one after another. A window's MCUs cannot be told before the
// strands are in step, and own tables have none for what is not wanted: both are for whole
// pictures.
bool ScanDecoder::FindStrandTables(bool whole, std::uint64_t segments, StrandTables* tables) {
  if (!set_.strands_pay) return false;
  if (segments < 2 && !(whole && SplitSegment::Pays(header_.scan.size()))) return false;
  OwnTables::Codes own[3];
  bool standard = true;
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const Component& component = header_.component[c];
    const CachedTable& dc = tables_[component.dc];
    const CachedTable& ac = tables_[4 + component.ac];
    own[c] = {{&dc.spec, &dc.table}, {&ac.spec, &ac.table}};
    standard = standard && dc.standard != kStandardTables && dc.standard == ac.standard;
    if (standard) tables[c] = StandardStrandTables(dc.standard);
  }
  if (standard) return true;
  if (!whole || !OwnTables::Pay(header_.scan.size())) return false;
  own_tables_.Find(own, header_.components, tables);
  return true;
}

bool ScanDecoder::ReadSegment(const WantedSegment& segment, kernels::SegmentJob& job) {
  if (!segments_.Seek(segment.number)) return false;
  job.size = segments_.Read(segment_);
  job.bytes = segment_.data();
  job.first_mcu = segment.first_mcu;
  job.last_mcu = segment.last_mcu;
  job.whole = segment.whole;
  return true;
}

bool ScanDecoder::DecodeSegments(bool all, kernels::SegmentJob& job) {
  const std::uint64_t mcus = std::uint64_t{header_.mcus_across} * header_.mcus_down;
  const std::uint64_t interval = header_.restart_interval != 0 ? header_.restart_interval : mcus;
  const bool whole = job.left == 0 && job.top == 0 && job.right == header_.mcus_across &&
                     job.bottom == header_.mcus_down;
  WantedSegments wanted(job, mcus, interval, all);
  segments_ = Segments(header_.scan);
  WantedSegment segment;
  StrandTables tables[3];
  if (FindStrandTables(whole, wanted.count(), tables)) {
    if (wanted.count() > 1) return strands_.Decode(set_, job, tables, wanted, segments_);
    return wanted.Next(segment) && ReadSegment(segment, job) &&
           split_segment_.Decode(set_, job, tables);
  }
  FindLookUps(!whole);
  while (wanted.Next(segment)) {
    if (!ReadSegment(segment, job) || !set_.decode_segment(job)) return false;
  }
  return true;
}

bool ScanDecoder::Decode(bool all, kernels::SegmentJob& job) {
  const bool sound = DecodeSegments(all, job);
  FreeLarge(segment_);
  return sound;
}

bool ScanDecoder::Begin(Bytes file) {
  return ParseHeader(file, header_) && FindTables() && HoldsPicture(header_);
}

}  // namespace sluice::baseline
