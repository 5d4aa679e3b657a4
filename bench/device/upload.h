// How fast a loader's batches come to a device, beside how fast copies alone do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <sluice/batch.h>
#include <sluice/transform.h>

#include "bench/report/interrupted.h"
#include "reader/device/device_driver.h"

namespace sluice::bench {

struct UploadShape {
  std::size_t batch_size = 256;
  std::size_t side = 224;         // of square images of three channels, uint8
  Pipeline steps;                 // that change them on the device
  std::optional<FloatType> type;  // what they become there; nothing: they stay
  Layout layout = Layout::kNHWC;  // of what the device makes
};

// When a batch was copied and converted, by the device's own events: seconds from when the first
// was asked for. Without a conversion, that is over with the copy.
struct UploadMoments {
  double copy_begin = 0, copy_end = 0, converted = 0;
};

struct UploadRates {
  std::uint64_t batch_bytes = 0;  // that cross, of a batch
  std::vector<double> limit;      // bytes a second, by round: the same copies, and nothing else
  std::vector<double>
      uploads;  // as a loader does it: copies, conversion, events, a trainer's stream
  std::vector<UploadMoments> timeline;  // of some batches behind all rounds
};

// The share of the time in which batches were converted that another one was being copied in; 0
// where none is converted. Conversions are done in order, each once its copy is over.
double ShareBesideCopies(const std::vector<UploadMoments>& timeline);

// Each round takes `batches` batches over in either way. Throws Error(kInvalidArgument) for steps
// that are not done on a device; Error, Interrupted.
UploadRates MeasureUpload(const Device& device, std::shared_ptr<DeviceDriver> driver,
                          const UploadShape& shape, std::uint64_t batches, std::uint64_t rounds,
                          const std::stop_token& stop);

}  // namespace sluice::bench
