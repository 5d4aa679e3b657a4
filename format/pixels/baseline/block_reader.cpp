#include "format/pixels/baseline/block_reader.h"

#include <algorithm>

namespace sluice::baseline {

bool BlockReader::FindTables() {
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    for (const std::size_t kind : {0, 1}) {
      const std::size_t number = kind == 0 ? header_.component[c].dc : header_.component[c].ac;
      const HuffmanSpec& spec = header_.huffman[kind][number];
      HuffmanTable& table = tables_[kind * 4 + number];
      bool& built = built_[kind][number];
      if (!built || !SameSpec(specs_[kind][number], spec)) {
        built = BuildTable(spec, kind == 1, table);
        specs_[kind][number] = spec;
        if (!built) return false;
      }
      (kind == 0 ? segment_job_.component[c].dc : segment_job_.component[c].ac) = &table;
    }
  }
  return true;
}

bool BlockReader::Begin(Bytes file, bool natural) {
  if (!ParseHeader(file, header_) || !HoldsPicture(header_) || !FindTables()) return false;
  segment_job_.components = header_.components;
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    segment_job_.component[c].across = header_.component[c].h;
    segment_job_.component[c].down = header_.component[c].v;
  }
  natural_ = natural;
  segments_.emplace(header_.scan);
  const std::uint64_t mcus = std::uint64_t{header_.mcus_across} * header_.mcus_down;
  interval_ =
      static_cast<std::uint32_t>(header_.restart_interval != 0 ? header_.restart_interval : mcus);
  row_ = number_ = 0;
  const std::size_t values = McuRow(header_).values() + kCoefficients;
  if (blocks_.size() < values) blocks_.resize(values);
  return BeginSegment();
}

bool BlockReader::BeginSegment() {
  if (!segments_->Seek(number_)) return false;
  segment_job_.size = segments_->Read(segment_);
  segment_job_.bytes = segment_.data();
  job_ = {};
  job_.segment = &segment_job_;
  job_.natural = natural_;
  in_segment_ = 0;
  ++number_;
  return true;
}

// The rest of the last byte is filled with ones; more than that was misread.
bool BlockReader::EndsSegment() const noexcept {
  return segment_job_.size * 8 - job_.position < 8;
}

bool BlockReader::ReadMcus(std::int16_t* blocks, std::uint32_t mcus) {
  job_.blocks = blocks;
  job_.mcus = mcus;
  in_segment_ += mcus;
  return set_.read_blocks(job_);
}

std::int16_t* BlockReader::NextRow() {
  const std::size_t mcu_values = McuRow(header_).mcu_values();
  std::int16_t* at = blocks_.data();
  std::uint32_t left = header_.mcus_across;
  while (left > 0) {
    if (in_segment_ == interval_ && (!EndsSegment() || !BeginSegment())) return nullptr;
    const std::uint32_t mcus = std::min(left, interval_ - in_segment_);
    if (!ReadMcus(at, mcus)) return nullptr;
    at += mcus * mcu_values;
    left -= mcus;
  }
  ++row_;
  if (row_ == header_.mcus_down && (!EndsSegment() || !segments_->AtFileEnd())) return nullptr;
  return blocks_.data();
}

}  // namespace sluice::baseline
