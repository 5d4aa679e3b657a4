// How fast a loader's batches reach a device, compared with copies alone: `sluice-bench upload`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <sluice/batch.h>
#include <sluice/transform.h>

#include "bench/machine/meters.h"
#include "bench/report/result.h"
#include "reader/device/device_driver.h"

namespace sluice::bench {

// The rate at which the bus carries copies of `bytes` each from page-locked memory to a device: the
// median of some rounds. Allocates its own memory.
double BareCopyRate(const std::shared_ptr<DeviceDriver>& driver, std::size_t bytes);

struct UploadShape {
  std::size_t batch_size = 256;
  std::size_t side = 224;         // of square images of three channels, uint8
  Pipeline steps;                 // steps that the device does
  std::optional<FloatType> type;  // the type that the device converts to; empty: unchanged
  Layout layout = Layout::kNHWC;  // of the device's output
};

// The times at which a batch was copied and converted, by the device's own events, in seconds from
// a moment shortly before the first upload. Without a conversion, `converted` is the end of the
// copy.
struct UploadMoments {
  double copy_begin = 0, copy_end = 0, converted = 0;
};

struct UploadRates {
  std::uint64_t batch_bytes = 0;  // bytes of a batch over the bus
  std::vector<double> limit;      // bytes per second of copies alone; one value for each round
  std::vector<double>
      uploads;  // the same as a loader does it: copies, conversion, events, a trainer's stream
  std::vector<UploadMoments> timeline;  // moments of some batches, after all rounds
  double cpus_busy = 0;                 // by this process during the uploads, on average
  std::optional<GpuUse> gpu;            // over all rounds, if NVML reports it
};

// Of the time in which batches were converted, the share in which another batch was being copied. 0
// without conversions. Conversions run in order, each after its own copy.
double ShareBesideCopies(const std::vector<UploadMoments>& timeline);

// The median time of a batch's conversion; 0 without conversions.
double ConversionSeconds(const std::vector<UploadMoments>& timeline);

// In each round, uploads `batches` batches, and copies as many alone. Throws
// Error(kInvalidArgument) for steps that a device does not do; other Errors; Interrupted.
UploadRates MeasureUpload(const Device& device, std::shared_ptr<DeviceDriver> driver,
                          const UploadShape& shape, std::uint64_t batches, std::uint64_t rounds,
                          const std::stop_token& stop);

}  // namespace sluice::bench
