#include "bench/decode/measure.h"

#include <algorithm>
#include <chrono>

#include <sluice/error.h>

#include "bench/report/statistics.h"
#include "format/pixels/packed/pack.h"
#include "reader/transform/geometry.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

std::vector<std::uint8_t> RoomFor(const std::vector<DecodeItem>& items) {
  std::size_t bytes = 0;
  for (const DecodeItem& item : items) {
    bytes = std::max(bytes, std::size_t{item.region.x.target} * item.region.y.target * 3);
  }
  return std::vector<std::uint8_t>(bytes);
}

// The JPEG packed, or a packed image as the JPEG it stands for.
void AddOtherForm(DecodeItem& item) {
  item.packed = item.payload;
  item.stored_packed = item.payload.codec == Codec::kPacked;
  if (item.payload.codec == Codec::kPacked) {
    item.other_form = JpegFileOf(item.payload);
    item.payload.codec = Codec::kJpeg;
    item.payload.bytes = item.other_form;
  } else if (item.payload.codec == Codec::kJpeg) {
    packed::Coefficients coefficients;
    std::string why;
    if (packed::ReadCoefficients(item.payload.bytes, coefficients, why) == packed::Taken::kYes) {
      item.other_form = packed::Pack(coefficients);
      item.packed.codec = Codec::kPacked;
      item.packed.bytes = item.other_form;
    }
  }
}

}  // namespace

std::vector<DecodeItem> ChooseDecodeItems(const Dataset& dataset, Pipeline transform,
                                          std::uint64_t count, std::uint64_t seed,
                                          bool both_forms) {
  transform.push_back(HorizontalFlip());
  const Geometry geometry(transform);
  const std::uint64_t step = std::max<std::uint64_t>(1, dataset.size() / count);
  std::vector<DecodeItem> items;
  for (std::uint64_t i = 0; i < dataset.size() && items.size() < count; i += step) {
    DecodeItem item;
    item.sample = dataset[i];
    item.payload = item.sample->Payload();  // also reads it, so that it is in memory
    if (std::uint64_t{item.payload.width} * item.payload.height > ReadLimits().max_pixels) continue;
    if (both_forms) AddOtherForm(item);
    if (item.payload.codec != Codec::kJpeg) continue;
    const Frame frame =
        geometry.FrameFor(item.payload.width, item.payload.height, DrawSeed(seed, 0), i);
    item.region = frame.region;
    if (frame.warped || item.region.flip_y || item.region.transpose) {
      throw cli::UsageError(
          "--transform: decode measures only crops, resizes and flips left to right");
    }
    if (item.region.bordered()) {
      throw cli::UsageError("--transform: decode cannot measure steps that leave a border");
    }
    items.push_back(std::move(item));
  }
  if (items.empty()) throw Error(ErrorCode::kUnsupported, dataset.path().string(), "has no JPEG");
  return items;
}

std::vector<DecodeFigures> MeasureDecoding(std::vector<NamedVariant>& variants,
                                           const std::vector<DecodeItem>& items,
                                           std::uint64_t rounds, const std::stop_token& stop) {
  std::vector<DecodeFigures> figures;
  for (const NamedVariant& v : variants)
    figures.push_back({v.name, v.description, {}, 0});
  std::vector<std::uint8_t> rgb = RoomFor(items);
  // The round before the first warms caches and memory and is not counted.
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      ThrowIfStopped(stop);
      const auto start = std::chrono::steady_clock::now();
      for (const DecodeItem& item : items)
        variants[v].variant->Decode(item, rgb.data());
      const std::chrono::duration<double, std::milli> taken =
          std::chrono::steady_clock::now() - start;
      if (round > 0) figures[v].milliseconds.push_back(taken.count() / double(items.size()));
    }
  }
  return figures;
}

std::vector<double> AddedByStage(const std::vector<DecodeFigures>& stages) {
  std::vector<double> added;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    std::vector<double> differences = stages[s].milliseconds;
    for (std::size_t r = 0; s > 0 && r < differences.size(); ++r)
      differences[r] -= stages[s - 1].milliseconds[r];
    added.push_back(Median(differences));
  }
  return added;
}

}  // namespace sluice::bench
