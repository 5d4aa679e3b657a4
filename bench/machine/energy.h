// Joules that the processor packages have taken, by RAPL, where the kernel lets this process read
// them (mostly root on a machine of its own).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sluice::bench {

class EnergyMeter {
 public:
  explicit EnergyMeter(const std::filesystem::path& powercap = "/sys/class/powercap");

  // Since it was made or last asked, of all packages; nothing where they cannot be read. A counter
  // runs over after some minutes at full power, so it has to be asked more often than that.
  std::optional<double> Joules();

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range = 0;  // microjoules at which the counter begins anew
    std::uint64_t last = 0;
  };
  std::vector<Package> packages_;
};

}  // namespace sluice::bench
