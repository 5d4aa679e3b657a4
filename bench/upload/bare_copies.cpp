#include "bench/upload/bare_copies.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/report/statistics.h"
#include "reader/device/host_buffer.h"

namespace sluice::bench {

BareCopies::BareCopies(DeviceDriver& driver, std::vector<const std::byte*> places,
                       std::size_t bytes)
    : driver_(driver),
      places_(std::move(places)),
      bytes_(bytes),
      target_(driver, bytes),
      stream_(driver),
      done_(driver) {}

double BareCopies::BytesPerSecond(std::uint64_t copies) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < copies; ++i)
    driver_.Copy(stream_.get(), target_.data(), places_[i % places_.size()], bytes_);
  driver_.Record(done_.get(), stream_.get());
  driver_.Synchronize(done_.get());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return double(copies * bytes_) / taken.count();
}

double BareCopyRate(const std::shared_ptr<DeviceDriver>& driver, std::size_t bytes) {
  constexpr std::size_t kPlaces = 4;  // as a loader's ring
  constexpr std::uint64_t kRoundBytes = 256 << 20;
  const HostBuffer memory(kPlaces * bytes, driver);
  std::vector<const std::byte*> places;
  places.reserve(kPlaces);
  for (std::size_t i = 0; i < kPlaces; ++i)
    places.push_back(memory.data() + i * bytes);
  BareCopies copies(*driver, std::move(places), bytes);
  const std::uint64_t count = std::clamp<std::uint64_t>(kRoundBytes / bytes, kPlaces, 1000);
  copies.BytesPerSecond(kPlaces);  // not measured: the first uses
  std::vector<double> rates;
  for (int round = 0; round < 3; ++round)
    rates.push_back(copies.BytesPerSecond(count));
  return Median(rates);
}

}  // namespace sluice::bench
