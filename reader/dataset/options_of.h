// One function for each question about a loader's checked options that several layers ask.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include <sluice/loader_options.h>

#include "reader/transform/steps.h"

namespace sluice {

// The most slots in the ring (BatchRing): one that the consumer holds, those decoded ahead, and the
// further ones that the consumer may hold. Block sources ask for it, too, because batches in the
// ring may still read their blocks.
inline std::size_t SlotsOf(const LoaderOptions& options) noexcept {
  return 1 + *options.ring.prefetch + options.ring.hold;
}
// The number of batches decoded ahead, if the loader chooses it (self_tuning.h): at the start, in a
// long ring, and in the longest one.
inline constexpr std::size_t kUsualPrefetch = 2, kLongPrefetch = 8, kLongestPrefetch = 32;
// The number of page-locked batches decoded ahead. It is fixed, because allocating such memory
// during training would make the GPU wait.
inline constexpr std::size_t kPinnedPrefetch = 4;
// The number of batches decoded ahead if a device decodes. The device decodes half of the ring's
// slots at once (PictureRoom::DivideScratch): with the usual `hold`, four batches.
inline constexpr std::size_t kDecodingPrefetch = 6;

// Threads that make rows: those that decode, and the one that uploads what a device decodes, since
// the host decodes again what the device refuses.
inline std::size_t SlotFillersOf(const LoaderOptions& options) noexcept {
  return *options.threads + (options.on_device.decode != DecodeOn::kHost ? 1U : 0U);
}

// Questions about LoaderOptions::storage.
inline bool ReadsDirectly(const LoaderOptions& options) noexcept {
  return std::holds_alternative<Direct>(options.storage);
}
inline bool LocksInMemory(const LoaderOptions& options) noexcept {
  return std::holds_alternative<Locked>(options.storage);
}
// How many bytes of blocks to read ahead; empty if the loader chooses.
inline std::optional<std::uint64_t> ReadAheadBytesOf(const LoaderOptions& options) noexcept {
  if (const auto* const mapped = std::get_if<Mapped>(&options.storage)) {
    return mapped->read_ahead_bytes;
  }
  if (const auto* const direct = std::get_if<Direct>(&options.storage)) {
    return direct->read_ahead_bytes;
  }
  return std::nullopt;
}

// Whether LoaderOptions::keep keeps rows as the user's function left them.
inline bool KeepsFunctionRows(const LoaderOptions& options) noexcept {
  return options.keep && options.keep->function_is_deterministic;
}

// How many samples a row shows in that epoch, at most: several with a Mosaic, which has no views
// beside it.
inline std::uint64_t PartsIn(const LoaderOptions& options, std::uint64_t epoch) noexcept {
  const auto later =
      std::ranges::upper_bound(options.schedule, epoch, {}, &ScheduledTransform::epoch);
  return MostPartsOf(later == options.schedule.begin() ? options.transform : later[-1].transform);
}
inline std::uint64_t MostPartsIn(const LoaderOptions& options) noexcept {
  std::uint64_t most = MostPartsOf(options.transform);
  for (const ScheduledTransform& later : options.schedule)
    most = std::max<std::uint64_t>(most, MostPartsOf(later.transform));
  return most;
}

}  // namespace sluice
