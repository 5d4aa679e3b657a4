// McuLine knows where blocks lie, LineTransform makes them from samples, and FileWriter codes them.
// The kernels do the arithmetic; this file has the layout, the picture's edges and the markers.
// A line must be complete before it is coded: FileWriter::Add() does not fill the blocks that hold
// no pixels. LineTransform::Run() and WriteFile() call FillEdges() for that. The kernel codes
// without stuffing into `coded_`, and TakeBytes() moves the bytes to the file with a zero after
// each 0xFF. Bits that do not fill a byte stay in `job_` until the segment ends.
#include "format/pixels/baseline/encoder.h"

#include <algorithm>
#include <cstring>

namespace sluice::baseline {

McuLine::McuLine(const Header& header) noexcept
    : components_(header.components), mcus_(header.mcus_across) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Component& component = header.component[c];
    part_[c] = {component.h, component.v, (component.width + 7) / 8, (component.height + 7) / 8};
    first_[c + 1] = first_[c] + std::uint32_t{component.h} * component.v;
  }
}

kernels::BlockPlaces McuLine::InLines(std::uint32_t c, std::int16_t* lines) const noexcept {
  const Part& part = part_[c];  // its h and v are 1 or 2
  return {lines + PlaceOf(c, 0, 0),
          part.across,
          part.down,
          part.h - 1,
          part.v - 1,
          mcu_values(),
          values()};
}

kernels::BlockPlaces McuLine::InPlane(std::uint32_t c, std::int16_t* blocks) const noexcept {
  const Part& part = part_[c];
  return {blocks, part.across, part.down, 0, 0, kCoefficients, part.across * kCoefficients};
}

void McuLine::FillEdges(std::uint32_t line, std::int16_t* blocks) const noexcept {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Part& part = part_[c];
    for (std::uint32_t y = 0; y < part.v; ++y) {
      const bool below = line * part.v + y >= part.down;
      for (std::uint32_t x = below ? 0 : part.across; x < mcus_ * part.h; ++x) {
        std::int16_t* const block = blocks + PlaceOf(c, x, y);
        // An MCU's first block of a component always holds pixels.
        const std::int16_t dc = *(block - kCoefficients);
        std::memset(block, 0, kCoefficients * sizeof(*block));
        block[0] = dc;
      }
    }
  }
}

LineTransform::LineTransform(const kernels::Kernels& set, const Header& header)
    : set_(set), line_(header), components_(header.components), blocks_(line_.values()) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    Part& part = parts_[c];
    part.h = header.component[c].h;
    part.lines = 8U * header.component[c].v;
    part.stride = width(c);
    part.samples.resize(part.stride * part.lines + kernels::kSlack);
    part.steps = MakeForwardSteps(header.quant[header.component[c].quant]);
  }
}

const std::int16_t* LineTransform::Run(std::uint32_t line) {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Part& part = parts_[c];
    const std::uint32_t down = part.lines / 8;
    for (std::uint32_t y = 0; y < down && line * down + y < line_.down(c); ++y) {
      set_.transform_line({.samples = part.samples.data() + std::size_t{y} * 8 * part.stride,
                           .stride = part.stride,
                           .blocks = line_.across(c),
                           .steps = &part.steps,
                           .out = blocks_.data() + line_.PlaceOf(c, 0, y),
                           .mcu_stride = line_.mcu_values(),
                           .across = part.h});
    }
  }
  line_.FillEdges(line, blocks_.data());
  return blocks_.data();
}

void LineTransform::RunPlanes(std::uint32_t line, std::int16_t* const* planes) const {
  for (std::uint32_t c = 0; c < components_; ++c) {
    const Part& part = parts_[c];
    const std::uint32_t down = part.lines / 8, across = line_.across(c);
    for (std::uint32_t y = 0; y < down && line * down + y < line_.down(c); ++y) {
      std::int16_t* const out = planes[c] + (std::size_t{line} * down + y) * across * kCoefficients;
      set_.transform_line({.samples = part.samples.data() + std::size_t{y} * 8 * part.stride,
                           .stride = part.stride,
                           .blocks = across,
                           .steps = &part.steps,
                           .out = out,
                           .across = across,  // as if the line were one MCU
                           .natural = true});
    }
  }
}

namespace {

// Appends coded bytes, with a zero after each 0xFF (T.81, B.1.1.5).
void AppendStuffed(const std::uint8_t* bytes, std::size_t size, std::vector<std::byte>& file) {
  const auto* at = reinterpret_cast<const std::byte*>(bytes);
  const std::byte* const end = at + size;
  while (at != end) {
    const void* const found = std::memchr(at, 0xFF, static_cast<std::size_t>(end - at));
    if (found == nullptr) {
      file.insert(file.end(), at, end);
      return;
    }
    const std::byte* const behind = static_cast<const std::byte*>(found) + 1;
    file.insert(file.end(), at, behind);
    file.push_back(std::byte{0});
    at = behind;
  }
}

}  // namespace

FileWriter::FileWriter(const kernels::Kernels& set, const Header& header)
    : set_(set),
      line_(header),
      mcus_across_(header.mcus_across),
      restart_interval_(header.restart_interval),
      coded_(std::size_t{line_.blocks()} * mcus_across_ * kernels::kMaxBlockBytes +
             kernels::kSlack) {
  job_.components = header.components;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& component = header.component[c];
    job_.component[c].table = StandardCodingTable(c == 0 ? 0 : 1);
    job_.component[c].blocks = std::uint32_t{component.h} * component.v;
  }
  job_.out = coded_.data();
  AppendHeader(header, file_);
}

void FileWriter::TakeBytes() {
  AppendStuffed(coded_.data(), static_cast<std::size_t>(job_.out - coded_.data()), file_);
  job_.out = coded_.data();
}

// Ends a segment: fills its last byte with ones.
void FileWriter::EndSegment() {
  if (job_.bit_count != 0) {
    const auto missing = static_cast<std::uint32_t>(8 - job_.bit_count);
    const std::uint64_t last = job_.bits << missing | ((1U << missing) - 1);
    *job_.out++ = static_cast<std::uint8_t>(last);
  }
  TakeBytes();
  job_.bits = job_.bit_count = 0;
  for (kernels::CodeJob::Component& component : job_.component)
    component.dc = 0;
  in_segment_ = 0;
}

void FileWriter::Add(const std::int16_t* blocks) {
  std::uint32_t left = mcus_across_;
  job_.blocks = blocks;
  while (left > 0) {
    if (restart_interval_ != 0 && in_segment_ == restart_interval_) {
      EndSegment();
      file_.push_back(std::byte{0xFF});
      file_.push_back(static_cast<std::byte>(0xD0 + markers_++ % 8));
    }
    job_.mcus = restart_interval_ == 0 ? left : std::min(left, restart_interval_ - in_segment_);
    set_.code_blocks(job_);
    TakeBytes();
    job_.blocks += job_.mcus * line_.mcu_values();
    in_segment_ += job_.mcus;
    left -= job_.mcus;
  }
}

std::vector<std::byte> FileWriter::Finish() {
  EndSegment();
  file_.push_back(std::byte{0xFF});
  file_.push_back(std::byte{0xD9});
  file_.shrink_to_fit();  // it may be kept for long
  return std::move(file_);
}

std::vector<std::byte> WriteFile(const kernels::Kernels& set, const Header& header,
                                 std::int16_t* lines) {
  const McuLine line(header);
  FileWriter out(set, header);
  for (std::uint32_t y = 0; y < header.mcus_down; ++y, lines += line.values()) {
    line.FillEdges(y, lines);
    out.Add(lines);
  }
  return out.Finish();
}

}  // namespace sluice::baseline
