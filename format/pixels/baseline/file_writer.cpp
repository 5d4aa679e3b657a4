#include "format/pixels/baseline/file_writer.h"

#include <algorithm>
#include <cstring>

namespace sluice::baseline {

namespace {

// Appends coded bytes, with a zero behind each 0xFF (T.81, B.1.1.5).
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
      row_(header),
      mcus_across_(header.mcus_across),
      restart_interval_(header.restart_interval),
      coded_(std::size_t{row_.blocks()} * mcus_across_ * kernels::kMaxBlockBytes +
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

// Fills the last byte with ones.
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
    job_.blocks += job_.mcus * row_.mcu_values();
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
                                 std::int16_t* rows) {
  const McuRow row(header);
  FileWriter out(set, header);
  for (std::uint32_t y = 0; y < header.mcus_down; ++y, rows += row.values()) {
    row.FillEdges(y, rows);
    out.Add(rows);
  }
  return out.Finish();
}

}  // namespace sluice::baseline
