#include "bench/machine/energy.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace sluice::bench {
namespace {

std::optional<std::uint64_t> NumberIn(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// "intel-rapl:0" is a package; "intel-rapl:0:1" is a part of it, already counted there. (AMD's
// counters have the same names.)
bool IsPackage(const std::string& name) {
  return name.starts_with("intel-rapl:") && std::count(name.begin(), name.end(), ':') == 1;
}

}  // namespace

EnergyMeter::EnergyMeter(const std::filesystem::path& powercap) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(powercap, error)) {
    if (!IsPackage(entry.path().filename().string())) continue;
    const auto counter = NumberIn(entry.path() / "energy_uj");
    const auto range = NumberIn(entry.path() / "max_energy_range_uj");
    if (counter && range) packages_.push_back({entry.path() / "energy_uj", *range, *counter});
  }
}

std::optional<double> EnergyMeter::Joules() {
  if (packages_.empty()) return std::nullopt;
  double joules = 0;
  for (Package& package : packages_) {
    const auto now = NumberIn(package.counter);
    if (!now) return std::nullopt;
    const std::uint64_t taken =
        *now >= package.last ? *now - package.last : *now + package.range - package.last;
    joules += 1e-6 * static_cast<double>(taken);
    package.last = *now;
  }
  return joules;
}

}  // namespace sluice::bench
