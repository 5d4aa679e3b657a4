// Two things are kept from picture to picture: tables, found by the codes that a file stores, and
// the memory of segments and planes, unless it is large. Most files of a dataset come from one
// encoder, so tables are rarely built again.
//
// There are two ways through a scan. Strands decode several places at the same time, which pays if
// the kernels gain from it. They need large tables: the standard's are made once for all pictures,
// a picture's own only if its scan is long enough (FindStrandTables()). Otherwise segments are
// decoded one after another, with look-ups that are quickly made (FindLookUps()). Both ways give
// the same coefficients, so the choice is one of speed alone.
#include "format/pixels/baseline/scan_decoder.h"

#include <algorithm>

#include "format/pixels/baseline/segments.h"
#include "format/pixels/kept_memory.h"

namespace sluice::baseline {

McuWindow::McuWindow(const Header& header, const Region& whole, const DecodePolicy& policy) noexcept
    : left(header.mcus_across), top(header.mcus_down) {
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& of = header.component[c];
    const Region region = RegionOf(whole, c, policy);
    const std::uint32_t fx = header.max_h / of.h;
    const std::uint32_t fy = header.max_v / of.v;
    const std::uint32_t log2 = ReductionLog2(whole, fx, fy, policy.samples_per_pixel);
    const auto reduced = [log2](std::uint32_t size) { return ((size - 1) >> log2) + 1; };
    ComponentWindow& part = component[c];
    part.size_log2 = 3 - log2;
    part.x = MakeComponentAxis(region.x, fx << log2, reduced(of.width), region.filter);
    part.y = MakeComponentAxis(region.y, fy << log2, reduced(of.height), region.filter);
    const std::uint32_t across = (8U * of.h) >> log2;
    const std::uint32_t down = (8U * of.v) >> log2;
    left = std::min(left, part.x.first / across);
    right = std::max(right, (part.x.last - 1) / across + 1);
    top = std::min(top, part.y.first / down);
    bottom = std::max(bottom, (part.y.last - 1) / down + 1);
  }
  // All components share the MCUs, so the window is known only now. Each component's plane covers
  // all of it, also where the component itself needs less.
  for (std::uint32_t c = 0; c < header.components; ++c) {
    ComponentWindow& part = component[c];
    const std::uint32_t across = std::uint32_t{header.component[c].h} << part.size_log2;
    const std::uint32_t down = std::uint32_t{header.component[c].v} << part.size_log2;
    part.left = left * across;
    part.top = top * down;
    part.width = (right - left) * across;
    part.height = (bottom - top) * down;
  }
}

namespace {

bool IsWhole(const kernels::SegmentJob& job, const Header& header) noexcept {
  return job.left == 0 && job.top == 0 && job.right == header.mcus_across &&
         job.bottom == header.mcus_down;
}

}  // namespace

bool ScanDecoder::FindTables() {
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    for (const std::size_t kind : {0, 1}) {
      const std::size_t number = kind == 0 ? header_.component[c].dc : header_.component[c].ac;
      CachedTable& cached = tables_[kind * 4 + number];
      const HuffmanSpec& spec = header_.huffman[kind][number];
      if (cached.valid && SameSpec(cached.spec, spec)) continue;
      cached.valid = BuildCodes(spec, kind == 1, cached.table);
      // The look-ups are made when they are needed: strands need none of them.
      cached.look_ups = cached.skips = false;
      cached.spec = spec;
      cached.standard = StandardNumber(spec, kind == 1);
      if (!cached.valid) return false;
    }
  }
  return true;
}

// Makes the look-ups for decoding one segment after another. `skips`: whether blocks are skipped,
// because their MCUs are not wanted, or only the DC coefficients of their component.
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

// Finds the tables for strands; false if segments are to be decoded one after another. A picture's
// own tables are used only if all of it is wanted, because no tables are made for unwanted blocks.
bool ScanDecoder::FindStrandTables(bool whole, StrandTables* tables) {
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
  const bool whole = IsWhole(job, header_);
  WantedSegments wanted(job, mcus, interval, all);
  segments_ = Segments(header_.scan);
  WantedSegment segment;
  StrandTables tables[3];
  // A segment is split for whole pictures only: which MCUs lie in a window is not known before the
  // strands are in step.
  const bool splits = whole && SplitSegment::Pays(header_.scan.size());
  if (set_.strands_pay && (wanted.count() > 1 || splits) && FindStrandTables(whole, tables)) {
    if (wanted.count() > 1) return strands_.Decode(set_, job, {}, tables, wanted, segments_);
    return wanted.Next(segment) && ReadSegment(segment, job) &&
           split_segment_.Decode(set_, job, tables);
  }
  const auto has_mean_alone = [](const kernels::ComponentJob& of) { return of.size_log2 == 0; };
  FindLookUps(!whole || std::any_of(job.component, job.component + job.components, has_mean_alone));
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

bool ScanDecoder::DecodeViews(std::span<const kernels::SegmentJob> views,
                              kernels::SegmentJob& job) {
  if (header_.restart_interval == 0) return false;
  const std::uint64_t mcus = std::uint64_t{header_.mcus_across} * header_.mcus_down;
  WantedSegments wanted(job, mcus, header_.restart_interval, false);
  segments_ = Segments(header_.scan);
  StrandTables tables[3];
  return FindStrandTables(IsWhole(job, header_), tables) &&
         strands_.Decode(set_, job, views, tables, wanted, segments_);
}

bool ScanDecoder::Begin(Bytes file) {
  return ParseHeader(file, header_) && FindTables() && HoldsPicture(header_);
}

bool BlockReader::Begin(Bytes file) {
  return scan_.Begin(file);
}

bool BlockReader::Read(const kernels::BlockPlaces* places, bool natural) {
  kernels::Recoding recoding;
  recoding.natural = natural;
  kernels::SegmentJob job;
  scan_.Describe(job);
  job.recoding = &recoding;
  for (std::uint32_t c = 0; c < job.components; ++c)
    recoding.component[c].to = places[c];
  return scan_.Decode(true, job) && scan_.EndsFile();
}

bool BlockReader::ReadLines(const std::function<bool(const std::int16_t*)>& use) {
  const McuLine line(header());
  MakeRoom(line.values() * header().mcus_down, lines_);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < header().components; ++c)
    places[c] = line.InLines(c, lines_.data());
  bool goes_on = Read(places, false);
  std::int16_t* blocks = lines_.data();
  for (std::uint32_t y = 0; goes_on && y < header().mcus_down; ++y, blocks += line.values()) {
    line.FillEdges(y, blocks);
    goes_on = use(blocks);
  }
  FreeLarge(lines_);
  return goes_on;
}

namespace {

std::size_t StrideOf(const ComponentWindow& part) noexcept {
  return AlignUp(std::size_t{part.height}, 32) + 32;
}

std::size_t PlaneBytes(const ComponentWindow& part) noexcept {
  return AlignUp(StrideOf(part) * part.width + kernels::kSlack, 32);
}

std::size_t PlaneBytes(const McuWindow& window, std::uint32_t components) noexcept {
  std::size_t bytes = 0;
  for (std::uint32_t c = 0; c < components; ++c)
    bytes += PlaneBytes(window.component[c]);
  return bytes;
}

// A job that covers those of all views.
kernels::SegmentJob Covering(std::span<const kernels::SegmentJob> views) noexcept {
  kernels::SegmentJob all = views[0];
  for (const kernels::SegmentJob& view : views) {
    all.left = std::min(all.left, view.left);
    all.top = std::min(all.top, view.top);
    all.right = std::max(all.right, view.right);
    all.bottom = std::max(all.bottom, view.bottom);
    for (std::uint32_t c = 0; c < all.components; ++c) {
      std::uint32_t& size = all.component[c].size_log2;
      size = std::max(size, view.component[c].size_log2);
    }
  }
  return all;
}

}  // namespace

void Decoder::LayOut(std::span<const McuWindow> windows, Views& views) {
  std::size_t bytes = 0;
  for (const McuWindow& window : windows)
    bytes += PlaneBytes(window, components());
  MakeRoom(bytes, views.samples);
  std::uint8_t* samples = views.samples.data();
  views.planes.resize(std::max(views.planes.size(), windows.size()));
  jobs_.assign(windows.size(), {});
  for (std::size_t v = 0; v < windows.size(); ++v) {
    const McuWindow& window = windows[v];
    kernels::SegmentJob& job = jobs_[v];
    scan_.Describe(job);
    job.left = window.left;
    job.top = window.top;
    job.right = window.right;
    job.bottom = window.bottom;
    for (std::uint32_t c = 0; c < job.components; ++c) {
      const ComponentWindow& part = window.component[c];
      ColumnPlane& plane = views.planes[v][c];
      plane.x = part.x;
      plane.y = part.y;
      plane.left = part.left;
      plane.top = part.top;
      plane.stride = StrideOf(part);
      plane.data = samples;
      kernels::ComponentJob& to = job.component[c];
      to.plane = samples;
      to.stride = plane.stride;
      to.size_log2 = part.size_log2;
      samples += PlaneBytes(part);
    }
  }
}

bool Decoder::Decode(Bytes file, std::uint32_t width, std::uint32_t height, const Region& region,
                     const DecodePolicy& policy) {
  if (!scan_.Begin(file) || scan_.header().width != width || scan_.header().height != height)
    return false;
  const McuWindow window(scan_.header(), region, policy);
  LayOut({&window, 1}, alone_);
  return scan_.Decode(policy.whole_file, jobs_[0]);
}

std::size_t Decoder::DecodeViews(Bytes file, std::uint32_t width, std::uint32_t height,
                                 std::span<const Region> regions) {
  if (!scan_.Begin(file) || scan_.header().width != width || scan_.header().height != height ||
      scan_.header().restart_interval == 0)
    return 0;
  std::uint64_t bytes = 0, lines = 0;
  windows_.clear();
  for (const Region& region : regions) {
    const McuWindow window(scan_.header(), region, {});
    bytes += PlaneBytes(window, components());
    // The first views are decoded together; the caller decodes the others one by one.
    if (bytes > PayloadDecoder::kViewBytes * width * height) break;
    lines += window.bottom - window.top;
    windows_.push_back(window);
  }
  if (windows_.size() < 2) return 0;
  LayOut(windows_, views_);
  kernels::SegmentJob all = Covering(jobs_);
  // Lines between windows that lie far apart would be read for nothing.
  if (all.bottom - all.top > lines) return 0;
  return scan_.DecodeViews(jobs_, all) ? windows_.size() : 0;
}

}  // namespace sluice::baseline
