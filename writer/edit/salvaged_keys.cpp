#include "writer/edit/salvaged_keys.h"

#include <algorithm>

#include "format/disk/limits.h"

namespace sluice {

SalvagedKeys::SalvagedKeys(Bytes section, std::uint64_t samples) noexcept
    : section_(section), samples_(samples) {
  if (section.size() < 2 * sizeof(std::uint32_t)) return;
  const std::uint64_t each = LoadAt<std::uint32_t>(section, 0);
  const std::uint64_t chunks = LoadAt<std::uint32_t>(section, sizeof(std::uint32_t));
  if (each == 0 || each > kMaxKeyChunkSamples) return;
  // Otherwise no chunk is read: the section may claim far more chunks than the file has bytes.
  if (chunks == samples / each + (samples % each != 0 ? 1 : 0)) chunk_samples_ = each;
}

std::string_view SalvagedKeys::Of(std::uint64_t sample) {
  if (chunk_samples_ == 0 || sample >= samples_ || sample < unreadable_until_) return {};
  if (sample < chunk_.first || sample - chunk_.first >= chunk_.count) {
    if (ReadKeyChunk(section_, samples_, sample, chunk_) != nullptr) {
      chunk_.count = 0;
      unreadable_until_ = (sample / chunk_samples_ + 1) * chunk_samples_;
      return {};
    }
  }
  return chunk_.Key(sample);
}

std::uint64_t SalvagedKeys::NextAfter(std::uint64_t sample) const noexcept {
  if (chunk_samples_ == 0 || sample >= samples_) return UINT64_MAX;
  return std::max(sample + 1, unreadable_until_);
}

void LossList::Add(std::uint64_t first, std::uint64_t end, const char* why) {
  while (first < end) {
    const std::string_view key = room_ == 0 ? std::string_view() : keys_.Of(first);
    const std::uint64_t bytes = sizeof(LostSample) + key.size();
    if (bytes > room_) room_ = 0;
    if (!key.empty() && room_ > 0) {
      lost_.push_back({shard_, static_cast<std::int64_t>(first), 1, std::string(key), why});
      run_end_ = 0;
      room_ -= bytes;
      ++first;
      continue;
    }
    const std::uint64_t next = room_ == 0 ? end : std::min(end, keys_.NextAfter(first));
    AddRun(first, next, why);
    first = next;
  }
}

void LossList::AddRun(std::uint64_t first, std::uint64_t end, const char* why) {
  if (run_end_ == first && first > 0 && lost_.back().reason == why) {
    lost_.back().samples += end - first;
  } else {
    lost_.push_back({shard_, static_cast<std::int64_t>(first), end - first, {}, why});
  }
  run_end_ = end;
}

}  // namespace sluice
