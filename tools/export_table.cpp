#include "tools/export_table.h"

#include <utility>

namespace sluice {

namespace {

constexpr std::uint64_t kMaxWaitingBytes = 16 << 20;

std::uint64_t BytesOf(const ExportedSample& sample) noexcept {
  constexpr std::uint64_t kNode = 64;  // of the map, about
  return sizeof sample + kNode + sample.row.size() + sample.trouble.size();
}

}  // namespace

ExportTable::ExportTable(
    const std::filesystem::path& file, const std::string& headings,
    std::function<void(std::uint64_t index, const ExportedSample& sample)> on_written)
    : on_written_(std::move(on_written)), file_(file) {
  Write(headings);
}

void ExportTable::Put(std::uint64_t index, ExportedSample sample) {
  const std::uint64_t bytes = BytesOf(sample);
  std::unique_lock lock(mutex_);
  room_.wait(
      lock, [&] { return ended_ || index == next_ || waiting_bytes_ + bytes <= kMaxWaitingBytes; });
  if (ended_) return;
  waiting_bytes_ += bytes;
  waiting_.emplace(index, std::move(sample));
  while (!waiting_.empty() && waiting_.begin()->first == next_) {
    const ExportedSample& written = waiting_.begin()->second;
    if (written.trouble.empty()) Write(written.row);
    on_written_(next_++, written);
    waiting_bytes_ -= BytesOf(written);
    waiting_.erase(waiting_.begin());
  }
  room_.notify_all();
}

void ExportTable::End() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  room_.notify_all();
}

void ExportTable::Close() {
  file_.Write(buffer_);
  file_.Close();
}

void ExportTable::Write(const std::string& row) {
  constexpr std::size_t kEnough = 64 << 10;
  buffer_ += row;
  buffer_ += '\n';
  if (buffer_.size() < kEnough) return;
  file_.Write(buffer_);
  buffer_.clear();
}

}  // namespace sluice
