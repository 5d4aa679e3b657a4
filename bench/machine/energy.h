// The energy in joules that the processor packages have used, from RAPL, if the kernel lets this
// process read it (mostly as root on a physical machine).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sluice::bench {

class EnergyMeter {
 public:
  explicit EnergyMeter(const std::filesystem::path& powercap = "/sys/class/powercap");

  // Since construction or the last call, of all packages; empty if they cannot be read. A counter
  // wraps after some minutes at full power, so call it more often than that.
  std::optional<double> Joules();

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range = 0;  // the counter wraps here; microjoules
    std::uint64_t last = 0;
  };
  std::vector<Package> packages_;
};

}  // namespace sluice::bench
